import type { GatewayError } from '#base/gateway-error.ts';
import type { Attempted } from './attempts.ts';

/** `ok`: answered, whatever the far side said. `refused`: nothing left. `unknown`: it left, changes something, and was not answered. */
export const callOutcomes = ['ok', 'refused', 'failed', 'unknown'] as const;
type CallOutcome = (typeof callOutcomes)[number];

/** What came of a relayed call, once its reply is out or its connection broke. */
export function callOutcome(call: {
  readonly failure: GatewayError | undefined;
  readonly cutOff: boolean;
  readonly attempted: Attempted | undefined;
  readonly upstreamStatus: number | undefined;
}): CallOutcome {
  const { failure, attempted } = call;
  if (failure === undefined && !call.cutOff) return 'ok';
  if (attempted === undefined) return 'refused';
  if (failure?.code === 'outcome-unknown') return 'unknown';
  // The caller left before the far side had said anything: nobody can tell what it did.
  return failure === undefined && call.upstreamStatus === undefined && attempted.stateChanging ? 'unknown' : 'failed';
}
