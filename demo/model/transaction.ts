import type { DataObject } from './data-tree.ts';
import type { Datastore } from './datastore.ts';
import { type Device, type DeviceNetwork, deviceNamed } from './device.ts';
import { type Difference, differences, differencesByDevice } from './difference.ts';
import { OrchestratorError, operationFailed } from './orchestrator-error.ts';
import { checkReferences } from './references.ts';
import { withServicesMapped } from './service-mapping.ts';
import { rootSchema } from './yang-modules.ts';

/** The orchestrator's state: what it holds, and the network it holds it for. */
export interface Orchestrator {
  readonly datastore: Datastore;
  readonly network: DeviceNetwork;
}

/** How a change is carried out. */
export interface TransactionOptions {
  readonly user: string;
  /** Where the change was asked for; the `error-path` of a refusal. */
  readonly path: string;
  /** Work out the difference only; nothing is kept and no device is asked. */
  readonly dryRun: boolean;
  /** Keep the change without talking to devices, which leaves them out of sync. */
  readonly noNetworking: boolean;
  readonly noOutOfSyncCheck: boolean;
  readonly label: string;
  readonly comment: string;
  /** Service code runs after the change, unless the change is itself what service code asks for. */
  readonly mapsServices: boolean;
}

interface TransactionResult {
  readonly differences: readonly Difference[];
  /** Under which the commit can be undone; absent after a dry run. */
  readonly rollbackId?: number;
}

/** A leaf whose value contains this is what every simulated device refuses. */
const refusedValue = 'refused-by-device';

/**
 * Carries out a change as one transaction: references, service code, devices, then the datastore; all of it or nothing.
 * @throws OrchestratorError 400 for a dangling reference, 409 while the datastore is locked, 502 where a device is out of sync or
 * does not answer, 500 where it is locked or refuses its part.
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

/** @throws OrchestratorError 409 lock-denied (RFC 8040, section 7) while someone holds the datastore's lock. */
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
