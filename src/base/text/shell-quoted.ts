/** `text` as one word of a POSIX shell (XCU 2.2.2): in single quotes; single quotes of the text are outside of them, escaped. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
