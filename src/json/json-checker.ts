import { type ScanningExports, ScanningProgram } from './scanning-program.ts';

/** The exports of assembly/json-check.ts. */
interface Exports extends ScanningExports {
  readonly begin: () => void;
}

/** Checks texts, one after the other. Throws JsonSyntaxError if a text is not JSON. */
export class JsonChecker {
  readonly #program: ScanningProgram<Exports>;

  constructor(program: WebAssembly.Module) {
    this.#program = new ScanningProgram(program);
  }

  /** Size of the program's memory in bytes; memory of WebAssembly never shrinks. */
  get size(): number {
    return this.#program.size;
  }

  begin(): void {
    this.#program.begin();
    this.#program.exports.begin();
  }

  push(chunk: Buffer): void {
    this.#program.push(chunk);
  }

  end(): void {
    this.#program.exports.finish();
  }
}
