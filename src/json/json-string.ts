/**
 * The string that the raw token in `bytes` (UTF-8, quotes included, known to be valid JSON) stands for. Lone surrogates stay as they are.
 * It is given by its place: a view on each name of a small body takes more time than all of the reading.
 */
export function decodeJsonString(bytes: Buffer, start = 0, end: number = bytes.length): string {
  return unescaped(bytes.toString('utf8', start + 1, end - 1));
}

/** What this, written between the quotes of a valid JSON string, stands for. */
export function unescaped(written: string): string {
  return written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written;
}
