import { Counter, Histogram, type Registry } from 'prom-client';
import type { AccessWatcher } from '#access/access-watcher.ts';
import type { StoreWatcher } from '#database/watch-time.ts';

/** Counts what `access/` tells. */
export function createAccessMetrics(registry: Registry): AccessWatcher {
  const registers = [registry];
  // Asked by each call, and handed over when metrics are asked for: prom-client hashes its labels at each increase.
  const asked = { hit: 0, miss: 0 };
  const cache = new Counter({
    name: 'gateway_credential_cache_total',
    help: 'Credentials and tokens that came with requests, by whether they had been verified a moment ago (hit) or not (miss).',
    labelNames: ['result'],
    registers: [],
    collect() {
      for (const result of ['hit', 'miss'] as const) {
        this.inc({ result }, asked[result]);
        asked[result] = 0;
      }
    },
  });
  registry.registerMetric(cache);
  const checks = new Counter({
    name: 'gateway_credential_checks_total',
    help: 'Passwords and client secrets that were judged, by kind of account and outcome.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  for (const kind of ['user', 'client']) {
    for (const outcome of ['ok', 'wrong', 'throttled', 'error']) checks.inc({ kind, outcome }, 0);
  }
  return {
    cacheAsked(wasHit) {
      asked[wasHit ? 'hit' : 'miss'] += 1;
    },
    credentialsChecked: (kind, outcome) => checks.inc({ kind, outcome }),
  };
}

/** Times what `database/` tells. */
export function createStoreMetrics(registry: Registry): StoreWatcher {
  const registers = [registry];
  const labelNames = ['access'] as const;
  const buckets = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
  const waits = new Histogram({
    name: 'gateway_store_wait_seconds',
    help: 'Time until a connection of the store was free, by access.',
    labelNames,
    buckets,
    registers,
  });
  const statements = new Histogram({
    name: 'gateway_store_statement_duration_seconds',
    help: 'Time of a statement of the store, by access.',
    labelNames,
    buckets,
    registers,
  });
  return {
    waited: (access, milliseconds) => waits.observe({ access }, milliseconds / 1_000),
    ran: (access, milliseconds) => statements.observe({ access }, milliseconds / 1_000),
  };
}

/** Counts spans that went to the collector, and those that are lost. */
export function createSpanMetrics(registry: Registry): (spans: number, delivered: boolean) => void {
  const exported = new Counter({
    name: 'gateway_spans_total',
    help: 'Spans of traces by what became of them; those dropped because too many waited are not in it.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['delivered', 'lost']) exported.inc({ outcome }, 0);
  return (spans, delivered) => exported.inc({ outcome: delivered ? 'delivered' : 'lost' }, spans);
}
