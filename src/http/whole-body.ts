import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import { bodyTooLarge } from './request-checks.ts';

/**
 * Reads a body to its end and calls `done` once: with its bytes (undefined: the request has none), or with 413 `body-too-large` as soon as
 * there are more than `limit` of them, or with 400 where the connection breaks. What comes after that is read and thrown away, as long as
 * the connection stays open.
 */
export function readWhole(request: IncomingMessage, limit: number, done: (error?: GatewayError, body?: Buffer) => void): void {
  const { 'content-length': declared, 'transfer-encoding': coding } = request.headers;
  if (coding === undefined && (declared === undefined || declared === '0')) {
    done();
    return;
  }
  const chunks: Buffer[] = [];
  let length = 0;
  let over = false;
  const end = (error?: GatewayError): void => {
    if (over) return;
    over = true;
    if (error === undefined) done(undefined, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length));
    else done(error);
  };
  request.on('data', (chunk: Buffer) => {
    if (over) return;
    length += chunk.length;
    chunks.push(chunk);
    if (length > limit) end(bodyTooLarge(limit));
  });
  request.on('end', () => end());
  request.on('error', (cause) => end(new GatewayError('malformed-request', 'The request could not be read.', { cause })));
}
