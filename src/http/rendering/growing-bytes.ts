/** For each byte the letter after the backslash in a JSON string literal (RFC 8259, section 7); 0 where it is written as it is. */
const escapes = Uint8Array.from({ length: 256 }, (_, byte) => {
  const written = JSON.stringify(String.fromCharCode(byte));
  return written[1] === '\\' ? written.charCodeAt(2) : 0;
});
const letterU = 0x75;
const backslash = 0x5c;
/** Bytes from which on a native copy is faster than a loop. */
const longCopy = 48;

const nothing: Buffer = Buffer.alloc(0);

/** Bytes that grow at their end. A Buffer that was taken from `bytes` keeps its content while bytes are added. */
export class GrowingBytes {
  bytes = nothing;
  size = 0;
  readonly #max: number;

  /** More than `most` bytes are refused with RangeError. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Makes room for `length` more bytes. */
  reserve(length: number): void {
    const needed = this.size + length;
    if (needed <= this.bytes.length) return;
    if (needed > this.#max) throw new RangeError('the instances are far larger than the reply that they are made of');
    const larger = Buffer.allocUnsafe(Math.max(needed, Math.min(2 * this.bytes.length, this.#max)));
    this.bytes.copy(larger, 0, 0, this.size);
    this.bytes = larger;
  }

  put(byte: number): void {
    this.reserve(1);
    this.bytes[this.size++] = byte;
  }

  /** Adds a text, one byte for each character. */
  text(text: string): void {
    this.reserve(text.length);
    const { bytes } = this;
    for (let at = 0; at < text.length; at++) bytes[this.size++] = text.charCodeAt(at);
  }

  add(from: Buffer, start: number, end: number): void {
    const length = end - start;
    this.reserve(length);
    const { bytes, size } = this;
    if (length >= longCopy) from.copy(bytes, size, start, end);
    else for (let at = 0; at < length; at++) bytes[size + at] = from[start + at] as number;
    this.size = size + length;
  }

  /** Adds UTF-8 as the inside of a JSON string literal. */
  addEscaped(from: Buffer, start: number, end: number): void {
    this.reserve(6 * (end - start));
    const { bytes } = this;
    let size = this.size;
    for (let at = start; at < end; at++) {
      const byte = from[at] as number;
      const letter = escapes[byte] as number;
      if (letter === 0) {
        bytes[size++] = byte;
      } else {
        bytes[size++] = backslash;
        bytes[size++] = letter;
        if (letter === letterU) size += bytes.write(byte.toString(16).padStart(4, '0'), size, 'latin1');
      }
    }
    this.size = size;
  }

  /** Drops the first bytes; the others move to the beginning. */
  drop(length: number): void {
    this.bytes.copyWithin(0, length, this.size);
    this.size -= length;
  }
}
