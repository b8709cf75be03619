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
import { causeOf, isNodeFailure, speaksOfTheNode } from './node-failure.ts';

export type BreakerState = 'closed' | 'open' | 'half-open';

/** Keeps calls from an address that fails, so that it costs neither time nor slots. */
export interface NodeBreaker {
  readonly state: BreakerState;
  /** Milliseconds until a call may go; 0 where it may go now. */
  wait(): number;
  /** Throws `adapter-unavailable` where a call may not go now. */
  refuse(): void;
  /** Does the work and counts how it ends. Throws as `refuse`. */
  run(work: () => Promise<FarSideReply>): Promise<FarSideReply>;
}

const states: Readonly<Record<CircuitState, BreakerState>> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Isolated]: 'open',
};

export function createNodeBreaker(options: {
  /** The adapter instance's name and the node's URL, for errors. */
  readonly name: string;
  readonly url: string;
  /** Failures in a row that open it. */
  readonly failures: number;
  /** Milliseconds before a single call is let through. */
  readonly openFor: number;
  /** Milliseconds that a call has by configuration: where a caller allowed less, its time-out says nothing of the node. */
  readonly total: number;
  readonly clock: Clock;
}): NodeBreaker {
  const { name, url, failures, openFor, total, clock } = options;
  let openedAt = 0;
  let openedBy = '';
  // Of a call that was to show whether the node is back, only an answer shows it: its caller's leaving or impatience does not.
  const counts = (error: unknown): boolean =>
    isNodeFailure(error, total) || (policy.state === CircuitState.HalfOpen && endedUnanswered(error));
  const counter = new ConsecutiveBreaker(failures);
  const policy: CircuitBreakerPolicy = circuitBreaker(
    handleWhen(counts).orWhenResult((reply) => speaksOfTheNode(reply as FarSideReply)),
    // When it is time for that is said below: cockatiel goes by the wall clock, which may be set back.
    { breaker: counter, halfOpenAfter: Number.NEGATIVE_INFINITY },
  );
  policy.onBreak((reason) => {
    openedAt = clock.monotonic();
    openedBy = failureName(reason);
  });
  const wait = (): number => {
    if (policy.state === CircuitState.Closed) return 0;
    // The call that decides is under way: the others do not wait for it.
    if (policy.state === CircuitState.HalfOpen) return 1_000;
    return Math.max(0, openedAt + openFor - clock.monotonic());
  };
  const refuse = (): void => {
    const left = wait();
    if (left > 0) throw unavailable({ name, url, left, openedBy });
  };
  const told = (end: () => Promise<FarSideReply>): Promise<FarSideReply> =>
    policy.state === CircuitState.Closed ? policy.execute(end) : end();
  /** As the policy does while it is closed, which makes nothing of a success after a success: it is told of what else there is. */
  const watched = (sent: Promise<FarSideReply>): Promise<FarSideReply> =>
    sent.then(
      (reply) => (counter.state === 0 && !speaksOfTheNode(reply) ? reply : told(() => Promise.resolve(reply))),
      (error: unknown) => told(() => Promise.reject(error)),
    );
  return {
    get state() {
      return states[policy.state];
    },
    wait,
    refuse,
    run(work) {
      refuse();
      return policy.state === CircuitState.Closed ? watched(work()) : policy.execute(work);
    },
  };
}

function endedUnanswered(error: unknown): boolean {
  return error instanceof CallerLeft || causeOf(error) instanceof TimeLimitPassed;
}

/** A code of the error table, or the status that was answered. */
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
    `The adapter instance "${name}" sends nothing to ${url} now, because calls to it keep failing (the last: ${openedBy}); it is tried again in ${seconds} s. Nothing was sent.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}
