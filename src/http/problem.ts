import { errorCodes } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';

/** An error reply ready to be written. */
interface ProblemReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const problemType = 'application/problem+json; charset=utf-8';

/** RFC 9457 problem details. `type` leads to the error's entry in the gateway's own /docs. */
export function problemReply(error: GatewayError, requestId: string): ProblemReply {
  const { title } = errorCodes[error.code];
  const body = JSON.stringify({
    type: `/docs#error-${error.code}`,
    title,
    status: error.status,
    detail: error.message,
    code: error.code,
    requestId,
    errors: error.errors,
    upstream: error.upstream,
  });
  return {
    status: error.status,
    headers: { ...error.headers, 'Content-Type': problemType, 'Content-Length': String(Buffer.byteLength(body)) },
    body,
  };
}

/** What the caller is told of an error that nobody expected: nothing but where to find it in the log. */
export function unexpected(cause: unknown): GatewayError {
  return new GatewayError('internal-error', 'The gateway failed on this request. Its log has the cause under the requestId.', {
    cause,
  });
}
