import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { auditOutcomes } from '#audit/audit-entry.ts';
import { errorCodes } from '#base/error-codes.ts';
import { callOutcome } from '#calls/call-outcome.ts';
import type { CallRecord } from '#calls/call-record.ts';
import { type RequestWatcher, standardMethods } from '#http/request-watcher.ts';
import { relayPatterns } from '#http/routes/relay-patterns.ts';
import { figure } from './gauges.ts';

/** Seconds: from the gateway's own part of a call to the longest default time limit. */
const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 300];

/** The metrics of relayed calls. */
interface CallMetrics {
  /** `route`: the URL pattern of the call's route, or `run` and the operation for a call of a run. */
  readonly callEnded: (route: string, record: CallRecord) => void;
  /** An attempt ended, with a reply or a failure, after that many milliseconds. */
  readonly attemptEnded: (call: { readonly adapter: string | undefined }, milliseconds: number) => void;
  /** Starts the counters of these adapter instances at 0, so that the first call is an increase. */
  readonly expectCalls: (adapters: readonly string[]) => void;
}

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
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedDefaults) registry.removeSingleMetric(name);
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Ended requests, by route, method, status (none: the caller left before the reply) and error code.',
    labelNames: ['route', 'method', 'status', 'code'],
    registers,
  });
  const errors = new Counter({
    name: 'gateway_errors_total',
    help: 'Requests that ended with an error in the reply, or whose reply an error aborted, by error code.',
    labelNames: ['code'],
    registers,
  });
  // Each counter starts at 0: Prometheus sees no increase when a counter first appears.
  for (const code of Object.keys(errorCodes)) errors.inc({ code }, 0);
  const calls = createCallMetrics(registry);
  const durations = new Histogram({
    name: 'gateway_request_duration_seconds',
    help: 'Time from the head of a request to the end of its reply.',
    labelNames: ['route'],
    buckets,
    registers,
  });
  let inFlight = 0;
  figure(registry, 'gateway_requests_in_flight', 'Requests in flight.', () => inFlight);
  return {
    ...calls,
    registry,
    mediaType: registry.contentType,
    text: () => registry.metrics(),
    watchConnections(open, limit) {
      figure(registry, 'gateway_caller_connections', 'Open connections of callers.', open);
      figure(registry, 'gateway_caller_connections_limit', 'Limit of the connections of callers.', () => limit);
    },
    requestStarted() {
      inFlight += 1;
    },
    requestEnded(scope, status) {
      const { record, routePattern: route = 'none' } = scope;
      const { code } = record;
      const method = standardMethods.has(scope.method) ? scope.method : 'other';
      inFlight -= 1;
      requests.inc({ route, method, status: status ?? 'none', code: code ?? '' });
      durations.observe({ route }, record.duration / 1000);
      if (code !== undefined) errors.inc({ code });
      if (scope.operation !== undefined) calls.callEnded(route, record);
    },
  };
}

function createCallMetrics(registry: Registry): CallMetrics {
  const registers = [registry];
  const outcomes = new Counter({
    name: 'gateway_calls_total',
    help: 'Relayed calls, by route, adapter instance and outcome.',
    labelNames: ['route', 'adapter', 'outcome'],
    registers,
  });
  const replies = new Counter({
    name: 'gateway_far_side_replies_total',
    help: 'Replies of far sides, by route, adapter instance and status class.',
    labelNames: ['route', 'adapter', 'status'],
    registers,
  });
  const attempts = new Histogram({
    name: 'gateway_attempt_duration_seconds',
    help: 'Time of an attempt from the sending of a call, with its connection, to the first 64 KiB of its reply, by adapter instance.',
    labelNames: ['adapter'],
    buckets,
    registers,
  });
  const expect = (route: string, adapter: string): void => {
    for (const outcome of auditOutcomes) outcomes.inc({ route, adapter, outcome }, 0);
    for (const status of statusClasses) replies.inc({ route, adapter, status }, 0);
  };
  return {
    callEnded(route, record) {
      const { adapter = '', facts } = record;
      const { upstreamStatus } = facts;
      outcomes.inc({ route, adapter, outcome: callOutcome(record) });
      if (upstreamStatus !== undefined) replies.inc({ route, adapter, status: statusClass(upstreamStatus) });
    },
    attemptEnded: ({ adapter = '' }, milliseconds) => attempts.observe({ adapter }, milliseconds / 1000),
    expectCalls(adapters) {
      for (const [operation, route] of Object.entries(relayPatterns)) {
        for (const adapter of operation === 'restCall' ? [''] : adapters) {
          expect(route, adapter);
          expect(`run ${operation}`, adapter);
        }
      }
    },
  };
}

const statusClasses = ['2xx', '3xx', '4xx', '401', '5xx'];

/** 401 is a class of its own: it is about the gateway's credentials, not about the call. */
function statusClass(status: number): string {
  return status === 401 ? '401' : `${Math.floor(status / 100)}xx`;
}
