import { type ScanningExports, ScanningProgram } from './scanning-program.ts';

/** What assembly/json-check.ts exports. */
interface Exports extends ScanningExports {
  readonly begin: () => void;
}

/** Says of one text after the other whether it is JSON: throws JsonSyntaxError where it is not. */
export class JsonChecker {
  readonly #program: ScanningProgram<Exports>;

  constructor(program: WebAssembly.Module) {
    this.#program = new ScanningProgram(program);
  }

  /** Bytes of memory that it has taken and does not give back. */
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
