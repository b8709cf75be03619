import type { TLocalizedValidationError as SchemaError } from 'typebox/error';
import { pointerTo } from '../json-pointer.ts';
import type { ProblemList } from './problem-list.ts';

type Keyword = SchemaError['keyword'];
type ErrorOf<K extends Keyword> = Extract<SchemaError, { keyword: K }>;

export function addProblems(list: ProblemList, errors: readonly SchemaError[]): void {
  const summaries = errors.filter(({ keyword }) => keyword in summarized);
  for (const error of errors) {
    if (summaries.some((summary) => belongsTo(error, summary))) continue;
    if (error.keyword === 'anyOf' || error.keyword === 'oneOf') list.add(error.instancePath, alternatives(error, errors));
    else for (const [pointer, detail] of placesOf(error)) list.add(pointer, detail);
  }
}

/** Their error follows those of their subschemas, which alone would mislead. */
const summarized: Readonly<Partial<Record<Keyword, true>>> = { anyOf: true, oneOf: true, propertyNames: true };

function belongsTo(error: SchemaError, { keyword, schemaPath, instancePath }: SchemaError): boolean {
  return error.schemaPath.startsWith(`${schemaPath}/${keyword}`) && error.instancePath.startsWith(instancePath);
}

const shownAlternatives = 4;

function alternatives(summary: ErrorOf<'anyOf' | 'oneOf'>, errors: readonly SchemaError[]): string {
  if (summary.keyword === 'oneOf' && summary.params.passingSchemas.length > 0)
    return `must satisfy one schema of oneOf alone, and satisfies several (number ${summary.params.passingSchemas.join(', ')})`;
  const reasons = errors
    .filter((error) => error !== summary && belongsTo(error, summary) && !(error.keyword in summarized))
    .flatMap((error) =>
      placesOf(error).map(([pointer, detail]) => `${pointer.slice(summary.instancePath.length)} ${detail}`.trim()),
    );
  const different = [...new Set(reasons)].slice(0, shownAlternatives);
  return `must satisfy one of the alternatives (${summary.keyword})${different.length === 0 ? '' : `: ${different.join(', or ')}`}`;
}

type Places = readonly (readonly [pointer: string, detail: string])[];

/** The problem is at other places than the value itself. */
export function placesOf(error: SchemaError): Places {
  const at = (names: readonly PropertyKey[], detail: string): Places =>
    names.map((name) => [pointerTo(error.instancePath, typeof name === 'number' ? name : String(name)), detail]);
  switch (error.keyword) {
    case 'required':
      return at(error.params.requiredProperties, 'is required');
    case 'dependencies':
    case 'dependentRequired':
      return at(error.params.dependencies, `is required where ${JSON.stringify(error.params.property)} is given`);
    case 'propertyNames':
      return at(error.params.propertyNames, 'has a name that is not allowed here');
    case 'unevaluatedProperties':
      return at(error.params.unevaluatedProperties, unknownMember);
    case 'unevaluatedItems':
      return at(error.params.unevaluatedItems, 'is one item too many');
    case 'additionalProperties':
      return [];
    default:
      return [[error.instancePath, detailOf(error)]];
  }
}

export const unknownMember = 'is not known; leave it out, or correct its name';

function detailOf(error: SchemaError): string {
  const word = words[error.keyword] as ((error: SchemaError) => string) | undefined;
  return word === undefined ? error.message : word(error);
}

const words: { readonly [K in Keyword]?: (error: ErrorOf<K>) => string } = {
  type: ({ params: { type } }) =>
    `must be ${[type]
      .flat()
      .map((name) => kinds[name] ?? name)
      .join(' or ')}`,
  boolean: ({ schemaPath }) =>
    /\/(?:additional|pattern)Properties(?:\/|$)/u.test(schemaPath) ? unknownMember : 'is not allowed here',
  const: ({ params }) => `must be ${cut(JSON.stringify(params.allowedValue) ?? 'absent')}`,
  enum: ({ params }) => `must be one of ${cut(params.allowedValues.map((value) => JSON.stringify(value)).join(', '))}`,
  minimum: ({ params }) => `must be at least ${params.limit}`,
  maximum: ({ params }) => `must be at most ${params.limit}`,
  exclusiveMinimum: ({ params }) => `must be greater than ${params.limit}`,
  exclusiveMaximum: ({ params }) => `must be less than ${params.limit}`,
  multipleOf: ({ params }) => `must be a multiple of ${params.multipleOf}`,
  minLength: ({ params }) => `must have at least ${count(params.limit, 'character')}`,
  maxLength: ({ params }) => `must have at most ${count(params.limit, 'character')}`,
  minItems: ({ params }) => `must have at least ${count(params.limit, 'item')}`,
  maxItems: ({ params }) => `must have at most ${count(params.limit, 'item')}`,
  minProperties: ({ params }) => `must have at least ${count(params.limit, 'member')}`,
  maxProperties: ({ params }) => `must have at most ${count(params.limit, 'member')}`,
  uniqueItems: () => 'must not have the same item twice',
  pattern: ({ params }) => `must match the pattern ${cut(String(params.pattern))}`,
  format: ({ params }) => `must have the format ${cut(params.format)}`,
  not: () => 'must not satisfy the schema of "not"',
  if: ({ params }) => `must satisfy "${params.failingKeyword}", which its "if" makes apply`,
  contains: ({ params: { minContains, maxContains } }) =>
    `must have at least ${count(minContains, 'item')}${maxContains === undefined ? '' : ` and at most ${maxContains}`} of the schema "contains"`,
};

const kinds: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  null: 'null',
  object: 'an object',
  array: 'an array',
};

function count(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

const maxLength = 1_000;

/** Schemas may have long values. */
function cut(text: string): string {
  return text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()}…` : text;
}
