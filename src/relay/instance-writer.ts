import { JsonSyntaxError } from '#json/json-scanner.ts';
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
    const placeOf = (index: number, field: number): number => memory.readUInt32LE(places + (index * placeFields + field) * 4);
    const groups = groupByName({
      bytes: memory.subarray(instance, end),
      count,
      start: (index) => placeOf(index, 0),
      // Between the name and the value stands the colon.
      end: (index) => placeOf(index, 1) - 1,
    });
    if (groups === undefined) return 0;
    const { next, repeats } = groups;
    // What is escaped is twice as long at most.
    const merged = Buffer.allocUnsafe(2 * (end - instance));
    let size = 0;
    const add = (from: number, to: number): void => void (size += memory.copy(merged, size, instance + from, instance + to));
    const addEncoded = (index: number): void => {
      const isString = placeOf(index, 3) === 1;
      // What is no string stands escaped between quotes already.
      const quotes = isString ? 0 : 1;
      const to = instance + placeOf(index, 2) - quotes;
      for (let at = instance + placeOf(index, 1) + quotes; at < to; at += 1) {
        const byte = memory[at] ?? 0;
        if (isString && (byte === quote || byte === backslash)) merged[size++] = backslash;
        merged[size++] = byte;
      }
    };
    for (let index = 0; index < count; index += 1) {
      if (repeats[index] === 1) continue;
      if (size > 0) merged[size++] = comma;
      const first = index;
      if (next[first] === 0) {
        // All that follow and stand alone as well, with the commas between them.
        while (next[index + 1] === 0 && repeats[index + 1] === 0) index += 1;
        add(placeOf(first, 0), placeOf(index, 2));
        continue;
      }
      add(placeOf(first, 0), placeOf(first, 1));
      size += merged.write('"[', size, 'latin1');
      for (let member = first; ; member = next[member] ?? 0) {
        addEncoded(member);
        if (next[member] === 0) break;
        merged[size++] = comma;
      }
      size += merged.write(']"', size, 'latin1');
    }
    add(placeOf(count - 1, 2), end - instance);
    memory.set(merged.subarray(0, size), instance);
    return instance + size;
  }
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
