import { compileProgram } from '#base/web-assembly.ts';

/** What assembly/escape.ts exports. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly inputAt: { readonly value: number };
  readonly inputSize: { readonly value: number };
  readonly outputAt: { readonly value: number };
  readonly escape: (length: number) => number;
}

/** Bytes of UTF-8 to the inside of a JSON string literal (RFC 8259 section 7). */
interface JsonEscaper {
  /** Bytes that one call takes. */
  readonly limit: number;
  /**
   * The inside of a JSON string literal for the bytes from `from` to `to`, `limit` at most. They may be cut anywhere, even inside a
   * character. The view that is given is written over by the next call.
   */
  escape(bytes: Buffer, from: number, to: number): Buffer;
}

export function createJsonEscaper(program: WebAssembly.Module): JsonEscaper {
  const { memory, inputAt, inputSize, outputAt, escape } = new WebAssembly.Instance(program).exports as Exports;
  const input = new Uint8Array(memory.buffer, inputAt.value, inputSize.value);
  const output = Buffer.from(memory.buffer, outputAt.value);
  return {
    limit: inputSize.value,
    escape(bytes, from, to) {
      bytes.copy(input, 0, from, to);
      return output.subarray(0, escape(to - from));
    },
  };
}

export const jsonEscaper = createJsonEscaper(compileProgram(new URL('.', import.meta.url), 'escape'));
