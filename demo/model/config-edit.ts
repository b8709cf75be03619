import {
  type DataNode,
  type DataObject,
  entriesOf,
  keepingState,
  keysOf,
  mergedNode,
  nodeAt,
  objectOf,
  type Step,
  sameData,
  textOf,
  valuesOf,
  withNode,
} from './data-tree.ts';
import { pathText, type Target } from './instance-path.ts';
import { invalidValue, malformed, methodNotAllowed, notFound, OrchestratorError } from './orchestrator-error.ts';
import { type FoundChild, isBranch } from './schema.ts';

/** One member of a request body with its value, validated against the schema. */
export interface BodyMember extends FoundChild {
  readonly value: DataNode;
}

/** A change of the configuration, to be made by a transaction. */
export interface Edit {
  readonly next: DataObject;
  /** The path of a created node, for `Location`. */
  readonly created?: readonly Step[];
}

/** POST: `members` has the one child to create below the target (RFC 8040, 4.4.1). 409 where it exists. */
export function createBelow(root: DataObject, target: Target, members: readonly BodyMember[]): Edit {
  requireEntries(root, target.steps);
  const path = pathText(target.steps);
  const only = members.length === 1 ? members[0] : undefined;
  if (only === undefined) throw malformed(`one child to create was expected below ${path === '' ? '/' : path}`, path);
  const { step, value } = createdStep(only, path);
  const steps = [...target.steps, step];
  const there = nodeAt(root, steps);
  const isEmptyContainer = step.schema.kind === 'container' && !step.schema.presence && sameData(there ?? {}, {});
  if (there !== undefined && !isEmptyContainer) {
    throw new OrchestratorError({ status: 409, tag: 'data-exists', message: `object already exists: ${pathText(steps)}`, path });
  }
  return { next: withNode(root, steps, value), created: steps };
}

function createdStep(member: BodyMember, path: string): { readonly step: Step; readonly value: DataNode } {
  const step = { member: member.member, schema: member.schema };
  if (member.schema.kind === 'list' || member.schema.kind === 'leaf-list') {
    const values = member.schema.kind === 'list' ? entriesOf(member.value) : valuesOf(member.value);
    const [value] = values;
    if (value === undefined || values.length > 1) throw malformed(`one entry of ${member.schema.name} was expected`, path);
    const keys = member.schema.kind === 'list' ? keysOf(member.schema, objectOf(value)) : [textOf(value)];
    return { step: { ...step, keys }, value };
  }
  return { step, value: member.value };
}

/** PUT: the body replaces the target, or creates it where it is absent (RFC 8040, 4.5). */
export function replaceAt(root: DataObject, target: Target, members: readonly BodyMember[]): Edit {
  if (target.steps.length === 0) throw methodNotAllowed('GET, HEAD, OPTIONS, PATCH, POST');
  refuseWholeList(target);
  requireEntries(root, target.steps.slice(0, -1));
  const value = valueForTarget(target, members);
  const before = nodeAt(root, target.steps);
  const kept =
    isBranch(target.schema) && before !== undefined ? keepingState(target.schema, objectOf(before), objectOf(value)) : value;
  return { next: withNode(root, target.steps, kept), ...(before === undefined ? { created: target.steps } : {}) };
}

/** PATCH: the body is merged into the target, which must exist (RFC 8040, 4.6.1); at the root it may have several members. */
export function mergeAt(root: DataObject, target: Target, members: readonly BodyMember[]): Edit {
  if (target.steps.length === 0) return { next: mergeMembers(root, members) };
  const before = nodeAt(root, target.steps);
  if (before === undefined && !impliedContainer(root, target)) {
    throw new OrchestratorError({ status: 404, tag: 'invalid-value', message: 'patch to a nonexistent resource' });
  }
  if (isWholeList(target))
    return { next: withNode(root, target.steps, mergedNode(target.schema, before, memberValue(target, members))) };
  const value = valueForTarget(target, members);
  const schema = target.schema;
  const merged =
    schema.kind === 'list' ? objectOf(entriesOf(mergedNode(schema, [objectOf(before)], [objectOf(value)]))[0]) : undefined;
  return { next: withNode(root, target.steps, merged ?? mergedNode(schema, before, value)) };
}

function mergeMembers(root: DataObject, members: readonly BodyMember[]): DataObject {
  return members.reduce<DataObject>(
    (next, { member, schema, value }) => ({ ...next, [member]: mergedNode(schema, next[member], value) }),
    root,
  );
}

/** DELETE (RFC 8040, 4.7); NSO does not delete a whole list at once. */
export function removeAt(root: DataObject, target: Target): Edit {
  const last = target.steps.at(-1);
  if (last === undefined) throw methodNotAllowed('GET, HEAD, OPTIONS, PATCH, POST');
  refuseWholeList(target);
  const before = nodeAt(root, target.steps);
  if (before === undefined) throw notFound();
  const parent = target.steps.at(-2)?.schema;
  if (parent?.kind === 'list' && parent.keys.includes(last.member))
    throw invalidValue('a key cannot be deleted', pathText(target.steps));
  const state = target.schema.kind === 'container' ? keepingState(target.schema, objectOf(before), {}) : {};
  return { next: withNode(root, target.steps, Object.keys(state).length === 0 ? undefined : state) };
}

/** @throws OrchestratorError 404 where a list entry of the path is absent. */
export function requireEntries(root: DataObject, steps: readonly Step[]): void {
  const last = steps.findLastIndex(({ keys }) => keys !== undefined);
  if (last >= 0 && nodeAt(root, steps.slice(0, last + 1)) === undefined) throw notFound();
}

/** A container without presence exists wherever its parent does (RFC 7950, 7.5.1). */
export function impliedContainer(root: DataObject, { schema, steps }: Target): boolean {
  if (schema.kind !== 'container' || schema.presence) return false;
  requireEntries(root, steps);
  return true;
}

export function isWholeList({ schema, steps }: Target): boolean {
  return (schema.kind === 'list' || schema.kind === 'leaf-list') && steps.at(-1)?.keys === undefined;
}

function refuseWholeList(target: Target): void {
  if (target.schema.kind === 'list' && isWholeList(target)) throw invalidValue('Operation not allowed.', pathText(target.steps));
}

/** The body's one member, which must be the target itself. */
function memberValue(target: Target, members: readonly BodyMember[]): DataNode {
  const path = pathText(target.steps);
  const only = members.length === 1 ? members[0] : undefined;
  if (only === undefined || only.member !== target.steps.at(-1)?.member) {
    throw malformed(`the body must hold only ${target.schema.name}, because it is written to ${path}`, path);
  }
  return only.value;
}

function valueForTarget(target: Target, members: readonly BodyMember[]): DataNode {
  const value = memberValue(target, members);
  const keys = target.steps.at(-1)?.keys;
  if (keys === undefined) return value;
  const path = pathText(target.steps);
  const values = target.schema.kind === 'list' ? entriesOf(value) : valuesOf(value);
  const [only] = values;
  if (only === undefined || values.length > 1) throw malformed(`one entry of ${target.schema.name} was expected`, path);
  const written = target.schema.kind === 'list' ? keysOf(target.schema, objectOf(only)) : [textOf(only)];
  if (!sameData(written, keys)) throw invalidValue('the keys of the body differ from those of the path', path);
  return only;
}
