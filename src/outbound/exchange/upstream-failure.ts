import { CallerLeft } from '#base/caller-left.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError, type GatewayErrorOptions } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';
import { TimeLimitPassed } from '../call/call-scope.ts';
import type { OutboundCall } from '../call/outbound-call.ts';

interface Progress {
  /** A byte may have left. */
  readonly left: boolean;
  /** Known once its head arrived. */
  readonly status: number | undefined;
}

/** To the closed table. A change that left, and failed before the end of its reply, has an unknown outcome and is never sent again (RFC 9110 9.2.2). */
export function upstreamFailure(thrown: unknown, call: OutboundCall, progress: Progress): Error {
  if (thrown instanceof CallerLeft) return thrown;
  const failure = thrown instanceof GatewayError ? thrown : translate(thrown, progress);
  if (!call.stateChanging || !progress.left || answeredAlready.has(failure.code)) return withStatus(failure, progress);
  // TLS ended, so the upstream never read a request.
  if (thrown instanceof GatewayError && thrown.code === 'upstream-tls-failed') return failure;
  const answered =
    progress.status === undefined ? 'no answer came' : `only a part of its answer (status ${progress.status}) came`;
  return new GatewayError(
    'outcome-unknown',
    `The ${call.method} left the gateway and ${answered}: it may or may not have happened. Check the upstream before sending it again. Cause: ${failure.message}`,
    { ...aboutStatus(progress), cause: failure, status: failure.status === 504 ? 504 : 502 },
  );
}

/** The upstream has answered the call: the gateway refuses the rest. */
const answeredAlready: ReadonlySet<ErrorCode> = new Set(['response-too-large', 'stream-refused']);

/** With the status of the reply that had begun. */
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
  // TLS 1.3 refuses a missing client certificate after the handshake.
  if (cause.startsWith('ERR_SSL_')) return { code: 'upstream-tls-failed', description: `The upstream ended TLS (${cause}).` };
  if (!left) {
    const description = `The connection for the call failed before anything of the call was sent (${cause}).`;
    return { code: 'upstream-connect-failed', description };
  }
  if (systemCode(thrown) !== undefined) {
    return {
      code: 'upstream-closed',
      description: `The upstream broke the connection off before its reply was complete (${cause}).`,
    };
  }
  return { code: 'upstream-protocol-error', description: `The upstream's reply could not be read (${cause}).` };
}

/** The message of an error may quote bytes of the upstream. */
function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown';
  const code = systemCode(thrown) ?? '';
  return /^\w{1,64}$/u.test(code) ? code : thrown.name;
}
