import type { ServerResponse } from 'node:http';
import { withoutBasic } from '#access/authentication.ts';
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

/** What the head of a reply depends on. */
interface ReplyScope {
  readonly requestId: string;
  /** The route needs a caller: no other caller may get the reply from a cache. */
  readonly isPrivate: boolean;
}

/**
 * Writes the status and headers (name, value, name, value …) of a reply and adds X-Request-Id. A private reply also gets the
 * headers against caches and guessed media types. All in one call: where a header was set before, Node uses its slow path for each of the
 * others too.
 */
export function writeHead(
  response: ServerResponse,
  status: number,
  { requestId, isPrivate }: ReplyScope,
  headers: readonly string[],
): void {
  const shown = status === 401 && isOfBrowser(response) ? withoutBasicChallenge(headers) : headers;
  const added = isPrivate ? privateHeaders(headers) : [];
  response.writeHead(status, [...shown, ...added, 'X-Request-Id', requestId]);
}

const ofPrivate = ['Vary', 'Authorization, Cookie', 'X-Content-Type-Options', 'nosniff'];
const notStored = ['Cache-Control', 'no-store', ...ofPrivate];
/** A reply with an entity tag may be kept by its caller, which asks before each use whether it is still current. */
const checkedBeforeUse = ['Cache-Control', 'private, no-cache', ...ofPrivate];

function privateHeaders(headers: readonly string[]): readonly string[] {
  return headers.some((name, index) => index % 2 === 0 && name === 'ETag') ? checkedBeforeUse : notStored;
}

/** Only browsers send Sec-Fetch-Mode (Fetch Metadata). */
function isOfBrowser({ req }: ServerResponse): boolean {
  return req.headers['sec-fetch-mode'] !== undefined;
}

function withoutBasicChallenge(headers: readonly string[]): readonly string[] {
  return headers.map((text, index) => (headers[index - 1] === 'WWW-Authenticate' ? withoutBasic(text) : text));
}
