import { isUtf8 } from 'node:buffer';
import type { RequestProblem } from '#base/gateway-error.ts';
import { pointerTo } from '#json/json-pointer.ts';
import { JsonSyntaxError } from '#json/json-scanner.ts';
import { type JsonNode, readJsonTree } from '#json/json-tree.ts';
import { createProblemList, type ProblemList } from '#json/problem-list.ts';
import { didYouMean } from '#yaml/nearest.ts';
import { checkKeyword, checkOrder, type FieldKeyword } from './form-keywords.ts';

/** Bytes. */
export const formSizeLimit = 65_536;

/** What the catalogue knows of a form, or every problem of its document. */
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
 * Reads the form of an automation: a JSON Schema 2020-12 of one flat object. Its default values are not held against their fields here, since
 * a pattern may take all of a processor.
 */
export function readForm(bytes: Buffer): FormReading {
  const list = createProblemList();
  const root = readTree(bytes, list);
  if (root === undefined) return { problems: list.problems };
  const members = membersOf(list, {
    node: root,
    pointer: '',
    known: formMembers,
    wanted: 'an object with "type" and "properties"',
  });
  if (members === undefined) return { problems: list.problems };
  readDialect(list, members.get('$schema'));
  requireType(list, { node: members.get('type'), pointer: '', types: ['object'] });
  for (const name of annotations) checkKeyword(list, name, { node: members.get(name), pointer: `/${name}` });
  checkKeyword(list, 'additionalProperties', { node: members.get('additionalProperties'), pointer: '/additionalProperties' });
  const names = readFields(list, members.get('properties'));
  readRequired(list, members.get('required'), names);
  const title = members.get('title');
  return list.problems.length > 0 ? { problems: list.problems } : { title: title?.kind === 'string' ? title.value : undefined };
}

function readTree(bytes: Buffer, list: ProblemList): JsonNode | undefined {
  if (!isUtf8(bytes)) {
    list.add('', 'is not UTF-8');
    return undefined;
  }
  try {
    return readJsonTree(bytes);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    list.add('', `is no JSON at byte ${error.offset}: ${error.message}`);
    return undefined;
  }
}

interface ObjectRule {
  readonly node: JsonNode;
  readonly pointer: string;
  /** Absent: any name. */
  readonly known?: readonly string[];
  /** Completes "write …". */
  readonly wanted: string;
}

/** The members of an object by name; reports those that are unknown or repeated. Undefined where it is none. */
function membersOf(list: ProblemList, { node, pointer, known, wanted }: ObjectRule): ReadonlyMap<string, JsonNode> | undefined {
  if (node.kind !== 'object') {
    list.add(pointer, `is no object; write ${wanted}`);
    return undefined;
  }
  const members = new Map<string, JsonNode>();
  for (const [name, value] of node.members) {
    const at = pointerTo(pointer, name);
    if (members.has(name)) list.add(at, 'is given twice; leave one out');
    else if (known?.includes(name) === false) list.add(at, unknown(name, known));
    members.set(name, value);
  }
  return members;
}

function unknown(name: string, known: readonly string[]): string {
  const suggestion = didYouMean(name, known);
  return `is not part of a form here${suggestion === '' ? `; leave it out, or write one of ${known.join(', ')}` : suggestion}`;
}

const dialect = 'https://json-schema.org/draft/2020-12/schema';

function readDialect(list: ProblemList, node: JsonNode | undefined): void {
  if (node === undefined || (node.kind === 'string' && node.value.replace(/#$/u, '') === dialect)) return;
  list.add('/$schema', `must be "${dialect}", or be left out`);
}

interface TypeRule {
  readonly node: JsonNode | undefined;
  /** Of the schema that has the type. */
  readonly pointer: string;
  readonly types: readonly string[];
}

function requireType(list: ProblemList, { node, pointer, types }: TypeRule): string | undefined {
  const at = `${pointer}/type`;
  const choice = types.map((type) => `"${type}"`).join(', ');
  if (node === undefined) list.add(at, `is required; write ${types.length > 1 ? 'one of ' : ''}${choice}`);
  else if (node.kind !== 'string') list.add(at, `must be ${types.length > 1 ? 'one of ' : ''}${choice}`);
  else if (types.includes(node.value)) return node.value;
  else {
    const flat =
      node.value === 'object' ? '; a form is flat, so give each value a field of its own' : didYouMean(node.value, types);
    list.add(at, `must be ${types.length > 1 ? 'one of ' : ''}${choice}${flat}`);
  }
  return undefined;
}

/** Answers the names of the fields. */
function readFields(list: ProblemList, node: JsonNode | undefined): readonly string[] {
  if (node === undefined) {
    list.add('/properties', 'is required; write an object with a schema for each field');
    return [];
  }
  const fields = membersOf(list, { node, pointer: '/properties', wanted: 'an object with a schema for each field' });
  for (const [name, field] of fields ?? []) readField(list, field, pointerTo('/properties', name));
  return [...(fields?.keys() ?? [])];
}

function readField(list: ProblemList, node: JsonNode, pointer: string): void {
  const wanted = 'a schema such as { "type": "string" }';
  const type = node.kind === 'object' ? node.members.find(([name]) => name === 'type')?.[1] : undefined;
  const known = fieldKeywords[type?.kind === 'string' ? type.value : ''];
  // Where the type is wrong, a keyword of any type may be meant.
  const keywords = known ?? Object.values(fieldKeywords).flat();
  const members = membersOf(list, { node, pointer, known: ['type', ...annotations, 'default', ...keywords], wanted });
  if (members === undefined) return;
  requireType(list, { node: type, pointer, types: Object.keys(fieldKeywords) });
  checkMembers(list, members, { pointer, keywords: [...annotations, ...keywords] });
  if (type?.kind === 'string' && type.value === 'array') readItems(list, members.get('items'), `${pointer}/items`);
}

function checkMembers(
  list: ProblemList,
  members: ReadonlyMap<string, JsonNode>,
  { pointer, keywords }: { readonly pointer: string; readonly keywords: readonly FieldKeyword[] },
): void {
  for (const keyword of keywords) checkKeyword(list, keyword, { node: members.get(keyword), pointer: `${pointer}/${keyword}` });
  checkOrder(list, members, pointer);
}

function readItems(list: ProblemList, node: JsonNode | undefined, pointer: string): void {
  if (node === undefined) return list.add(pointer, 'is required; write { "type": "string" }');
  const known = ['type', ...annotations, ...ofStrings];
  const members = membersOf(list, { node, pointer, known, wanted: '{ "type": "string" }' });
  if (members === undefined) return undefined;
  requireType(list, { node: members.get('type'), pointer, types: ['string'] });
  return checkMembers(list, members, { pointer, keywords: [...annotations, ...ofStrings] });
}

function readRequired(list: ProblemList, node: JsonNode | undefined, names: readonly string[]): void {
  if (node === undefined) return;
  if (node.kind !== 'array') return list.add('/required', 'must be a list of names of fields');
  const seen = new Set<string>();
  for (const [index, item] of node.items.entries()) {
    const at = `/required/${index}`;
    if (item.kind !== 'string') list.add(at, 'must be the name of a field');
    else if (!names.includes(item.value)) list.add(at, `names no field of "properties"${didYouMean(item.value, names)}`);
    else if (seen.has(item.value)) list.add(at, 'is named twice; leave one out');
    if (item.kind === 'string') seen.add(item.value);
  }
}
