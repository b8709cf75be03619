/**
 * The string that the raw token in `bytes` (UTF-8, quotes included, known to be valid JSON) stands for. Lone surrogates stay as they are.
 * It is given by its place: a view on each name of a small body takes more time than all of the reading.
 */
export function decodeJsonString(bytes: Buffer, start = 0, end: number = bytes.length): string {
  for (let at = start; at < end; at += 1) if (bytes[at] === 0x5c) return JSON.parse(bytes.toString('utf8', start, end)) as string;
  return bytes.toString('utf8', start + 1, end - 1);
}
