import { CallerLeft } from '#base/caller-left.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError, type GatewayErrorOptions } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';
import { TimeLimitPassed } from './call-scope.ts';
import type { OutboundCall } from './outbound-call.ts';

/** How far a call came before it failed. */
interface Progress {
  /** A byte of the request may have left. */
  readonly left: boolean;
  /** The status of the reply, once its head had arrived. */
  readonly status: number | undefined;
}

/**
 * Turns an error of Node, of the reply reader or of a decoder into one of the closed table. After a state-changing call has left, every
 * failure before the end of its reply makes its outcome unknown. Such a call is never sent again (RFC 9110 9.2.2).
 */
export function farSideFailure(thrown: unknown, call: OutboundCall, progress: Progress): Error {
  if (thrown instanceof CallerLeft) return thrown;
  const failure = thrown instanceof GatewayError ? thrown : translate(thrown, progress);
  if (!call.stateChanging || !progress.left || answeredAlready.has(failure.code)) return withStatus(failure, progress);
  // The far side ended the TLS handshake, so it has never read the bytes as a request.
  if (thrown instanceof GatewayError && thrown.code === 'upstream-tls-failed') return failure;
  const answered =
    progress.status === undefined ? 'no answer came' : `only a part of its answer (status ${progress.status}) came`;
  return new GatewayError(
    'outcome-unknown',
    `The ${call.method} left the gateway and ${answered}: it may or may not have happened. Check the far side before sending it again. Cause: ${failure.message}`,
    { ...aboutStatus(progress), cause: failure, status: failure.status === 504 ? 504 : 502 },
  );
}

/** The gateway itself refuses the rest of such a reply: the far side has answered the call. */
const answeredAlready: ReadonlySet<ErrorCode> = new Set(['response-too-large', 'stream-refused']);

/** The same failure, which names the status of the reply that had begun. */
function withStatus(failure: GatewayError, progress: Progress): GatewayError {
  if (progress.status === undefined) return failure;
  const about = { ...aboutStatus(progress), cause: failure };
  return failure instanceof TimeLimitPassed
    ? new TimeLimitPassed(failure.limit, failure.milliseconds, failure.message, about)
    : new GatewayError(failure.code, failure.message, about);
}

function aboutStatus({ status }: Progress): GatewayErrorOptions {
  return status === undefined ? {} : { upstream: { status }, headers: { 'X-Upstream-Status': String(status) } };
}

function translate(thrown: unknown, progress: Progress): GatewayError {
  const { code, description } = describe(thrown, progress);
  return new GatewayError(code, description, { cause: thrown });
}

function describe(
  thrown: unknown,
  { left }: Progress,
): {
  readonly code: ErrorCode;
  readonly description: string;
} {
  const cause = codeOf(thrown);
  // With TLS 1.3 a far side refuses a missing client certificate only after the handshake.
  if (cause.startsWith('ERR_SSL_')) return { code: 'upstream-tls-failed', description: `The far side ended TLS (${cause}).` };
  if (!left) {
    const description = `The connection for the call failed before anything of the call was sent (${cause}).`;
    return { code: 'upstream-connect-failed', description };
  }
  if (systemCode(thrown) !== undefined) {
    return {
      code: 'upstream-closed',
      description: `The far side broke the connection off before its reply was complete (${cause}).`,
    };
  }
  return { code: 'upstream-protocol-error', description: `The far side's reply could not be read (${cause}).` };
}

/** The machine-readable code of an error. Its message is left out, because it may quote bytes of the far side. */
function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown';
  const code = systemCode(thrown) ?? '';
  return /^\w{1,64}$/u.test(code) ? code : thrown.name;
}
