import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { systemCode } from '#base/system-code.ts';
import { newRequestId } from './admission/request-checks.ts';
import type { OpenConnections } from './connections/open-connections.ts';
import { problemReply, unexpectedFailure } from './problem.ts';
import { writeHead } from './reply-head.ts';
import type { RequestScope } from './request-scope.ts';
import type { ServedRequest } from './served-request.ts';

/** Answers whatever a request threw as problem+json; the cause of an unexpected one goes to the log alone. */
export function answerError(error: unknown, { raw, response, route, scope }: ServedRequest, log: Log): void {
  // The caller has left; what its leaving threw is no failure of anything.
  if (response.destroyed && error instanceof CallerLeft) return;
  const known = noteFailure(error, scope, log);
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const problem = problemReply(known, scope.requestId, route?.errorShape);
  const closing = hasUnreadBody(raw) ? { Connection: 'close' } : {};
  const headers: Record<string, string> = { ...problem.headers, ...closing };
  if (headers['Connection'] === 'close') lastAnswered.add(raw.socket);
  writeHead(response, problem.status, scope, Object.entries(headers).flat());
  // As bytes: with a string Node would write the head as UTF-8 too, and change what X-Upstream-ETag and its like name byte for byte.
  response.end(Buffer.from(problem.body));
}

/** What a request failed with, for its log line and its record; an unexpected error goes to the log by itself. */
export function noteFailure(error: unknown, scope: RequestScope, log: Log): GatewayError {
  const known = error instanceof GatewayError ? error : unexpectedFailure(error);
  if (known.code === 'internal-error') logUnexpected(known.cause, scope.requestId, log);
  scope.record.failure = known;
  return known;
}

/** Connections that end with the answer they have got. */
const lastAnswered = new WeakSet<Socket>();

/** A body that nobody read may be endless: unless it is known to be small, the connection ends with the answer (RFC 9112 9.6). */
function hasUnreadBody(request: IncomingMessage): boolean {
  const { 'transfer-encoding': coding, 'content-length': length } = request.headers;
  return !request.complete && (coding !== undefined || Number(length ?? 0) > smallBody);
}

const smallBody = 65_536;

function logUnexpected(thrown: unknown, requestId: string, log: Log): void {
  const cause = thrown instanceof Error ? thrown : new Error('not an Error');
  const frames = (cause.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '));
  const stack = frames.slice(0, 8).join('\n');
  log.error('a request failed unexpectedly', { requestId, errorName: cause.name, reason: systemCode(cause), stack });
}

/** Bytes that are no HTTP request: answered on the bare socket behind the replies that are due, then closed. */
export function answerUnreadable(error: Error & { readonly code?: string }, socket: Socket, connections: OpenConnections): void {
  // What is written before the handshake is over waits for it, and the connection with it.
  if (error.code === 'ECONNRESET' || !socket.writable || !connections.has(socket)) {
    socket.destroy();
    return;
  }
  // What follows a request that was refused for its framing is no request of its own.
  if (lastAnswered.has(socket)) {
    socket.destroySoon();
    return;
  }
  const { known, reason } = unreadable(error.code);
  connections.endWith(socket, (unfinished) => {
    if (unfinished !== undefined) unfinished.record.failure = known;
    answerBare(socket, known, reason, unfinished?.requestId);
  });
}

/** The gateway is no proxy: CONNECT is a method that none of its routes knows. */
export function answerConnect(socket: Socket): void {
  // Node has let go of the socket: without a listener a caller that resets it would end the process.
  socket.on('error', () => socket.destroy());
  // Nor would anything hear that it ends its side.
  socket.resume();
  const known = new GatewayError('method-not-allowed', 'The gateway is no proxy: use POST /tools/restCall.', {
    headers: { Allow: '' },
  });
  answerBare(socket, known, 'Method Not Allowed');
}

function answerBare(socket: Socket, known: GatewayError, reason: string, requestId: string = newRequestId()): void {
  const problem = problemReply(known, requestId);
  const headers = Object.entries({ ...problem.headers, 'X-Request-Id': requestId, Connection: 'close' });
  socket.end(
    `HTTP/1.1 ${problem.status} ${reason}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${problem.body}`,
  );
  // A caller that never ends its side would keep the connection, and its request among those in flight.
  const impatient = setTimeout(() => socket.destroy(), lastWordsTime);
  socket.once('close', () => clearTimeout(impatient));
}

/** Milliseconds for a caller to take what it is told, and to end its side. */
const lastWordsTime = 5_000;

function unreadable(code: string | undefined): { readonly known: GatewayError; readonly reason: string } {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return {
      known: new GatewayError('request-timeout', 'The request did not arrive in full in time (headers 10 s, all of it 30 s).'),
      reason: 'Request Timeout',
    };
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return {
      known: new GatewayError('headers-too-large', 'The request headers are over 16 KiB.'),
      reason: 'Request Header Fields Too Large',
    };
  }
  const what = code === 'HPE_INVALID_METHOD' ? 'The method is none that is known here, or the bytes are' : 'The bytes are';
  const known = new GatewayError('malformed-request', `${what} no well-formed HTTP/1.1 request (${code ?? 'unknown'}).`);
  return { known, reason: 'Bad Request' };
}
