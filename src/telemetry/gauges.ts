import { Counter, Gauge, type Registry } from 'prom-client';
import type { KnownAdapter, KnownNode } from '#adapters/known-adapters.ts';
import type { BreakerState } from '#adapters/nodes/node-breaker.ts';
import type { AdapterState } from '#adapters/nodes/node-standing.ts';
import type { AuditCounts } from '#audit/audit-log.ts';
import type { PooledSender, Sender } from '#outbound/call/sender.ts';

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

type Samples = () => Iterable<Sample> | Promise<Iterable<Sample>>;

/**
 * Registers a gauge whose samples are read at each scrape. Those of the scrape before are forgotten: what they measured may be gone,
 * above all after a reload.
 */
export function gauge(registry: Registry, described: Described, samples: Samples): void {
  registry.registerMetric(new Gauge(scraped(described, samples)));
}

/** Registers a counter of what another part counts. */
function countOf(registry: Registry, described: Described, samples: Samples): void {
  registry.registerMetric(new Counter(scraped(described, samples)));
}

function scraped({ labels = [], ...described }: Described, samples: Samples) {
  return {
    ...described,
    labelNames: labels,
    registers: [],
    async collect(this: Counter | Gauge) {
      const read = await samples();
      this.reset();
      // Without labels `reset` leaves a 0.
      if (labels.length === 0) this.remove();
      for (const [of, value] of read) this.inc(of, value);
    },
  };
}

/** A gauge without labels. */
export function figure(registry: Registry, name: string, help: string, value: () => number): void {
  gauge(registry, { name, help }, () => [[{}, value()]]);
}

/** The use of a pool of connections: restCalls, an adapter instance, or requests of the gateway itself. */
interface PoolName {
  readonly pool: 'adapter' | 'issuers' | 'notifications' | 'restCall' | 'tokens' | 'traces';
  /** For `adapter` and `tokens`. */
  readonly adapter?: string;
}

/** Returns the sender, whose connections are counted until it is closed. */
export type WatchPool = (name: PoolName, sender: PooledSender) => Sender;

/** Gauges of the connections to upstreams. Several senders may have one name; their connections are added. */
export function createPoolGauges(registry: Registry): WatchPool {
  const watched = new Set<{ readonly name: PoolName; readonly sender: PooledSender }>();
  const help =
    '`busy` and `idle` connections to upstreams, and calls `waiting` for a new connection. `pool` is `adapter`, `restCall`, `tokens` (OAuth client of an adapter instance), `issuers` (OIDC) or `traces`.';
  gauge(registry, { name: 'gateway_connections', help, labels: ['pool', 'adapter', 'state'] }, () =>
    [...watched].flatMap(({ name, sender }) =>
      Object.entries(sender.figures()).map(([state, value]) => [{ adapter: '', ...name, state }, value] as const),
    ),
  );
  return (name, sender) => {
    const entry = { name, sender };
    watched.add(entry);
    return {
      send: (call, scope) => sender.send(call, scope),
      async close() {
        await sender.close();
        watched.delete(entry);
      },
    };
  };
}

/** What the process gauges read at each scrape. */
export interface ProcessMeasurements {
  readonly store: () => { readonly busy: number; readonly idle: number; readonly waiting: number };
  /** As `Database.ping`. */
  readonly pingStore: () => Promise<void>;
  readonly isOverloaded: () => boolean;
  /** True while less is free on the disk of the store than the reserve. */
  readonly isShort: () => boolean;
}

export function createProcessGauges(registry: Registry, { store, pingStore, isOverloaded, isShort }: ProcessMeasurements): void {
  gauge(
    registry,
    {
      name: 'gateway_store_up',
      help: '1 if the store answers within a second, tested at each scrape. On PostgreSQL also 0 while the server takes no writes.',
    },
    async () => {
      const isUp = await pingStore().then(
        () => true,
        () => false,
      );
      return [[{}, Number(isUp)]];
    },
  );
  const connectionsHelp =
    '`busy` and `idle` connections of the store (on SQLite of all files), and statements `waiting` for one.';
  gauge(registry, { name: 'gateway_store_connections', help: connectionsHelp, labels: ['state'] }, () =>
    Object.entries(store()).map(([state, value]) => [{ state }, value]),
  );
  const overloadHelp = '1 while the gateway refuses calls and logins because the event loop is late or memory is short.';
  figure(registry, 'gateway_overloaded', overloadHelp, () => Number(isOverloaded()));
  const reserveHelp =
    '1 while the disk of a SQLite store has less room than the reserve: 256 MiB, or a quarter of a smaller disk. Runs, events and new approvals wait then.';
  figure(registry, 'gateway_store_below_reserve', reserveHelp, () => Number(isShort()));
}

/** Sources of secrets that fail, whose last good values stay in use. `age`: seconds of the oldest one. */
export function measureSecrets(registry: Registry, failing: () => { readonly failing: number; readonly age: number }): void {
  const countHelp = 'Sources of secrets that fail now. Their last good values stay in use; the log names them.';
  figure(registry, 'gateway_secret_sources_failing', countHelp, () => failing().failing);
  const ageHelp = 'Age in seconds of the oldest value of a secret whose source fails; 0 while none fails.';
  figure(registry, 'gateway_secret_age_seconds', ageHelp, () => failing().age);
}

/** When a file with certificates becomes useless. */
export interface CertificateExpiry {
  /** The part of the gateway that uses the file. `outbound` is restCall. */
  readonly use: 'server' | 'outbound' | 'adapter';
  /** The adapter instance, or empty. */
  readonly adapter: string;
  /** The key of the configuration that names the file. */
  readonly file: 'certFile' | 'caFile';
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export function measureCertificates(registry: Registry, expiries: () => readonly CertificateExpiry[]): void {
  const help =
    'When the certificates of a file of the configuration expire, seconds since 1970. `use` is `server`, `outbound` (restCall) or `adapter`; `file` is the key `certFile` or `caFile`. Of a `caFile` the certificate that lasts longest counts. Certificates that upstreams present are not measured.';
  const name = 'gateway_certificate_expiry_timestamp_seconds';
  gauge(registry, { name, help, labels: ['use', 'adapter', 'file'] }, () =>
    expiries().map(({ expiresAt, ...labels }) => [labels, expiresAt / 1000]),
  );
}

/** Metrics of the audit log: entries that wait for the store, dropped and lost ones, and refusals that have no record of their own. */
export function measureAudit(registry: Registry, counts: () => AuditCounts): void {
  const waitingHelp = 'Entries of the audit log that wait to be written to the store.';
  figure(registry, 'gateway_audit_entries_waiting', waitingHelp, () => counts().waiting);
  const droppedHelp = 'Dropped entries of the audit log: too many waited for the store, as when it is unavailable for long.';
  countOf(registry, { name: 'gateway_audit_entries_dropped_total', help: droppedHelp }, () => [[{}, counts().dropped]]);
  const earlyHelp =
    'Entries of the audit log that this gateway deleted before `audit.retention` ended, because the log was larger than `audit.maxSize`.';
  countOf(registry, { name: 'gateway_audit_entries_deleted_early_total', help: earlyHelp }, () => [[{}, counts().early]]);
  const lostHelp = 'Records of the audit log that the store acknowledged and lost, as this gateway noticed.';
  countOf(registry, { name: 'gateway_store_lost_records_total', help: lostHelp }, () => [[{}, counts().lost]]);
  const notStoredHelp =
    'Refusals without a record of their own. `repeated`: a record has their count. `no-room`: the disk of the store is nearly full.';
  countOf(registry, { name: 'gateway_audit_refusals_not_stored_total', help: notStoredHelp, labels: ['reason'] }, () => [
    [{ reason: 'repeated' }, counts().repeated],
    [{ reason: 'no-room' }, counts().withoutRoom],
  ]);
}

const adapterStates: readonly AdapterState[] = ['unknown', 'online', 'degraded', 'offline'];
const breakerStates: readonly BreakerState[] = ['closed', 'open', 'half-open'];

/**
 * Metrics of the adapter instances, read at each scrape. The label `node` is the position of an address in `urls`, from 1.
 * Metrics may be open to everyone, and must not show the addresses of orchestrators.
 */
export function measureAdapters(registry: Registry, adapters: () => readonly KnownAdapter[]): void {
  const stateHelp =
    '1 for the current state of an adapter instance: `unknown` (never called nor probed), `online`, `degraded` or `offline`.';
  gauge(registry, { name: 'gateway_adapter_state', help: stateHelp, labels: ['adapter', 'state'] }, () =>
    adapters().flatMap((adapter) => oneOf({ adapter: adapter.name }, adapterStates, adapter.standing().state)),
  );
  const ofNodes = (
    name: string,
    help: string,
    samplesOf: (node: KnownNode, labels: Labels) => readonly AdapterSample[],
    labels = ['adapter', 'node'],
  ): void =>
    gauge(registry, { name, help, labels }, () =>
      adapters().flatMap((adapter) =>
        adapter.nodes.flatMap((node, place) => samplesOf(node, { adapter: adapter.name, node: String(place + 1) })),
      ),
    );
  ofNodes(
    'gateway_adapter_node_online',
    '1 for a node that is online; `node` is the position of its address in `urls`, from 1.',
    (node, labels) => [[labels, Number(node.standing().state === 'online')]],
  );
  ofNodes(
    'gateway_adapter_credentials_refused',
    '1 for a node that refuses the credentials of its adapter instance, or while its token endpoint gives no token.',
    (node, labels) => [[labels, Number(node.standing().credentialsRefused)]],
  );
  ofNodes(
    'gateway_adapter_breaker',
    "1 for the current state of a node's circuit breaker: `closed`, `open` or `half-open`.",
    ({ breaker }, labels) => oneOf(labels, breakerStates, breaker.state),
    ['adapter', 'node', 'state'],
  );
  ofNodes('gateway_adapter_in_flight', 'Calls with a slot of a node.', ({ slots }, labels) => [[labels, slots.inFlight]]);
  ofNodes('gateway_adapter_waiting', 'Calls that wait for a slot.', ({ slots }, labels) => [[labels, slots.waiting]]);
}

type Labels = Readonly<Record<string, string>>;
type AdapterSample = readonly [Labels, number];

/** A sample for each possible state: 1 for the current one. */
function oneOf<S extends string>(labels: Labels, states: readonly S[], current: S): readonly AdapterSample[] {
  return states.map((state) => [{ ...labels, state }, Number(state === current)]);
}
