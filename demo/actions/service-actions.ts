import { type DataObject, nodeAt, sameData, textOf } from '../model/data-tree.ts';
import { deviceNamed } from '../model/device.ts';
import { differences, reversed } from '../model/difference.ts';
import { deployed, modificationsOf, undeployed } from '../model/service-mapping.ts';
import { runTransaction } from '../model/transaction.ts';
import { rootSchema } from '../model/yang-modules.ts';
import { hasInput, inputFormat } from '../wire/action-input.ts';
import { dryRunContent } from '../wire/dry-run-content.ts';
import { type ActionCall, type ActionHandler, type ActionOutput, actionTransaction, subjectOf } from './action-call.ts';

/** The actions of a service instance, by schema path. */
export const serviceActions: readonly (readonly [string, ActionHandler])[] = [
  ['vpn/l3vpn/re-deploy', (call) => changeDevices(call, deployed)],
  ['vpn/l3vpn/un-deploy', (call) => changeDevices(call, undeployed)],
  ['vpn/l3vpn/get-modifications', getModifications],
  ['vpn/l3vpn/check-sync', checkSync],
];

function changeDevices(call: ActionCall, change: (root: DataObject, service: DataObject) => DataObject): ActionOutput {
  const { orchestrator, input, build } = call;
  const service = subjectOf(call);
  const format = inputFormat(input, 'dry-run');
  const { differences: all } = runTransaction(orchestrator, (root) => change(root, service), {
    ...actionTransaction(call),
    dryRun: format !== undefined,
    noNetworking: hasInput(input, 'no-networking'),
    noOutOfSyncCheck: hasInput(input, 'no-out-of-sync-check'),
  });
  return format === undefined ? 'no-output' : [dryRunContent(build, orchestrator.datastore.root, all, format)];
}

function getModifications(call: ActionCall): ActionOutput {
  const { root } = call.orchestrator.datastore;
  const all = differences(rootSchema, undeployed(root, subjectOf(call)), root);
  const shown = hasInput(call.input, 'reverse') ? reversed(all) : all;
  return [dryRunContent(call.build, root, shown, inputFormat(call.input, 'outformat') ?? 'cli')];
}

/** A service is in sync if the orchestrator has its device configuration and its devices run it. */
function checkSync(call: ActionCall): ActionOutput {
  const { datastore, network } = call.orchestrator;
  const modifications = modificationsOf(datastore.root, subjectOf(call));
  const inSync = modifications.every(({ device: name, steps, value }) => {
    const device = deviceNamed(datastore.root, textOf(name));
    return device !== undefined && network.isInSync(device) && sameData(nodeAt(datastore.root, steps), value);
  });
  return [call.build.leaf('in-sync', inSync)];
}
