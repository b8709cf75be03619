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
import { TimeLimitPassed } from '#outbound/call/call-scope.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import { type AttemptResult, causeOf, failedAtNode, isNodeFailure, isNodeFault } from './node-failure.ts';

export type BreakerState = 'closed' | 'open' | 'half-open';

/** A failing node costs calls neither time nor slots. */
export interface NodeBreaker {
  readonly state: BreakerState;
  /** Milliseconds until a call is admitted; 0: now. */
  wait(): number;
  /** Throws `adapter-unavailable`. */
  refuse(): void;
  /** Half-open, the result decides at once. Throws as `refuse`. */
  run(work: () => Promise<UpstreamReply>): Promise<UpstreamReply>;
  /** By its last attempt. */
  count(result: AttemptResult): Promise<void>;
}

const states: Readonly<Record<CircuitState, BreakerState>> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Isolated]: 'open',
};

export function createNodeBreaker(options: {
  /** For errors. */
  readonly name: string;
  readonly url: string;
  /** Consecutive. */
  readonly failures: number;
  /** Milliseconds. */
  readonly openFor: number;
  /** Milliseconds of the configuration. A time-out that a caller shortened does not count. */
  readonly total: number;
  readonly clock: Clock;
}): NodeBreaker {
  const { name, url, failures, openFor, total, clock } = options;
  let openedAt = 0;
  let openedBy = '';
  // Half-open, only an answer shows that the node works: a call that its caller ended counts as a failure.
  const counts = (error: unknown): boolean =>
    isNodeFailure(error, total) || (policy.state === CircuitState.HalfOpen && endedUnanswered(error));
  const counter = new ConsecutiveBreaker(failures);
  const policy: CircuitBreakerPolicy = circuitBreaker(
    handleWhen(counts).orWhenResult((reply) => isNodeFault(reply as UpstreamReply)),
    // `wait` decides: cockatiel's wall clock may be set back.
    { breaker: counter, halfOpenAfter: Number.NEGATIVE_INFINITY },
  );
  policy.onBreak((reason) => {
    openedAt = clock.monotonic();
    openedBy = failureName(reason);
  });
  const wait = (): number => {
    if (policy.state === CircuitState.Closed) return 0;
    // Other calls do not wait for the deciding one.
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
      // Nothing changes; half-open, `run` has counted the call.
      if (policy.state !== CircuitState.Closed || (counter.state === 0 && !failedAtNode(result, total))) return;
      const ended = 'reply' in result ? Promise.resolve(result.reply) : Promise.reject<UpstreamReply>(result.failure);
      await policy.execute(() => ended).catch(() => {});
    },
  };
}

function endedUnanswered(error: unknown): boolean {
  return error instanceof CallerLeft || causeOf(error) instanceof TimeLimitPassed;
}

function failureName(reason: FailureReason<unknown> | { readonly isolated: true }): string {
  if ('value' in reason) return `status ${(reason.value as UpstreamReply).status}`;
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
