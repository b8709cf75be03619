import { readEnvelope } from '#json/json-envelope.ts';
import { type JsonNode, readJsonTree } from '#json/json-tree.ts';
import { opaqueMembers } from '#json/opaque-member.ts';
import { createProblemList, invalidRequest, type ProblemList } from '#json/problem-list.ts';

type Plain = Readonly<Record<string, unknown>>;

/** Members whose bytes or digits matter. */
const opaque = opaqueMembers(['/body', '/headers', '/query', '/parameters']);

/**
 * The evaluated `with` of a task. It was checked where the document was read, but expressions may have put anything in its place. Each
 * reading notes its problem; `check` throws them all as `invalid-request`.
 */
export interface CallArguments {
  readonly problems: ProblemList;
  /** The texts of an object, such as `params`; it has to be there. */
  object(name: string): CallArguments;
  text(name: string): string | undefined;
  /** An empty text where it is missing, which is a problem. */
  requiredText(name: string): string;
  /** None where it is missing. */
  texts(name: string): readonly string[];
  flag(name: string): boolean | undefined;
  word<const W extends string>(name: string, words: readonly W[]): W | undefined;
  value(name: string): unknown;
  /** The JSON text of `body`, `headers`, `query` or `parameters`. */
  span(name: string): Buffer | undefined;
  /** The members of `headers`, `query` or `parameters`, of any kind. None where it is missing or null. */
  members(name: string): readonly (readonly [string, JsonNode])[];
  check(): void;
}

/** Throws `invalid-json` where the text is not acceptable, as for a request. */
export function readArguments(text: string): CallArguments {
  const { value, spans } = readEnvelope(Buffer.from(text), { opaque });
  const problems = createProblemList();
  if (!isObject(value)) problems.add('', 'is no object of arguments');
  return argumentsIn(isObject(value) ? value : {}, { problems, spans, at: '' });
}

interface Place {
  readonly problems: ProblemList;
  readonly spans: ReadonlyMap<string, Buffer>;
  /** Pointer to the object. */
  readonly at: string;
}

function argumentsIn(values: Plain, place: Place): CallArguments {
  const { problems, spans, at } = place;
  const given = (name: string): unknown => (Object.hasOwn(values, name) ? values[name] : undefined);
  const ofKind = <T>(name: string, is: (value: unknown) => value is T, wanted: string): T | undefined => {
    const value = given(name);
    if (value === undefined || is(value)) return value;
    problems.add(`${at}/${name}`, `is not ${wanted}`);
    return undefined;
  };
  const span = (name: string): Buffer | undefined => spans.get(`${at}/${name}`);
  return {
    problems,
    object(name) {
      const value = ofKind(name, isObject, 'an object');
      if (given(name) === undefined) problems.add(`${at}/${name}`, 'is missing');
      return argumentsIn(value ?? {}, { problems, spans, at: `${at}/${name}` });
    },
    text: (name) => ofKind(name, isText, 'a text'),
    requiredText(name) {
      if (given(name) === undefined) problems.add(`${at}/${name}`, 'is missing');
      return ofKind(name, isText, 'a text') ?? '';
    },
    texts: (name) => ofKind(name, isTexts, 'a list of texts') ?? [],
    flag: (name) => ofKind(name, isFlag, 'true or false'),
    word(name, words) {
      const isWord = (value: unknown): value is (typeof words)[number] => words.some((word) => word === value);
      return ofKind(name, isWord, `one of ${words.join(', ')}`);
    },
    value: given,
    span,
    members(name) {
      const bytes = span(name);
      const node = bytes === undefined ? undefined : readJsonTree(bytes);
      if (node === undefined || node.kind === 'null') return [];
      if (node.kind === 'object') return node.members;
      problems.add(`${at}/${name}`, 'is no object');
      return [];
    },
    check() {
      if (problems.problems.length > 0) throw invalidRequest(problems.problems);
    },
  };
}

function isObject(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

function isFlag(value: unknown): value is boolean {
  return typeof value === 'boolean';
}

/** A text, a number with its digits, true or false as text; undefined for every other kind. */
export function argumentText(node: JsonNode): string | undefined {
  if (node.kind === 'string') return node.value;
  if (node.kind === 'number') return node.text;
  return node.kind === 'boolean' ? String(node.value) : undefined;
}
