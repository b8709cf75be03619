import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import { GatheredBytes } from '#base/gathered-bytes.ts';
import { bodyTooLarge } from './admission/request-checks.ts';

/**
 * Reads a body to its end and calls `done` once: with its bytes (undefined: the request has none), or with 413 `body-too-large` as soon as
 * there are more than `limit` of them, or with 400 where the connection breaks. What comes after that is read and thrown away, as long as
 * the connection stays open.
 */
export function readWhole(request: IncomingMessage, limit: number, done: (error?: GatewayError, body?: Buffer) => void): void {
  if (!hasBody(request)) {
    done();
    return;
  }
  const gathered = new GatheredBytes();
  let over = false;
  const end = (error?: GatewayError): void => {
    if (over) return;
    over = true;
    if (error === undefined) done(undefined, gathered.take());
    else done(error);
  };
  request.on('data', (chunk: Buffer) => {
    if (over) return;
    gathered.add(chunk);
    if (gathered.length > limit) end(bodyTooLarge(limit));
  });
  request.on('end', () => end());
  request.on('error', (cause) => end(new GatewayError('malformed-request', 'The request could not be read.', { cause })));
}

/** By its framing (RFC 9112 6.3). */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': declared, 'transfer-encoding': coding } = headers;
  return coding !== undefined || (declared !== undefined && declared !== '0');
}
