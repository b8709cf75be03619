import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { errorCodes } from '#base/error-codes.ts';
import { type RequestWatcher, standardMethods } from '#http/request-watcher.ts';
import { type CallMetrics, createCallMetrics, durationBuckets } from './call-metrics.ts';
import { createTalliedCounter } from './tallied-counter.ts';
import { createTalliedHistogram } from './tallied-histogram.ts';

/**
 * The gateway's own metrics. Labels have values of closed sets only (routes, methods, statuses, configured adapter instances), so the
 * number of series is bounded.
 */
export interface Metrics extends RequestWatcher, Pick<CallMetrics, 'callEnded' | 'expectCalls'> {
  /** For further metrics of other parts. */
  readonly registry: Registry;
  readonly mediaType: string;
  text(): Promise<string>;
}

/** Gauges of `prom-client` with the suffix of a counter; each is the sum of a metric that stays. */
const misnamedDefaults = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedDefaults) registry.removeSingleMetric(name);
  const requests = createTalliedCounter({
    name: 'gateway_requests_total',
    help: 'Ended requests, by route, method, status (none: the caller left before the reply) and error code.',
    labelNames: ['route', 'method', 'status', 'code'],
    registry,
  });
  const errors = createTalliedCounter({
    name: 'gateway_errors_total',
    help: 'Requests that ended with an error in the reply, or whose reply an error aborted, by error code.',
    labelNames: ['code'],
    registry,
  });
  // Each counter starts at 0: Prometheus sees no increase when a counter first appears.
  for (const code of Object.keys(errorCodes)) errors.expect(code);
  const calls = createCallMetrics(registry);
  const durations = createTalliedHistogram({
    name: 'gateway_request_duration_seconds',
    help: 'Time from the head of a request to the end of its reply.',
    labelName: 'route',
    buckets: durationBuckets,
    registry,
  });
  let inFlight = 0;
  show(registry, 'gateway_requests_in_flight', 'Requests in flight.', () => inFlight);
  return {
    attemptEnded: calls.attemptEnded,
    callEnded: calls.callEnded,
    expectCalls: calls.expectCalls,
    registry,
    mediaType: registry.contentType,
    text: () => registry.metrics(),
    watchConnections(open, limit) {
      show(registry, 'gateway_caller_connections', 'Open connections of callers.', open);
      show(registry, 'gateway_caller_connections_limit', 'Limit of the connections of callers.', () => limit);
    },
    requestStarted() {
      inFlight += 1;
    },
    requestEnded(scope, status) {
      const { record, routePattern: route = 'none' } = scope;
      inFlight -= 1;
      requests.count(
        route,
        standardMethods.has(scope.method) ? scope.method : 'other',
        status === undefined ? 'none' : String(status),
        record.code ?? '',
      );
      durations.observe(route, record.duration / 1000);
      if (record.code !== undefined) errors.count(record.code);
      if (scope.operation !== undefined) calls.callEnded(route, record);
    },
  };
}

function show(registry: Registry, name: string, help: string, value: () => number): void {
  const gauge = new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(value());
    },
  });
  registry.registerMetric(gauge);
}
