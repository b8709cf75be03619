import { Gauge, type Registry } from 'prom-client';
import type { PooledSender, Sender } from '#outbound/sender.ts';

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/**
 * Registers a gauge whose samples are read at each scrape. Those of the scrape before are forgotten: what they measured may be gone,
 * above all after a reload.
 */
export function gauge(
  registry: Registry,
  { labels = [], ...described }: { readonly name: string; readonly help: string; readonly labels?: readonly string[] },
  samples: () => Iterable<Sample> | Promise<Iterable<Sample>>,
): void {
  const made = new Gauge({
    ...described,
    labelNames: labels,
    registers: [],
    async collect() {
      const read = await samples();
      this.reset();
      // Without labels `reset` leaves a 0.
      if (labels.length === 0) this.remove();
      for (const [of, value] of read) this.set(of, value);
    },
  });
  registry.registerMetric(made);
}

/** A gauge without labels. */
export function figure(registry: Registry, name: string, help: string, value: () => number): void {
  gauge(registry, { name, help }, () => [[{}, value()]]);
}

/** The use of a pool of connections: restCalls, an adapter instance, or requests of the gateway itself. */
export interface PoolName {
  readonly pool: 'adapter' | 'issuers' | 'notifications' | 'restCall' | 'tokens' | 'traces';
  /** For `adapter` and `tokens`. */
  readonly adapter?: string;
}

/** Returns the sender, whose connections are counted until it is closed. */
export type WatchPool = (name: PoolName, sender: PooledSender) => Sender;

/** Gauges of the connections to far sides. Several senders may have one name; their connections are added. */
export function createPoolGauges(registry: Registry): WatchPool {
  const watched = new Set<{ readonly name: PoolName; readonly sender: PooledSender }>();
  const connections = new Gauge({
    name: 'gateway_connections',
    help: 'Connections to far sides, and calls that wait for one, by pool, adapter instance and state.',
    labelNames: ['pool', 'adapter', 'state'],
    registers: [],
    collect() {
      this.reset();
      for (const { name, sender } of watched) {
        for (const [state, value] of Object.entries(sender.figures())) this.inc({ adapter: '', ...name, state }, value);
      }
    },
  });
  registry.registerMetric(connections);
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
  /** Resolves if the store answers within a second; otherwise rejects. */
  readonly pingStore: () => Promise<void>;
  readonly overloaded: () => boolean;
  /** True while less is free on the disk of the store than the reserve. */
  readonly belowReserve: () => boolean;
}

/** Gauges of the store's connections and of overload. */
export function createProcessGauges(
  registry: Registry,
  { store, pingStore, overloaded, belowReserve }: ProcessMeasurements,
): void {
  gauge(registry, { name: 'gateway_store_up', help: '1 if the store answers within a second.' }, async () => {
    const isUp = await pingStore().then(
      () => true,
      () => false,
    );
    return [[{}, Number(isUp)]];
  });
  const connectionsHelp = 'Connections of the store, and statements that wait for one, by state.';
  gauge(registry, { name: 'gateway_store_connections', help: connectionsHelp, labels: ['state'] }, () =>
    Object.entries(store()).map(([state, value]) => [{ state }, value]),
  );
  const overloadHelp = '1 while the gateway refuses calls and logins because the event loop is late or memory is short.';
  figure(registry, 'gateway_overloaded', overloadHelp, () => Number(overloaded()));
  const reserveHelp = '1 while the disk of a SQLite store has less room than the reserve, so that runs and events wait.';
  figure(registry, 'gateway_store_below_reserve', reserveHelp, () => Number(belowReserve()));
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
  const help = 'When the certificates of a file of the configuration expire, in seconds since 1970.';
  const name = 'gateway_certificate_expiry_timestamp_seconds';
  gauge(registry, { name, help, labels: ['use', 'adapter', 'file'] }, () =>
    expiries().map(({ expiresAt, ...labels }) => [labels, expiresAt / 1000]),
  );
}
