import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import { randomHex } from '#base/text/random-hex.ts';

const headerCountLimit = 100;
/** Headers that a request may have once: a second one serves request smuggling or makes the credentials ambiguous. */
const singleHeaders = new Set(['authorization', 'content-length', 'host', 'idempotency-key', 'transfer-encoding']);

/**
 * Refuses faults by RFC 9112 that Node accepts, and more headers than the limit. Faults of the head
 * are a version other than 1.1 and 1.0 and a repeated single header. The target must have no fragment and no other host than Host. Faults
 * of the framing are Transfer-Encoding in HTTP/1.0 (6.1) and any transfer coding but chunked. Each refusal closes the connection.
 */
export function checkFraming(request: IncomingMessage): void {
  if (request.httpVersionMajor !== 1) throw malformed('This HTTP version is not supported: send HTTP/1.1.');
  const { rawHeaders } = request;
  if (rawHeaders.length > 2 * headerCountLimit)
    throw new GatewayError('headers-too-large', `The request has more than ${headerCountLimit} headers.`, { headers: closing });
  checkRepeated(rawHeaders);
  checkHost(request);
  checkTarget(request);
  const coding = request.headers['transfer-encoding'];
  if (coding === undefined) return;
  if (request.headers['content-length'] !== undefined)
    throw malformed('The request has both Transfer-Encoding and Content-Length; send one of them.');
  if (request.httpVersion !== '1.1') throw malformed('Transfer-Encoding needs HTTP/1.1 (RFC 9112 6.1).');
  if (coding.toLowerCase() !== 'chunked') throw malformed('The only supported transfer coding is chunked.');
}

function checkRepeated(rawHeaders: readonly string[]): void {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!singleHeaders.has(name)) continue;
    if (seen.has(name)) throw malformed(`The request has the header ${name} twice; send it once.`);
    seen.add(name);
  }
}

/** `name` in lower case. */
function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  return rawHeaders.filter((other, index) => index % 2 === 0 && other.toLowerCase() === name).length > 1;
}

/** uri-host [ ":" port ] (RFC 9110 7.2). Host may be empty, but HTTP/1.1 must have it (RFC 9112 3.2). */
const hostPattern = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/iu;

function checkHost(request: IncomingMessage): void {
  const { host } = request.headers;
  if (host === undefined && request.httpVersion === '1.1') throw malformed('The Host header is missing.');
  if (host !== undefined && !hostPattern.test(host)) throw malformed('The Host header names no host.');
}

/** A target in absolute form (RFC 9112 3.2.2) must name the host of the Host header: a proxy may route by either of them. */
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

/** The caller's request id where it is valid: 1 to 128 visible ASCII characters. */
export function receivedRequestId(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,128}$/u.test(value) ? value : undefined;
}

/** A request id for a request without a valid one. */
export function newRequestId(): string {
  return randomHex(16);
}

const charset = /^[ \t;]*;[ \t]*charset[ \t]*=[ \t]*(?:"utf-?8"|utf-?8)[ \t;]*$/iu;

/** Refuses a body of another media type than those that the route takes, another charset than UTF-8, or a compressed one. */
export function checkMediaType(request: IncomingMessage, expected: readonly string[]): void {
  const { 'content-type': contentType, 'content-encoding': contentEncoding } = request.headers;
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw new GatewayError(
      'unsupported-media-type',
      `Send the body without Content-Encoding; ${JSON.stringify(contentEncoding.slice(0, 64))} is not supported.`,
    );
  }
  // Node shows only the first of a repeated Content-Type; a proxy in front may have checked the last.
  if (isRepeated(request.rawHeaders, 'content-type'))
    throw new GatewayError('unsupported-media-type', 'The request has the header Content-Type twice; send it once.');
  if (!expected.some((type) => isType(contentType ?? '', type))) {
    // RFC 5789 2.2 defines Accept-Patch for this.
    throw otherMediaType(expected, request.method === 'PATCH' ? 'Accept-Patch' : 'Accept');
  }
}

function isType(contentType: string, expected: string): boolean {
  const [essence, parameters] = splitType(contentType);
  return essence.toLowerCase() === expected && (parameters === '' || !/[^; \t]/u.test(parameters) || charset.test(parameters));
}

function otherMediaType(expected: readonly string[], header: string): GatewayError {
  const detail = `Send the body as ${expected.join(' or ')} in UTF-8 (Content-Type: ${expected[0]}).`;
  return new GatewayError('unsupported-media-type', detail, { headers: { [header]: expected.join(', ') } });
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

/**
 * Seconds that the caller is willing to wait (`Prefer: wait=10`, RFC 7240 4.3). Unknown or malformed preferences are ignored, as the RFC
 * requires.
 */
export function preferredWait(value: string | string[] | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  // A quoted string without an end matches to the end of the text: a search for its end from each quote would take quadratic time.
  const preferences = value.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/gu) ?? [];
  const seconds = preferences
    .map((preference) => /^[ \t]*wait[ \t]*=[ \t]*"?(\d{1,7})"?[ \t]*(?:;|$)/iu.exec(preference)?.[1])
    .find((found) => found !== undefined);
  return seconds === undefined || Number(seconds) === 0 ? undefined : Number(seconds);
}
