import { JsonSyntaxError } from '#json/json-scanner.ts';
import { decodeJsonString } from '#json/json-string.ts';
import { groupByName } from '#json/member-names.ts';
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
    const placeOf = (index: number, field: number): number =>
      memory.readUInt32LE(places + (index * placeFields + field) * 4) + (field < 3 ? instance : 0);
    // Between the name and the value stands the colon.
    const nameEnd = (index: number): number => placeOf(index, 1) - 1;
    const groups = groupByName(count, (index) => decodeJsonString(memory, placeOf(index, 0), nameEnd(index)));
    if (groups === undefined) return 0;
    const written: (Buffer | string)[] = [];
    const encoded = (index: number): Buffer | string => {
      const [from, to, isString] = [placeOf(index, 1), placeOf(index, 2), placeOf(index, 3) === 1];
      // One byte read as one character: what JSON escapes is all ASCII.
      return isString ? JSON.stringify(memory.toString('latin1', from, to)).slice(1, -1) : memory.subarray(from + 1, to - 1);
    };
    groups.forEach(([first = 0, ...others], place) => {
      if (place > 0) written.push(',');
      written.push(memory.subarray(placeOf(first, 0), others.length === 0 ? placeOf(first, 2) : placeOf(first, 1)));
      if (others.length === 0) return;
      written.push('"[', encoded(first));
      for (const index of others) written.push(',', encoded(index));
      written.push(']"');
    });
    written.push(memory.subarray(placeOf(count - 1, 2), end));
    const merged = Buffer.concat(written.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
    memory.set(merged, instance);
    return instance + merged.length;
  }
}
