/** Valid UTF-8 without white space between tokens; all else byte for byte. */
export function compactJson(bytes: Buffer): string {
  const compact = Buffer.allocUnsafe(bytes.length);
  let length = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (!inString && isSpace(byte)) continue;
    compact[length] = byte;
    length += 1;
    if (byte === quote) inString = !inString;
    else if (inString && byte === backslash) {
      at += 1;
      compact[length] = bytes[at] ?? 0;
      length += 1;
    }
  }
  return compact.toString('utf8', 0, length);
}

const quote = 0x22;
const backslash = 0x5c;

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
