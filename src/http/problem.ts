import { errorCodes } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { ErrorShape } from './route.ts';

/** An error reply ready to be written. */
interface ProblemReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface ProblemOptions {
  readonly error: GatewayError;
  readonly requestId: string;
  /** The path of `server.publicUrl`, under which callers find /docs. */
  readonly publicPath: string;
  readonly shape?: ErrorShape | undefined;
}

/** RFC 9457 problem details, or the route's own error shape. `type` links the error's entry in the gateway's own /docs. */
export function problemReply(options: ProblemOptions): ProblemReply {
  const { error, shape } = options;
  const body = shape === undefined ? problemDetails(options) : shape.write(error);
  const mediaType = shape?.mediaType ?? 'application/problem+json; charset=utf-8';
  const headers = { ...error.headers, 'Content-Type': mediaType, 'Content-Length': String(Buffer.byteLength(body)) };
  return { status: error.status, headers, body };
}

function problemDetails({ error, requestId, publicPath }: ProblemOptions): string {
  return JSON.stringify({
    type: `${publicPath}/docs#error-${error.code}`,
    title: errorCodes[error.code].title,
    status: error.status,
    detail: error.message,
    code: error.code,
    requestId,
    errors: error.errors,
    upstream: error.upstream,
    approval: error.approval,
  });
}

/** The reply to an unexpected error: it says only where the log has the cause. */
export function unexpectedFailure(cause: unknown): GatewayError {
  return new GatewayError('internal-error', 'The gateway failed on this request. Its log has the cause under the requestId.', {
    cause,
  });
}
