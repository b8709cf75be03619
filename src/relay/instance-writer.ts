import { reportingTable, silentTable, stateAfterFirstByte } from '#json/json-grammar.ts';
import { JsonSyntaxError, unexpected } from '#json/json-scanner.ts';
import { decodeJsonString } from '#json/json-string.ts';
import { JsonTextWriter } from '#json/json-text-writer.ts';
import { groupByName } from '#json/member-names.ts';

/** What assembly/instance-data.ts exports. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly inputAt: { readonly value: number };
  readonly inputSize: { readonly value: number };
  readonly silentTableAt: { readonly value: number };
  readonly reportingTableAt: { readonly value: number };
  readonly stateAfterFirstByteAt: { readonly value: number };
  readonly begin: (mostHeld: number, mostOutput: number) => void;
  readonly push: (length: number) => void;
  readonly finish: () => void;
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
  readonly #program: Exports;
  /** Bytes of the reply before the part at hand. */
  #offset = 0;

  constructor(program: WebAssembly.Module) {
    const imports = {
      refuse: (fault: number, at: number, state: number, byte: number) => {
        throw this.#refusal(fault, this.#offset + at, state, byte);
      },
      refuseName: (at: number) => {
        throw new JsonSyntaxError('size', 'a member name is longer than what may be held', this.#offset + at);
      },
      outgrown: () => {
        throw new RangeError('the instances take far more room than the reply they are made of');
      },
      merge: (count: number, places: number, instance: number, end: number) => this.#merge(count, places, instance, end),
    };
    this.#program = new WebAssembly.Instance(program, { 'instance-data': imports, memory: imports, scanner: imports })
      .exports as Exports;
    this.#bytes(this.#program.silentTableAt.value, silentTable.length).set(silentTable);
    this.#bytes(this.#program.reportingTableAt.value, reportingTable.length).set(reportingTable);
    this.#bytes(this.#program.stateAfterFirstByteAt.value, stateAfterFirstByte.length).set(stateAfterFirstByte);
  }

  /** Bytes of memory that it has taken and does not give back. */
  get size(): number {
    return this.#program.memory.buffer.byteLength;
  }

  /** Begins a reply. An instance that is longer than `holdLimit` bytes is given on as far as it is known, and streams from there. */
  begin(holdLimit: number): void {
    this.#offset = 0;
    this.#program.begin(holdLimit, holdLimit + growthLimit);
  }

  /** Throws JsonSyntaxError where the text is not JSON. */
  push(chunk: Buffer): Buffer {
    const { inputAt, inputSize, taken, push, givenAt, givenSize } = this.#program;
    taken();
    for (let from = 0; from < chunk.length; from += inputSize.value) {
      const length = Math.min(inputSize.value, chunk.length - from);
      chunk.copy(this.#bytes(inputAt.value, length), 0, from, from + length);
      push(length);
      this.#offset += length;
    }
    return this.#bytes(givenAt(), givenSize());
  }

  /** What is left, a few bytes; what was given before keeps its bytes. Throws JsonSyntaxError where the text is incomplete. */
  end(): Buffer {
    const { finish, givenAt, givenSize } = this.#program;
    const before = givenSize();
    finish();
    return this.#bytes(givenAt() + before, givenSize() - before);
  }

  #bytes(at: number, length: number): Buffer {
    return Buffer.from(this.#program.memory.buffer, at, length);
  }

  #refusal(fault: number, offset: number, state: number, byte: number): JsonSyntaxError {
    switch (fault) {
      case 0:
        return unexpected(byte, state, offset);
      case 1:
        return new JsonSyntaxError('depth', 'nested deeper than a million objects and arrays', offset);
      case 2:
        return new JsonSyntaxError('incomplete', 'the text ends early', offset);
      default:
        return new JsonSyntaxError('size', 'a member name is longer than what may be held', offset);
    }
  }

  /** Writes the members that the instance has complete once more, a property for each name, at the place of its first one. */
  #merge(count: number, places: number, instance: number, end: number): number {
    const memory = this.#bytes(0, this.size);
    const placeOf = (index: number, field: number): number =>
      memory.readUInt32LE(places + (index * placeFields + field) * 4) + (field < 3 ? instance : 0);
    // Between the name and the value stands the colon.
    const nameEnd = (index: number): number => placeOf(index, 1) - 1;
    const groups = groupByName(count, (index) => decodeJsonString(memory, placeOf(index, 0), nameEnd(index)));
    if (groups === undefined) return 0;
    const written: Buffer[] = [];
    const out = new JsonTextWriter((chunk) => written.push(chunk));
    const writeEncoded = (index: number): void => {
      const [from, to, isString] = [placeOf(index, 1), placeOf(index, 2), placeOf(index, 3) === 1];
      if (isString) out.escaped(memory, from, to);
      else out.raw(memory, from + 1, to - 1);
    };
    groups.forEach(([first = 0, ...others], place) => {
      if (place > 0) out.text(',');
      out.raw(memory, placeOf(first, 0), others.length === 0 ? placeOf(first, 2) : placeOf(first, 1));
      if (others.length === 0) return;
      out.text('"[');
      writeEncoded(first);
      for (const index of others) {
        out.text(',');
        writeEncoded(index);
      }
      out.text(']"');
    });
    out.raw(memory, placeOf(count - 1, 2), end);
    out.flush();
    const merged = Buffer.concat(written);
    memory.set(merged, instance);
    return instance + merged.length;
  }
}
