import { type DataObject, entriesOf, nodeAt, objectOf, type Step, sameData, textOf, withNode } from './data-tree.ts';
import { deviceNamed, type Ned } from './device.ts';
import { resolvePath } from './instance-path.ts';
import { rootSchema } from './yang-modules.ts';

/** One piece of device configuration of a service instance. */
interface Modification {
  readonly device: string;
  readonly steps: readonly Step[];
  readonly value: DataObject;
}

const vrfPaths: Readonly<Record<Ned, string>> = {
  ios: 'tailf-ned-cisco-ios:vrf/definition',
  xr: 'tailf-ned-cisco-ios-xr:vrf/vrf-list',
  junos: 'junos:configuration/routing-instances/instance',
};

const distinguisherLeaf: Readonly<Record<Ned, string>> = { ios: 'rd', xr: 'rd', junos: 'route-distinguisher' };

function servicesOf(root: DataObject): readonly DataObject[] {
  return entriesOf(objectOf(root['l3vpn:vpn'])['l3vpn']);
}

function serviceNamed(root: DataObject, name: string): DataObject | undefined {
  return servicesOf(root).find((service) => textOf(service['name']) === name);
}

/** The configuration of a VPN on the devices of its endpoints: a routing instance with its route distinguisher, in the schema of each NED. */
export function modificationsOf(root: DataObject, service: DataObject): readonly Modification[] {
  const name = textOf(service['name']);
  const devices = new Set(entriesOf(service['endpoint']).map((endpoint) => textOf(endpoint['device'])));
  return [...devices].flatMap((deviceName) => {
    const device = deviceNamed(root, deviceName);
    if (device === undefined) return [];
    const place = `tailf-ncs:devices/device=${encodeURIComponent(deviceName)}/config/${vrfPaths[device.ned]}=${encodeURIComponent(name)}`;
    const distinguisher = `${textOf(service['as-number']) || '65000'}:${String(index32(textOf(service['vpn-id'])))}`;
    const value = { name, [distinguisherLeaf[device.ned]]: distinguisher };
    return [{ device: deviceName, steps: resolvePath(rootSchema, place, false).steps, value }];
  });
}

/** The lower 32 bits of a VPN's 64-bit number, which is what a route distinguisher can hold. */
function index32(vpnId: string): bigint {
  return BigInt(vpnId === '' ? 0 : vpnId) & 0xffff_ffffn;
}

/** `root` with a service's device configuration, which replaces any changes made since. */
export function deployed(root: DataObject, service: DataObject): DataObject {
  return modificationsOf(root, service).reduce((next, { steps, value }) => withNode(next, steps, value), root);
}

/** `root` without a service's device configuration. */
export function undeployed(root: DataObject, service: DataObject): DataObject {
  return modificationsOf(root, service).reduce(
    (next, { steps }) => (nodeAt(next, steps) === undefined ? next : withNode(next, steps, undefined)),
    root,
  );
}

/** `next` with the device configuration of all services that differ from `before`. */
export function withServicesMapped(before: DataObject, next: DataObject): DataObject {
  const names = new Set([...servicesOf(before), ...servicesOf(next)].map((service) => textOf(service['name'])));
  return [...names].reduce((mapped, name) => {
    const old = serviceNamed(before, name);
    const now = serviceNamed(next, name);
    if (sameData(old, now)) return mapped;
    const cleaned = old === undefined ? mapped : undeployed(mapped, old);
    return now === undefined ? cleaned : withModified(deployed(cleaned, now), now);
  }, next);
}

/** `root` with the list of a service's devices in its operational state. */
function withModified(root: DataObject, service: DataObject): DataObject {
  const place = `l3vpn:vpn/l3vpn=${encodeURIComponent(textOf(service['name']))}`;
  const devices = modificationsOf(root, service).map(({ device }) => device);
  return withNode(
    root,
    resolvePath(rootSchema, place, false).steps,
    devices.length === 0 ? service : { ...service, modified: { devices } },
  );
}
