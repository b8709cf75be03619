import { visible } from '#base/text/visible.ts';
import { displayWidth, fitted, padded } from './display-width.ts';

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
