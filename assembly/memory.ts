/** AssemblyScript: bytes in linear memory. */
import { spare } from './escaping';

/** Throws RangeError in the caller. */
declare function outgrown(): void;

/** A growing block of bytes. Those between `start` and `end` are in use. */
export class Block {
  start: usize;
  end: usize;
  /** Limit of its size in bytes. */
  most: usize = usize.MAX_VALUE;
  private limit: usize;

  constructor(capacity: usize) {
    this.start = heap.alloc(capacity + spare);
    this.end = this.start;
    this.limit = this.start + capacity;
  }

  get size(): usize {
    return this.end - this.start;
  }

  clear(): void {
    this.end = this.start;
  }

  /** Makes room for `length` more bytes and the spare bytes beyond; `start` may change. */
  @inline
  reserve(length: usize): void {
    if (this.end + length > this.limit) this.grow(length);
  }

  private grow(length: usize): void {
    const size = this.size;
    if (size + length > this.most) outgrown();
    const capacity = max<usize>(2 * (this.limit - this.start), size + length);
    this.start = heap.realloc(this.start, capacity + spare);
    this.end = this.start + size;
    this.limit = this.start + capacity;
  }

  @inline
  put(byte: u8): void {
    this.reserve(1);
    store<u8>(this.end++, byte);
  }

  /** Adds bytes from outside this block. */
  @inline
  add(from: usize, end: usize): void {
    this.reserve(end - from);
    this.end = addBytes(this.end, from, end);
  }

  /** Drops the bytes before `from`; the others move to the start. */
  dropBefore(from: usize): void {
    const size = this.end - from;
    if (from != this.start) memory.copy(this.start, from, size);
    this.end = this.start + size;
  }

  addBlock(other: Block): void {
    this.add(other.start, other.end);
  }

  /** Replaces the content by an ASCII text. */
  set(text: string): this {
    this.clear();
    for (let index = 0; index < text.length; index++) this.put(<u8>text.charCodeAt(index));
    return this;
  }

  /** Whether this raw string token has the value `text`, which consists of ASCII letters. */
  reads(text: string): bool {
    let at = this.start + 1;
    for (let index = 0; index < text.length; index++) {
      let character = <i32>load<u8>(at++);
      if (character == 0x5c) {
        // Only the escape \u can be a letter.
        if (load<u8>(at) != 0x75) return false;
        character = 0;
        for (let digit: usize = 1; digit <= 4; digit++) character = (character << 4) | hexValue(load<u8>(at + digit));
        at += 5;
      }
      if (character != text.charCodeAt(index)) return false;
    }
    return at + 1 == this.end;
  }
}

function hexValue(digit: u8): i32 {
  return digit <= 0x39 ? digit - 0x30 : (digit | 0x20) - 0x57;
}

/** Copies bytes to a place that does not overlap them; returns the end of the copy. */
@inline
export function addBytes(to: usize, from: usize, end: usize): usize {
  const length = end - from;
  if (ASC_FEATURE_SIMD) for (let at: usize = 0; at < length; at += 16) v128.store(to + at, v128.load(from + at));
  else memory.copy(to, from, length);
  return to + length;
}

export function areSame(one: usize, other: usize, length: usize): bool {
  if (ASC_FEATURE_SIMD) {
    for (let at: usize = 0; at < length; at += 16) {
      const differing = i8x16.bitmask(i8x16.ne(v128.load(one + at), v128.load(other + at)));
      if (differing != 0 && at + ctz(differing) < length) return false;
    }
    return true;
  }
  let at: usize = 0;
  for (; at + 8 <= length; at += 8) if (load<u64>(one + at) != load<u64>(other + at)) return false;
  for (; at < length; at++) if (load<u8>(one + at) != load<u8>(other + at)) return false;
  return true;
}
