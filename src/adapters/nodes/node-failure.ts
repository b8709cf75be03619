import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { TimeLimitPassed } from '#outbound/call/call-scope.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import { readRestconfError } from '../restconf.ts';

export type AttemptResult = { readonly reply: UpstreamReply } | { readonly failure: unknown };

/** See isNodeFailure for `total`. */
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

/** No connection, a time-out or a broken connection; not a fault of the request. A time-out that the caller shortened below `total` (milliseconds) does not count. */
export function isNodeFailure(failure: unknown, total: number): boolean {
  const cause = causeOf(failure);
  if (cause instanceof TimeLimitPassed && cause.limit === 'total' && cause.milliseconds < total) return false;
  return cause instanceof GatewayError && nodeFailures.has(cause.code);
}

/** Of an `outcome-unknown`; or the failure itself. */
export function causeOf(failure: unknown): unknown {
  return failure instanceof GatewayError && failure.code === 'outcome-unknown' ? failure.cause : failure;
}

/** A 5xx with a RESTCONF error body is about a device or the request. */
export function isNodeFault(reply: UpstreamReply): boolean {
  return reply.status >= 500 && readRestconfError(reply) === undefined;
}

/** NSO's read-only mode: nothing was changed. Only the text of the error is documented. */
export function refusesChanges(reply: UpstreamReply): boolean {
  return reply.status >= 400 && /read-?only mode/iu.test(readRestconfError(reply)?.message ?? '');
}
