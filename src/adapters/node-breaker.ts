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
import { causeOf, isNodeFailure, isNodeFault } from './node-failure.ts';

export type BreakerState = 'closed' | 'open' | 'half-open';

/** A circuit breaker for one node: a failing node costs calls neither time nor slots. */
export interface NodeBreaker {
  readonly state: BreakerState;
  /** Milliseconds until the next call is admitted. 0: now. */
  wait(): number;
  /** Throws `adapter-unavailable` if no call is admitted now. */
  refuse(): void;
  /** Runs the work and counts its result. Throws as `refuse` does. */
  run(work: () => Promise<FarSideReply>): Promise<FarSideReply>;
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
  const recorded = (end: () => Promise<FarSideReply>): Promise<FarSideReply> =>
    policy.state === CircuitState.Closed ? policy.execute(end) : end();
  /**
   * Has the same effect as the closed policy, but is faster. A success after a success changes nothing, so the policy only gets
   * the other results.
   */
  const counted = (sent: Promise<FarSideReply>): Promise<FarSideReply> =>
    sent.then(
      (reply) => (counter.state === 0 && !isNodeFault(reply) ? reply : recorded(() => Promise.resolve(reply))),
      (error: unknown) => recorded(() => Promise.reject(error)),
    );
  return {
    get state() {
      return states[policy.state];
    },
    wait,
    refuse,
    run(work) {
      refuse();
      return policy.state === CircuitState.Closed ? counted(work()) : policy.execute(work);
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
