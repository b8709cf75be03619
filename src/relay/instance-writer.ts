import { JsonSyntaxError } from '#json/json-scanner.ts';
import { groupByName, type NameGroups } from '#json/member-names.ts';
import { type ScanningExports, ScanningProgram } from '#json/scanning-program.ts';

/** The exports of assembly/instance-data.ts. */
interface Exports extends ScanningExports {
  readonly begin: (mostHeld: number, mostOutput: number) => void;
  readonly taken: () => void;
  readonly givenAt: () => number;
  readonly givenSize: () => number;
}

/**
 * Most bytes that one piece of a reply may become. The name of a list is written for each entry that is no object: a long name with many
 * short entries could fill the memory. No ordinary reply comes near this limit.
 */
const growthLimit = 32 * 1024 ** 2;

/** Fields that the program stores for each complete member: place of the name, of the value, of its end; whether it is a string. */
const placeFields = 4;

/**
 * Converts a far side's JSON (UTF-8, in chunks cut anywhere) into the answer of a query, `{"result":[{"instance_data":{…}},…]}`. Each
 * entry, object or leaf of the outermost members becomes an instance. Strings stay unchanged; any other value becomes a string with its
 * exact text. The values of a repeated member become one array. One reply at a time; a returned Buffer is valid until the next `push`.
 */
export class InstanceWriter {
  readonly #program: ScanningProgram<Exports>;

  constructor(program: WebAssembly.Module) {
    const merge = (count: number, places: number, instance: number, end: number): number =>
      this.#merge(count, places, instance, end);
    this.#program = new ScanningProgram(program, {
      'instance-data': {
        merge,
        refuseName: (at: number): never => {
          const { offset } = this.#program;
          throw new JsonSyntaxError('size', 'a member name is longer than the limit for held bytes', offset + at);
        },
      },
      memory: {
        outgrown: (): never => {
          throw new RangeError('the instances are far larger than the reply that they are made of');
        },
      },
    });
  }

  /** Bytes of WebAssembly memory, which only grows. */
  get size(): number {
    return this.#program.size;
  }

  /** Begins a reply. An instance longer than `holdLimit` bytes is not held: its complete part is returned, and the rest streams. */
  begin(holdLimit: number): void {
    this.#program.begin();
    this.#program.exports.begin(holdLimit, holdLimit + growthLimit);
  }

  /** Throws JsonSyntaxError where the text is not JSON. */
  push(chunk: Buffer): Buffer {
    const { taken, givenAt, givenSize } = this.#program.exports;
    taken();
    this.#program.push(chunk);
    return this.#program.bytes(givenAt(), givenSize());
  }

  /** Returns the last few bytes; the Buffer of the last `push` stays valid. Throws JsonSyntaxError where the text is incomplete. */
  end(): Buffer {
    const { finish, givenAt, givenSize } = this.#program.exports;
    const before = givenSize();
    finish();
    return this.#program.bytes(givenAt() + before, givenSize() - before);
  }

  /** Writes the complete members of the instance again, one property for each name, in the place of its first member. */
  #merge(count: number, places: number, instance: number, end: number): number {
    const memory = this.#program.bytes(0, this.size);
    const members = new Members(memory.subarray(instance, end), memory.subarray(places));
    const groups = groupByName({
      bytes: members.bytes,
      count,
      start: (index) => members.place(index, 0),
      // One byte, the colon, is between the name and the value.
      end: (index) => members.place(index, 1) - 1,
    });
    if (groups === undefined) return 0;
    const merged = members.merged(count, groups);
    memory.set(merged, instance);
    return instance + merged.length;
  }
}

/** The complete members of an instance, and the text that they become where names are repeated. */
class Members {
  readonly bytes: Buffer;
  readonly #places: Buffer;
  #merged: Buffer = Buffer.alloc(0);
  #size = 0;

  constructor(bytes: Buffer, places: Buffer) {
    this.bytes = bytes;
    this.#places = places;
  }

  /** A field of a member: the offset in `bytes` of its name (0), value (1) or end (2). Field 3 is 1 where the value is a string. */
  place(index: number, field: number): number {
    return this.#places.readUInt32LE((index * placeFields + field) * 4);
  }

  merged(count: number, { next, repeats }: NameGroups): Buffer {
    // Escaping at most doubles the length.
    this.#merged = Buffer.allocUnsafe(2 * this.bytes.length);
    for (let index = 0; index < count; index += 1) {
      if (repeats[index] === 1) continue;
      if (this.#size > 0) this.#put(comma);
      const first = index;
      // Copies the following members without repetition together, with the commas between them.
      if (next[first] === 0) while (next[index + 1] === 0 && repeats[index + 1] === 0) index += 1;
      this.#add(this.place(first, 0), next[first] === 0 ? this.place(index, 2) : this.place(first, 1));
      if (next[first] !== 0) this.#addArray(first, next);
    }
    this.#add(this.place(count - 1, 2), this.bytes.length);
    return this.#merged.subarray(0, this.#size);
  }

  /** Adds the values of a name as a string with the text of an array. */
  #addArray(first: number, next: Uint32Array): void {
    this.#put(quote);
    this.#put(bracket);
    for (let member = first; ; member = next[member] ?? 0) {
      this.#addEncoded(member);
      if (next[member] === 0) break;
      this.#put(comma);
    }
    this.#put(closingBracket);
    this.#put(quote);
  }

  /** Adds a value, escaped. A value that is no string is already escaped between quotes. */
  #addEncoded(index: number): void {
    const isString = this.place(index, 3) === 1;
    const quotes = isString ? 0 : 1;
    const to = this.place(index, 2) - quotes;
    for (let at = this.place(index, 1) + quotes; at < to; at += 1) {
      const byte = this.bytes[at] ?? 0;
      if (isString && (byte === quote || byte === backslash)) this.#put(backslash);
      this.#put(byte);
    }
  }

  #add(from: number, to: number): void {
    this.#size += this.bytes.copy(this.#merged, this.#size, from, to);
  }

  #put(byte: number): void {
    this.#merged[this.#size++] = byte;
  }
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const bracket = 0x5b;
const closingBracket = 0x5d;
