import { GatewayError } from '#base/gateway-error.ts';
import type { ReplyHeaders } from './outbound-call.ts';
import { addField, endsConnection, type Fields, keptFor, readFields, token } from './reply-fields.ts';

/** Called with the parts of a reply while it is read. It may stop the reader at any time. */
export interface ReplyTaker {
  /** An interim reply (1xx, RFC 9110 15.2) arrived: another head follows. */
  interim(): void;
  /** Called once a reply. The names of headers are in lower case. */
  head(status: number, headers: ReplyHeaders): void;
  /** A piece of the body, never empty. */
  data(piece: Buffer): void;
}

/** The most bytes of a head, of a line with the size of a chunk, and of all trailers together. */
const longestHead = 16_384;

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [^\r]*)?(?=\r|$)/u;

/** Bytes that no line may contain: control characters except tabs, and a lone CR or LF (RFC 9112 2.2, RFC 9110 5.5). */
const forbidden = /[^\t\r\n -~\x80-\xff]|\r(?!\n)|(?<!\r)\n/u;

const [cr, lf] = [13, 10];

/** The part of a message that is expected next. */
type Expected = 'head' | 'counted' | 'untilEnd' | 'size' | 'chunk' | 'chunkEnd' | 'trailers' | 'nothing';

/**
 * Reads the replies of one connection in order (RFC 9112), in pieces of any size. It is strict: a reply that two readers could read
 * differently is refused with `upstream-protocol-error`. The connection cannot be used after that.
 */
export class ReplyReader {
  #expected: Expected = 'nothing';
  /** The beginning of a line or head whose end has not arrived. */
  #held: Buffer | undefined;
  /** Bytes of the body, or of its current chunk, that have not arrived. */
  #left = 0;
  #trailers = 0;
  #reusable = true;
  #keptFor: number | undefined;

  /** A request is being written: its reply comes next. */
  expect(): void {
    this.#expected = 'head';
  }

  /** Ends the reading of this reply and of this connection. */
  stop(): void {
    this.#expected = 'nothing';
    this.#reusable = false;
  }

  /** True where no reply is expected, or the reply is complete. */
  get done(): boolean {
    return this.#expected === 'nothing';
  }

  /** True where another request may follow on the connection. */
  get reusable(): boolean {
    return this.#reusable;
  }

  /** Milliseconds for which the far side keeps the connection, as its header Keep-Alive says (RFC 2068 19.7.1.1). */
  get keptFor(): number | undefined {
    return this.#keptFor;
  }

  /** The connection has ended. Returns true where that is the end of a reply without another length. */
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

  /** Reads one part and returns where it ends; undefined where its end has not arrived. */
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
        // Bytes after a complete reply: the reply is valid, but no other request may follow on the connection.
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

  /** Takes the framing of the rest from the head (RFC 9112 6.3, 9.3). */
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
    // HTTP/1.0 has no chunks (RFC 9112 6.1). Bytes after a reply without a body would be taken for the next reply.
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

  /** Trailers are read and ignored (RFC 9110 6.5.1). */
  #readTrailer(bytes: Buffer, at: number): number | undefined {
    const line = lineAt(bytes, at);
    if (line === undefined) return undefined;
    this.#trailers += line.length;
    if (this.#trailers > longestHead) throw malformed(`its trailers are longer than ${longestHead} bytes`);
    if (line === '') this.#expected = 'nothing';
    else if (!addField({}, line, 0, line.length)) throw malformed('it has a line among its trailers that is none');
    return at + line.length + 2;
  }
}

/** The head without the empty line that ends it; undefined where that line has not arrived. */
function headAt(bytes: Buffer, at: number): string | undefined {
  const text = bytes.toString('latin1', at, at + longestHead);
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) {
    if (text.length === longestHead) throw malformed(`its head is longer than ${longestHead} bytes`);
    // A beginning that cannot become a valid head is refused before its end arrives.
    if (!'HTTP/1.'.startsWith(text.slice(0, 7))) throw malformed('it does not begin with a status line');
  }
  const head = end < 0 ? begun(text) : text.slice(0, end);
  if (forbidden.test(head)) throw malformed('its head has a control character, or a line that ends in CR or LF alone');
  return end < 0 ? undefined : head;
}

/** The text without a CR at its end, whose LF may still arrive. */
function begun(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

const extension = `[ \\t]*;[ \\t]*${token}(?:[ \\t]*=[ \\t]*(?:${token}|"(?:[^"\\\\]|\\\\.)*"))?`;
/** The line with the size of a chunk. Extensions are ignored (RFC 9112 7.1.1). */
const sizeLine = new RegExp(`^([0-9a-f]{1,12})(?:${extension})*$`, 'iu');

/** Without its CRLF; undefined where that has not come. */
function lineAt(bytes: Buffer, at: number): string | undefined {
  const end = bytes.indexOf('\r\n', at);
  if ((end < 0 ? bytes.length : end) - at > longestHead)
    throw malformed(`a line of its body's framing is longer than ${longestHead} bytes`);
  const line = end < 0 ? begun(bytes.toString('latin1', at)) : bytes.toString('latin1', at, end);
  if (forbidden.test(line)) throw malformed("a line of its body's framing has a control character, or ends in CR or LF alone");
  return end < 0 ? undefined : line;
}

function expectedAfter(status: number, chunked: boolean, length: Fields[string] | undefined): Expected {
  if (status === 204 || status === 304) return 'nothing';
  if (chunked) return 'size';
  if (length === undefined) return 'untilEnd';
  return Number(length) === 0 ? 'nothing' : 'counted';
}

/** The value of Content-Length; 0 where there is none. The same value twice is refused too (RFC 9112 6.3). */
function lengthOf(length: string | readonly string[] | undefined): number {
  if (length === undefined) return 0;
  if (typeof length !== 'string' || !/^\d{1,15}$/u.test(length)) throw malformed('its Content-Length is not one number');
  return Number(length);
}

/** The request accepts no other coding (RFC 9112 7.4: it has no TE). Old far sides write `identity` for none. */
function isChunked(coding: string | readonly string[] | undefined): boolean {
  if (coding === undefined) return false;
  const name = String(coding).toLowerCase();
  if (name !== 'chunked' && name !== 'identity')
    throw new GatewayError(
      'upstream-protocol-error',
      'The reply of the far side has a transfer coding that the request did not ask for; the gateway takes chunked alone.',
    );
  return name === 'chunked';
}

function malformed(how: string): GatewayError {
  return new GatewayError('upstream-protocol-error', `The far side's reply is not well-formed HTTP: ${how}.`);
}

function raise(error: Error): never {
  throw error;
}
