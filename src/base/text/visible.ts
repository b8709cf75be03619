/** They end a line for some readers, control a terminal, or are invisible: all blanks but the space are among them. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}[\p{Zs}--[ ]]\u2800\u{1d159}]/gv;

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
