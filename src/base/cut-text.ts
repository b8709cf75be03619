/** Bytes of a text that people or programs wrote, and that others read with many more: of an error, or of a problem. */
export const longestText = 4_096;

const mark = ' … (cut)';

/** The text, or as much of it as fits with a mark that says so. `bytes`: of UTF-8. */
export function cutText(text: string, bytes: number = longestText): string {
  // A character has at most three bytes.
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text;
  const room = Buffer.from(text.slice(0, bytes)).subarray(0, bytes - Buffer.byteLength(mark));
  // What the cut left of a character ends as U+FFFD.
  return room.toString().replace(/\uFFFD{1,3}$/u, '') + mark;
}

export function isCut(text: string | undefined): boolean {
  return text?.endsWith(mark) === true;
}
