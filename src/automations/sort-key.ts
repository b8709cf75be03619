const encoder = new TextEncoder();

/**
 * A text without case and accents: NFKD, marks removed, lower-cased. The final sigma becomes the plain one: `toLowerCase` chooses between
 * them by the place in the word. Otherwise a search for the beginning of a name would not always find the name.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ς', 'σ');
}

/**
 * The text in UTF-8. Compared byte by byte it has the order of code points, on any store and under any collation. JavaScript's UTF-16 and
 * the text types of databases have not. The array owns its memory, so that it can be sent to another thread.
 */
export function exactKey(text: string): Uint8Array {
  return encoder.encode(text);
}

/** What texts are sorted and searched by: the folded text in UTF-8. */
export function sortKey(text: string): Uint8Array {
  return exactKey(foldText(text));
}

/**
 * The first key after all keys that begin with `prefix`; undefined for the empty prefix, which has none.
 * UTF-8 has no byte 0xff, so that the last byte can always be incremented.
 */
export function keyBehind(prefix: Uint8Array): Uint8Array | undefined {
  const last = prefix.at(-1);
  if (last === undefined) return undefined;
  const behind = prefix.slice();
  behind[behind.length - 1] = last + 1;
  return behind;
}
