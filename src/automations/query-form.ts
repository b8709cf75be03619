import { pointerTo } from '#json/json-pointer.ts';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { type JsonNode, readJsonTree } from '#json/json-tree.ts';
import type { ProblemList } from '#json/problem-list.ts';

/** An option as the caller wrote it: the text of a query parameter, or a value of the JSON form. */
export interface GivenOption {
  /** `?limit`, `?queryParameters[limit]` or, inside the JSON form, `?queryParameters/limit`. */
  readonly pointer: string;
  readonly value: { readonly kind: 'text'; readonly text: string } | JsonNode;
}

interface QueryFormOptions<Name extends string> {
  readonly query: URLSearchParams;
  /** The names of all options. */
  readonly known: readonly Name[];
  /** Receives the problems of the form; the caller of the function validates the values. */
  readonly problems: ProblemList;
}

const whole = 'queryParameters';
const advice = `write all as limit=50, or all as ${whole}[limit]=50, or all in one ${whole}={"limit":50}`;

/**
 * Reads the options of a query string in one of their three forms. Reported are two forms at once, an option given twice,
 * unknown names, and a JSON form that is no JSON object.
 */
export function readGivenOptions<Name extends string>(options: QueryFormOptions<Name>): ReadonlyMap<Name, GivenOption> {
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
  // An unknown name has its own problem already.
  const inForms = parameters.filter(({ kind, name }) => kind !== 'plain' || known.some((candidate) => candidate === name));
  for (const { kind, pointer } of inForms) {
    if (kind !== inForms[0]?.kind) problems.add(pointer, `is another form than that of ${inForms[0]?.pointer}; ${advice}`);
  }
  return found;
}

interface Parameter {
  readonly kind: 'plain' | 'brackets' | 'json';
  /** Of the option; empty in the JSON form, which holds several. */
  readonly name: string;
  readonly pointer: string;
  readonly text: string;
}

/** Each parameter once. */
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

/**
 * The members from the tree of the strict JSON reader, without building an object. Names are compared with a closed list: `__proto__` is an
 * unknown name like others.
 */
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

/** A valid text has a depth of 1. A few levels more let the error name the place of a wrong value. */
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
