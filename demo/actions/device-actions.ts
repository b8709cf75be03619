import { createHash } from 'node:crypto';
import { type DataObject, textOf, valuesOf, withNode } from '../model/data-tree.ts';
import { type Device, deviceNamed, devicesOf } from '../model/device.ts';
import { differences } from '../model/difference.ts';
import { pathText, resolvePath } from '../model/instance-path.ts';
import { invalidValue, notFound, OrchestratorError, operationFailed } from '../model/orchestrator-error.ts';
import { refuseWhileLocked, runTransaction } from '../model/transaction.ts';
import { modules, rootSchema } from '../model/yang-modules.ts';
import { hasInput, inputFormat, inputValues } from '../wire/action-input.ts';
import { curlyText } from '../wire/difference-text.ts';
import type { Content } from '../wire/document.ts';
import { dryRunContent } from '../wire/dry-run-content.ts';
import { type ActionCall, type ActionHandler, type ActionOutput, actionTransaction, subjectOf } from './action-call.ts';

/** The result for one device: `result` as NSO names it, absent in a dry run; whether it is positive, and further output. */
interface DeviceResult {
  readonly result?: string | boolean;
  readonly positive: boolean;
  readonly more: readonly Content[];
}

type PerDevice = (call: ActionCall, device: Device) => DeviceResult;

const perDevice: Readonly<Record<string, { readonly run: PerDevice; readonly listName: string }>> = {
  'sync-from': { run: syncFrom, listName: 'sync-result' },
  'sync-to': { run: syncTo, listName: 'sync-result' },
  'check-sync': { run: checkSync, listName: 'sync-result' },
  connect: { run: connect, listName: 'connect-result' },
  'fetch-ssh-host-keys': { run: fetchHostKeys, listName: 'fetch-result' },
};

/** The actions of one device, of a device group and of all devices, by schema path. */
export const deviceActions: readonly (readonly [string, ActionHandler])[] = [
  ...Object.entries(perDevice).flatMap(([name, { run, listName }]): (readonly [string, ActionHandler])[] => [
    [`devices/device/${name}`, (call) => onOne(call, run)],
    [`devices/device-group/${name}`, (call) => onMany(call, run, listName, groupMembers(call))],
    [`devices/${name}`, (call) => onMany(call, run, listName, devicesOf(call.orchestrator.datastore.root))],
  ]),
  ['devices/device/ssh/fetch-host-keys', (call) => onOne(call, fetchHostKeys)],
  ['devices/device/compare-config', compareConfig],
  ['devices/device/live-status/exec/show', execute],
  ['devices/device/live-status/exec/any', execute],
];

function onOne(call: ActionCall, run: PerDevice): ActionOutput {
  return outputOf(call, runOrShow(call, subjectDevice(call), run));
}

function outputOf({ build }: ActionCall, { result, more }: DeviceResult): readonly Content[] {
  return result === undefined ? more : [build.leaf('result', result), ...more];
}

/** With `dry-run` in the input only what the action would do. It needs the device, as the action does. */
function runOrShow(call: ActionCall, device: Device, run: PerDevice): DeviceResult {
  const format = inputFormat(call.input, 'dry-run');
  if (format === undefined) return run(call, device);
  const obstacle = call.orchestrator.network.obstacle(device);
  if (obstacle !== undefined) return failure(call, false, obstacle);
  return { positive: true, more: [dryRunOf(call, device, format)] };
}

function onMany(call: ActionCall, run: PerDevice, listName: string, candidates: readonly Device[]): ActionOutput {
  const names = inputValues(call.input, 'device');
  const unknown = names.find((name) => !candidates.some((device) => device.name === name));
  if (unknown !== undefined) throw invalidValue(`illegal reference: there is no device named ${JSON.stringify(unknown)} here`);
  const quiet = hasInput(call.input, 'suppress-positive-result');
  const results = candidates
    .filter((device) => names.length === 0 || names.includes(device.name))
    .map((device) => ({ device, found: runOrShow(call, device, run) }))
    .filter(({ found }) => !(quiet && found.positive))
    .map(({ device, found }) => [call.build.leaf('device', device.name), ...outputOf(call, found)]);
  return results.length === 0 ? 'no-output' : [call.build.list(listName, results)];
}

function groupMembers(call: ActionCall): readonly Device[] {
  const names = valuesOf(subjectOf(call)['device-name']).map(textOf);
  return devicesOf(call.orchestrator.datastore.root).filter(({ name }) => names.includes(name));
}

/** The device that the action is invoked on or below. */
function subjectDevice({ orchestrator, target }: ActionCall): Device {
  const name = target.steps.find(({ schema }) => schema.name === 'device')?.keys?.[0] ?? '';
  const device = deviceNamed(orchestrator.datastore.root, name);
  if (device === undefined) throw notFound();
  return device;
}

function failure({ build }: ActionCall, result: string | boolean, info: string): DeviceResult {
  return { result, positive: false, more: [build.leaf('info', info)] };
}

const success: DeviceResult = { result: true, positive: true, more: [] };

function syncFrom(call: ActionCall, device: Device): DeviceResult {
  const { orchestrator } = call;
  const obstacle = orchestrator.network.obstacle(device);
  if (obstacle !== undefined) return failure(call, false, obstacle);
  try {
    runTransaction(orchestrator, (root) => withDeviceConfig(root, device.name, orchestrator.network.runningConfig(device.name)), {
      ...actionTransaction(call),
      noNetworking: true,
    });
    return success;
  } catch (error) {
    if (error instanceof OrchestratorError && error.tag === 'operation-failed') return failure(call, false, error.message);
    throw error;
  }
}

function syncTo(call: ActionCall, device: Device): DeviceResult {
  const { datastore, network } = call.orchestrator;
  refuseWhileLocked(datastore, pathText(call.target.steps));
  const obstacle = network.obstacle(device);
  if (obstacle !== undefined) return failure(call, false, obstacle);
  network.push(device.name, device.config);
  return success;
}

function checkSync(call: ActionCall, device: Device): DeviceResult {
  const { network } = call.orchestrator;
  const obstacle = network.obstacle(device);
  if (obstacle !== undefined) return failure(call, device.adminState === 'unlocked' ? 'error' : 'locked', obstacle);
  if (network.isInSync(device)) return { result: 'in-sync', positive: true, more: [] };
  const got = digest(network.runningConfig(device.name));
  return failure(call, 'out-of-sync', `got: ${got} expected: ${digest(device.config)}`);
}

function digest(config: DataObject): string {
  return createHash('sha256').update(JSON.stringify(config)).digest('hex').slice(0, 32);
}

function connect(call: ActionCall, device: Device): DeviceResult {
  const obstacle = call.orchestrator.network.obstacle(device);
  if (obstacle !== undefined) return failure(call, false, obstacle);
  const info = `(${call.user}) Connected to ${device.name} - ${device.address}:${device.port}`;
  return { result: true, positive: true, more: [call.build.leaf('info', info)] };
}

function fetchHostKeys(call: ActionCall, device: Device): DeviceResult {
  const { build, orchestrator } = call;
  const obstacle = orchestrator.network.obstacle(device);
  if (obstacle !== undefined) return failure(call, 'failed', obstacle);
  const fingerprints = ['ssh-ed25519', 'ssh-rsa'].map((algorithm) => {
    const bytes = createHash('sha256').update(`${device.name} ${algorithm}`).digest('hex').slice(0, 32);
    return [build.leaf('algorithm', algorithm), build.leaf('value', bytes.match(/../gu)?.join(':') ?? '')];
  });
  return { result: 'updated', positive: true, more: [build.list('fingerprint', fingerprints)] };
}

function compareConfig(call: ActionCall): ActionOutput {
  const device = subjectDevice(call);
  const { datastore, network } = call.orchestrator;
  const obstacle = network.obstacle(device);
  if (obstacle !== undefined) return [call.build.leaf('info', obstacle)];
  if (network.isInSync(device)) return 'empty-object';
  const onDevice = withDeviceConfig(datastore.root, device.name, network.runningConfig(device.name));
  const changes = differences(rootSchema, datastore.root, onDevice);
  const format = inputFormat(call.input, 'outformat');
  if (format === 'xml') return [dryRunContent(call.build, datastore.root, changes, format)];
  return [call.build.leaf('diff', `\n${curlyText(changes)}`)];
}

/** The change that `sync-from` would make in the orchestrator, or `sync-to` on the device. */
function dryRunOf(call: ActionCall, device: Device, format: 'native' | 'cli' | 'xml'): Content {
  const { datastore, network } = call.orchestrator;
  const onDevice = withDeviceConfig(datastore.root, device.name, network.runningConfig(device.name));
  const [before, after] = call.action.name === 'sync-to' ? [onDevice, datastore.root] : [datastore.root, onDevice];
  return dryRunContent(call.build, datastore.root, differences(rootSchema, before, after), format);
}

function withDeviceConfig(root: DataObject, name: string, config: DataObject): DataObject {
  const place = `tailf-ncs:devices/device=${encodeURIComponent(name)}/config`;
  return withNode(root, resolvePath(rootSchema, place, false).steps, config);
}

/** `live-status … exec`: unlike other actions, it replies 500 for a locked or unreachable device. */
function execute(call: ActionCall): ActionOutput {
  const device = subjectDevice(call);
  const stats = device.ned === 'ios' ? modules.iosStats : modules.xrStats;
  if (device.ned === 'junos' || call.action.module.name !== stats.name) throw notFound();
  const obstacle = call.orchestrator.network.obstacle(device);
  if (obstacle !== undefined) throw operationFailed(500, obstacle, `${pathText(call.target.steps)}/${call.action.name}`);
  const command = inputValues(call.input, 'args').join(' ');
  return [call.build.leaf('result', `\r\n% simulated output of: ${call.action.name} ${command}\r\n${device.name}# `)];
}
