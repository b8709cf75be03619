import type { DataObject } from './data-tree.ts';
import { Datastore } from './datastore.ts';
import { DeviceNetwork, devicesOf, type Ned } from './device.ts';
import { withServicesMapped } from './service-mapping.ts';
import type { DemoRelease, Orchestrator } from './transaction.ts';
import { yangLibraryData } from './yang-library.ts';
import { modules } from './yang-modules.ts';

interface Family {
  readonly ned: Ned;
  readonly prefix: string;
  readonly count: number;
  readonly network: string;
  readonly deviceType: DataObject;
  readonly authgroup: string;
}

const families: readonly Family[] = [
  { ned: 'ios', prefix: 'ce', count: 24, network: '192.0.2', deviceType: cli('cisco-ios-cli-6.92'), authgroup: 'customer' },
  { ned: 'xr', prefix: 'pe', count: 14, network: '198.51.100', deviceType: cli('cisco-iosxr-cli-7.45'), authgroup: 'provider' },
  {
    ned: 'junos',
    prefix: 'ex',
    count: 12,
    network: '203.0.113',
    deviceType: { netconf: { 'ned-id': 'juniper-junos-nc-4.6:juniper-junos-nc-4.6' } },
    authgroup: 'provider',
  },
];

function cli(nedId: string): DataObject {
  return { cli: { 'ned-id': `${nedId}:${nedId}` } };
}

/** The devices in an unusual state; all others are unlocked, reachable and in sync. */
const adminStates: Readonly<Record<string, string>> = {
  ce20: 'locked',
  ce21: 'southbound-locked',
  pe11: 'southbound-locked',
  ex10: 'config-locked',
};
const outOfSync: ReadonlySet<string> = new Set(['ce22', 'pe12', 'ex11']);
const unreachable: ReadonlySet<string> = new Set(['ce23', 'pe13']);

/** Makes an orchestrator with the same 50 devices and 4 VPNs each time. README.md has the state of each device. */
export function createExampleNetwork(release: DemoRelease): Orchestrator {
  const bare = exampleRoot(release);
  const root = withServicesMapped({ ...bare, 'l3vpn:vpn': {} }, bare);
  const running = new Map(
    devicesOf(root).map(({ name, ned, config }) => [name, outOfSync.has(name) ? drifted(ned, config) : config] as const),
  );
  const datastore = new Datastore(root);
  // Two first commits, so that the list of rollbacks is not empty.
  for (const label of ['installed', 'services deployed']) datastore.commit(root, { user: 'system', label, comment: '' });
  return { datastore, network: new DeviceNetwork({ running, unreachable }), release };
}

function exampleRoot(release: DemoRelease): DataObject {
  const names = (prefix: string) => families.filter((family) => prefix === '' || family.prefix === prefix).flatMap(namesOf);
  return {
    'tailf-ncs:devices': {
      'global-settings': { 'connect-timeout': 20, 'read-timeout': 20, trace: 'false' },
      authgroups: {
        group: ['customer', 'provider'].map((name) => ({ name, 'default-map': { 'remote-name': 'admin' } })),
      },
      'device-group': [
        { name: 'customer-edge', 'device-name': names('ce'), member: names('ce') },
        { name: 'provider-edge', 'device-name': names('pe'), member: names('pe') },
        { name: 'branch/lab', 'device-name': names('ex'), member: names('ex') },
      ],
      device: families.flatMap((family) => namesOf(family).map((name, index) => exampleDevice(family, name, index))),
    },
    'l3vpn:vpn': { l3vpn: exampleVpns },
    'tailf-ncs:high-availability': {
      status: { mode: 'none', 'current-id': 'demo', 'assigned-role': 'none', 'read-only-mode': false },
    },
    'tailf-ncs:ncs-state': { version: `${release}-stand-in`, 'read-only-mode': false },
    ...yangLibraryData([
      ...Object.values(modules).filter(({ name }) => name !== ''),
      ...(release === '6.7' ? [commitParams] : []),
    ]),
    'ietf-restconf-monitoring:restconf-state': { capabilities: { capability: capabilities } },
  };
}

/** It says that commit parameters are one JSON object. It has no data of its own. */
const commitParams = { name: 'tailf-ncs-commit-params', namespace: 'http://tail-f.com/ns/ncs-commit-params' } as const;

function namesOf({ prefix, count }: Family): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index)}`);
}

function exampleDevice(family: Family, name: string, index: number): DataObject {
  return {
    name,
    address: `${family.network}.${String(index + 10)}`,
    port: family.ned === 'junos' ? 830 : 22,
    description: `Example ${family.prefix === 'ce' ? 'customer edge' : 'provider'} router, site ${String(index + 1)}`,
    location: { latitude: '59.33258', longitude: '18.06490' },
    authgroup: family.authgroup,
    ...(index % 10 === 0 ? { 'use-lsa': null } : {}),
    'device-type': family.deviceType,
    ssh: { 'host-key-verification': 'reject-mismatch' },
    state: {
      'admin-state': adminStates[name] ?? 'unlocked',
      'oper-state': unreachable.has(name) ? 'disabled' : 'enabled',
      'last-transaction-id': String(9_007_199_254_740_993n + BigInt(index)),
    },
    config: family.ned === 'junos' ? junosConfig(name, index) : ciscoConfig(family.ned, name, index),
    ...(family.ned === 'junos' ? {} : { 'live-status': ciscoStatus(family.ned) }),
  };
}

function ciscoConfig(ned: 'ios' | 'xr', name: string, index: number): DataObject {
  const module = ned === 'ios' ? 'tailf-ned-cisco-ios' : 'tailf-ned-cisco-ios-xr';
  const primary = { address: `10.255.${ned === 'ios' ? '1' : '2'}.${String(index + 1)}`, mask: '255.255.255.255' };
  return {
    [`${module}:hostname`]: name,
    [`${module}:name-server`]: ['192.0.2.53', '198.51.100.53'],
    [`${module}:interface`]: {
      Loopback: [{ name: '0', description: 'router id', ip: { address: { primary } } }],
      GigabitEthernet: ['0/0', '0/1', '0/2'].map((port) => ({
        name: port,
        description: `port ${port}`,
        mtu: 1500,
        ...(port === '0/2' ? { shutdown: null } : {}),
      })),
    },
  };
}

function ciscoStatus(ned: 'ios' | 'xr'): DataObject {
  const module = ned === 'ios' ? 'tailf-ned-cisco-ios-stats' : 'tailf-ned-cisco-ios-xr-stats';
  return {
    [`${module}:interfaces`]: [
      { name: '0/0', 'oper-status': 'up', 'in-octets': '18446744073709551615', 'out-octets': '9007199254740993' },
      { name: '0/2', 'oper-status': 'down', 'in-octets': '0', 'out-octets': '0' },
    ],
  };
}

function junosConfig(name: string, index: number): DataObject {
  return {
    'junos:configuration': {
      system: { 'host-name': name, 'name-server': ['192.0.2.53'] },
      interfaces: {
        interface: [
          { name: 'lo0', description: `router id 10.255.3.${String(index + 1)}` },
          { name: 'xe-0/0/0', description: 'to the core', mtu: 9192 },
          { name: 'xe-0/0/1', disable: null },
        ],
      },
    },
  };
}

/** The configuration after a change on the device itself, which the orchestrator does not know. */
function drifted(ned: Ned, config: DataObject): DataObject {
  if (ned === 'junos') return { 'junos:configuration': { system: { 'host-name': 'changed-by-hand' } } };
  return { ...config, [ned === 'ios' ? 'tailf-ned-cisco-ios:hostname' : 'tailf-ned-cisco-ios-xr:hostname']: 'changed-by-hand' };
}

const exampleVpns: readonly DataObject[] = [
  exampleVpn('volvo', '18446744073709551615', ['ce0', 'ce1', 'pe0']),
  exampleVpn('ford', '9007199254740993', ['ce2', 'ce3', 'pe1']),
  exampleVpn('saab & sons', '4294967297', ['ce4', 'ex0']),
  exampleVpn('10.0.0.0/24', '7', ['ce5', 'ex1']),
];

function exampleVpn(name: string, vpnId: string, devices: readonly string[]): DataObject {
  return {
    name,
    'as-number': 65001,
    'vpn-id': vpnId,
    ...(name === 'volvo' ? { monitored: null } : {}),
    'route-target': ['65001:1', '65001:2'],
    endpoint: devices.map((device, index) => ({
      id: `site-${String(index + 1)}`,
      device,
      interface: 'GigabitEthernet0/1',
      'ip-network': `10.${String(index + 1)}.0.0/16`,
      bandwidth: '12000000000',
    })),
  };
}

const capabilities: readonly string[] = [
  'urn:ietf:params:restconf:capability:defaults:1.0?basic-mode=explicit',
  'urn:ietf:params:restconf:capability:depth:1.0',
  'urn:ietf:params:restconf:capability:fields:1.0',
  'urn:ietf:params:restconf:capability:with-defaults:1.0',
  'http://tail-f.com/ns/restconf/collection/1.0',
  'http://tail-f.com/ns/restconf/partial-response/1.0',
  'http://tail-f.com/ns/restconf/unhide/1.0',
  'urn:ietf:params:xml:ns:yang:traceparent:1.0',
];
