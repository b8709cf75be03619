import { type DataObject, entriesOf, objectOf, sameData, textOf } from './data-tree.ts';

/** The network element driver of a device. */
export type Ned = 'ios' | 'xr' | 'junos';

/** A device in the orchestrator's configuration. */
export interface Device {
  readonly name: string;
  readonly address: string;
  readonly port: string;
  readonly ned: Ned;
  readonly adminState: string;
  /** The device's configuration in the orchestrator; the device may run another one. */
  readonly config: DataObject;
}

export function devicesOf(root: DataObject): readonly Device[] {
  return entriesOf(objectOf(root['tailf-ncs:devices'])['device']).map(deviceOf);
}

export function deviceNamed(root: DataObject, name: string): Device | undefined {
  return devicesOf(root).find((device) => device.name === name);
}

function deviceOf(entry: DataObject): Device {
  return {
    name: textOf(entry['name']),
    address: textOf(entry['address']),
    port: textOf(entry['port']) || '22',
    ned: nedOf(objectOf(entry['device-type'])),
    // A new device is southbound-locked until a client unlocks it.
    adminState: textOf(objectOf(entry['state'])['admin-state']) || 'southbound-locked',
    config: objectOf(entry['config']),
  };
}

function nedOf(deviceType: DataObject): Ned {
  if (deviceType['netconf'] !== undefined) return 'junos';
  return textOf(objectOf(deviceType['cli'])['ned-id']).includes('iosxr') ? 'xr' : 'ios';
}

/** The simulated network: the configuration that each device runs, and whether it is reachable. */
export class DeviceNetwork {
  readonly #running: Map<string, DataObject>;
  readonly #unreachable: ReadonlySet<string>;

  constructor(options: { readonly running: ReadonlyMap<string, DataObject>; readonly unreachable: ReadonlySet<string> }) {
    this.#running = new Map(options.running);
    this.#unreachable = options.unreachable;
  }

  /** The configuration that the device runs; empty for a device unknown to the network. */
  runningConfig(name: string): DataObject {
    return this.#running.get(name) ?? {};
  }

  isInSync(device: Device): boolean {
    return sameData(this.runningConfig(device.name), device.config);
  }

  /** Makes the device run `config`. */
  push(name: string, config: DataObject): void {
    this.#running.set(name, config);
  }

  /** Why the orchestrator cannot connect to the device; undefined where it can. */
  obstacle({ name, adminState }: Device): string | undefined {
    if (adminState === 'locked') return `Device ${name} is locked`;
    if (adminState === 'southbound-locked') return `Device ${name} is southbound locked`;
    return this.#unreachable.has(name) ? `Failed to connect to device ${name}: connection refused` : undefined;
  }
}
