/** What ends a line for some readers, drives a terminal or cannot be seen: control characters, U+2028, U+2029, format characters. */
const invisible = /[\p{Cc}\u2028\u2029\p{Cf}]/gu;

/** Most texts: looked for first, since it is found much faster. */
const plain = /^[\x20-\x7e]*$/u;

/** The text with those written as JSON escapes; inside JSON strings, where alone they can stand, it means the same. */
export function visible(text: string): string {
  if (plain.test(text)) return text;
  return text.replaceAll(invisible, (found) =>
    found
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
