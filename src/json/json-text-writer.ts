import { jsonEscaper } from './json-escape.ts';

const blockSize = 64 * 1024;
/** Up to here a loop over bytes is faster than a call into the engine (measured on Node 26). */
const shortCopy = 80;
const shortEscape = 160;

// What follows the backslash for a byte that must be escaped (RFC 8259 section 7), 0 for those that need none.
const escapes = new Uint8Array(256);
escapes.fill(0x75, 0, 0x20);
for (const [byte, letter] of ['\bb', '\tt', '\nn', '\ff', '\rr', '""', '\\\\'].map((pair) => [
  pair.charCodeAt(0),
  pair.charCodeAt(1),
])) {
  escapes[byte ?? 0] = letter ?? 0;
}
const hexDigits = Buffer.from('0123456789abcdef');

const nothing: Buffer = Buffer.alloc(0);

/** Collects JSON text out of bytes and gives it on in blocks; what it gave stays as it is until `reuse` is called. */
export class JsonTextWriter {
  readonly #write: (chunk: Buffer) => void;
  #block = nothing;
  #start = 0;
  #end = 0;

  constructor(write: (chunk: Buffer) => void) {
    this.#write = write;
  }

  /** Makes room for so many bytes in one block. */
  reserve(length: number): void {
    if (this.#block.length - this.#end >= length) return;
    this.flush();
    this.#block = Buffer.allocUnsafe(length);
    this.#start = 0;
    this.#end = 0;
  }

  /** What was given so far is done with: its memory is written over. A block for each piece would be garbage faster than V8 looks for it. */
  reuse(): void {
    this.flush();
    this.#start = 0;
    this.#end = 0;
  }

  /** ASCII, as it is. */
  text(ascii: string): void {
    this.#makeRoom(ascii.length);
    const block = this.#block;
    let end = this.#end;
    for (let i = 0; i < ascii.length; i++) block[end++] = ascii.charCodeAt(i);
    this.#end = end;
  }

  byte(value: number): void {
    this.#makeRoom(1);
    this.#block[this.#end++] = value;
  }

  /** Bytes, as they are. */
  raw(bytes: Buffer, from: number, to: number): void {
    this.#makeRoom(to - from);
    const block = this.#block;
    let end = this.#end;
    if (to - from <= shortCopy) {
      for (let i = from; i < to; i++) block[end++] = bytes[i] as number;
    } else {
      bytes.copy(block, end, from, to);
      end += to - from;
    }
    this.#end = end;
  }

  /** Bytes (UTF-8, cut anywhere) as the inside of a string literal. */
  escaped(bytes: Buffer, from: number, to: number): void {
    if (to - from <= shortEscape) {
      this.#escapeShort(bytes, from, to);
      return;
    }
    for (let i = from; i < to; i += jsonEscaper.limit) {
      const piece = jsonEscaper.escape(bytes, i, Math.min(i + jsonEscaper.limit, to));
      this.#makeRoom(piece.length);
      this.#block.set(piece, this.#end);
      this.#end += piece.length;
    }
  }

  flush(): void {
    if (this.#end === this.#start) return;
    const chunk = this.#block.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#write(chunk);
  }

  #makeRoom(length: number): void {
    if (this.#block.length - this.#end < length) this.reserve(Math.max(length, blockSize));
  }

  #escapeShort(bytes: Buffer, from: number, to: number): void {
    this.#makeRoom((to - from) * 6);
    const block = this.#block;
    let end = this.#end;
    for (let i = from; i < to; i++) {
      const byte = bytes[i] as number;
      const escape = escapes[byte] as number;
      if (escape === 0) {
        block[end++] = byte;
        continue;
      }
      block[end++] = 0x5c;
      block[end++] = escape;
      if (escape === 0x75) {
        block[end++] = 0x30;
        block[end++] = 0x30;
        block[end++] = hexDigits[byte >> 4] as number;
        block[end++] = hexDigits[byte & 15] as number;
      }
    }
    this.#end = end;
  }
}
