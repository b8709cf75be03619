import type { JsonNode } from '#json/json-tree.ts';
import type { ProblemList } from '#json/problem-list.ts';
import { didYouMean } from '#yaml/nearest.ts';

/** A value of a form, and its place. Absent values have no problem. */
interface PlacedNode {
  readonly node: JsonNode | undefined;
  readonly pointer: string;
}

/** The formats of JSON Schema 2020-12 that a value is held against. */
const formats = [
  'date',
  'date-time',
  'duration',
  'email',
  'hostname',
  'idn-email',
  'idn-hostname',
  'ipv4',
  'ipv6',
  'iri',
  'iri-reference',
  'json-pointer',
  'regex',
  'relative-json-pointer',
  'time',
  'uri',
  'uri-reference',
  'uri-template',
  'uuid',
];

type Check = (node: JsonNode) => string | undefined;

const checks = {
  title: textProblem,
  description: textProblem,
  additionalProperties: flagProblem,
  uniqueItems: flagProblem,
  enum: choiceProblem,
  pattern: patternProblem,
  format: formatProblem,
  minLength: countProblem,
  maxLength: countProblem,
  minItems: countProblem,
  maxItems: countProblem,
  minimum: numberProblem,
  maximum: numberProblem,
  exclusiveMinimum: numberProblem,
  exclusiveMaximum: numberProblem,
  multipleOf: stepProblem,
  /** Read by itself. */
  items: () => undefined,
} satisfies Record<string, Check>;

export type FieldKeyword = keyof typeof checks;

/** Adds the problem of the value of a keyword. */
export function checkKeyword(list: ProblemList, keyword: FieldKeyword, { node, pointer }: PlacedNode): void {
  const problem = node === undefined ? undefined : checks[keyword](node);
  if (problem !== undefined) list.add(pointer, problem);
}

const pairs = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minimum', 'maximum'],
] as const;

/** Adds the problems of limits that no value satisfies. */
export function checkOrder(list: ProblemList, members: ReadonlyMap<string, JsonNode>, pointer: string): void {
  for (const [least, most] of pairs) {
    const [low, high] = [numberOf(members.get(least)), numberOf(members.get(most))];
    if (low !== undefined && high !== undefined && low > high) list.add(`${pointer}/${least}`, `must be at most ${most}`);
  }
}

function numberOf(node: JsonNode | undefined): number | undefined {
  return node?.kind === 'number' ? Number(node.text) : undefined;
}

function textProblem({ kind }: JsonNode): string | undefined {
  return kind === 'string' ? undefined : 'must be a string';
}

function flagProblem({ kind }: JsonNode): string | undefined {
  return kind === 'boolean' ? undefined : 'must be true or false';
}

function countProblem(node: JsonNode): string | undefined {
  const count = numberOf(node);
  return count !== undefined && Number.isSafeInteger(count) && count >= 0 ? undefined : 'must be an integer from 0';
}

function numberProblem(node: JsonNode): string | undefined {
  return Number.isFinite(numberOf(node)) ? undefined : 'must be a number that a double can hold';
}

function stepProblem(node: JsonNode): string | undefined {
  const step = numberOf(node);
  return step !== undefined && Number.isFinite(step) && step > 0 ? undefined : 'must be a number greater than 0';
}

function choiceProblem(node: JsonNode): string | undefined {
  if (node.kind !== 'array' || node.items.length === 0) return 'must be a list of one or more strings';
  const texts = node.items.flatMap((item) => (item.kind === 'string' ? [item.value] : []));
  if (texts.length < node.items.length) return 'must have strings alone';
  return new Set(texts).size < texts.length ? 'must not have the same string twice' : undefined;
}

function patternProblem(node: JsonNode): string | undefined {
  if (node.kind !== 'string') return 'must be a string';
  const fault = patternFault(node.value);
  return fault === undefined ? undefined : `must be a regular expression of ECMAScript with the flag u (${fault})`;
}

function patternFault(pattern: string): string | undefined {
  try {
    RegExp(pattern, 'u');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function formatProblem(node: JsonNode): string | undefined {
  if (node.kind === 'string' && formats.includes(node.value)) return undefined;
  return `must be one of ${formats.join(', ')}${node.kind === 'string' ? didYouMean(node.value, formats) : ''}`;
}
