/** What assembly/escape.ts exports. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly inputAt: { readonly value: number };
  readonly inputSize: { readonly value: number };
  readonly outputAt: { readonly value: number };
  readonly escape: (length: number) => number;
}

/** Bytes of UTF-8, cut anywhere, even inside a character, to the inside of a JSON string literal (RFC 8259 section 7). */
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

  /** Bytes of memory that it has taken and does not give back. */
  get size(): number {
    return this.#input.buffer.byteLength;
  }

  /** What is given is written over by the next call. */
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
