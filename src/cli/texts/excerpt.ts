import { visible } from '#base/text/visible.ts';
import { displayWidth } from './text-table.ts';

interface PlacedProblem {
  readonly pointer: string;
  readonly detail: string;
  /** From 1. Absent: not known. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

interface Placing {
  /** As the person wrote it. */
  readonly file: string;
  readonly text: string;
  /** Such as `(warning)`. */
  readonly end?: string;
}

/** Characters of a line that are shown before and after the place. */
const shown = 70;

/** `FILE:LINE:COLUMN: /POINTER: what to do`, and below it the line of the file with a caret under the place. */
export function problemExcerpt(problem: PlacedProblem, { file, text, end }: Placing): readonly string[] {
  const { pointer, detail, line = 1, column = 1 } = problem;
  const what = [pointer, detail].filter((part) => part !== '').join(': ');
  const head = visible(`${file}:${line}:${column}: ${what}${end === undefined ? '' : ` ${end}`}`);
  const source = text.split(/\r?\n/u)[line - 1] ?? '';
  if (source.trim() === '') return [head];
  const from = Math.max(0, column - 1 - shown);
  const before = plain(source.slice(from, column - 1));
  const after = plain(source.slice(column - 1, column - 1 + shown));
  return [head, `    ${before}${after}`, `    ${' '.repeat(displayWidth(before))}^`];
}

/** A tabulator is one column wide, so that the caret is in its place. */
function plain(text: string): string {
  return visible(text.replaceAll('\t', ' '));
}
