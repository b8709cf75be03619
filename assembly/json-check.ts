/** AssemblyScript: checks that bytes are one JSON text, one text at a time. src/json/json-checker.ts calls it. */
import { input, inputSize as size } from './input';
import { reportingTable, Scanner, silentTable, stateAfterFirstByte } from './scanner';

export const inputAt: usize = input;
export const inputSize: usize = size;
export const silentTableAt: usize = silentTable;
export const reportingTableAt: usize = reportingTable;
export const stateAfterFirstByteAt: usize = stateAfterFirstByte;

/** The check needs no spans. */
class SpanIgnorer {
  beginSpan(kind: i32, at: usize, level: u32): void {}

  endSpan(kind: i32, end: usize, level: u32): void {}

  span(kind: i32, at: usize, end: usize, level: u32): void {}
}

const ignorer = new SpanIgnorer();
const scanner = new Scanner<SpanIgnorer>();

/** Begins a text, also where the text before is incomplete or was wrong. */
export function begin(): void {
  scanner.begin(0);
}

/** Checks the next `length` bytes of the text, which are in the input. */
export function push(length: usize): void {
  scanner.push(ignorer, input, input + length);
}

/** The text ends here. */
export function finish(): void {
  scanner.end(ignorer, input);
}
