import { Gauge, type Registry } from 'prom-client';
import type { PooledSender, Sender } from '#outbound/sender.ts';

/** The use of a pool of connections: restCalls, an adapter instance, or requests of the gateway itself. */
export interface PoolName {
  readonly pool: 'adapter' | 'issuers' | 'notifications' | 'restCall' | 'tokens' | 'traces';
  /** For `adapter` and `tokens`. */
  readonly adapter?: string;
}

/** Returns the sender, whose connections are counted until it is closed. */
export type WatchPool = (name: PoolName, sender: PooledSender) => Sender;

/** Gauges of the connections to far sides, read at each scrape. Several senders may have one name; their connections are added. */
export function createPoolGauges(registry: Registry): WatchPool {
  const watched = new Set<{ readonly name: PoolName; readonly sender: PooledSender }>();
  const labelNames = ['pool', 'adapter', 'state'] as const;
  const connections = new Gauge({
    name: 'gateway_connections',
    help: 'Connections to far sides, and calls that wait for one, by pool, adapter instance and state.',
    labelNames,
    registers: [],
    collect() {
      this.reset();
      for (const { name, sender } of watched) {
        const labels = { pool: name.pool, adapter: name.adapter ?? '' };
        for (const [state, value] of Object.entries(sender.figures())) this.inc({ ...labels, state }, value);
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
}

/** Gauges of the store's connections and of overload. */
export function createProcessGauges(registry: Registry, { store, pingStore, overloaded }: ProcessMeasurements): void {
  const up = new Gauge({
    name: 'gateway_store_up',
    help: '1 if the store answers within a second.',
    registers: [],
    async collect() {
      this.set(
        await pingStore().then(
          () => 1,
          () => 0,
        ),
      );
    },
  });
  const connections = new Gauge({
    name: 'gateway_store_connections',
    help: 'Connections of the store, and statements that wait for one, by state.',
    labelNames: ['state'],
    registers: [],
    collect() {
      for (const [state, value] of Object.entries(store())) this.set({ state }, value);
    },
  });
  const overload = new Gauge({
    name: 'gateway_overloaded',
    help: '1 while the gateway refuses calls and logins because the event loop is late or memory is short.',
    registers: [],
    collect() {
      this.set(overloaded() ? 1 : 0);
    },
  });
  for (const gauge of [up, connections, overload]) registry.registerMetric(gauge);
}
