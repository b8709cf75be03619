const answerLimit = 65_536;

/** At most 64 KiB of a far side's error body as text; a character that the cut would split is left out. Bytes that are no UTF-8 are replaced. */
export function truncatedText(bytes: Buffer): string {
  if (bytes.length <= answerLimit) return bytes.toString('utf8');
  let end = answerLimit;
  // Go back over continuation bytes (10xxxxxx), so that the cut falls before a character.
  while (end > answerLimit - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
