/** `text` as one word of a POSIX shell (XCU 2.2.2): between single quotes, each of its own written outside of them. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
