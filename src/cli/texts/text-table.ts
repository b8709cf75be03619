import { visible } from '#base/text/visible.ts';

/** A column of a table for a terminal. */
export interface TextColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string | undefined;
  /** Where the terminal is too narrow, the column with the highest number goes first. Absent: it stays. */
  readonly dropped?: number;
}

const gap = 2;
/** The last column is not fitted below this many columns, as long as another one can go. */
const narrowest = 12;

/**
 * The lines of a table. `width`: columns of the terminal; undefined: nothing is left out or fitted. Columns without any value are left
 * out. No cell brings a control character to the terminal.
 */
export function textTable<Row>(
  columns: readonly TextColumn<Row>[],
  rows: readonly Row[],
  width: number | undefined,
): readonly string[] {
  const filled = columns
    .map(({ title, cell, dropped }) => ({ title, dropped, cells: rows.map((row) => visible(cell(row) ?? '')) }))
    .filter(({ cells }) => cells.some((text) => text !== ''))
    .map((column) => ({ ...column, width: Math.max(...[column.title, ...column.cells].map(displayWidth)) }));
  const shown = width === undefined ? filled : fitting(filled, width);
  const lineOf = (texts: readonly string[]): string => {
    const line = texts
      .map((text, at) => padded(text, (shown[at]?.width ?? 0) + gap))
      .join('')
      .trimEnd();
    return width === undefined ? line : fitted(line, width);
  };
  const titles = lineOf(shown.map(({ title }) => title));
  return [titles, ...rows.map((_, row) => lineOf(shown.map(({ cells }) => cells[row] ?? '')))];
}

interface FilledColumn {
  readonly dropped: number | undefined;
  readonly width: number;
}

/** The columns that fit, or those that always stay. */
function fitting<Column extends FilledColumn>(columns: readonly Column[], width: number): readonly Column[] {
  const before = columns.slice(0, -1).reduce((sum, column) => sum + column.width + gap, 0);
  const wanted = before + Math.min(narrowest, columns.at(-1)?.width ?? 0);
  const [least] = columns.toSorted((a, b) => (b.dropped ?? -1) - (a.dropped ?? -1));
  if (wanted <= width || least?.dropped === undefined) return columns;
  return fitting(
    columns.filter((column) => column !== least),
    width,
  );
}

export type Fact = readonly [name: string, text: string | undefined];

/** A line for each fact that has a text, with the texts in one column. `width`: columns of the terminal, in which the lines are fitted. */
export function factLines(facts: readonly Fact[], width?: number): readonly string[] {
  return facts.flatMap(([name, text]) => {
    if (text === undefined || text === '') return [];
    const line = `${name.padEnd(11)} ${visible(text)}`;
    return [width === undefined ? line : fitted(line, width)];
  });
}

/** A time without its milliseconds. */
export function shortTime(time: string): string {
  return time.replace(/\.\d+Z$/u, 'Z');
}

/** Characters that take two columns of a terminal: East Asian wide and full-width ones, and most emoji (Unicode Annex 11). */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const combining = /\p{M}/u;
const plain = /^[\x20-\x7e]*$/u;

/** The columns of a terminal that a text takes. The text has no control characters. */
export function displayWidth(text: string): number {
  if (plain.test(text)) return text.length;
  return Array.from(text).reduce((width, character) => width + widthOf(character), 0);
}

/** The text in at most `columns` columns, with `…` at its end where a part is left out. */
export function fitted(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  let [kept, width] = ['', 0];
  for (const character of text) {
    width += widthOf(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return columns < 1 ? '' : `${kept}…`;
}

/** The text with spaces after it, up to `columns` columns. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - displayWidth(text)));
}

function widthOf(character: string): number {
  if (combining.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}
