/** The parts of a YANG module that are used on the wire: its name in JSON, namespace in XML, prefix in messages. */
export interface YangModule {
  readonly name: string;
  readonly namespace: string;
  readonly prefix: string;
}

/** YANG types that the demo uses. `refersTo` is a leafref: the schema path of a list whose first key it names. */
export type LeafType =
  | 'string'
  | 'boolean'
  | 'empty'
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64'
  | 'decimal64'
  | { readonly oneOf: readonly string[] }
  | { readonly refersTo: string };

interface Named {
  readonly name: string;
  readonly module: YangModule;
  /** False for operational state, which is read with `content=nonconfig` and never written. */
  readonly config: boolean;
}

/** An action (RFC 7950, 7.15) with the allowed names of its input. */
export interface ActionNode {
  readonly name: string;
  readonly module: YangModule;
  readonly input: readonly string[];
}

export interface LeafNode extends Named {
  readonly kind: 'leaf';
  readonly type: LeafType;
}

export interface LeafListNode extends Named {
  readonly kind: 'leaf-list';
  readonly type: LeafType;
}

interface Branch extends Named {
  /** Keyed by the JSON member name of RFC 7951, section 4: `module:name` where the module changes, else `name`. */
  readonly children: ReadonlyMap<string, SchemaNode>;
  readonly actions: ReadonlyMap<string, ActionNode>;
}

export interface ContainerNode extends Branch {
  readonly kind: 'container';
  readonly presence: boolean;
}

export interface ListNode extends Branch {
  readonly kind: 'list';
  readonly keys: readonly string[];
}

export type BranchNode = ContainerNode | ListNode;
export type SchemaNode = BranchNode | LeafNode | LeafListNode;

interface BranchOptions {
  readonly children?: readonly SchemaNode[];
  readonly actions?: readonly ActionNode[];
}

/** Constructors of the schema nodes of one module. */
export interface ModuleBuilder {
  leaf(name: string, type: LeafType): LeafNode;
  leafList(name: string, type: LeafType): LeafListNode;
  container(name: string, options: BranchOptions & { readonly presence?: boolean }): ContainerNode;
  list(name: string, options: BranchOptions & { readonly keys: readonly string[] }): ListNode;
  action(name: string, ...input: readonly string[]): ActionNode;
}

/** Starts the definition of a module. */
export function yangModule(module: YangModule): ModuleBuilder {
  const branch = (name: string, { children = [], actions = [] }: BranchOptions) => ({
    name,
    module,
    config: true,
    children: new Map(children.map((child) => [memberName(child, module), child])),
    actions: new Map(actions.map((action) => [action.name, action])),
  });
  return {
    leaf: (name, type) => ({ kind: 'leaf', name, module, config: true, type }),
    leafList: (name, type) => ({ kind: 'leaf-list', name, module, config: true, type }),
    container: (name, options) => ({ kind: 'container', ...branch(name, options), presence: options.presence ?? false }),
    list: (name, options) => ({ kind: 'list', ...branch(name, options), keys: options.keys }),
    action: (name, ...input) => ({ name, module, input }),
  };
}

/** The node with itself and all nodes below marked as operational state. */
export function operational<Node extends SchemaNode>(node: Node): Node {
  if (!isBranch(node)) return { ...node, config: false };
  const children = new Map([...node.children].map(([member, child]) => [member, operational(child)]));
  return { ...node, config: false, children };
}

export function isBranch(node: SchemaNode): node is BranchNode {
  return node.kind === 'container' || node.kind === 'list';
}

/** The name of a node as a JSON member below a parent of `parent` (RFC 7951, section 4). */
export function memberName(node: Pick<SchemaNode, 'name' | 'module'>, parent: YangModule): string {
  return node.module.name === parent.name ? node.name : `${node.module.name}:${node.name}`;
}

/** A child found by a client's name, with the member name of its data. */
export interface FoundChild {
  readonly member: string;
  readonly schema: SchemaNode;
}

/**
 * Finds a child by `name` or `module:name`. `lenient` also accepts a bare name where the module changes, and a module's prefix instead of
 * its name, like the legacy API. A bare name that two modules define is not found then.
 */
export function childNamed(parent: BranchNode, written: string, lenient: boolean): FoundChild | undefined {
  const exact = parent.children.get(written);
  if (exact !== undefined) return { member: written, schema: exact };
  const colon = written.indexOf(':');
  const module = colon < 0 ? undefined : written.slice(0, colon);
  const name = written.slice(colon + 1);
  if (module === parent.module.name) return found(parent, name);
  if (!lenient) return undefined;
  const matches = [...parent.children].filter(
    ([, child]) => child.name === name && (module === undefined || [child.module.name, child.module.prefix].includes(module)),
  );
  const only = matches.length === 1 ? matches[0] : undefined;
  return only === undefined ? undefined : { member: only[0], schema: only[1] };
}

function found(parent: BranchNode, member: string): FoundChild | undefined {
  const schema = parent.children.get(member);
  return schema === undefined ? undefined : { member, schema };
}
