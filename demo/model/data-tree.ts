import { isDeepStrictEqual } from 'node:util';
import { type BranchNode, isBranch, type SchemaNode } from './schema.ts';

/** A leaf's value as RFC 7951 writes it (64-bit integers and decimals are strings); `null` is a leaf of type empty. */
export type Scalar = string | number | boolean | null;

/** The data of a schema node: a leaf's value, a leaf-list's values, a container, or a list's entries. It is immutable. */
export type DataNode = Scalar | readonly Scalar[] | DataObject | readonly DataObject[];

/** A container or list entry; its members are named as in RFC 7951. */
export interface DataObject {
  readonly [member: string]: DataNode;
}

/** One step of the path from the root to a node; `keys` selects a list entry, or a value of a leaf-list. */
export interface Step {
  readonly member: string;
  readonly schema: SchemaNode;
  readonly keys?: readonly string[];
}

export function objectOf(node: DataNode | undefined): DataObject {
  return typeof node === 'object' && node !== null && !Array.isArray(node) ? (node as DataObject) : {};
}

export function entriesOf(node: DataNode | undefined): readonly DataObject[] {
  return Array.isArray(node) ? (node as readonly DataObject[]) : [];
}

export function valuesOf(node: DataNode | undefined): readonly Scalar[] {
  return Array.isArray(node) ? (node as readonly Scalar[]) : [];
}

/** A leaf's value as text; the empty string for an absent leaf. */
export function textOf(node: DataNode | undefined): string {
  return typeof node === 'string' || typeof node === 'number' || typeof node === 'boolean' ? String(node) : '';
}

/** The key values of a list entry, in the order of the schema. */
export function keysOf(schema: SchemaNode, entry: DataObject): readonly string[] {
  return schema.kind === 'list' ? schema.keys.map((key) => textOf(entry[key])) : [];
}

/** Whether two nodes hold the same data, in any order of members. */
export function sameData(one: DataNode | undefined, other: DataNode | undefined): boolean {
  return one === other || isDeepStrictEqual(one, other);
}

/** Whether a container holds no data at any depth, which gives 204. */
export function isEmptyData(node: DataNode | undefined): boolean {
  if (node === undefined) return true;
  if (Array.isArray(node)) return node.length === 0;
  if (typeof node !== 'object' || node === null) return false;
  return Object.values(node).every((child) => typeof child === 'object' && child !== null && isEmptyData(child));
}

/** The node at the end of `steps`, or undefined. */
export function nodeAt(root: DataObject, steps: readonly Step[]): DataNode | undefined {
  let node: DataNode | undefined = root;
  for (const { member, schema, keys } of steps) {
    node = objectOf(node)[member];
    if (keys !== undefined) node = pick(schema, node, keys);
    if (node === undefined) return undefined;
  }
  return node;
}

function pick(schema: SchemaNode, node: DataNode | undefined, keys: readonly string[]): DataNode | undefined {
  if (schema.kind === 'leaf-list') return valuesOf(node).find((value) => textOf(value) === keys[0]);
  const entries = entriesOf(node);
  return entries[indexOfEntry(schema, entries, keys)];
}

/** The root with `value` at the end of `steps` (undefined removes the node). Missing containers of the path are created. */
export function withNode(root: DataObject, steps: readonly Step[], value: DataNode | undefined): DataObject {
  const [step, ...rest] = steps;
  if (step === undefined) return objectOf(value);
  const { member, schema, keys } = step;
  const there = root[member];
  if (keys === undefined) return withMember(root, member, rest.length === 0 ? value : withNode(objectOf(there), rest, value));
  if (schema.kind === 'leaf-list') return withMember(root, member, withValue(valuesOf(there), keys, value));
  const entries = entriesOf(there);
  const index = indexOfEntry(schema, entries, keys);
  const entry = rest.length === 0 ? value : withNode(entries[index] ?? {}, rest, value);
  return withMember(root, member, withEntry(entries, index, entry));
}

function withValue(values: readonly Scalar[], keys: readonly string[], value: DataNode | undefined): readonly Scalar[] {
  const others = values.filter((other) => textOf(other) !== keys[0]);
  return value === undefined ? others : [...others, value as Scalar];
}

function withEntry(entries: readonly DataObject[], index: number, entry: DataNode | undefined): readonly DataObject[] {
  if (entry === undefined) return index < 0 ? entries : entries.toSpliced(index, 1);
  return index < 0 ? [...entries, objectOf(entry)] : entries.with(index, objectOf(entry));
}

function withMember(object: DataObject, member: string, value: DataNode | undefined): DataObject {
  if (value !== undefined && !(Array.isArray(value) && value.length === 0)) return { ...object, [member]: value };
  const { [member]: _removed, ...others } = object;
  return others;
}

/** `there` with `incoming` merged into it as by a plain PATCH (RFC 8040, 4.6.1). Other members stay. */
function mergedObject(schema: BranchNode, there: DataObject, incoming: DataObject): DataObject {
  let merged = there;
  for (const [member, value] of Object.entries(incoming)) {
    const child = schema.children.get(member);
    if (child !== undefined) merged = { ...merged, [member]: mergedNode(child, merged[member], value) };
  }
  return merged;
}

/** Like {@link mergedObject}, for the data of any schema node. */
export function mergedNode(schema: SchemaNode, there: DataNode | undefined, incoming: DataNode): DataNode {
  if (schema.kind === 'leaf') return incoming;
  if (schema.kind === 'container') return mergedObject(schema, objectOf(there), objectOf(incoming));
  if (schema.kind === 'leaf-list') {
    const present = valuesOf(there);
    return [...present, ...valuesOf(incoming).filter((value) => !present.includes(value))];
  }
  let entries = entriesOf(there);
  for (const entry of entriesOf(incoming)) {
    const index = indexOfEntry(schema, entries, keysOf(schema, entry));
    const merged = mergedObject(schema, entries[index] ?? {}, entry);
    entries = index < 0 ? [...entries, merged] : entries.with(index, merged);
  }
  return entries;
}

function indexOfEntry(schema: SchemaNode, entries: readonly DataObject[], keys: readonly string[]): number {
  return entries.findIndex((entry) => isDeepStrictEqual(keysOf(schema, entry), keys));
}

/** `next` with the operational state of `before`, which a write never changes. */
export function keepingState(schema: BranchNode, before: DataObject, next: DataObject): DataObject {
  let kept = next;
  for (const [member, child] of schema.children) {
    const old = before[member];
    if (old === undefined) continue;
    if (!child.config) kept = { ...kept, [member]: old };
    else if (isBranch(child)) kept = withMember(kept, member, keptNode(child, old, kept[member]));
  }
  return kept;
}

function keptNode(schema: BranchNode, before: DataNode, next: DataNode | undefined): DataNode | undefined {
  if (schema.kind === 'container') {
    const kept = keepingState(schema, objectOf(before), objectOf(next));
    return next === undefined && Object.keys(kept).length === 0 ? undefined : kept;
  }
  const old = entriesOf(before);
  return entriesOf(next).map((entry) => {
    const same = old.find((other) => sameData(keysOf(schema, other), keysOf(schema, entry)));
    return same === undefined || same === entry ? entry : keepingState(schema, same, entry);
  });
}
