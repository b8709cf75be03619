import { isUtf8 } from 'node:buffer';
import type { RequestProblem } from '#base/gateway-error.ts';
import { jsonFault } from '#json/json-scanner.ts';
import { listItems, membersOf, namedEntries, type ObjectMembers } from '#yaml/document-members.ts';
import { type DocumentReading, openDocument } from '#yaml/document-reading.ts';
import type { Located } from '#yaml/located.ts';
import { didYouMean } from '#yaml/wording.ts';
import { positionAfter } from '#yaml/yaml-text.ts';

/** Of JSON Schema 2020-12. */
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
  // Of OpenAPI: readers of task data do not see the field.
  'password',
  'regex',
  'relative-json-pointer',
  'time',
  'uri',
  'uri-reference',
  'uri-template',
  'uuid',
];

type Check = (node: Located) => string | undefined;

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
  /** `readField` judges it. */
  items: () => undefined,
} satisfies Record<string, Check>;

type FieldKeyword = keyof typeof checks;

function checkKeywords(reading: DocumentReading, members: ObjectMembers, keywords: readonly FieldKeyword[]): void {
  for (const keyword of keywords) {
    const node = members.get(keyword);
    const problem = node && checks[keyword](node);
    if (node !== undefined && problem !== undefined) reading.problem(node, problem);
  }
}

const pairs = [
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
  ['minimum', 'maximum'],
] as const;

function checkOrder(reading: DocumentReading, members: ObjectMembers): void {
  for (const [least, most] of pairs) {
    const [node, limit] = [members.get(least), members.get(most)];
    const [low, high] = [numberOf(node), numberOf(limit)];
    if (node !== undefined && low !== undefined && high !== undefined && low > high)
      reading.problem(node, `must be at most ${most}`);
  }
}

function numberOf(node: Located | undefined): number | undefined {
  return node?.kind === 'number' ? Number(node.json) : undefined;
}

function textProblem({ kind }: Located): string | undefined {
  return kind === 'string' ? undefined : 'must be a string';
}

function flagProblem({ kind }: Located): string | undefined {
  return kind === 'boolean' ? undefined : 'must be true or false';
}

function countProblem(node: Located): string | undefined {
  const count = numberOf(node);
  return count !== undefined && Number.isSafeInteger(count) && count >= 0 ? undefined : 'must be an integer from 0';
}

function numberProblem(node: Located): string | undefined {
  return Number.isFinite(numberOf(node)) ? undefined : 'must be a number that a double can hold';
}

function stepProblem(node: Located): string | undefined {
  const step = numberOf(node);
  return step !== undefined && Number.isFinite(step) && step > 0 ? undefined : 'must be a number greater than 0';
}

function choiceProblem(node: Located): string | undefined {
  if (node.kind !== 'array' || node.items.length === 0) return 'must be a list of one or more strings';
  const texts = node.items.flatMap((item) => (item.kind === 'string' ? [item.value] : []));
  if (texts.length < node.items.length) return 'must have strings alone';
  return new Set(texts).size < texts.length ? 'must not have the same string twice' : undefined;
}

function patternProblem(node: Located): string | undefined {
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

function formatProblem(node: Located): string | undefined {
  if (node.kind === 'string' && formats.includes(node.value)) return undefined;
  return `must be one of ${formats.join(', ')}${node.kind === 'string' ? didYouMean(node.value, formats) : ''}`;
}

/** Bytes. */
export const formSizeLimit = 65_536;

type FormReading = { readonly title: string | undefined } | { readonly problems: readonly RequestProblem[] };

const annotations = ['title', 'description'] as const;
const ofStrings = ['enum', 'pattern', 'minLength', 'maxLength', 'format'] as const;
const ofNumbers = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;

const fieldKeywords: Readonly<Record<string, readonly FieldKeyword[]>> = {
  string: ofStrings,
  number: ofNumbers,
  integer: ofNumbers,
  boolean: [],
  array: ['items', 'minItems', 'maxItems', 'uniqueItems'],
};

const formMembers = ['$schema', 'type', 'properties', 'required', 'additionalProperties', ...annotations];

/**
 * A form is a JSON Schema 2020-12 of one flat object. Default values are not held against their fields here, since a pattern may
 * take all of a processor.
 */
export function readForm(bytes: Buffer): FormReading {
  if (!isUtf8(bytes)) return { problems: [{ pointer: '', detail: 'is not UTF-8' }] };
  const fault = jsonFault(bytes);
  if (fault !== undefined) {
    const position = positionAfter(bytes.toString('utf8', 0, fault.offset));
    return { problems: [{ pointer: '', detail: `is no JSON at byte ${fault.offset}: ${fault.message}`, ...position }] };
  }
  const document = openDocument(bytes.toString(), { keepsSurrogates: true });
  if ('problems' in document) return document;
  const { reading, root } = document;
  const members = objectOf(reading, root, { wanted: 'an object with "type" and "properties"', known: formMembers });
  if (root.kind === 'object') readMembers(reading, root, members);
  const title = members.get('title');
  return reading.problems.length > 0 ? reading : { title: title?.kind === 'string' ? title.value : undefined };
}

function objectOf(reading: DocumentReading, node: Located, form: { readonly wanted: string; readonly known: readonly string[] }) {
  return membersOf(reading, node, { ...form, unknown: 'is not part of a form here' });
}

const dialect = 'https://json-schema.org/draft/2020-12/schema';

function readMembers(reading: DocumentReading, root: Located, members: ObjectMembers): void {
  const schema = members.get('$schema');
  if (schema !== undefined && !(schema.kind === 'string' && schema.value.replace(/#$/u, '') === dialect))
    reading.problem(schema, `must be "${dialect}", or be left out`);
  requireType(reading, root, members, ['object']);
  checkKeywords(reading, members, [...annotations, 'additionalProperties']);
  const wanted = 'an object with a schema for each field';
  const properties = members.get('properties');
  if (properties === undefined) reportMissing(reading, root, 'properties', wanted);
  const fields = namedEntries(reading, properties, wanted);
  for (const { value } of fields) readField(reading, value);
  const names = fields.map(({ name }) => name);
  readRequired(reading, members.get('required'), names);
}

function reportMissing(reading: DocumentReading, { pointer, offset }: Located, name: string, wanted: string): void {
  reading.problem({ pointer: `${pointer}/${name}`, offset }, `is required; write ${wanted}`);
}

function requireType(reading: DocumentReading, schema: Located, members: ObjectMembers, types: readonly string[]): void {
  const node = members.get('type');
  const choice = `${types.length > 1 ? 'one of ' : ''}${types.map((type) => `"${type}"`).join(', ')}`;
  if (node === undefined) reportMissing(reading, schema, 'type', choice);
  else if (node.kind !== 'string') reading.problem(node, `must be ${choice}`);
  else if (!types.includes(node.value)) {
    const flat =
      node.value === 'object' ? '; a form is flat, so give each value a field of its own' : didYouMean(node.value, types);
    reading.problem(node, `must be ${choice}${flat}`);
  }
}

function readField(reading: DocumentReading, node: Located): void {
  const type = node.kind === 'object' ? node.members.find(({ name }) => name === 'type')?.value : undefined;
  const known = fieldKeywords[type?.kind === 'string' ? type.value : ''];
  // A keyword of any type may be meant.
  const keywords = known ?? Object.values(fieldKeywords).flat();
  const members = readSchema(reading, node, {
    wanted: 'a schema such as { "type": "string" }',
    types: Object.keys(fieldKeywords),
    keywords,
    others: ['default'],
  });
  if (type?.kind !== 'string' || type.value !== 'array') return;
  const wanted = '{ "type": "string" }';
  const items = members.get('items');
  if (items === undefined) reportMissing(reading, node, 'items', wanted);
  else readSchema(reading, items, { wanted, types: ['string'], keywords: ofStrings });
}

interface SchemaRule {
  /** Completes "write …". */
  readonly wanted: string;
  readonly types: readonly string[];
  readonly keywords: readonly FieldKeyword[];
  /** Further members. */
  readonly others?: readonly string[];
}

function readSchema(
  reading: DocumentReading,
  node: Located,
  { wanted, types, keywords, others = [] }: SchemaRule,
): ObjectMembers {
  const members = objectOf(reading, node, { wanted, known: ['type', ...annotations, ...others, ...keywords] });
  if (node.kind !== 'object') return members;
  requireType(reading, node, members, types);
  checkKeywords(reading, members, [...annotations, ...keywords]);
  checkOrder(reading, members);
  return members;
}

function readRequired(reading: DocumentReading, node: Located | undefined, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const item of listItems(reading, node, 'a list of names of fields')) {
    if (item.kind !== 'string') reading.problem(item, 'must be the name of a field');
    else if (!names.includes(item.value)) reading.problem(item, `names no field of "properties"${didYouMean(item.value, names)}`);
    else if (seen.has(item.value)) reading.problem(item, 'is named twice; leave one out');
    if (item.kind === 'string') seen.add(item.value);
  }
}

/** The names of the fields that readers of task data may not see. `text`: of a form. */
export function passwordFieldsOf(text: string): readonly string[] {
  const { properties } = JSON.parse(text) as { readonly properties: Readonly<Record<string, FormField>> };
  const isPassword = ({ format, items }: FormField): boolean => format === 'password' || items?.format === 'password';
  return Object.entries(properties).flatMap(([name, field]) => (isPassword(field) ? [name] : []));
}

interface FormField {
  readonly format?: string;
  readonly items?: FormField;
}
