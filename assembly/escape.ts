/** AssemblyScript: src/json/json-escape.ts is what calls it. */
import { escapeTo } from './escaping';

const input = memory.data(16416); // 16 KiB and what may be read beyond
const output = memory.data(98336); // six times as much: \u0000 takes six bytes

/** Where the bytes to be escaped are put: `inputSize` at most. */
export const inputAt: usize = input;
export const inputSize: usize = 16384;
export const outputAt: usize = output;

/** Escapes the first `length` bytes of the input; gives the count of bytes of the output. */
export function escape(length: usize): usize {
  return escapeTo(output, input, input + length) - output;
}
