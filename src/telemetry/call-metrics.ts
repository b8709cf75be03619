import type { Registry } from 'prom-client';
import { auditOutcomes } from '#audit/audit-entry.ts';
import { callOutcome } from '#calls/call-outcome.ts';
import type { CallRecord } from '#calls/call-record.ts';
import { relayPatterns } from '#http/routes/relay-patterns.ts';
import { createTalliedCounter } from './tallied-counter.ts';
import { createTalliedHistogram } from './tallied-histogram.ts';

/** Seconds: from what the gateway itself takes to the longest time limit there is by default. */
export const durationBuckets: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 300];

/** The metrics of calls that are relayed. */
export interface CallMetrics {
  /** `route` is the pattern of its URL. */
  callEnded(route: string, record: CallRecord): void;
  /** A call was sent once and answered, or failed, after that many milliseconds. */
  readonly attemptEnded: (call: { readonly adapter: string | undefined }, milliseconds: number) => void;
  /** Begins the counters of these adapter instances at 0, so that the first call already is an increase. */
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
    help: 'Time from the sending of a call to the first 64 KiB of its reply, by adapter instance: connection and far side.',
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
      const { restCall, ...toOrchestrators } = relayPatterns;
      expect(restCall, '');
      for (const adapter of adapters) {
        for (const route of Object.values(toOrchestrators)) expect(route, adapter);
      }
    },
  };
}

const statusClasses = ['2xx', '3xx', '4xx', '401', '5xx'];

/** 401 by itself: it speaks of the gateway's own credentials, and not of what was asked. */
function statusClass(status: number): string {
  return status === 401 ? '401' : `${Math.floor(status / 100)}xx`;
}
