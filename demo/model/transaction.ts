import type { DataObject } from './data-tree.ts';
import type { Datastore } from './datastore.ts';
import { type Device, type DeviceNetwork, deviceNamed } from './device.ts';
import { type Difference, differences, differencesByDevice } from './difference.ts';
import { OrchestratorError, operationFailed } from './orchestrator-error.ts';
import { checkReferences } from './references.ts';
import { withServicesMapped } from './service-mapping.ts';
import { rootSchema } from './yang-modules.ts';

/** The orchestrator's state: its datastore and its network. */
export interface Orchestrator {
  readonly datastore: Datastore;
  readonly network: DeviceNetwork;
  /** Which version of NSO it is like. */
  readonly release: DemoRelease;
}

export type DemoRelease = '6.4' | '6.7';

/** Options of a transaction. */
export interface TransactionOptions {
  readonly user: string;
  /** The path of the request, which is the `error-path` of a refusal. */
  readonly path: string;
  /** Computes only the difference, without a commit and without devices. */
  readonly dryRun: boolean;
  /** Commits the change without devices, which leaves them out of sync. */
  readonly noNetworking: boolean;
  readonly noOutOfSyncCheck: boolean;
  readonly label: string;
  readonly comment: string;
  /** Runs service code after the change; false for changes that come from service code. */
  readonly mapsServices: boolean;
}

interface TransactionResult {
  readonly differences: readonly Difference[];
  /** The number by which the commit can be undone; absent after a dry run. */
  readonly rollbackId?: number;
}

/** Every simulated device refuses a leaf whose value contains this text. */
const refusedValue = 'refused-by-device';

/**
 * Makes a change in one transaction: service code, references, devices, then the datastore; all of it or nothing.
 * @throws OrchestratorError 400 for a dangling reference, 409 while the datastore is locked, 500 and 502 for devices.
 * 500 is for a device that is locked or refuses the change, 502 for one that is out of sync or unreachable.
 */
export function runTransaction(
  { datastore, network }: Orchestrator,
  change: (root: DataObject) => DataObject,
  options: TransactionOptions,
): TransactionResult {
  if (!options.dryRun) refuseWhileLocked(datastore, options.path);
  const before = datastore.root;
  const changed = change(before);
  const next = options.mapsServices ? withServicesMapped(before, changed) : changed;
  checkReferences(next);
  const all = differences(rootSchema, before, next);
  if (options.dryRun) return { differences: all };
  pushToDevices(network, before, next, all, options);
  return { differences: all, rollbackId: datastore.commit(next, options) };
}

/** @throws OrchestratorError 409 lock-denied (RFC 8040, section 7) while the datastore is locked. */
export function refuseWhileLocked(datastore: Datastore, path: string): void {
  if (!datastore.locked) return;
  const message = 'the configuration database is locked by session 17 demo (POST /demo/unlock releases it)';
  throw new OrchestratorError({ status: 409, tag: 'lock-denied', message, path, type: 'protocol' });
}

function pushToDevices(
  network: DeviceNetwork,
  before: DataObject,
  next: DataObject,
  all: readonly Difference[],
  options: TransactionOptions,
): void {
  const pushes: Device[] = [];
  for (const [name, changes] of differencesByDevice(all)) {
    const device = deviceNamed(next, name);
    if (device === undefined) continue;
    refuseLocked(device, options);
    if (options.noNetworking || device.adminState === 'southbound-locked') continue;
    checkDevice(network, device, deviceNamed(before, name) ?? device, options);
    refuseInvalid(name, changes, options.path);
    pushes.push(device);
  }
  for (const { name, config } of pushes) network.push(name, config);
}

function refuseLocked({ name, adminState }: Device, { path }: TransactionOptions): void {
  if (adminState !== 'locked' && adminState !== 'config-locked') return;
  throw operationFailed(500, `Device ${name} is ${adminState === 'locked' ? 'locked' : 'config locked'}`, path);
}

function checkDevice(network: DeviceNetwork, device: Device, known: Device, options: TransactionOptions): void {
  const obstacle = network.obstacle(device);
  if (obstacle !== undefined) throw operationFailed(502, obstacle, options.path);
  const inSync = network.isInSync(known) || options.noOutOfSyncCheck;
  if (!inSync) throw operationFailed(502, `Network Element Driver: device ${device.name}: out of sync`, options.path);
}

function refuseInvalid(name: string, changes: readonly Difference[], path: string): void {
  const refused = refusedLine(changes);
  if (refused === undefined) return;
  const message = `External error in the NED implementation for device ${name}: command: ${refused}\r\n: ^\r\n% Invalid input detected at '^' marker.`;
  throw operationFailed(500, message, path);
}

function refusedLine(changes: readonly Difference[]): string | undefined {
  for (const change of changes) {
    if (change.kind === 'branch') {
      const below = refusedLine(change.children);
      if (below !== undefined) return below;
    } else if (change.sign === '+' && String(change.value).includes(refusedValue)) {
      return `${change.schema.name} ${String(change.value)}`;
    }
  }
  return undefined;
}
