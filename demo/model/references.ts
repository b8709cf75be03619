import { type DataNode, type DataObject, entriesOf, keysOf, nodeAt, objectOf, type Step, textOf, valuesOf } from './data-tree.ts';
import { pathText, resolvePath } from './instance-path.ts';
import { invalidValue } from './orchestrator-error.ts';
import { type BranchNode, isBranch, type LeafListNode, type LeafNode, type SchemaNode } from './schema.ts';
import { rootSchema } from './yang-modules.ts';

type Names = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Checks every leafref of the configuration.
 * @throws OrchestratorError 400 invalid-value for the first reference to an absent entry.
 */
export function checkReferences(root: DataObject): void {
  const names = new Map<string, ReadonlySet<string>>();
  for (const list of ['devices/authgroups/group', 'devices/device']) names.set(list, namesIn(root, list));
  checkBranch(rootSchema, root, [], names);
}

function namesIn(root: DataObject, list: string): ReadonlySet<string> {
  const { steps, schema } = resolvePath(rootSchema, list, true);
  return new Set(entriesOf(nodeAt(root, steps)).map((entry) => keysOf(schema, entry)[0] ?? ''));
}

function checkBranch(schema: BranchNode, data: DataObject, steps: readonly Step[], names: Names): void {
  for (const [member, node] of Object.entries(data)) {
    const child = schema.children.get(member);
    if (child?.config === true) checkNode(child, node, [...steps, { member, schema: child }], names);
  }
}

function checkNode(schema: SchemaNode, node: DataNode, steps: readonly Step[], names: Names): void {
  if (!isBranch(schema)) {
    checkValues(schema, node, steps, names);
  } else if (schema.kind === 'container') {
    checkBranch(schema, objectOf(node), steps, names);
  } else {
    const last = steps.at(-1);
    for (const entry of last === undefined ? [] : entriesOf(node)) {
      checkBranch(schema, entry, [...steps.slice(0, -1), { member: schema.name, schema, keys: keysOf(schema, entry) }], names);
    }
  }
}

function checkValues(schema: LeafNode | LeafListNode, node: DataNode, steps: readonly Step[], names: Names): void {
  if (typeof schema.type !== 'object' || !('refersTo' in schema.type)) return;
  const known = names.get(schema.type.refersTo);
  const values = schema.kind === 'leaf' ? [textOf(node)] : valuesOf(node).map(textOf);
  const dangling = values.find((value) => known?.has(value) !== true);
  if (dangling === undefined) return;
  const path = pathText(steps);
  throw invalidValue(`illegal reference ${path}: there is no ${schema.type.refersTo} named ${JSON.stringify(dangling)}`, path);
}
