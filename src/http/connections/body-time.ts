import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { GatewayError } from '#base/gateway-error.ts';
import { inTime } from '#base/in-time.ts';
import { hasBody } from '#http/whole-body.ts';

/** Milliseconds from a request's head to the end of its body. */
const bodyTime = 30_000;
/** Milliseconds between two pieces of a streamed body, whose total time has no limit. */
const pieceTime = 15_000;

/**
 * Calls `late` where the body of a request has not arrived in time; the returned function ends the watch. Node's own `requestTimeout`
 * has one limit for every route, and an import may take longer.
 */
export function watchBodyTime(request: IncomingMessage, late: () => void): () => void {
  if (!hasBody(request)) return () => {};
  const timer = setTimeout(() => {
    if (!request.complete) late();
  }, bodyTime);
  return () => clearTimeout(timer);
}

/** The pieces of a body as they arrive. Throws `request-timeout` (408) after 15 s without a piece. */
export async function* arriving(body: Readable, limit = pieceTime): AsyncGenerator<Buffer, void, undefined> {
  // return() is never called: it would destroy the connection before the caller can read why the request was refused.
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  for (;;) {
    const next = await inTime(pieces.next().catch(connectionBroke), limit, tooLate);
    if (next.done === true) return;
    yield next.value;
  }
}

function connectionBroke(cause: unknown): never {
  throw new GatewayError('malformed-request', 'The connection broke before the end of the body.', { cause });
}

function tooLate(): never {
  throw new GatewayError('request-timeout', `No byte of the body arrived for ${pieceTime / 1_000} seconds.`);
}
