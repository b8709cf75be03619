/** Control characters, U+2028, U+2029, format characters: they end a line for some readers, control a terminal, or are invisible. */
const invisible = /[\p{Cc}\u2028\u2029\p{Cf}]/gu;

/** Most texts. This test comes first because it is much faster. */
const plain = /^[\x20-\x7e]*$/u;

/** Writes those characters as JSON escapes. JSON text keeps its meaning, because it can have them only inside strings. */
export function visible(text: string): string {
  if (plain.test(text)) return text;
  return text.replaceAll(invisible, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** The lines of a text, each as `visible` writes it. A line ends with LF or CRLF; the last one may be without. */
export function visibleLines(text: string): readonly string[] {
  return text
    .replace(/\r?\n$/u, '')
    .split(/\r?\n/u)
    .map(visible);
}
