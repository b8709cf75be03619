import { bannedWords, type Prose, proseProblems } from './prose.ts';
import { sourceProse } from './source-prose.ts';

/** Texts that are not ours to word: the licence, and the rules' own examples. */
const exceptions: readonly RegExp[] = [/^LICENSE$/u, /^tools\/words\//u, /package-lock\.json$/u, /^client\/src\/generated\//u];

/** Every problem of a file of the project, by its path from the root; none where no person reads the file as prose. */
export function fileProblems(file: string, text: string): readonly { readonly line: number; readonly problem: string }[] {
  if (exceptions.some((pattern) => pattern.test(file))) return [];
  if (file.endsWith('.md')) return markdownProse(text).flatMap(proseProblems);
  if (/\.m?[jt]sx?$/u.test(file)) {
    const { comments, testNames, literals } = sourceProse(file, text);
    return [...comments.flatMap(proseProblems), ...testNames.flatMap(proseProblems), ...literals.flatMap(bannedWords)];
  }
  if (/\.ya?ml$|\.cfg$|\.service$|^\.ci\/run$/u.test(file)) return hashComments(text).flatMap(proseProblems);
  return [];
}

/** The prose of a Markdown text: paragraphs, headings, list items and table cells. Fenced code and HTML comments are left out. */
function markdownProse(text: string): readonly Prose[] {
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

/**
 * Comments that begin with #, of YAML, shell scripts and configuration files; lines that follow each other are one. A # that is not followed by
 * exactly one space begins a setting that is commented out.
 */
function hashComments(text: string): readonly Prose[] {
  const found: { line: number; end: number; text: string }[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const said = /(?:^|\s)# (\S.*)$/u.exec(raw)?.[1]?.trim();
    if (said === undefined || said === '') continue;
    const line = index + 1;
    const last = found.at(-1);
    const isWhole = /^\s*# \S/u.test(raw);
    if (isWhole && last !== undefined && last.end === line - 1) {
      last.text += ` ${said}`;
      last.end = line;
    } else found.push({ line, end: isWhole ? line : 0, text: said });
  }
  return found;
}
