import {
  type DataNode,
  type DataObject,
  entriesOf,
  keysOf,
  objectOf,
  type Scalar,
  sameData,
  textOf,
  valuesOf,
} from './data-tree.ts';
import type { BranchNode, LeafListNode, LeafNode, ListNode, SchemaNode } from './schema.ts';

/** The change of a node: added, removed, or changes below it. */
export type Sign = '+' | '-' | ' ';

/** One node of the difference between two states of the configuration, without operational state. */
export type Difference = BranchDifference | ValueDifference;

export interface BranchDifference {
  readonly kind: 'branch';
  readonly schema: BranchNode;
  readonly sign: Sign;
  /** The keys of a list entry. */
  readonly keys: readonly string[];
  readonly children: readonly Difference[];
}

export interface ValueDifference {
  readonly kind: 'value';
  readonly schema: LeafNode | LeafListNode;
  readonly sign: '+' | '-';
  readonly value: Scalar;
}

/** The difference of two states of one container or list entry. A changed leaf is a removed and an added one. */
export function differences(schema: BranchNode, before: DataObject, after: DataObject): readonly Difference[] {
  if (before === after) return [];
  return [...schema.children].flatMap(([member, child]) => {
    const one = before[member];
    const other = after[member];
    return !child.config || sameData(one, other) ? [] : nodeDifferences(child, one, other);
  });
}

function nodeDifferences(schema: SchemaNode, before: DataNode | undefined, after: DataNode | undefined): readonly Difference[] {
  if (schema.kind === 'leaf') return [...valueDifference(schema, '-', before), ...valueDifference(schema, '+', after)];
  if (schema.kind === 'container') return branchDifference(schema, [], before, after);
  if (schema.kind === 'list') return entryDifferences(schema, entriesOf(before), entriesOf(after));
  const one = valuesOf(before);
  const other = valuesOf(after);
  return [
    ...one.filter((value) => !other.includes(value)).flatMap((value) => valueDifference(schema, '-', value)),
    ...other.filter((value) => !one.includes(value)).flatMap((value) => valueDifference(schema, '+', value)),
  ];
}

function valueDifference(
  schema: LeafNode | LeafListNode,
  sign: '+' | '-',
  value: DataNode | undefined,
): readonly ValueDifference[] {
  return value === undefined ? [] : [{ kind: 'value', schema, sign, value: value as Scalar }];
}

function entryDifferences(schema: ListNode, before: readonly DataObject[], after: readonly DataObject[]): readonly Difference[] {
  const idOf = (entry: DataObject): string => JSON.stringify(keysOf(schema, entry));
  const old = new Map(before.map((entry) => [idOf(entry), entry]));
  const next = new Map(after.map((entry) => [idOf(entry), entry]));
  const gone = before.filter((entry) => !next.has(idOf(entry)));
  return [
    ...gone.flatMap((entry) => branchDifference(schema, keysOf(schema, entry), entry, undefined)),
    ...after.flatMap((entry) => branchDifference(schema, keysOf(schema, entry), old.get(idOf(entry)), entry)),
  ];
}

function branchDifference(
  schema: BranchNode,
  keys: readonly string[],
  before: DataNode | undefined,
  after: DataNode | undefined,
): readonly Difference[] {
  if (sameData(before, after)) return [];
  const sign = before === undefined ? '+' : after === undefined ? '-' : ' ';
  const children = differences(schema, objectOf(before), objectOf(after));
  return sign === ' ' && children.length === 0 ? [] : [{ kind: 'branch', schema, sign, keys, children }];
}

/** The differences below `devices/device/config`, by device name. */
export function differencesByDevice(all: readonly Difference[]): ReadonlyMap<string, readonly Difference[]> {
  const devices = branchesOf(childrenOf(all, 'devices'), 'device');
  const changed = devices.map(({ keys, children }) => [textOf(keys[0]), childrenOf(children, 'config')] as const);
  return new Map(changed.filter(([, config]) => config.length > 0));
}

function childrenOf(all: readonly Difference[], name: string): readonly Difference[] {
  return branchesOf(all, name).flatMap(({ children }) => children);
}

function branchesOf(all: readonly Difference[], name: string): readonly BranchDifference[] {
  return all.filter((difference) => difference.kind === 'branch').filter(({ schema }) => schema.name === name);
}

/** The reverse difference, which undoes the first. */
export function reversed(all: readonly Difference[]): readonly Difference[] {
  return all.map((difference) =>
    difference.kind === 'value'
      ? { ...difference, sign: difference.sign === '+' ? '-' : '+' }
      : { ...difference, sign: opposite[difference.sign], children: reversed(difference.children) },
  );
}

const opposite = { '+': '-', '-': '+', ' ': ' ' } as const;
