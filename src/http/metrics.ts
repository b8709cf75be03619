import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RequestScope } from './request-scope.ts';

/** The gateway's own metrics. Labels come from closed sets alone (routes, methods, statuses, configured adapters), so their number is bounded. */
export interface Metrics {
  readonly mediaType: string;
  text(): Promise<string>;
  requestStarted(): void;
  requestDone(scope: RequestScope, status: number): void;
}

export function createMetrics(auditCounts: () => { readonly waiting: number; readonly dropped: number }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Requests answered, by route, method, status and error code.',
    labelNames: ['route', 'method', 'status', 'code'],
    registers,
  });
  const calls = new Counter({
    name: 'gateway_far_side_replies_total',
    help: 'Replies of far sides, by route, adapter instance and status class.',
    labelNames: ['route', 'adapter', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'gateway_request_duration_seconds',
    help: 'Time from the head of a request to the end of its reply.',
    labelNames: ['route'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 300],
    registers,
  });
  for (const metric of auditMetrics(auditCounts)) registry.registerMetric(metric);
  const inFlight = new Gauge({ name: 'gateway_requests_in_flight', help: 'Requests being served now.', registers });
  return {
    mediaType: registry.contentType,
    text: () => registry.metrics(),
    requestStarted: () => inFlight.inc(),
    requestDone(scope, status) {
      const route = scope.route ?? 'none';
      inFlight.dec();
      requests.inc({
        route,
        method: knownMethods.has(scope.method) ? scope.method : 'other',
        status,
        code: scope.failure?.code ?? '',
      });
      durations.observe({ route }, scope.duration / 1000);
      if (scope.upstreamStatus !== undefined) {
        calls.inc({ route, adapter: scope.adapter ?? '', status: `${Math.floor(scope.upstreamStatus / 100)}xx` });
      }
    },
  };
}

const knownMethods = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

/** Records that are not in the store yet, and those that never will be. */
function auditMetrics(counts: () => { readonly waiting: number; readonly dropped: number }): readonly (Counter | Gauge)[] {
  const waiting = new Gauge({
    name: 'gateway_audit_entries_waiting',
    help: 'Entries of the audit log that are not written yet.',
    registers: [],
    collect() {
      this.set(counts().waiting);
    },
  });
  let told = 0;
  const dropped = new Counter({
    name: 'gateway_audit_entries_dropped_total',
    help: 'Entries of the audit log that were dropped: the store was away for long.',
    registers: [],
    collect() {
      const now = counts().dropped;
      this.inc(now - told);
      told = now;
    },
  });
  return [waiting, dropped];
}
