import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import { GatheredBytes } from '#base/gathered-bytes.ts';
import { bodyTooLarge } from './admission/request-checks.ts';

/**
 * Reads a body to its end and calls `done` once. `body` is undefined where the request has none. `error` is 413 `body-too-large` as
 * soon as there are more than `limit` bytes, or 400 where the connection breaks. Later bytes are read and dropped while the connection
 * stays open.
 */
export function readWhole(request: IncomingMessage, limit: number, done: (error?: GatewayError, body?: Buffer) => void): void {
  if (!hasBody(request)) {
    done();
    return;
  }
  const gathered = new GatheredBytes();
  let ended = false;
  const end = (error?: GatewayError): void => {
    if (ended) return;
    ended = true;
    if (error === undefined) done(undefined, gathered.take());
    else done(error);
  };
  request.on('data', (chunk: Buffer) => {
    if (ended) return;
    gathered.add(chunk);
    if (gathered.length > limit) end(bodyTooLarge(limit));
  });
  request.on('end', () => end());
  request.on('error', (cause) => end(new GatewayError('malformed-request', 'The request could not be read.', { cause })));
}

/** Whether the framing of a request announces a body (RFC 9112 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': declared, 'transfer-encoding': coding } = headers;
  return coding !== undefined || (declared !== undefined && declared !== '0');
}
