const encoder = new TextEncoder();

/**
 * Without case and accents: NFKD, marks removed, lower-cased. `toLowerCase` chooses the final sigma by its place in the word. The
 * plain one lets a search for the beginning of a name find the name.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .replaceAll('ς', 'σ');
}

/**
 * UTF-8 bytes compare in the order of code points, on any store and under any collation. UTF-16 and the text types of databases
 * do not. The array owns its memory, so it can be sent to another thread.
 */
export function exactKey(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Texts are sorted and searched by this key. */
export function sortKey(text: string): Uint8Array {
  return exactKey(foldText(text));
}

/**
 * The first key after all keys that begin with `prefix`; undefined for an empty prefix. UTF-8 has no byte 0xff, so the last byte
 * can be incremented.
 */
export function keyBehind(prefix: Uint8Array): Uint8Array | undefined {
  const last = prefix.at(-1);
  if (last === undefined) return undefined;
  const behind = prefix.slice();
  behind[behind.length - 1] = last + 1;
  return behind;
}
