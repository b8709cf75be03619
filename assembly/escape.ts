/** AssemblyScript: escapes bytes for a JSON string. src/json/json-escaper.ts calls it. */
import { escapeTo } from './escaping';
import { input, inputSize as size } from './input';

const output = memory.data(393248); // six times the input, because \u0000 takes six bytes, and the spare bytes beyond

/** Address of the bytes to escape, at most `inputSize`. */
export const inputAt: usize = input;
export const inputSize: usize = size;
export const outputAt: usize = output;

/** Escapes the first `length` bytes of the input; returns the number of bytes of the output. */
export function escape(length: usize): usize {
  return escapeTo(output, input, input + length) - output;
}
