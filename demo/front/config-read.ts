import { impliedContainer, isWholeList, requireEntries } from '../model/config-edit.ts';
import { type DataNode, type DataObject, entriesOf, isEmptyData, nodeAt, objectOf, textOf } from '../model/data-tree.ts';
import { deviceNamed } from '../model/device.ts';
import { pathText, type Target } from '../model/instance-path.ts';
import { notFound, operationFailed } from '../model/orchestrator-error.ts';
import type { Orchestrator } from '../model/transaction.ts';
import { contentFor, listContent, type View } from '../wire/data-content.ts';
import type { Content } from '../wire/document.ts';

/** The entries of a list to show. */
export interface Window {
  readonly offset: number;
  readonly limit: number;
}

/**
 * The content that a read of `target` shows; undefined where there is none, which NSO answers with 204.
 * @throws OrchestratorError 404 for an absent entry, leaf or presence container; 500 for live status of a locked or unreachable device.
 */
export function readConfig(orchestrator: Orchestrator, target: Target, view: View, window: Window): Content | undefined {
  refuseDeadLiveStatus(orchestrator, target);
  const root = orchestrator.datastore.readable();
  const { steps, schema } = target;
  const node = nodeAt(root, steps);
  if (node === undefined) return absent(root, target);
  if (isWholeList(target) && schema.kind === 'list') {
    const { offset, limit } = window;
    const entries = entriesOf(node).slice(offset, offset + limit);
    return entries.length === 0 ? undefined : listContent(schema, entries, view);
  }
  if (schema.kind === 'list') return listContent(schema, [objectOf(node)], view);
  if (schema.kind === 'container' && isEmptyData(node) && !schema.presence) return undefined;
  return contentFor(schema, wholeValue(target, node), view);
}

/** A single value of a leaf-list is shown as a list of one. */
function wholeValue(target: Target, node: DataNode): DataNode {
  return target.schema.kind === 'leaf-list' && !isWholeList(target) ? ([node] as DataNode) : node;
}

function absent(root: DataObject, target: Target): undefined {
  requireEntries(root, target.steps);
  if (!isWholeList(target) && !impliedContainer(root, target)) throw notFound();
  return undefined;
}

function refuseDeadLiveStatus({ datastore, network }: Orchestrator, { steps }: Target): void {
  if (!steps.some(({ schema }) => schema.name === 'live-status')) return;
  const name = textOf(steps.find(({ schema }) => schema.name === 'device')?.keys?.[0]);
  const device = deviceNamed(datastore.root, name);
  const obstacle = device === undefined ? undefined : network.obstacle(device);
  if (obstacle !== undefined) throw operationFailed(500, obstacle, pathText(steps));
}
