import { Counter, Histogram, type Registry } from 'prom-client';
import type { AccessWatcher } from '#access/access-watcher.ts';
import { type LimitReached, limitNames } from '#base/limits.ts';
import type { StoreWatcher } from '#database/watch-time.ts';

/** Counts the events that `access/` reports. */
export function createAccessMetrics(registry: Registry): AccessWatcher {
  const registers = [registry];
  const cache = new Counter({
    name: 'gateway_credential_cache_total',
    help: 'Credentials, tokens and sessions of requests, found in the cache of verified ones (hit) or not (miss).',
    labelNames: ['result'],
    registers,
  });
  for (const result of ['hit', 'miss']) cache.inc({ result }, 0);
  const checks = new Counter({
    name: 'gateway_credential_checks_total',
    help: 'Verifications of passwords, client secrets and logins by an issuer, by kind of account and outcome.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  for (const kind of ['user', 'client', 'issuer']) {
    for (const outcome of ['ok', 'wrong', 'throttled', 'error']) checks.inc({ kind, outcome }, 0);
  }
  return {
    cacheAsked: (wasHit) => cache.inc({ result: wasHit ? 'hit' : 'miss' }),
    credentialsChecked: (kind, outcome) => checks.inc({ kind, outcome }),
  };
}

/** Records the times that `database/` reports. */
export function createStoreMetrics(registry: Registry): StoreWatcher {
  const registers = [registry];
  const labelNames = ['access'] as const;
  const buckets = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
  const waits = new Histogram({
    name: 'gateway_store_wait_seconds',
    help: 'Waiting time for a free connection of the store, by access.',
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

/** Counts what a limit cut, refused or delayed. */
export function createLimitMetrics(registry: Registry): LimitReached {
  const reached = new Counter({
    name: 'gateway_limit_reached_total',
    help: 'What a limit cut, refused or delayed, by limit.',
    labelNames: ['limit'],
    registers: [registry],
  });
  for (const limit of limitNames) reached.inc({ limit }, 0);
  return (limit) => reached.inc({ limit });
}

/** Counts the spans that the collector accepted, and those that are lost. */
export function createSpanMetrics(registry: Registry): (spans: number, delivered: boolean) => void {
  const exported = new Counter({
    name: 'gateway_spans_total',
    help: 'Spans, delivered to the collector or lost on the way; without those dropped from a full queue.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of ['delivered', 'lost']) exported.inc({ outcome }, 0);
  return (spans, delivered) => exported.inc({ outcome: delivered ? 'delivered' : 'lost' }, spans);
}
