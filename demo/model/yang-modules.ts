import { type ContainerNode, type ModuleBuilder, operational, yangModule } from './schema.ts';
import { libraryModule, yangLibrarySchema } from './yang-library.ts';

/** The modules in replies and messages. Namespaces are those of the real modules where these exist. */
export const modules = {
  root: { name: '', namespace: '', prefix: '' },
  ncs: { name: 'tailf-ncs', namespace: 'http://tail-f.com/ns/ncs', prefix: 'ncs', revision: '2024-07-09' },
  ios: { name: 'tailf-ned-cisco-ios', namespace: 'urn:ios', prefix: 'ios' },
  iosStats: { name: 'tailf-ned-cisco-ios-stats', namespace: 'urn:ios-stats', prefix: 'ios-stats' },
  xr: { name: 'tailf-ned-cisco-ios-xr', namespace: 'http://tail-f.com/ned/cisco-ios-xr', prefix: 'cisco-ios-xr' },
  xrStats: {
    name: 'tailf-ned-cisco-ios-xr-stats',
    namespace: 'http://tail-f.com/ned/cisco-ios-xr-stats',
    prefix: 'cisco-ios-xr-stats',
  },
  junos: { name: 'junos', namespace: 'http://xml.juniper.net/xnm/1.1/xnm', prefix: 'junos' },
  l3vpn: { name: 'l3vpn', namespace: 'http://com/example/l3vpn', prefix: 'l3vpn' },
  rollback: { name: 'tailf-rollback', namespace: 'http://tail-f.com/ns/rollback', prefix: 'rollback' },
  monitoring: {
    name: 'ietf-restconf-monitoring',
    namespace: 'urn:ietf:params:xml:ns:yang:ietf-restconf-monitoring',
    prefix: 'rcmon',
  },
  library: libraryModule,
} as const;

const ncs = yangModule(modules.ncs);
const ios = yangModule(modules.ios);
const iosStats = yangModule(modules.iosStats);
const xr = yangModule(modules.xr);
const xrStats = yangModule(modules.xrStats);
const junos = yangModule(modules.junos);
const l3vpn = yangModule(modules.l3vpn);
const rollback = yangModule(modules.rollback);
const monitoring = yangModule(modules.monitoring);

const onOff = { oneOf: ['up', 'down'] } as const;

/** The interfaces of the two Cisco NEDs, with only the nodes that a trial needs. */
function ciscoConfig(ned: ModuleBuilder, vrfList: string) {
  const addressed = [
    ned.leaf('description', 'string'),
    ned.leaf('mtu', 'uint16'),
    ned.leaf('shutdown', 'empty'),
    ned.container('ip', {
      children: [
        ned.container('address', {
          children: [
            ned.container('primary', {
              presence: true,
              children: [ned.leaf('address', 'string'), ned.leaf('mask', 'string')],
            }),
          ],
        }),
      ],
    }),
  ];
  return [
    ned.leaf('hostname', 'string'),
    ned.leafList('name-server', 'string'),
    ned.container('vrf', {
      children: [ned.list(vrfList, { keys: ['name'], children: [ned.leaf('name', 'string'), ned.leaf('rd', 'string')] })],
    }),
    ned.container('interface', {
      children: ['Loopback', 'GigabitEthernet'].map((type) =>
        ned.list(type, { keys: ['name'], children: [ned.leaf('name', 'string'), ...addressed] }),
      ),
    }),
  ];
}

const junosConfig = junos.container('configuration', {
  children: [
    junos.container('system', { children: [junos.leaf('host-name', 'string'), junos.leafList('name-server', 'string')] }),
    junos.container('interfaces', {
      children: [
        junos.list('interface', {
          keys: ['name'],
          children: [
            junos.leaf('name', 'string'),
            junos.leaf('description', 'string'),
            junos.leaf('mtu', 'uint16'),
            junos.leaf('disable', 'empty'),
          ],
        }),
      ],
    }),
    junos.container('routing-instances', {
      children: [
        junos.list('instance', {
          keys: ['name'],
          children: [junos.leaf('name', 'string'), junos.leaf('route-distinguisher', 'string')],
        }),
      ],
    }),
  ],
});

/** `live-status` of the Cisco NEDs: counters (64-bit, so strings in JSON) and the exec actions. */
function ciscoLiveStatus(stats: ModuleBuilder) {
  return [
    stats.container('exec', { actions: [stats.action('show', 'args'), stats.action('any', 'args')] }),
    stats.list('interfaces', {
      keys: ['name'],
      children: [
        stats.leaf('name', 'string'),
        stats.leaf('oper-status', onOff),
        stats.leaf('in-octets', 'uint64'),
        stats.leaf('out-octets', 'uint64'),
      ],
    }),
  ];
}

const device = ncs.list('device', {
  keys: ['name'],
  children: [
    ncs.leaf('name', 'string'),
    ncs.leaf('address', 'string'),
    ncs.leaf('port', 'uint16'),
    ncs.leaf('description', 'string'),
    ncs.container('location', { children: [ncs.leaf('latitude', 'decimal64'), ncs.leaf('longitude', 'decimal64')] }),
    ncs.leaf('authgroup', { refersTo: 'devices/authgroups/group' }),
    ncs.leaf('read-timeout', 'uint32'),
    ncs.leaf('use-lsa', 'empty'),
    ncs.container('device-type', {
      children: [
        ncs.container('cli', { presence: true, children: [ncs.leaf('ned-id', 'string')] }),
        ncs.container('netconf', { presence: true, children: [ncs.leaf('ned-id', 'string')] }),
      ],
    }),
    ncs.container('ssh', {
      children: [ncs.leaf('host-key-verification', { oneOf: ['none', 'reject-mismatch', 'reject-unknown'] })],
      actions: [ncs.action('fetch-host-keys')],
    }),
    ncs.container('state', {
      children: [
        ncs.leaf('admin-state', { oneOf: ['locked', 'unlocked', 'southbound-locked', 'config-locked'] }),
        operational(ncs.leaf('oper-state', { oneOf: ['unknown', 'enabled', 'disabled'] })),
        operational(ncs.leaf('last-transaction-id', 'uint64')),
      ],
    }),
    ncs.container('config', { children: [...ciscoConfig(ios, 'definition'), ...ciscoConfig(xr, 'vrf-list'), junosConfig] }),
    operational(ncs.container('live-status', { children: [...ciscoLiveStatus(iosStats), ...ciscoLiveStatus(xrStats)] })),
  ],
  actions: [
    ncs.action('sync-from', 'dry-run', 'no-wait-for-lock'),
    ncs.action('sync-to', 'dry-run', 'no-wait-for-lock'),
    ncs.action('check-sync'),
    ncs.action('connect'),
    ncs.action('compare-config', 'outformat'),
    ncs.action('fetch-ssh-host-keys'),
  ],
});

const manyDevices = [
  ncs.action('sync-from', 'device', 'suppress-positive-result', 'dry-run'),
  ncs.action('sync-to', 'device', 'suppress-positive-result', 'dry-run'),
  ncs.action('check-sync', 'device', 'suppress-positive-result'),
  ncs.action('connect', 'device', 'suppress-positive-result'),
  ncs.action('fetch-ssh-host-keys', 'device', 'suppress-positive-result'),
];

const devices = ncs.container('devices', {
  children: [
    ncs.container('global-settings', {
      children: [
        ncs.leaf('connect-timeout', 'uint32'),
        ncs.leaf('read-timeout', 'uint32'),
        ncs.leaf('trace', { oneOf: ['false', 'raw', 'pretty'] }),
      ],
    }),
    ncs.container('authgroups', {
      children: [
        ncs.list('group', {
          keys: ['name'],
          children: [
            ncs.leaf('name', 'string'),
            ncs.container('default-map', { presence: true, children: [ncs.leaf('remote-name', 'string')] }),
          ],
        }),
      ],
    }),
    ncs.container('template', {}),
    ncs.list('device-group', {
      keys: ['name'],
      children: [
        ncs.leaf('name', 'string'),
        ncs.leafList('device-name', { refersTo: 'devices/device' }),
        operational(ncs.leafList('member', 'string')),
      ],
      actions: manyDevices,
    }),
    device,
  ],
  actions: manyDevices,
});

const vpn = l3vpn.container('vpn', {
  children: [
    l3vpn.list('l3vpn', {
      keys: ['name'],
      children: [
        l3vpn.leaf('name', 'string'),
        l3vpn.leaf('as-number', 'uint32'),
        l3vpn.leaf('vpn-id', 'uint64'),
        l3vpn.leaf('monitored', 'empty'),
        l3vpn.leafList('route-target', 'string'),
        l3vpn.list('endpoint', {
          keys: ['id'],
          children: [
            l3vpn.leaf('id', 'string'),
            l3vpn.leaf('device', { refersTo: 'devices/device' }),
            l3vpn.leaf('interface', 'string'),
            l3vpn.leaf('ip-network', 'string'),
            l3vpn.leaf('bandwidth', 'uint64'),
          ],
        }),
        operational(l3vpn.container('modified', { children: [l3vpn.leafList('devices', 'string')] })),
      ],
      actions: [
        l3vpn.action('re-deploy', 'dry-run', 'no-networking', 'reconcile', 'no-out-of-sync-check'),
        l3vpn.action('un-deploy', 'dry-run', 'no-networking', 'no-out-of-sync-check'),
        l3vpn.action('get-modifications', 'outformat', 'reverse'),
        l3vpn.action('check-sync'),
      ],
    }),
  ],
});

const highAvailability = ncs.container('high-availability', {
  children: [
    operational(
      ncs.container('status', {
        children: [
          ncs.leaf('mode', { oneOf: ['none', 'primary', 'secondary'] }),
          ncs.leaf('current-id', 'string'),
          ncs.leaf('assigned-role', 'string'),
          ncs.leaf('read-only-mode', 'boolean'),
          ncs.list('connected-secondary', {
            keys: ['id'],
            children: [ncs.leaf('id', 'string'), ncs.leaf('address', 'string')],
          }),
        ],
      }),
    ),
  ],
});

/** The root of all data, below `/restconf/data`. */
export const rootSchema: ContainerNode = yangModule(modules.root).container('', {
  children: [
    devices,
    vpn,
    highAvailability,
    operational(ncs.container('ncs-state', { children: [ncs.leaf('version', 'string'), ncs.leaf('read-only-mode', 'boolean')] })),
    operational(
      monitoring.container('restconf-state', {
        children: [monitoring.container('capabilities', { children: [monitoring.leafList('capability', 'string')] })],
      }),
    ),
    ...yangLibrarySchema,
    rollback.container('rollback-files', {
      children: [
        operational(
          rollback.list('file', {
            keys: ['id'],
            children: [
              rollback.leaf('id', 'uint32'),
              rollback.leaf('fixed-number', 'uint32'),
              rollback.leaf('creator', 'string'),
              rollback.leaf('date', 'string'),
              rollback.leaf('label', 'string'),
              rollback.leaf('comment', 'string'),
            ],
          }),
        ),
      ],
      actions: [
        rollback.action('apply-rollback-file', 'id', 'fixed-number'),
        rollback.action('get-rollback-file', 'id', 'fixed-number'),
      ],
    }),
  ],
});
