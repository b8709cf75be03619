/** Columns from 0. */
interface Layout {
  /** In front of the content. */
  readonly dashes: readonly number[];
  readonly content: number;
}

/** Where a parser stopped (from 1): fits no mapping and no list above. Undefined where it fits, and behind the first value of the line. */
export function indentationFault(
  lines: readonly string[],
  { line, column }: { readonly line: number; readonly column: number },
): string | undefined {
  const wrong = layoutOf(lines[line - 1] ?? '');
  if (wrong === undefined || column - 1 > wrong.content) return undefined;
  const [dash] = wrong.dashes;
  const at = dash ?? wrong.content;
  const columns = openColumns(lines.slice(0, line - 1), dash === undefined ? 'key' : 'dash');
  if (columns.length === 0 || columns.includes(at)) return undefined;
  const what = dash === undefined ? 'a key' : 'a dash';
  return `this line begins after ${spaces(at)}; ${what} can begin here after ${columns.join(' or ')}`;
}

/** Open after these lines, the deepest first. */
function openColumns(lines: readonly string[], kind: 'key' | 'dash'): readonly number[] {
  const columns: number[] = [];
  let limit = Infinity;
  for (const text of lines.toReversed()) {
    const layout = layoutOf(text);
    if (layout === undefined) continue;
    const { dashes, content } = layout;
    const found = kind === 'key' ? [content] : dashes.toReversed();
    for (const column of found) if (column < limit) columns.push(column);
    limit = Math.min(limit, dashes[0] ?? content);
    if (limit === 0) break;
  }
  return columns;
}

/** Undefined: no content. */
function layoutOf(text: string): Layout | undefined {
  const [, indent = '', list = '', rest = ''] = /^( *)((?:- +)*)(.*)$/u.exec(text) ?? [];
  if (rest === '' || rest.startsWith('#')) return undefined;
  const dashes = [...list.matchAll(/-/gu)].map(({ index }) => indent.length + index);
  return { dashes, content: indent.length + list.length };
}

function spaces(count: number): string {
  return count === 1 ? '1 space' : `${count} spaces`;
}
