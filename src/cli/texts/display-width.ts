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
