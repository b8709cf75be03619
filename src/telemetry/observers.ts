import { Counter, Histogram, type Registry } from 'prom-client';
import type { AccessWatcher } from '#access/access-watcher.ts';
import { type LimitReached, limits } from '#base/limits.ts';
import type { StoreWatcher } from '#database/watch-time.ts';

/** Counts the events that `access/` reports. */
export function createAccessMetrics(registry: Registry): AccessWatcher {
  const cache = counter(
    registry,
    'gateway_credential_cache_total',
    'Credentials, tokens and sessions of requests, found in the cache of verified ones (`hit`) or not (`miss`).',
    { result: ['hit', 'miss'] },
  );
  const checks = counter(
    registry,
    'gateway_credential_checks_total',
    'Verifications of passwords (`user`), client secrets (`client`) and logins by an issuer (`issuer`): `ok`, `wrong`, `throttled` (not verified), `error` (not possible).',
    { kind: ['user', 'client', 'issuer'], outcome: ['ok', 'wrong', 'throttled', 'error'] },
  );
  return {
    cacheAsked: (wasHit) => cache.inc({ result: wasHit ? 'hit' : 'miss' }),
    credentialsChecked: (kind, outcome) => checks.inc({ kind, outcome }),
  };
}

/** Records the times that `database/` reports. */
export function createStoreMetrics(registry: Registry): StoreWatcher {
  const options = { labels: { access: [] }, buckets: [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] };
  const waits = histogram(registry, 'gateway_store_wait_seconds', 'Waiting time for a free connection of the store.', options);
  const statements = histogram(
    registry,
    'gateway_store_statement_duration_seconds',
    'Statements of the store, on SQLite with the transfer to its thread; `access` is `read` or `write`.',
    options,
  );
  return {
    waited: (access, milliseconds) => waits.observe({ access }, milliseconds / 1_000),
    ran: (access, milliseconds) => statements.observe({ access }, milliseconds / 1_000),
  };
}

/** Counts what a limit cut, refused or delayed. */
export function createLimitMetrics(registry: Registry): LimitReached {
  const help = 'What a limit cut, refused or delayed, by the name of the limit.';
  const reached = counter(registry, 'gateway_limit_reached_total', help, { limit: Object.keys(limits) });
  return (limit) => reached.inc({ limit });
}

/** Counts the spans that the collector accepted, and those that are lost. */
export function createSpanMetrics(registry: Registry): (spans: number, delivered: boolean) => void {
  const exported = counter(
    registry,
    'gateway_spans_total',
    'Spans `delivered` to the collector or `lost` on the way. Spans that the gateway dropped from a full queue are in neither.',
    { outcome: ['delivered', 'lost'] },
  );
  return (spans, delivered) => exported.inc({ outcome: delivered ? 'delivered' : 'lost' }, spans);
}

/** For each label the values of its closed set; none where they are known later. */
type LabelValues<Label extends string> = Readonly<Record<Label, readonly string[]>>;

/** Counters start at 0, because Prometheus sees no increase when a counter first appears. */
export function counter<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  labels = {} as LabelValues<Label>,
): Counter<Label> {
  const made = new Counter({ name, help, labelNames: Object.keys(labels) as Label[], registers: [registry] });
  for (const values of combinations(labels)) made.inc(values, 0);
  return made;
}

/** Seconds. */
export function histogram<Label extends string = never>(
  registry: Registry,
  name: string,
  help: string,
  { buckets, labels = {} as LabelValues<Label> }: { readonly buckets: readonly number[]; readonly labels?: LabelValues<Label> },
): Histogram<Label> {
  const labelNames = Object.keys(labels) as Label[];
  const made = new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [registry] });
  for (const values of combinations(labels)) made.zero(values);
  return made;
}

function combinations<Label extends string>(labels: LabelValues<Label>): readonly Record<Label, string>[] {
  const sets = Object.entries<readonly string[]>(labels);
  return sets.reduce<readonly object[]>(
    (found, [label, values]) => found.flatMap((each) => values.map((value) => ({ ...each, [label]: value }))),
    [{}],
  ) as readonly Record<Label, string>[];
}
