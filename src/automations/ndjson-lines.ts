import { GatheredBytes } from '#base/gathered-bytes.ts';

/** One line of an NDJSON text. */
export interface NdjsonLine {
  /** From 1; blank lines count. */
  readonly number: number;
  /** Without its newline; undefined where it is longer than the limit. */
  readonly bytes: Buffer | undefined;
}

const newline = 0x0a;

/**
 * The lines of an NDJSON text that arrives in chunks. Blank lines are skipped, and the last line needs no newline. A line longer than
 * `limit` bytes is not kept in memory.
 */
export async function* ndjsonLines(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  limit: number,
): AsyncGenerator<NdjsonLine, void, undefined> {
  let number = 1;
  const held = new GatheredBytes();
  let length = 0;
  const take = (piece: Buffer): void => {
    length += piece.length;
    if (length <= limit) held.add(piece);
    else held.take();
  };
  const line = (): NdjsonLine | undefined => {
    // A copy: a view would keep the whole chunk in memory, and the owner of the chunk may reuse it.
    const bytes = length > limit ? undefined : Buffer.from(held.take());
    const found = bytes !== undefined && isBlank(bytes) ? undefined : { number, bytes };
    number += 1;
    held.take();
    length = 0;
    return found;
  };
  for await (const chunk of source) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, end));
      start = end + 1;
      const found = line();
      if (found !== undefined) yield found;
    }
    // The rest is copied for the same reason.
    if (start < chunk.length) take(Buffer.from(chunk.subarray(start)));
  }
  const last = line();
  if (last !== undefined) yield last;
}

/** JSON's white space alone (RFC 8259 2). */
function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
