import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import { randomHex } from '#base/random-hex.ts';

const headerCountLimit = 100;
/** Headers that may stand once in a request: a second one is how requests are smuggled or credentials confused. */
const singleHeaders = ['authorization', 'content-length', 'host', 'idempotency-key', 'transfer-encoding'];
const theirLengths = new Set(singleHeaders.map(({ length }) => length));

/**
 * Refuses what Node lets through although RFC 9112 says it is faulty: versions other than 1.1 and 1.0, a target with a fragment or
 * for another host than Host, a repeated Host or Authorization, Transfer-Encoding in HTTP/1.0 (6.1), any transfer coding but chunked;
 * and more headers than the limit. Each closes the connection.
 */
export function checkFraming(request: IncomingMessage): void {
  if (request.httpVersionMajor !== 1) throw malformed('The version of HTTP is not one that is taken here: send HTTP/1.1.');
  const { rawHeaders } = request;
  if (rawHeaders.length > 2 * headerCountLimit)
    throw new GatewayError('headers-too-large', `The request has more than ${headerCountLimit} headers.`, { headers: closing });
  checkRepeated(rawHeaders);
  checkHost(request);
  checkTarget(request);
  const coding = request.headers['transfer-encoding'];
  if (coding === undefined) return;
  if (request.headers['content-length'] !== undefined)
    throw malformed('Transfer-Encoding and Content-Length stand side by side; send one.');
  if (request.httpVersion !== '1.1') throw malformed('Transfer-Encoding needs HTTP/1.1 (RFC 9112 6.1).');
  if (coding.toLowerCase() !== 'chunked') throw malformed('The only transfer coding taken is chunked.');
}

function checkRepeated(rawHeaders: readonly string[]): void {
  /** A bit for each of them. */
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!theirLengths.has(name.length)) continue;
    const place = singleHeaders.indexOf(name.toLowerCase());
    if (place < 0) continue;
    if ((seen & (1 << place)) !== 0) throw malformed(`The header ${singleHeaders[place]} stands twice; send it once.`);
    seen |= 1 << place;
  }
}

/** `name` in lower case. */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const other = rawHeaders[index] ?? '';
    if (other.length === name.length && other.toLowerCase() === name) count += 1;
  }
  return count > 1;
}

/** uri-host [ ":" port ] (RFC 9110 7.2); an empty one is allowed, a missing one in HTTP/1.1 is not (RFC 9112 3.2). */
const hostPattern = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/iu;

function checkHost(request: IncomingMessage): void {
  const { host } = request.headers;
  if (host === undefined && request.httpVersion === '1.1') throw malformed('The Host header is missing.');
  if (host !== undefined && !hostPattern.test(host)) throw malformed('The Host header names no host.');
}

/** A target in absolute form (RFC 9112 3.2.2) must name the host that Host names: who routes by one would be misled by the other. */
function checkTarget({ url = '', headers: { host } }: IncomingMessage): void {
  if (url.includes('#')) throw malformed('The request target has a fragment (RFC 9112 3.2); leave it out.');
  if (url.startsWith('/')) return;
  const authority = /^https?:\/\/([^/?]*)/iu.exec(url)?.[1];
  if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase())
    throw malformed('The request target and the Host header name different hosts.');
}

const closing = { Connection: 'close' };

function malformed(detail: string): GatewayError {
  return new GatewayError('malformed-request', detail, { headers: closing });
}

/** The caller's request id where it sent a sane one: 1 to 128 visible ASCII characters. */
export function receivedRequestId(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,128}$/u.test(value) ? value : undefined;
}

/** For a request that came without one. */
export function newRequestId(): string {
  return randomHex(16);
}

const charset = /^[ \t;]*;[ \t]*charset[ \t]*=[ \t]*(?:"utf-?8"|utf-?8)[ \t;]*$/iu;

/** Refuses a body of another media type than the route takes, another charset than UTF-8, or a compressed one. */
export function checkMediaType(request: IncomingMessage, expected: string): void {
  const { 'content-type': contentType, 'content-encoding': contentEncoding } = request.headers;
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw new GatewayError(
      'unsupported-media-type',
      `Send the body without Content-Encoding; ${JSON.stringify(contentEncoding.slice(0, 64))} is not taken.`,
    );
  }
  // Of a repeated one Node shows the first alone: somebody else may go by the last.
  if (isRepeated(request.rawHeaders, 'content-type'))
    throw new GatewayError('unsupported-media-type', 'The header Content-Type stands twice; send it once.');
  if (!isType(contentType ?? '', expected)) {
    // RFC 5789 2.2 has a header of its own for PATCH.
    throw otherMediaType(expected, request.method === 'PATCH' ? 'Accept-Patch' : 'Accept');
  }
}

function isType(contentType: string, expected: string): boolean {
  const [essence, parameters] = splitType(contentType);
  return essence.toLowerCase() === expected && (parameters === '' || !/[^; \t]/u.test(parameters) || charset.test(parameters));
}

function otherMediaType(expected: string, header: string): GatewayError {
  return new GatewayError('unsupported-media-type', `Send the body as ${expected} in UTF-8 (Content-Type: ${expected}).`, {
    headers: { [header]: expected },
  });
}

function splitType(contentType: string): readonly [string, string] {
  const semicolon = contentType.indexOf(';');
  return semicolon < 0 ? [contentType.trim(), ''] : [contentType.slice(0, semicolon).trim(), contentType.slice(semicolon)];
}

/** Refuses a body whose declared length is over `limit` bytes, before any of it is read. */
export function checkDeclaredLength(request: IncomingMessage, limit: number): void {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit);
}

export function bodyTooLarge(limit: number): GatewayError {
  return new GatewayError('body-too-large', `The request body is over the limit of ${limit} bytes.`, {
    headers: closing,
  });
}

/** Seconds the caller is willing to wait (`Prefer: wait=10`, RFC 7240 4.3); unknown or malformed preferences are ignored, as the RFC has it. */
export function preferredWait(value: string | string[] | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  // A quoted string without an end takes all that follows: looking for its end anew from each quote would take quadratic time.
  const preferences = value.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/gu) ?? [];
  const seconds = preferences
    .map((preference) => /^[ \t]*wait[ \t]*=[ \t]*"?(\d{1,7})"?[ \t]*(?:;|$)/iu.exec(preference)?.[1])
    .find((found) => found !== undefined);
  return seconds === undefined || Number(seconds) === 0 ? undefined : Number(seconds);
}
