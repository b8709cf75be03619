/** AssemblyScript: whether bytes are one JSON text; src/json/json-checker.ts is what calls it. One text at a time. */
import { input, inputSize as size } from './input';
import { reportingTable, Scanner, silentTable, stateAfterFirstByte } from './scanner';

export const inputAt: usize = input;
export const inputSize: usize = size;
export const silentTableAt: usize = silentTable;
export const reportingTableAt: usize = reportingTable;
export const stateAfterFirstByteAt: usize = stateAfterFirstByte;

/** Nobody asks for spans. */
class Nobody {
  beginSpan(kind: i32, at: usize, level: u32): void {}

  endSpan(kind: i32, end: usize, level: u32): void {}

  span(kind: i32, at: usize, end: usize, level: u32): void {}
}

const nobody = new Nobody();
const scanner = new Scanner<Nobody>();

/** Begins a text, whatever became of the one before. */
export function begin(): void {
  scanner.begin(0);
}

/** So many bytes of the text, from the input. */
export function push(length: usize): void {
  scanner.push(nobody, input, input + length);
}

/** The text is over. */
export function finish(): void {
  scanner.end(nobody, input);
}
