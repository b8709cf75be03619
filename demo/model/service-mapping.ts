import { type DataObject, entriesOf, nodeAt, objectOf, type Step, sameData, textOf, withNode } from './data-tree.ts';
import { deviceNamed, type Ned } from './device.ts';
import { resolvePath } from './instance-path.ts';
import { rootSchema } from './yang-modules.ts';

/** One piece of device configuration that a service instance asks for. */
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

/** What a VPN asks of the devices at its endpoints: a routing instance with its route distinguisher, in the words of each NED. */
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

/** A route distinguisher has room for 32 bits; the VPN's number may have 64. */
function index32(vpnId: string): bigint {
  return BigInt(vpnId === '' ? 0 : vpnId) & 0xffff_ffffn;
}

/** `root` with a service's device configuration put in place, whoever touched it in between. */
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

/** `next` with the device configuration of every service that differs from `before` brought up to date. */
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

/** Notes in the service's operational state which devices it touches. */
function withModified(root: DataObject, service: DataObject): DataObject {
  const place = `l3vpn:vpn/l3vpn=${encodeURIComponent(textOf(service['name']))}`;
  const devices = modificationsOf(root, service).map(({ device }) => device);
  return withNode(
    root,
    resolvePath(rootSchema, place, false).steps,
    devices.length === 0 ? service : { ...service, modified: { devices } },
  );
}
