import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { withoutBasic } from '#access/authentication.ts';
import { CallerLeft } from '#base/caller-left.ts';
import { errorCodes } from '#base/error-codes.ts';
import { exceptionFields } from '#base/exception-fields.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { newRequestId } from './admission/request-checks.ts';
import { breakOffReply } from './connections/break-off.ts';
import type { OpenConnections } from './connections/open-connections.ts';
import type { RequestScope, ServedRequest } from './request-scope.ts';
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
function unexpectedFailure(cause: unknown): GatewayError {
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

/** Answers an error that serving a request threw, as problem+json. The cause of an unexpected error goes to the log alone. */
export function answerError(error: unknown, { raw, response, route, scope }: ServedRequest, log: Log): void {
  // The caller has left; the error that follows from that is no failure of the gateway.
  if (response.destroyed && error instanceof CallerLeft) return;
  const known = noteFailure(error, scope, log);
  if (response.headersSent) {
    breakOffReply(response);
    return;
  }
  const problem = problemReply({
    error: known,
    requestId: scope.requestId,
    publicPath: scope.publicPath,
    shape: route?.errorShape,
  });
  const closing = hasUnreadBody(raw) ? { Connection: 'close' } : {};
  const headers: Record<string, string> = { ...problem.headers, ...closing };
  if (headers['Connection'] === 'close') closingAfterReply.add(raw.socket);
  writeHead(response, problem.status, scope, Object.entries(headers).flat());
  // A Buffer: with a string Node would write the head as UTF-8 too, and change the bytes of X-Upstream-ETag and similar headers.
  response.end(Buffer.from(problem.body));
}

/** Notes the error of a request for its log line and its record. An unexpected error also gets a log line of its own. */
export function noteFailure(error: unknown, scope: RequestScope, log: Log): GatewayError {
  const known = error instanceof GatewayError ? error : unexpectedFailure(error);
  if (known.code === 'internal-error') logUnexpected(known.cause, scope.requestId, log);
  scope.record.failure = known;
  return known;
}

/** Connections that end with the error reply that they have got. */
const closingAfterReply = new WeakSet<Socket>();

/** An unread body may be endless: unless it is known to be small, the connection ends with the reply (RFC 9112 9.6). */
function hasUnreadBody(request: IncomingMessage): boolean {
  const { 'transfer-encoding': coding, 'content-length': length } = request.headers;
  return !request.complete && (coding !== undefined || Number(length ?? 0) > smallBody);
}

/** Bytes of an unread body at most that do not close the connection: Node reads and drops them. */
const smallBody = 65_536;

function logUnexpected(thrown: unknown, requestId: string, log: Log): void {
  log.error('a request failed unexpectedly', { requestId, ...exceptionFields(thrown) });
}

/** Answers bytes that are no HTTP request: on the bare socket, after the replies that are due. Then the connection is closed. */
export function answerUnreadable(error: Error & { readonly code?: string }, socket: Socket, connections: OpenConnections): void {
  // Bytes written before the TLS handshake has ended wait for it, and would keep the connection open.
  if (error.code === 'ECONNRESET' || !socket.writable || !connections.has(socket)) {
    socket.destroy();
    return;
  }
  // Bytes after a request whose framing was refused are no request.
  if (closingAfterReply.has(socket)) {
    socket.destroySoon();
    return;
  }
  const { known, reason } = unreadable(error.code);
  connections.sendFinalReply(socket, (incomplete) => {
    if (incomplete !== undefined) incomplete.record.failure = known;
    answerBare(socket, known, reason, incomplete?.requestId);
  });
}

/** Answers CONNECT with 405: the gateway is no proxy, and none of its routes has this method. */
export function answerConnect(socket: Socket): void {
  // Node has removed its listeners: without one a connection reset by the caller would end the process.
  socket.on('error', () => socket.destroy());
  // Without reading, the socket would never report that the caller closed it.
  socket.resume();
  const known = new GatewayError('method-not-allowed', 'The gateway is no proxy: use POST /tools/restCall.', {
    headers: { Allow: '' },
  });
  answerBare(socket, known, 'Method Not Allowed');
}

function answerBare(socket: Socket, known: GatewayError, reason: string, requestId: string = newRequestId()): void {
  const problem = problemReply({ error: known, requestId, publicPath: '' });
  const headers = Object.entries({ ...problem.headers, 'X-Request-Id': requestId, Connection: 'close' });
  socket.end(
    `HTTP/1.1 ${problem.status} ${reason}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${problem.body}`,
  );
  // A caller that never closes its side would keep the connection, and its request, in flight.
  const timer = setTimeout(() => socket.destroy(), finalReplyTime);
  socket.once('close', () => clearTimeout(timer));
}

/** Milliseconds for a caller to read the final reply of its connection and to close its side. */
const finalReplyTime = 5_000;

function unreadable(code: string | undefined): { readonly known: GatewayError; readonly reason: string } {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return {
      known: new GatewayError(
        'request-timeout',
        'The request did not arrive in time (headers within 10 s, all of it within 30 s).',
      ),
      reason: 'Request Timeout',
    };
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return {
      known: new GatewayError('headers-too-large', 'The request headers are over 16 KiB.'),
      reason: 'Request Header Fields Too Large',
    };
  }
  const what = code === 'HPE_INVALID_METHOD' ? 'The gateway does not know the method, or the bytes are' : 'The bytes are';
  const known = new GatewayError('malformed-request', `${what} not a well-formed HTTP/1.1 request (${code ?? 'unknown'}).`);
  return { known, reason: 'Bad Request' };
}
