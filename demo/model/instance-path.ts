import type { Step } from './data-tree.ts';
import { notFound, OrchestratorError } from './orchestrator-error.ts';
import {
  type ActionNode,
  type BranchNode,
  type ContainerNode,
  childNamed,
  isBranch,
  memberName,
  type SchemaNode,
} from './schema.ts';
import { modules } from './yang-modules.ts';

/** The target of a request path: a node (the root has no steps), or an action below a node. */
export interface Target {
  readonly steps: readonly Step[];
  readonly schema: SchemaNode;
  readonly action?: ActionNode;
}

/**
 * Resolves the part of a RESTCONF path after the datastore or `/operations`, in its form on the wire (RFC 8040, 3.5.3). Keys follow
 * `=`, separated by commas, percent-encoded. `lenient` allows a path without module names, as NSO does below `/operations`.
 * @throws OrchestratorError 404 for a path unknown to the schema or a wrong number of keys, 400 for bad percent-encoding.
 */
export function resolvePath(root: ContainerNode, rawPath: string, lenient: boolean): Target {
  const segments = rawPath.split('/').filter((segment) => segment !== '');
  const steps: Step[] = [];
  let schema: SchemaNode = root;
  for (const [index, segment] of segments.entries()) {
    if (!isBranch(schema)) throw notFound();
    const [name, keyText] = splitOnce(segment, '=');
    const child = childNamed(schema, decoded(name), lenient);
    if (child === undefined) {
      const action = actionNamed(schema, decoded(name), steps);
      if (action === undefined || keyText !== undefined || index < segments.length - 1) throw notFound();
      return { steps, schema, action };
    }
    refuseWalkThroughList(schema, steps);
    schema = child.schema;
    steps.push({ ...child, ...(keyText === undefined ? {} : { keys: keysFor(schema, keyText.split(',')) }) });
  }
  return { steps, schema };
}

/** Resolves a path of NSO's legacy API, in which the keys of a list entry are segments (`/devices/device/ce0`). */
export function resolveLegacyPath(root: ContainerNode, rawPath: string): Target {
  const segments = rawPath.split('/').filter((segment) => segment !== '');
  const steps: Step[] = [];
  let schema: SchemaNode = root;
  while (segments.length > 0) {
    const name = decoded(segments.shift() ?? '');
    if (!isBranch(schema)) throw notFound();
    if (name === '_operations') return { steps, schema, action: legacyAction(schema, segments) };
    const child = childNamed(schema, name, true);
    if (child === undefined) throw notFound();
    schema = child.schema;
    steps.push({ ...child, ...legacyKeys(schema, segments) });
  }
  return { steps, schema };
}

/** Takes the next segment as the keys of a list entry or the value of a leaf-list, where the schema has such. */
function legacyKeys(schema: SchemaNode, segments: string[]): Pick<Step, 'keys'> {
  const takesKeys =
    (schema.kind === 'list' || schema.kind === 'leaf-list') && segments[0] !== undefined && segments[0] !== '_operations';
  return takesKeys ? { keys: keysFor(schema, (segments.shift() ?? '').split(',')) } : {};
}

function legacyAction(schema: BranchNode, rest: readonly string[]): ActionNode {
  const action = rest.length === 1 ? actionNamed(schema, decoded(rest[0] ?? ''), []) : undefined;
  if (action === undefined) throw notFound();
  return action;
}

function actionNamed(schema: BranchNode, written: string, steps: readonly Step[]): ActionNode | undefined {
  const whole = schema.kind === 'list' && steps.at(-1)?.keys === undefined && steps.length > 0;
  return whole ? undefined : schema.actions.get(written.slice(written.indexOf(':') + 1));
}

/** @throws OrchestratorError 404 for a path below a list that names no entry. */
function refuseWalkThroughList(schema: BranchNode, steps: readonly Step[]): void {
  if (schema.kind === 'list' && steps.at(-1)?.keys === undefined) throw notFound();
}

function keysFor(schema: SchemaNode, rawKeys: readonly string[]): readonly string[] {
  const wanted = schema.kind === 'list' ? schema.keys.length : Number(schema.kind === 'leaf-list');
  if (rawKeys.length !== wanted) throw notFound();
  return rawKeys.map(decoded);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new OrchestratorError({
      status: 400,
      tag: 'malformed-message',
      message: `bad percent-encoding in ${text}`,
      type: 'protocol',
    });
  }
}

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Steps as a RESTCONF path with its leading slash, keys percent-encoded: for `Location` and `error-path`. */
export function pathText(steps: readonly Step[]): string {
  let parent: { readonly module: SchemaNode['module'] } = { module: modules.root };
  let text = '';
  for (const { schema, keys } of steps) {
    text += `/${memberName(schema, parent.module)}`;
    if (keys !== undefined) text += `=${keys.map(encodeURIComponent).join(',')}`;
    parent = schema;
  }
  return text;
}

/** Steps as a path of the legacy API: keys are segments, and there are no module names. */
export function legacyPathText(steps: readonly Step[]): string {
  return steps
    .map(
      ({ schema, keys }) =>
        `/${[schema.name, ...(keys === undefined ? [] : [keys.map(encodeURIComponent).join(',')])].join('/')}`,
    )
    .join('');
}
