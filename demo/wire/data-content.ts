import { type DataNode, type DataObject, entriesOf, objectOf, type Scalar, valuesOf } from '../model/data-tree.ts';
import { isLongNumber } from '../model/leaf-value.ts';
import { type BranchNode, isBranch, type LeafListNode, type LeafNode, type SchemaNode } from '../model/schema.ts';
import type { Content } from './document.ts';
import type { FieldSelection } from './field-selection.ts';

/** Which part of a node is shown. */
export interface View {
  readonly content: 'all' | 'config' | 'nonconfig';
  /** Levels of nodes from the target, which is the first (RFC 8040, 4.8.2). */
  readonly depth: number;
  readonly fields: FieldSelection;
  readonly exclude: FieldSelection | undefined;
  /** Lists below the target show only their keys, like the legacy API without `deep`. */
  readonly listsByKeys: boolean;
  /** Containers below the target are shown empty, like the legacy API with `shallow`. */
  readonly containersEmpty: boolean;
}

const wholeView: View = {
  content: 'all',
  depth: Number.POSITIVE_INFINITY,
  fields: 'all',
  exclude: undefined,
  listsByKeys: false,
  containersEmpty: false,
};

/** The visible content of `node`, which belongs to `schema`; undefined where no part is visible. */
export function contentFor(schema: SchemaNode, node: DataNode, view: View): Content | undefined {
  if (view.content === 'config' && !schema.config) return undefined;
  if (schema.kind === 'leaf' || schema.kind === 'leaf-list') return valueContent(schema, node, view);
  if (schema.kind === 'list') return listContent(schema, entriesOf(node), view);
  const { name, module } = schema;
  const children = childContents(schema, objectOf(node), view);
  return children.length === 0 && holdsOnlyHidden(node, view) ? undefined : { kind: 'container', name, module, children };
}

function valueContent(schema: LeafNode | LeafListNode, node: DataNode, view: View): Content | undefined {
  const { name, module } = schema;
  if (view.content === 'nonconfig' && schema.config) return undefined;
  if (schema.kind === 'leaf-list') return { kind: 'leaf-list', name, module, values: valuesOf(node) };
  return { kind: 'leaf', name, module, value: node as Scalar, ...(isLongNumber(schema.type) ? { long: true } : {}) };
}

/** Like {@link contentFor}, for the entries of a list. An entry always shows its keys, which identify it. */
export function listContent(schema: BranchNode, entries: readonly DataObject[], view: View): Content | undefined {
  if (view.content === 'nonconfig' ? !holdsState(schema) : view.content === 'config' && !schema.config) return undefined;
  const { name, module } = schema;
  return { kind: 'list', name, module, entries: entries.map((entry) => childContents(schema, entry, view)) };
}

/** The visible members of a container or list entry. */
function childContents(schema: BranchNode, data: DataObject, view: View): readonly Content[] {
  if (view.depth <= 1) return [];
  return [...schema.children].flatMap(([member, child]) => {
    const node = data[member];
    if (node === undefined) return [];
    const inner = viewBelow(schema, member, child, view);
    const content = inner === undefined ? undefined : contentFor(child, node, inner);
    return content === undefined ? [] : [content];
  });
}

function viewBelow(schema: BranchNode, member: string, child: SchemaNode, view: View): View | undefined {
  const isKey = schema.kind === 'list' && schema.keys.includes(member);
  if (isKey) return { ...wholeView };
  const { fields, exclude } = view;
  const wanted = fields === 'all' ? 'all' : fields.get(member);
  const unwanted = exclude === undefined || exclude === 'all' ? exclude : exclude.get(member);
  if (wanted === undefined || unwanted === 'all') return undefined;
  return { ...view, depth: depthBelow(child, view), fields: fieldsBelow(child, view, wanted), exclude: unwanted };
}

function depthBelow(child: SchemaNode, view: View): number {
  return child.kind === 'container' && view.containersEmpty ? 1 : view.depth - 1;
}

function fieldsBelow(child: SchemaNode, view: View, wanted: FieldSelection): FieldSelection {
  return child.kind === 'list' && view.listsByKeys && wanted === 'all' ? new Map() : wanted;
}

/** Whether a filter hides all members of a container. An empty container, or one cut by `depth`, is shown. */
function holdsOnlyHidden(node: DataNode, view: View): boolean {
  const filtered = view.content !== 'all' || view.fields !== 'all' || view.exclude !== undefined;
  return filtered && view.depth > 1 && Object.keys(objectOf(node)).length > 0;
}

function holdsState(schema: SchemaNode): boolean {
  return !schema.config || (isBranch(schema) && [...schema.children.values()].some(holdsState));
}
