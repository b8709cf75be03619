import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import { GatheredBytes } from '#base/gathered-bytes.ts';
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
