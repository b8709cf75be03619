/** The exports of assembly/escape.ts. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly inputAt: { readonly value: number };
  readonly inputSize: { readonly value: number };
  readonly outputAt: { readonly value: number };
  readonly escape: (length: number) => number;
}

/** Escapes UTF-8 for use inside a JSON string literal (RFC 8259, section 7). Chunks may end anywhere, even inside a character. */
export class JsonEscaper {
  readonly #escape: Exports['escape'];
  readonly #input: Buffer;
  readonly #output: Buffer;

  constructor(program: WebAssembly.Module) {
    const { memory, inputAt, inputSize, outputAt, escape } = new WebAssembly.Instance(program).exports as Exports;
    this.#escape = escape;
    this.#input = Buffer.from(memory.buffer, inputAt.value, inputSize.value);
    this.#output = Buffer.from(memory.buffer, outputAt.value);
  }

  /** Size of the program's memory in bytes; memory of WebAssembly never shrinks. */
  get size(): number {
    return this.#input.buffer.byteLength;
  }

  /** The next call overwrites the returned bytes. */
  escape(bytes: Buffer): Buffer {
    const limit = this.#input.length;
    if (bytes.length <= limit) return this.#escaped(bytes);
    const pieces: Buffer[] = [];
    for (let from = 0; from < bytes.length; from += limit) {
      pieces.push(Buffer.from(this.#escaped(bytes.subarray(from, from + limit))));
    }
    return Buffer.concat(pieces);
  }

  #escaped(bytes: Buffer): Buffer {
    bytes.copy(this.#input);
    return this.#output.subarray(0, this.#escape(bytes.length));
  }
}
