import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { GatewayError } from '#base/gateway-error.ts';
import { GatheredBytes } from '#base/text/gathered-bytes.ts';
import { inTime } from '#base/timing/in-time.ts';
import { bodyTooLarge } from './admission/request-checks.ts';

/**
 * Reads a body to its end; undefined where the request has none. Rejects with 413 `body-too-large` as soon as there are more than `limit`
 * bytes, and with 400 where the connection breaks. Later bytes are read and dropped while the connection stays open.
 */
export async function readWhole(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  if (!hasBody(request)) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const gathered = new GatheredBytes();
  let isOver = false;
  request.on('data', (chunk: Buffer) => {
    if (isOver) return;
    gathered.add(chunk);
    isOver = gathered.length > limit;
    if (isOver) reject(bodyTooLarge(limit));
  });
  request.on('end', () => resolve(gathered.take()));
  request.on('error', (cause) => reject(new GatewayError('malformed-request', 'The request could not be read.', { cause })));
  return await promise;
}

/** Whether the framing of a request announces a body (RFC 9112 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': declared, 'transfer-encoding': coding } = headers;
  return coding !== undefined || (declared !== undefined && declared !== '0');
}

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
export async function* readPieces(body: Readable, limit = pieceTime): AsyncGenerator<Buffer, void, undefined> {
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
