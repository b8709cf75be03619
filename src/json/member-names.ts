import { randomBytes } from 'node:crypto';

export interface NameGroups {
  /** For each member the next with its name, or 0. */
  readonly next: Uint32Array;
  /** 1: an earlier member has the name. */
  readonly repeats: Uint8Array;
}

interface MemberNames {
  /** Parsed before. */
  readonly bytes: Uint8Array;
  readonly count: number;
  /** Offsets of the name's token, with its quotes. */
  readonly start: (index: number) => number;
  readonly end: (index: number) => number;
}

/** So that no sender can choose colliding names. */
const seed = randomBytes(4).readInt32LE();

/** Compared after unescaping (RFC 8259, section 8.3). Undefined if all differ. A Map takes a second for a million members, and blocks the event loop. */
export function groupByName({ bytes, count, start, end }: MemberNames): NameGroups | undefined {
  const next = new Uint32Array(count);
  const repeats = new Uint8Array(count);
  const names = new PlainNames(bytes, count);
  const mask = 2 ** Math.ceil(Math.log2(count * 2)) - 1;
  /** Open addressing: the last member with a name, plus 1; 0: free. */
  const table = new Uint32Array(mask + 1);
  let differ = true;
  for (let index = 0; index < count; index += 1) {
    let place = names.add(start(index) + 1, end(index) - 1) & mask;
    for (let found = table[place] ?? 0; found > 0; found = table[place] ?? 0) {
      if (names.areSame(index, found - 1)) {
        next[found - 1] = index;
        repeats[index] = 1;
        differ = false;
        break;
      }
      place = (place + 1) & mask;
    }
    table[place] = index + 1;
  }
  return differ ? undefined : { next, repeats };
}

const [backslash, letterU] = [0x5c, 0x75];
/** If it differs from the letter. */
const escapes = new Map(
  ['b', 'f', 'n', 'r', 't'].map((letter) => [letter.charCodeAt(0), (JSON.parse(`"\\${letter}"`) as string).charCodeAt(0)]),
);

/** Unescaped and concatenated, with lone surrogates as other code points. */
class PlainNames {
  readonly #bytes: Uint8Array;
  readonly #plain: Uint8Array;
  readonly #ends: Uint32Array;
  #count = 0;
  #size = 0;

  constructor(bytes: Uint8Array, count: number) {
    this.#bytes = bytes;
    this.#plain = new Uint8Array(bytes.length);
    this.#ends = new Uint32Array(count);
  }

  /** Between offsets, without quotes. Returns the hash. */
  add(from: number, to: number): number {
    const begin = this.#size;
    for (let at = from; at < to; ) {
      const byte = this.#bytes[at] ?? 0;
      if (byte === backslash) at = this.#unescape(at + 1);
      else {
        this.#put(byte);
        at += 1;
      }
    }
    this.#ends[this.#count++] = this.#size;
    let hash = seed;
    for (let at = begin; at < this.#size; at += 1) {
      hash = Math.imul(hash ^ (this.#plain[at] ?? 0), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash, 0x85ebca6b);
    return hash ^ (hash >>> 13);
  }

  areSame(one: number, other: number): boolean {
    const [first, second] = [this.#start(one), this.#start(other)];
    const size = (this.#ends[one] ?? 0) - first;
    if ((this.#ends[other] ?? 0) - second !== size) return false;
    for (let at = 0; at < size; at += 1) if (this.#plain[first + at] !== this.#plain[second + at]) return false;
    return true;
  }

  #start(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] ?? 0);
  }

  #put(byte: number): void {
    this.#plain[this.#size++] = byte;
  }

  /** From after the backslash; returns the offset after the escape. */
  #unescape(at: number): number {
    const letter = this.#bytes[at] ?? 0;
    if (letter !== letterU) {
      this.#put(escapes.get(letter) ?? letter);
      return at + 1;
    }
    const unit = this.#unitAt(at + 1);
    const isPair = unit >>> 10 === 0x36 && this.#bytes[at + 5] === backslash && this.#bytes[at + 6] === letterU;
    const low = isPair ? this.#unitAt(at + 7) : 0;
    if (low >>> 10 !== 0x37) {
      this.#putCharacter(unit);
      return at + 5;
    }
    this.#putCharacter(0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff));
    return at + 11;
  }

  #unitAt(at: number): number {
    let unit = 0;
    for (let digit = at; digit < at + 4; digit += 1) {
      const byte = this.#bytes[digit] ?? 0;
      unit = unit * 16 + (byte & 0x0f) + (byte > 0x39 ? 9 : 0);
    }
    return unit;
  }

  #putCharacter(code: number): void {
    if (code < 0x80) return this.#put(code);
    const following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    this.#put(((0xf80 >> following) & 0xff) | (code >> (6 * following)));
    for (let left = following - 1; left >= 0; left -= 1) this.#put(0x80 | ((code >> (6 * left)) & 0x3f));
  }
}
