import { collectDefaultMetrics, Registry } from 'prom-client';
import { auditOutcomes } from '#audit/audit-entry.ts';
import { errorCodes } from '#base/error-codes.ts';
import { callOutcome } from '#calls/call-outcome.ts';
import type { CallRecord } from '#calls/call-record.ts';
import { type RequestWatcher, standardMethods } from '#http/request-span.ts';
import { relayPatterns } from '#http/routes/calls/relay-patterns.ts';
import { figure } from './gauges.ts';
import { counter, histogram } from './observers.ts';

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
  collectDefaultMetrics({ register: registry });
  for (const name of misnamedDefaults) registry.removeSingleMetric(name);
  const requests = counter(
    registry,
    'gateway_requests_total',
    'Ended requests. `code` is empty without an error. `route` is `none` for an unknown path. `status` is `none` if the caller left before the reply.',
    { route: [], method: [], status: [], code: [] },
  );
  const errors = counter(
    registry,
    'gateway_errors_total',
    'Requests that ended with an error in the reply, or whose reply an error aborted.',
    { code: Object.keys(errorCodes) },
  );
  const calls = createCallMetrics(registry);
  const durations = histogram(
    registry,
    'gateway_request_duration_seconds',
    'From the head of a request to the end of its reply.',
    { buckets, labels: { route: [] } },
  );
  let inFlight = 0;
  figure(registry, 'gateway_requests_in_flight', 'Requests in flight.', () => inFlight);
  return {
    ...calls,
    registry,
    mediaType: registry.contentType,
    text: () => registry.metrics(),
    watchConnections(open, limit) {
      figure(registry, 'gateway_caller_connections', 'Open connections of callers.', open);
      figure(
        registry,
        'gateway_caller_connections_limit',
        'Limit of the connections of callers; from 95 % on, a new connection replaces an idle one.',
        () => limit,
      );
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
  const outcomes = counter(
    registry,
    'gateway_calls_total',
    'Relayed calls. For a call of a run `route` is `run` and the operation, such as `run restAction`; each attempt of the run to make the call counts. For a call of an agent it is `mcp` and the operation. `ok`: the upstream answered, to restCall and restRequest with any status. `refused`: by the gateway, nothing left. `failed`: also a query or action with a status of 400 or above, and a call whose caller left. `unknown`: the call may have happened. `adapter` is empty for restCall and for an unknown instance.',
    { route: [], adapter: [], outcome: [] },
  );
  const replies = counter(
    registry,
    'gateway_far_side_replies_total',
    "Replies of upstreams to relayed calls, also those that broke off, by status class such as `2xx`. 401 is a class of its own, because it refuses the gateway's credentials.",
    { route: [], adapter: [], status: [] },
  );
  const attempts = histogram(
    registry,
    'gateway_attempt_duration_seconds',
    'Time of the upstream: from the sending of a call, with its connection, to the first 64 KiB of its reply. Each repetition and each hop of a redirect is an attempt.',
    { buckets, labels: { adapter: [] } },
  );
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
          expect(`mcp ${operation}`, adapter);
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
