import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  type FailureReason,
  handleWhen,
} from 'cockatiel';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { TimeLimitPassed } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { type AttemptResult, causeOf, failedAtNode, isNodeFailure, isNodeFault } from './node-failure.ts';

export type BreakerState = 'closed' | 'open' | 'half-open';

/** A circuit breaker for one node: a failing node costs calls neither time nor slots. */
export interface NodeBreaker {
  readonly state: BreakerState;
  /** Milliseconds until the next call is admitted. 0: now. */
  wait(): number;
  /** Throws `adapter-unavailable` if no call is admitted now. */
  refuse(): void;
  /** Runs the work. While the breaker is half-open, the result closes or opens it at once. Throws as `refuse` does. */
  run(work: () => Promise<FarSideReply>): Promise<FarSideReply>;
  /** Counts a call, by the result of its last attempt. */
  count(result: AttemptResult): Promise<void>;
}

const states: Readonly<Record<CircuitState, BreakerState>> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Isolated]: 'open',
};

export function createNodeBreaker(options: {
  /** The name of the adapter instance, for errors. */
  readonly name: string;
  readonly url: string;
  /** Consecutive failures that open the breaker. */
  readonly failures: number;
  /** Milliseconds until the open breaker admits a single call. */
  readonly openFor: number;
  /** Milliseconds that a call may take by configuration. If a caller allowed less, its time-out does not count. */
  readonly total: number;
  readonly clock: Clock;
}): NodeBreaker {
  const { name, url, failures, openFor, total, clock } = options;
  let openedAt = 0;
  let openedBy = '';
  // In the half-open state only an answer shows that the node works again. A call that ended early because of its caller does not
  // show that, so it counts as a failure.
  const counts = (error: unknown): boolean =>
    isNodeFailure(error, total) || (policy.state === CircuitState.HalfOpen && endedUnanswered(error));
  const counter = new ConsecutiveBreaker(failures);
  const policy: CircuitBreakerPolicy = circuitBreaker(
    handleWhen(counts).orWhenResult((reply) => isNodeFault(reply as FarSideReply)),
    // `wait` decides when to half-open: cockatiel uses the wall clock, which may be set back.
    { breaker: counter, halfOpenAfter: Number.NEGATIVE_INFINITY },
  );
  policy.onBreak((reason) => {
    openedAt = clock.monotonic();
    openedBy = failureName(reason);
  });
  const wait = (): number => {
    if (policy.state === CircuitState.Closed) return 0;
    // The call that decides is in progress. Other calls do not wait for it.
    if (policy.state === CircuitState.HalfOpen) return 1_000;
    return Math.max(0, openedAt + openFor - clock.monotonic());
  };
  const refuse = (): void => {
    const left = wait();
    if (left > 0) throw unavailable({ name, url, left, openedBy });
  };
  return {
    get state() {
      return states[policy.state];
    },
    wait,
    refuse,
    run(work) {
      refuse();
      return policy.state === CircuitState.Closed ? work() : policy.execute(work);
    },
    async count(result) {
      // A success after a success changes nothing. The half-open state has already counted the call that it admitted.
      if (policy.state !== CircuitState.Closed || (counter.state === 0 && !failedAtNode(result, total))) return;
      const ended = 'reply' in result ? Promise.resolve(result.reply) : Promise.reject<FarSideReply>(result.failure);
      await policy.execute(() => ended).catch(() => {});
    },
  };
}

function endedUnanswered(error: unknown): boolean {
  return error instanceof CallerLeft || causeOf(error) instanceof TimeLimitPassed;
}

/** The error code, or the status of the reply. */
function failureName(reason: FailureReason<unknown> | { readonly isolated: true }): string {
  if ('value' in reason) return `status ${(reason.value as FarSideReply).status}`;
  const cause = 'error' in reason ? causeOf(reason.error) : undefined;
  return cause instanceof GatewayError ? cause.code : 'no answer';
}

function unavailable(options: {
  readonly name: string;
  readonly url: string;
  readonly left: number;
  readonly openedBy: string;
}): GatewayError {
  const { name, url, left, openedBy } = options;
  const seconds = Math.ceil(left / 1000);
  return new GatewayError(
    'adapter-unavailable',
    `The adapter instance "${name}" sends nothing to ${url} now, because calls to it keep failing (the last: ${openedBy}); the gateway tries again in ${seconds} s. Nothing was sent.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
