import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { TimeLimitPassed } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { readRestconfError } from './restconf-errors.ts';

/** The result of one attempt. */
export type AttemptResult = { readonly reply: FarSideReply } | { readonly failure: unknown };

/** True if the attempt failed because of the node; see isNodeFailure for `total`. */
export function failedAtNode(result: AttemptResult, total: number): boolean {
  return 'reply' in result ? isNodeFault(result.reply) : isNodeFailure(result.failure, total);
}

const nodeFailures: ReadonlySet<ErrorCode> = new Set([
  'upstream-dns-failed',
  'upstream-connect-failed',
  'upstream-tls-failed',
  'upstream-closed',
  'upstream-timeout',
]);

/**
 * True if a call failed because of the node, and not because of the request: no connection, a time-out, or a broken connection.
 * If the caller allowed less than the `total` milliseconds of the configuration, its time-out does not count.
 */
export function isNodeFailure(failure: unknown, total: number): boolean {
  const cause = causeOf(failure);
  if (cause instanceof TimeLimitPassed && cause.limit === 'total' && cause.milliseconds < total) return false;
  return cause instanceof GatewayError && nodeFailures.has(cause.code);
}

/** The cause of an `outcome-unknown`, or the failure itself. */
export function causeOf(failure: unknown): unknown {
  return failure instanceof GatewayError && failure.code === 'outcome-unknown' ? failure.cause : failure;
}

/** True for a 5xx about the node itself. A 5xx with a RESTCONF error body is about a device or the request. */
export function isNodeFault(reply: FarSideReply): boolean {
  return reply.status >= 500 && readRestconfError(reply) === undefined;
}

/** True if NSO refused a change because it is in read-only mode; nothing was changed then. Only the text of the error is documented. */
export function refusesChanges(reply: FarSideReply): boolean {
  return reply.status >= 400 && /read-?only mode/iu.test(readRestconfError(reply)?.message ?? '');
}
