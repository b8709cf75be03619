import type { Prose } from './prose.ts';

/** The prose of a Markdown text: paragraphs, headings, list items and table cells. Fenced code and HTML comments are left out. */
export function markdownProse(text: string): readonly Prose[] {
  const found: Prose[] = [];
  let paragraph: { line: number; parts: string[] } | undefined;
  let fence: string | undefined;
  const endParagraph = (): void => {
    if (paragraph !== undefined) found.push({ line: paragraph.line, text: paragraph.parts.join(' ') });
    paragraph = undefined;
  };
  const begin = (line: number, part: string): void => {
    endParagraph();
    paragraph = { line, parts: [part] };
  };
  for (const [index, raw] of text.split('\n').entries()) {
    const line = index + 1;
    const fenced = /^\s*(`{3,}|~{3,})/u.exec(raw)?.[1];
    if (fence !== undefined) {
      if (fenced?.startsWith(fence)) fence = undefined;
    } else if (fenced !== undefined) {
      endParagraph();
      fence = fenced;
    } else if (/^\s*(?:<!--.*)?$/u.test(raw)) endParagraph();
    else if (/^\s*\|/u.test(raw)) {
      endParagraph();
      for (const cell of raw.replaceAll('\\|', '/').split(/\||<br>/u)) {
        if (/[^\s:|-]/u.test(cell)) found.push({ line, text: cell.trim() });
      }
    } else if (/^#+ /u.test(raw)) {
      endParagraph();
      found.push({ line, text: raw.replace(/^#+ /u, '') });
    } else if (/^\s*(?:[-*+]|\d+[.)])\s/u.test(raw)) begin(line, raw.replace(/^\s*(?:[-*+]|\d+[.)])\s+/u, ''));
    else if (paragraph === undefined) begin(line, raw.trim());
    else paragraph.parts.push(raw.trim());
  }
  endParagraph();
  return found;
}
