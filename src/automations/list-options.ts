import { Type } from '#base/json-schema.ts';
import { createProblemList, invalidRequest, type ProblemList } from '#json/forms/problem-list.ts';
import { pointerTo } from '#json/json-pointer.ts';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { type JsonNode, readJsonTree } from '#json/json-tree.ts';
import { type TextField, textFields } from './automation.ts';

export const filterKinds = ['contains', 'equals', 'startsWith'] as const;

export interface TextFilter {
  readonly kind: (typeof filterKinds)[number];
  readonly field: TextField;
  /** Folded like the sort key before the comparison. */
  readonly text: string;
}

export const personKinds = ['owner', 'author', 'scheduler'] as const;

export interface PersonFilter {
  readonly kind: (typeof personKinds)[number];
  /** Id or name, exact. */
  readonly person: string;
}

export interface ListOptions {
  /** 0 to 1,000; 0: the counts alone. */
  readonly limit: number;
  readonly skip: number;
  readonly sort: TextField;
  /** -1 is the exact reverse of 1. */
  readonly order: 1 | -1;
  /** All must match. */
  readonly filters: readonly TextFilter[];
  /** All must match. */
  readonly people?: readonly PersonFilter[];
  /** How many of its last runs an automation is listed with. Absent: none. */
  readonly runs?: number;
}

const pageSize = { max: 1000, usual: 100 } as const;
const maxRuns = 50;

const optionNames = [
  'limit',
  'skip',
  'sort',
  'order',
  'contains',
  'containsField',
  'equals',
  'equalsField',
  'startsWith',
  'startsWithField',
  ...personKinds,
  'runs',
] as const;

type Given = ReadonlyMap<(typeof optionNames)[number], GivenOption>;

/**
 * Throws `invalid-request` (400) with every problem at once. Nothing is coerced: in a query parameter an integer is decimal
 * digits, in the JSON form a number.
 */
export function readListOptions(query: URLSearchParams): ListOptions {
  return readOptions(query, optionNames, (given, problems) => {
    const people = personKinds.flatMap((kind) => readPerson(given, kind, problems));
    const runs = readInteger(given.get('runs'), { max: maxRuns, usual: 0, problems });
    return {
      ...readPage(given, problems),
      sort: readField(given.get('sort'), problems),
      order: readOrder(given.get('order'), problems),
      filters: filterKinds.flatMap((kind) => readFilter(given, kind, problems)),
      ...(people.length > 0 && { people }),
      ...(runs > 0 && { runs }),
    };
  });
}

export type PageOptions = Pick<ListOptions, 'limit' | 'skip'>;

function readPageOptions(query: URLSearchParams): PageOptions {
  return readOptions(query, ['limit', 'skip'], readPage);
}

/** Throws `invalid-request` (400) with every problem at once. */
export function readOptions<Name extends string, Options>(
  query: URLSearchParams,
  known: readonly Name[],
  read: (given: ReadonlyMap<Name, GivenOption>, problems: ProblemList) => Options,
): Options {
  const problems = createProblemList();
  const options = read(readGivenOptions({ query, known, problems }), problems);
  if (problems.problems.length > 0) throw invalidRequest(problems.problems);
  return options;
}

export function pageDocs(what: string) {
  return {
    limit: {
      description: 'Size of the page; 0 returns only the counts.',
      schema: Type.Integer({ minimum: 0, maximum: pageSize.max, default: pageSize.usual }),
    },
    skip: {
      description: `Number of ${what} to skip.`,
      schema: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
    },
  };
}

/** The options of a listing that has only pages, and what the documentation says of them. */
export function pageQuery(what: string) {
  return { parameters: pageDocs(what), read: readPageOptions };
}

const field = Type.Enum([...textFields], { default: 'name' });
const filterWords = { contains: 'contains', equals: 'is', startsWith: 'begins with' } as const;

export const automationListQuery = {
  parameters: {
    ...pageDocs('automations'),
    sort: {
      description: 'Field to sort by, ignoring case and accents; automations without it come first.',
      schema: field,
    },
    order: { description: '-1 reverses the order.', schema: Type.Enum([1, -1], { default: 1 }) },
    ...Object.fromEntries(
      filterKinds.flatMap((kind) => [
        [
          kind,
          {
            description: `Only automations whose ${kind}Field ${filterWords[kind]} this text, ignoring case and accents.`,
            schema: Type.String(),
          },
        ],
        [`${kind}Field`, { description: `The field that ${kind} is compared with; only together with ${kind}.`, schema: field }],
      ]),
    ),
    ...Object.fromEntries(
      personKinds.map((kind) => [
        kind,
        { description: `Only automations with this ${kind}, a principal by its exact id or name.`, schema: Type.String() },
      ]),
    ),
    runs: {
      description: 'Adds `lastRuns` to each automation: so many of its newest runs, without those that other runs began.',
      schema: Type.Integer({ minimum: 0, maximum: maxRuns, default: 0 }),
    },
    queryParameters: {
      description: 'Replaces the parameters above: all of them as one JSON object, such as `{"limit":50}`.',
      schema: Type.String(),
    },
  },
  read: readListOptions,
};

export function readPage(given: ReadonlyMap<string, GivenOption>, problems: ProblemList): PageOptions {
  return {
    limit: readInteger(given.get('limit'), { max: pageSize.max, usual: pageSize.usual, problems }),
    skip: readInteger(given.get('skip'), { max: Number.MAX_SAFE_INTEGER, usual: 0, problems }),
  };
}

function readInteger(
  given: GivenOption | undefined,
  { max, usual, problems }: { readonly max: number; readonly usual: number; readonly problems: ProblemList },
): number {
  if (given === undefined) return usual;
  const value = integerOf(given);
  if (value !== undefined && value >= 0 && value <= max) return value;
  problems.add(given.pointer, `must be an integer from 0 to ${max}, ${wayToWrite(given)}`);
  return usual;
}

function readOrder(given: GivenOption | undefined, problems: ProblemList): 1 | -1 {
  if (given === undefined) return 1;
  const value = integerOf(given);
  if (value === 1 || value === -1) return value;
  problems.add(given.pointer, `must be 1 (from a to z) or -1 (from z to a), ${wayToWrite(given)}`);
  return 1;
}

function wayToWrite({ value }: GivenOption): string {
  return value.kind === 'text' ? 'in decimal digits without a leading zero or plus sign' : 'as a JSON number';
}

/** Undefined also for an integer that a number cannot hold exactly. */
function integerOf({ value }: GivenOption): number | undefined {
  if (value.kind !== 'number' && !(value.kind === 'text' && /^(?:0|-?[1-9][0-9]*)$/u.test(value.text))) return undefined;
  const number = Number(value.text);
  return Number.isSafeInteger(number) ? number : undefined;
}

function readFilter(given: Given, kind: TextFilter['kind'], problems: ProblemList): readonly TextFilter[] {
  const filter = given.get(kind);
  const named = given.get(`${kind}Field`);
  const field = readField(named, problems);
  if (filter === undefined) {
    if (named !== undefined) problems.add(named.pointer, `needs ${kind} too: give both, or leave it out`);
    return [];
  }
  const text = readFilterText(filter, problems);
  return text === undefined ? [] : [{ kind, field, text }];
}

function readPerson(given: Given, kind: PersonFilter['kind'], problems: ProblemList): readonly PersonFilter[] {
  const option = given.get(kind);
  const person = option && readFilterText(option, problems);
  return person === undefined ? [] : [{ kind, person }];
}

/** Undefined where it has a problem. */
export function readFilterText(option: GivenOption, problems: ProblemList): string | undefined {
  const text = textIn(option);
  if (text === undefined) problems.add(option.pointer, 'must be a string');
  else if (!text.isWellFormed())
    problems.add(option.pointer, 'holds a lone surrogate escape: write both halves, or another character');
  return text;
}

/** Default: `name`. */
function readField(given: GivenOption | undefined, problems: ProblemList): TextField {
  if (given === undefined) return 'name';
  const text = textIn(given);
  const field = textFields.find((candidate) => candidate === text);
  if (field === undefined) problems.add(given.pointer, `must be one of ${textFields.join(', ')}`);
  return field ?? 'name';
}

function textIn({ value }: GivenOption): string | undefined {
  if (value.kind === 'text') return value.text;
  return value.kind === 'string' ? value.value : undefined;
}

interface GivenOption {
  /** `?limit`, `?queryParameters[limit]` or, inside the JSON form, `?queryParameters/limit`. */
  readonly pointer: string;
  readonly value: { readonly kind: 'text'; readonly text: string } | JsonNode;
}

interface QueryFormOptions<Name extends string> {
  readonly query: URLSearchParams;
  readonly known: readonly Name[];
  /** Receives the problems of the form; values are not judged here. */
  readonly problems: ProblemList;
}

const whole = 'queryParameters';
const advice = `write all as limit=50, or all as ${whole}[limit]=50, or all in one ${whole}={"limit":50}`;

/**
 * Reads a query string in one of its three forms. Reports two forms at once, an option given twice, unknown names, and a JSON
 * form that is no JSON object.
 */
function readGivenOptions<Name extends string>(options: QueryFormOptions<Name>): ReadonlyMap<Name, GivenOption> {
  const { known, problems } = options;
  const unknown = `is not known; the options are ${known.join(', ')}`;
  const found = new Map<Name, GivenOption>();
  const add = (given: string, option: GivenOption): void => {
    const name = known.find((candidate) => candidate === given);
    if (name === undefined) problems.add(option.pointer, unknown);
    else if (!found.has(name)) found.set(name, option);
  };
  const parameters = readParameters(options.query, problems);
  for (const { kind, name, pointer, text } of parameters) {
    if (kind !== 'json') add(name, { pointer, value: { kind: 'text', text } });
    else
      for (const [member, value] of readMembers(text, pointer, problems))
        add(member, { pointer: pointerTo(pointer, member), value });
  }
  const inForms = parameters.filter(({ kind, name }) => kind !== 'plain' || known.some((candidate) => candidate === name));
  for (const { kind, pointer } of inForms) {
    if (kind !== inForms[0]?.kind) problems.add(pointer, `is another form than that of ${inForms[0]?.pointer}; ${advice}`);
  }
  return found;
}

interface Parameter {
  readonly kind: 'plain' | 'brackets' | 'json';
  /** Empty in the JSON form, which has several options. */
  readonly name: string;
  readonly pointer: string;
  readonly text: string;
}

function readParameters(query: URLSearchParams, problems: ProblemList): readonly Parameter[] {
  const parameters = new Map<string, Parameter>();
  for (const [parameter, text] of query) {
    const pointer = `?${parameter}`;
    if (parameters.has(parameter)) problems.add(pointer, 'is given more than once; give it once');
    else parameters.set(parameter, { ...formOf(parameter), pointer, text });
  }
  return [...parameters.values()];
}

function formOf(parameter: string): Pick<Parameter, 'kind' | 'name'> {
  if (parameter === whole) return { kind: 'json', name: '' };
  const inside = /^queryParameters\[([^[\]]*)\]$/u.exec(parameter)?.[1];
  return inside === undefined ? { kind: 'plain', name: parameter } : { kind: 'brackets', name: inside };
}

/** Builds no object, so `__proto__` is an unknown name like others. */
function readMembers(text: string, pointer: string, problems: ProblemList): readonly (readonly [string, JsonNode])[] {
  const node = readJson(text, pointer, problems);
  if (node === undefined) return [];
  if (node.kind !== 'object') {
    problems.add(pointer, `must be a JSON object, percent-encoded, such as ${whole}={"limit":50}`);
    return [];
  }
  const seen = new Set<string>();
  for (const [name] of node.members) {
    if (seen.has(name)) problems.add(pointerTo(pointer, name), 'is given more than once; give it once');
    seen.add(name);
  }
  return node.members;
}

/** A valid text has a depth of 1. More levels let the error name the place of a wrong value. */
const maxDepth = 8;

function readJson(text: string, pointer: string, problems: ProblemList): JsonNode | undefined {
  try {
    return readJsonTree(Buffer.from(text), { maxDepth });
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    problems.add(
      pointer,
      `is no acceptable JSON at byte ${error.offset} (${error.message}); write an object such as {"limit":50}, percent-encoded`,
    );
    return undefined;
  }
}
