const encoder = new TextEncoder();

/**
 * A text without case and accents: NFKD, marks removed, lower-cased. The final sigma becomes the plain one: `toLowerCase` picks
 * between the two by their place in the word, so that the beginning of a name would not always be found in the name.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ς', 'σ');
}

/**
 * UTF-8: compared byte by byte it has the order of code points, on any store and under any collation, which neither JavaScript's
 * UTF-16 nor a database's text has. The array owns its memory, so it can be handed to another thread.
 */
export function exactKey(text: string): Uint8Array {
  return encoder.encode(text);
}

/** What texts are sorted and searched by: the folded text in UTF-8. */
export function sortKey(text: string): Uint8Array {
  return exactKey(foldText(text));
}

/**
 * The first key behind all keys that begin with `prefix`; undefined where nothing stands behind them, which is the empty prefix.
 * UTF-8 has no byte 0xff, so the last byte can always be counted up.
 */
export function keyBehind(prefix: Uint8Array): Uint8Array | undefined {
  const last = prefix.at(-1);
  if (last === undefined) return undefined;
  const behind = prefix.slice();
  behind[behind.length - 1] = last + 1;
  return behind;
}
