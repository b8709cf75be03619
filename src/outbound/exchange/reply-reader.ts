import { GatewayError } from '#base/gateway-error.ts';
import type { ReplyHeaders } from '../call/outbound-call.ts';
import { addField, endsConnection, type Fields, keptFor, readFields, token } from './message-head.ts';

/** May stop the reader at any time. */
export interface ReplyTaker {
  /** Another head follows (1xx, RFC 9110 15.2). */
  interim(): void;
  /** Once a reply, with names in lower case. */
  head(status: number, headers: ReplyHeaders): void;
  /** Never empty. */
  data(piece: Buffer): void;
}

/** Bytes of a head, of a size line, and of all trailers. */
const maxHeadLength = 16_384;

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r]*)?(?=\r|$)/u;

/** Control characters but tabs, and a lone CR or LF (RFC 9112 2.2, RFC 9110 5.5). */
const forbidden = /[^\t\r\n -~\x80-\xff]|\r(?!\n)|(?<!\r)\n/u;

const [cr, lf] = [13, 10];

type Expected = 'head' | 'counted' | 'untilEnd' | 'size' | 'chunk' | 'chunkEnd' | 'trailers' | 'nothing';

/** Strict RFC 9112, in pieces of any size: refuses what two readers could read differently (`upstream-protocol-error`), and then the connection. */
export class ReplyReader {
  #expected: Expected = 'nothing';
  /** The beginning of a line or head. */
  #held: Buffer | undefined;
  #left = 0;
  #trailers = 0;
  #reusable = true;
  #keptFor: number | undefined;

  /** A request is being written. */
  expect(): void {
    this.#expected = 'head';
  }

  stop(): void {
    this.#expected = 'nothing';
    this.#reusable = false;
  }

  get done(): boolean {
    return this.#expected === 'nothing';
  }

  get reusable(): boolean {
    return this.#reusable;
  }

  /** Milliseconds of the header Keep-Alive (RFC 2068 19.7.1.1). */
  get keptFor(): number | undefined {
    return this.#keptFor;
  }

  /** True where the end of the connection ends a reply without length. */
  ends(): boolean {
    const whole = this.#expected === 'untilEnd';
    this.stop();
    return whole;
  }

  read(piece: Buffer, taker: ReplyTaker): void {
    const bytes = this.#held === undefined ? piece : Buffer.concat([this.#held, piece]);
    this.#held = undefined;
    for (let at = 0; at < bytes.length; ) {
      const next = this.#step(bytes, at, taker);
      if (next === undefined) {
        this.#held = bytes.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** Returns where the part ends; undefined where that has not arrived. */
  #step(bytes: Buffer, at: number, taker: ReplyTaker): number | undefined {
    switch (this.#expected) {
      case 'head':
        return this.#readHead(bytes, at, taker);
      case 'counted':
        return this.#readCounted(bytes, at, taker, 'nothing');
      case 'chunk':
        return this.#readCounted(bytes, at, taker, 'chunkEnd');
      case 'untilEnd':
        taker.data(bytes.subarray(at));
        return bytes.length;
      case 'size':
        return this.#readSize(bytes, at);
      case 'chunkEnd':
        return this.#readChunkEnd(bytes, at);
      case 'trailers':
        return this.#readTrailer(bytes, at);
      default:
        // Bytes after a complete reply: no other request may follow.
        this.#reusable = false;
        return bytes.length;
    }
  }

  #readHead(bytes: Buffer, at: number, taker: ReplyTaker): number | undefined {
    const head = headAt(bytes, at);
    if (head === undefined) return undefined;
    const [line, minor, code] = statusLine.exec(head) ?? [];
    if (line === undefined) throw malformed('it does not begin with a status line of HTTP/1.1');
    const status = Number(code);
    const fields = readFields(head, line.length + 2) ?? raise(malformed('its head has a line that is no header'));
    if (status === 101) throw malformed('it switches protocols, which the request did not ask for');
    if (status < 200) taker.interim();
    else {
      this.#frame(status, minor === '1', fields);
      taker.head(status, fields);
    }
    return at + head.length + 4;
  }

  /** RFC 9112 6.3, 9.3. */
  #frame(status: number, current: boolean, fields: Fields): void {
    const coding = fields['transfer-encoding'];
    const length = fields['content-length'];
    if (coding !== undefined && length !== undefined) throw malformed('it has both Content-Length and Transfer-Encoding');
    this.#left = lengthOf(length);
    this.#trailers = 0;
    this.#keptFor = keptFor(fields);
    this.#reusable = !endsConnection(fields, current);
    this.#expected = expectedAfter(status, isChunked(coding), length);
    if (this.#expected === 'untilEnd') this.#reusable = false;
    // HTTP/1.0 has no chunks (RFC 9112 6.1). Bytes after a reply without body would count as the next reply.
    if (coding !== undefined && (!current || this.#expected === 'nothing')) this.#reusable = false;
    if (this.#left > 0 && this.#expected === 'nothing') this.#reusable = false;
  }

  #readCounted(bytes: Buffer, at: number, taker: ReplyTaker, next: Expected): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#expected = next;
    taker.data(bytes.subarray(at, end));
    return end;
  }

  #readSize(bytes: Buffer, at: number): number | undefined {
    const line = lineAt(bytes, at);
    if (line === undefined) return undefined;
    const digits = sizeLine.exec(line)?.[1] ?? raise(malformed('a chunk of its body has no size that can be'));
    this.#left = Number.parseInt(digits, 16);
    this.#expected = this.#left === 0 ? 'trailers' : 'chunk';
    return at + line.length + 2;
  }

  #readChunkEnd(bytes: Buffer, at: number): number | undefined {
    if (bytes[at] !== cr || (at + 1 < bytes.length && bytes[at + 1] !== lf))
      throw malformed('a chunk of its body does not end where it says');
    if (at + 1 === bytes.length) return undefined;
    this.#expected = 'size';
    return at + 2;
  }

  /** Ignored (RFC 9110 6.5.1). */
  #readTrailer(bytes: Buffer, at: number): number | undefined {
    const line = lineAt(bytes, at);
    if (line === undefined) return undefined;
    this.#trailers += line.length;
    if (this.#trailers > maxHeadLength) throw malformed(`its trailers are longer than ${maxHeadLength} bytes`);
    if (line === '') this.#expected = 'nothing';
    else if (!addField({}, line, 0, line.length)) throw malformed('it has a line among its trailers that is none');
    return at + line.length + 2;
  }
}

/** Undefined where its end has not arrived. */
function headAt(bytes: Buffer, at: number): string | undefined {
  const text = bytes.toString('latin1', at, at + maxHeadLength);
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) {
    if (text.length === maxHeadLength) throw malformed(`its head is longer than ${maxHeadLength} bytes`);
    // What cannot become a head is refused before its end.
    if (!'HTTP/1.'.startsWith(text.slice(0, 7))) throw malformed('it does not begin with a status line');
  }
  const head = end < 0 ? withoutCr(text) : text.slice(0, end);
  if (forbidden.test(head)) throw malformed('its head has a control character, or a line that ends in CR or LF alone');
  return end < 0 ? undefined : head;
}

/** Without a CR at its end, whose LF may still arrive. */
function withoutCr(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

const extension = `[ \\t]*;[ \\t]*${token}(?:[ \\t]*=[ \\t]*(?:${token}|"(?:[^"\\\\]|\\\\.)*"))?`;
/** Extensions are ignored (RFC 9112 7.1.1). */
const sizeLine = new RegExp(`^([0-9a-f]{1,12})(?:${extension})*$`, 'iu');

/** Undefined where the CRLF has not come. */
function lineAt(bytes: Buffer, at: number): string | undefined {
  const end = bytes.indexOf('\r\n', at);
  if ((end < 0 ? bytes.length : end) - at > maxHeadLength)
    throw malformed(`a line of its body's framing is longer than ${maxHeadLength} bytes`);
  const line = end < 0 ? withoutCr(bytes.toString('latin1', at)) : bytes.toString('latin1', at, end);
  if (forbidden.test(line)) throw malformed("a line of its body's framing has a control character, or ends in CR or LF alone");
  return end < 0 ? undefined : line;
}

function expectedAfter(status: number, chunked: boolean, length: Fields[string] | undefined): Expected {
  if (status === 204 || status === 304) return 'nothing';
  if (chunked) return 'size';
  if (length === undefined) return 'untilEnd';
  return Number(length) === 0 ? 'nothing' : 'counted';
}

/** 0 without the header. The same value twice is refused too (RFC 9112 6.3). */
function lengthOf(length: string | readonly string[] | undefined): number {
  if (length === undefined) return 0;
  if (typeof length !== 'string' || !/^\d{1,15}$/u.test(length)) throw malformed('its Content-Length is not one number');
  return Number(length);
}

/** The request has no TE (RFC 9112 7.4). Old upstreams write `identity` for none. */
function isChunked(coding: string | readonly string[] | undefined): boolean {
  if (coding === undefined) return false;
  const name = String(coding).toLowerCase();
  if (name !== 'chunked' && name !== 'identity')
    throw new GatewayError(
      'upstream-protocol-error',
      'The reply of the upstream has a transfer coding that the request did not ask for; the gateway takes chunked alone.',
    );
  return name === 'chunked';
}

function malformed(how: string): GatewayError {
  return new GatewayError('upstream-protocol-error', `The upstream's reply is not well-formed HTTP: ${how}.`);
}

function raise(error: Error): never {
  throw error;
}
