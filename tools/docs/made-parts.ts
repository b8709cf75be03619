/** A part of a page that `npm run docs` makes. */
export type MadePart = readonly [name: string, text: string];

const marked = /^<!-- made: (?<name>.+) -->\n[\s\S]*?^<!-- \/made -->$/gmu;

/** The page with the text of each of its made parts, which are between `<!-- made: NAME -->` and `<!-- /made -->`. Calls `placed` with each name. */
export function withParts(page: string, parts: ReadonlyMap<string, string>, placed: (name: string) => void): string {
  return page.replaceAll(marked, (_found, name: string) => {
    const text = parts.get(name);
    if (text === undefined) throw new Error(`there is no made part "${name}"`);
    placed(name);
    return `<!-- made: ${name} -->\n${text}\n<!-- /made -->`;
  });
}

/** A table in Markdown. A `|` in a cell is escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

/** The anchor of a heading, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}
