import type { AuditOutcome } from '#audit/audit-entry.ts';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { CallFacts } from './call-facts.ts';

/** The code of a failure: one of the error table, or `caller-left`. */
export function failureCode(failure: unknown): string {
  if (failure instanceof GatewayError) return failure.code;
  return failure instanceof CallerLeft ? 'caller-left' : 'internal-error';
}

/** The outcome of a request, once its reply is out or its connection broke, or of its call once that has ended. */
export function callOutcome(call: {
  readonly failure: unknown;
  /** The status of the reply, once there is one. */
  readonly status: number | undefined;
  /** The reply was not sent to its end. */
  readonly cutOff: boolean;
  /** The reply is kept under an Idempotency-Key. */
  readonly isKept: boolean;
  readonly facts: CallFacts;
}): AuditOutcome {
  const { failure, facts } = call;
  if (failure instanceof GatewayError) return outcomeOfError(failure, facts);
  if (failure === undefined) {
    // A refusal in RFC 6749's shape, or an error that an Idempotency-Key brings again.
    if (call.status !== undefined && call.status >= 400) return outcomeOfError({ status: call.status }, facts);
    if (!call.cutOff || call.isKept) return 'ok';
  }
  // The caller left before the upstream answered: the gateway cannot know what the upstream did.
  return changeLeft(facts) && facts.upstreamStatus === undefined ? 'unknown' : 'failed';
}

function outcomeOfError(error: { readonly status: number; readonly code?: string }, { traffic }: CallFacts): AuditOutcome {
  const speaksOfUs = error.status < 500 || error.status === 503;
  // A call that left may be refused later, at a redirect.
  if (speaksOfUs && traffic?.traffic.left !== true) return 'refused';
  return error.code === 'outcome-unknown' ? 'unknown' : 'failed';
}

/** True where the upstream may have received a call that can change something. */
export function changeLeft({ traffic, verb }: CallFacts): boolean {
  return traffic?.traffic.left === true && verb !== 'GET';
}
