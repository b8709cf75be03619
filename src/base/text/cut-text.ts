/** Bytes of a text that people or programs wrote, and that others read with many more: of an error, or of a problem. */
export const maxTextLength = 4_096;

const mark = ' … (cut)';

/** The text, or as much of it as fits with a mark that says so. `bytes`: of UTF-8. */
export function cutText(text: string, bytes: number = maxTextLength): string {
  // A character has at most three bytes.
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text;
  return firstBytes(text, bytes - Buffer.byteLength(mark)) + mark;
}

/** As many whole characters of the text as `bytes` of UTF-8 hold. */
export function firstBytes(text: string, bytes: number): string {
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text;
  // What the cut left of a character ends as U+FFFD.
  const room = Buffer.from(text.slice(0, bytes)).subarray(0, bytes);
  return room.toString().replace(/\uFFFD{1,3}$/u, '');
}

export function isCut(text: string | undefined): boolean {
  return text?.endsWith(mark) === true;
}
