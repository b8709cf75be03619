import type { Registry } from 'prom-client';
import { auditOutcomes } from '#audit/audit-entry.ts';
import { callOutcome } from '#calls/call-outcome.ts';
import type { CallRecord } from '#calls/call-record.ts';
import { relayPatterns } from '#http/routes/relay-patterns.ts';
import { createTalliedCounter } from './tallied-counter.ts';
import { createTalliedHistogram } from './tallied-histogram.ts';

/** Seconds: from the gateway's own part of a call to the longest default time limit. */
export const durationBuckets: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 300];

/** The metrics of relayed calls. */
export interface CallMetrics {
  /** `route`: the URL pattern of the call's route, or `run` and the operation for a call of a run. */
  readonly callEnded: (route: string, record: CallRecord) => void;
  /** An attempt ended, with a reply or a failure, after that many milliseconds. */
  readonly attemptEnded: (call: { readonly adapter: string | undefined }, milliseconds: number) => void;
  /** Starts the counters of these adapter instances at 0, so that the first call is an increase. */
  readonly expectCalls: (adapters: readonly string[]) => void;
}

export function createCallMetrics(registry: Registry): CallMetrics {
  const outcomes = createTalliedCounter({
    name: 'gateway_calls_total',
    help: 'Relayed calls, by route, adapter instance and outcome.',
    labelNames: ['route', 'adapter', 'outcome'],
    registry,
  });
  const replies = createTalliedCounter({
    name: 'gateway_far_side_replies_total',
    help: 'Replies of far sides, by route, adapter instance and status class.',
    labelNames: ['route', 'adapter', 'status'],
    registry,
  });
  const attempts = createTalliedHistogram({
    name: 'gateway_attempt_duration_seconds',
    help: 'Time of an attempt from the sending of a call, with its connection, to the first 64 KiB of its reply, by adapter instance.',
    labelName: 'adapter',
    buckets: durationBuckets,
    registry,
  });
  const expect = (route: string, adapter: string): void => {
    for (const outcome of auditOutcomes) outcomes.expect(route, adapter, outcome);
    for (const status of statusClasses) replies.expect(route, adapter, status);
  };
  return {
    callEnded(route, record) {
      const { adapter = '', facts } = record;
      const { upstreamStatus } = facts;
      outcomes.count(route, adapter, callOutcome(record));
      if (upstreamStatus !== undefined) replies.count(route, adapter, statusClass(upstreamStatus));
    },
    attemptEnded: ({ adapter = '' }, milliseconds) => attempts.observe(adapter, milliseconds / 1000),
    expectCalls(adapters) {
      for (const [operation, route] of Object.entries(relayPatterns)) {
        const of = operation === 'restCall' ? [''] : adapters;
        for (const adapter of of) {
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
