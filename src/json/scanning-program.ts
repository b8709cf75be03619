import { reportingTable, silentTable, stateAfterFirstByte } from './json-grammar.ts';
import { JsonSyntaxError, unexpected } from './json-scanner.ts';

/** The exports of every program that uses assembly/scanner.ts. Chunks of a text are written to its input memory. */
export interface ScanningExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly inputAt: { readonly value: number };
  readonly inputSize: { readonly value: number };
  readonly silentTableAt: { readonly value: number };
  readonly reportingTableAt: { readonly value: number };
  readonly stateAfterFirstByteAt: { readonly value: number };
  readonly push: (length: number) => void;
  readonly finish: () => void;
}

/**
 * A program that scans JSON (RFC 8259, nesting up to a million), one text at a time, in chunks that may end anywhere. Throws
 * JsonSyntaxError if a text is not JSON, or ends too early.
 */
export class ScanningProgram<Exports extends ScanningExports> {
  readonly exports: Exports;
  readonly #inputAt: number;
  readonly #inputSize: number;
  /** A view of its whole memory. When the memory grows, the old view becomes empty. */
  #memory: Buffer;
  /** Offset in the text of the chunk that the program scans now. */
  #offset = 0;

  /** `imports`: one record for each file of the program that has imports. */
  constructor(program: WebAssembly.Module, imports: object = {}) {
    const refuse = (fault: number, at: number, state: number, byte: number): never => {
      throw refusal(fault, this.#offset + at, state, byte);
    };
    const instance = new WebAssembly.Instance(program, { ...imports, scanner: { refuse } });
    this.exports = instance.exports as Exports;
    const { memory, inputAt, inputSize, silentTableAt, reportingTableAt, stateAfterFirstByteAt } = this.exports;
    this.#inputAt = inputAt.value;
    this.#inputSize = inputSize.value;
    this.#memory = Buffer.from(memory.buffer);
    this.bytes(silentTableAt.value, silentTable.length).set(silentTable);
    this.bytes(reportingTableAt.value, reportingTable.length).set(reportingTable);
    this.bytes(stateAfterFirstByteAt.value, stateAfterFirstByte.length).set(stateAfterFirstByte);
  }

  /** Size of the program's memory in bytes; memory of WebAssembly never shrinks. */
  get size(): number {
    return this.#wholeMemory.length;
  }

  /** How many bytes of the text were scanned. */
  get offset(): number {
    return this.#offset;
  }

  /** A view of its memory. When the memory grows, the view becomes empty. */
  bytes(at: number, length: number): Buffer {
    return this.#wholeMemory.subarray(at, at + length);
  }

  /** Begins another text. */
  begin(): void {
    this.#offset = 0;
  }

  push(chunk: Buffer): void {
    const { push } = this.exports;
    for (let from = 0; from < chunk.length; from += this.#inputSize) {
      const length = chunk.copy(this.#wholeMemory, this.#inputAt, from, Math.min(from + this.#inputSize, chunk.length));
      push(length);
      this.#offset += length;
    }
  }

  get #wholeMemory(): Buffer {
    if (this.#memory.length === 0) this.#memory = Buffer.from(this.exports.memory.buffer);
    return this.#memory;
  }
}

/** The error for a fault code of assembly/scanner.ts. */
function refusal(fault: number, offset: number, state: number, byte: number): JsonSyntaxError {
  if (fault === 0) return unexpected(byte, state, offset);
  if (fault === 1) return new JsonSyntaxError('depth', 'nested deeper than a million objects and arrays', offset);
  return new JsonSyntaxError('incomplete', 'the text ends early', offset);
}
