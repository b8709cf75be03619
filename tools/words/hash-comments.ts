import type { Prose } from './prose.ts';

/**
 * Comments that begin with #, of YAML, shell scripts and configuration files; lines that follow each other are one. A # that is not followed by
 * exactly one space begins a setting that is commented out.
 */
export function hashComments(text: string): readonly Prose[] {
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
