import type { AuditOutcome } from '#audit/audit-entry.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { CallFacts } from '#relay/call-context.ts';

/** What came of a request: once its reply is out or its connection broke, or once its call was carried out. */
export function callOutcome(call: {
  readonly failure: unknown;
  /** The reply was not sent to its end. */
  readonly cutOff: boolean;
  /** The reply is kept, for its caller to ask for again. */
  readonly isKept: boolean;
  readonly facts: CallFacts;
}): AuditOutcome {
  const { failure, facts } = call;
  if (failure instanceof GatewayError) {
    if (failure.status < 500 || failure.status === 503) return 'refused';
    return failure.code === 'outcome-unknown' ? 'unknown' : 'failed';
  }
  if (failure === undefined && (!call.cutOff || call.isKept)) return 'ok';
  // The caller left before the far side had said anything: nobody can tell what it did.
  return changeLeft(facts) && facts.upstreamStatus === undefined ? 'unknown' : 'failed';
}

/** True where the far side may have got a call that can change something. */
export function changeLeft({ traffic, verb }: CallFacts): boolean {
  return traffic?.traffic.left === true && verb !== 'GET';
}
