import { JsonSyntaxError } from '#json/json-scanner.ts';
import { groupByName, type NameGroups } from '#json/member-names.ts';
import { type ScanningExports, ScanningProgram } from '#json/scanning-program.ts';

/** What assembly/instance-data.ts exports. */
interface Exports extends ScanningExports {
  readonly begin: (mostHeld: number, mostOutput: number) => void;
  readonly taken: () => void;
  readonly givenAt: () => number;
  readonly givenSize: () => number;
}

/**
 * Bytes that one piece of a reply may become. A name is written once for each entry that is no object, so that a long name over many
 * short entries could fill the memory; no honest reply comes near.
 */
const growthLimit = 32 * 1024 ** 2;

/** Of the places that the program keeps for each complete member: name, value, end of the value, whether it is a string. */
const placeFields = 4;

/**
 * Turns a far side's JSON (UTF-8, cut anywhere) into the answer of a query, `{"result":[{"instance_data":{…}},…]}`: an instance
 * for each entry, object or leaf of the outermost members, strings as they are, all else as its exact text in a string. A member that
 * an instance repeats becomes one array. One reply at a time; what is given keeps its bytes until the next `push`.
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
          throw new JsonSyntaxError('size', 'a member name is longer than what may be held', offset + at);
        },
      },
      memory: {
        outgrown: (): never => {
          throw new RangeError('the instances take far more room than the reply they are made of');
        },
      },
    });
  }

  /** Bytes of memory that it has taken and does not give back. */
  get size(): number {
    return this.#program.size;
  }

  /** Begins a reply. An instance that is longer than `holdLimit` bytes is given on as far as it is known, and streams from there. */
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

  /** What is left, a few bytes; what was given before keeps its bytes. Throws JsonSyntaxError where the text is incomplete. */
  end(): Buffer {
    const { finish, givenAt, givenSize } = this.#program.exports;
    const before = givenSize();
    finish();
    return this.#program.bytes(givenAt() + before, givenSize() - before);
  }

  /** Writes the members that the instance has complete once more, a property for each name, at the place of its first one. */
  #merge(count: number, places: number, instance: number, end: number): number {
    const memory = this.#program.bytes(0, this.size);
    const members = new Members(memory.subarray(instance, end), memory.subarray(places));
    const groups = groupByName({
      bytes: members.bytes,
      count,
      start: (index) => members.place(index, 0),
      // Between the name and the value stands the colon.
      end: (index) => members.place(index, 1) - 1,
    });
    if (groups === undefined) return 0;
    const merged = members.merged(count, groups);
    memory.set(merged, instance);
    return instance + merged.length;
  }
}

/** The members that an instance has complete, and what they become where names are repeated. */
class Members {
  readonly bytes: Buffer;
  readonly #places: Buffer;
  #merged: Buffer = Buffer.alloc(0);
  #size = 0;

  constructor(bytes: Buffer, places: Buffer) {
    this.bytes = bytes;
    this.#places = places;
  }

  /** Where in `bytes` a member's name (field 0) or value (1) begins, or it ends (2); whether its value is a string (3). */
  place(index: number, field: number): number {
    return this.#places.readUInt32LE((index * placeFields + field) * 4);
  }

  merged(count: number, { next, repeats }: NameGroups): Buffer {
    // What is escaped is twice as long at most.
    this.#merged = Buffer.allocUnsafe(2 * this.bytes.length);
    for (let index = 0; index < count; index += 1) {
      if (repeats[index] === 1) continue;
      if (this.#size > 0) this.#put(comma);
      const first = index;
      // All that follow and stand alone as well, with the commas between them.
      if (next[first] === 0) while (next[index + 1] === 0 && repeats[index + 1] === 0) index += 1;
      this.#add(this.place(first, 0), next[first] === 0 ? this.place(index, 2) : this.place(first, 1));
      if (next[first] !== 0) this.#addArray(first, next);
    }
    this.#add(this.place(count - 1, 2), this.bytes.length);
    return this.#merged.subarray(0, this.#size);
  }

  /** The values of a name as the text of an array, in a string. */
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

  /** What is no string stands escaped between quotes already. */
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
