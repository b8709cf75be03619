/** AssemblyScript: src/json/json-escaper.ts is what calls it. */
import { escapeTo } from './escaping';
import { input, inputSize as size } from './input';

const output = memory.data(393248); // six times as much: \u0000 takes six bytes; and what may be written over beyond

/** Where the bytes to be escaped are put: `inputSize` at most. */
export const inputAt: usize = input;
export const inputSize: usize = size;
export const outputAt: usize = output;

/** Escapes the first `length` bytes of the input; gives the count of bytes of the output. */
export function escape(length: usize): usize {
  return escapeTo(output, input, input + length) - output;
}
