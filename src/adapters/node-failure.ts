import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { TimeLimitPassed } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { readRestconfError } from './restconf-errors.ts';

const nodeFailures: ReadonlySet<ErrorCode> = new Set([
  'upstream-dns-failed',
  'upstream-connect-failed',
  'upstream-tls-failed',
  'upstream-closed',
  'upstream-timeout',
]);

/**
 * True where a call failed because of the node and not of what was asked: no connection, a time-out, a connection broken off. A
 * caller may allow less time than the `total` milliseconds of the configuration; that its time ran out is its own matter.
 */
export function isNodeFailure(failure: unknown, total: number): boolean {
  const cause = causeOf(failure);
  if (cause instanceof TimeLimitPassed && cause.limit === 'total' && cause.milliseconds < total) return false;
  return cause instanceof GatewayError && nodeFailures.has(cause.code);
}

/** What is behind an outcome that nobody knows. */
export function causeOf(failure: unknown): unknown {
  return failure instanceof GatewayError && failure.code === 'outcome-unknown' ? failure.cause : failure;
}

/** True for a 5xx of the node itself: one with a RESTCONF error body speaks of a device or of what was asked. */
export function speaksOfTheNode(reply: FarSideReply): boolean {
  return reply.status >= 500 && readRestconfError(reply) === undefined;
}

/** NSO's engine says so where it takes no changes (nothing is documented but the text); nothing was done then. */
export function refusesChanges(reply: FarSideReply): boolean {
  return reply.status >= 400 && /read-?only mode/iu.test(readRestconfError(reply)?.message ?? '');
}
