// A piece whose escaped form (at most six times as long) still fits a JavaScript string.
const pieceBytes = 16 * 1024 * 1024;

/**
 * The inside of a JSON string literal, without its quotes, for bytes that are known to be UTF-8. What stands before or after
 * does not matter: a text may be cut anywhere, even inside a character, and its escaped pieces joined.
 */
export function escapeJsonString(bytes: Buffer): Buffer {
  if (bytes.length > pieceBytes) {
    const pieces: Buffer[] = [];
    for (let i = 0; i < bytes.length; i += pieceBytes) pieces.push(escapeJsonString(bytes.subarray(i, i + pieceBytes)));
    return Buffer.concat(pieces);
  }
  // One byte read as one character: what JSON escapes is all ASCII, so bytes from 0x80 on come through untouched, and this
  // runs at the engine's own speed, several times that of a loop over bytes.
  const quoted = JSON.stringify(bytes.toString('latin1'));
  return Buffer.from(quoted, 'latin1').subarray(1, -1);
}

/**
 * The string that the raw token in `bytes` (UTF-8, quotes included, known to be valid JSON) stands for. Lone surrogates stay as they are.
 * It is given by its place: a view on each name of a small body takes more time than all of the reading.
 */
export function decodeJsonString(bytes: Buffer, start = 0, end: number = bytes.length): string {
  for (let at = start; at < end; at += 1) if (bytes[at] === 0x5c) return JSON.parse(bytes.toString('utf8', start, end)) as string;
  return bytes.toString('utf8', start + 1, end - 1);
}
