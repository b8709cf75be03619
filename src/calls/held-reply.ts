import type { RelayReply } from '#relay/relay-reply.ts';

/** Bytes of a reply that is kept for its Idempotency-Key, at most. A longer one streams, and cannot be repeated. */
const keptAtMost = 1_048_576;

/** Reads a reply to its end where it is short enough to be kept; what comes back has the same bytes. Rejects as its `rest` does. */
export async function heldReply(reply: RelayReply): Promise<RelayReply> {
  if (reply.rest === undefined) return reply;
  const chunks = reply.rest[Symbol.asyncIterator]();
  const parts = [reply.head];
  let length = reply.head.length;
  while (length <= keptAtMost) {
    const next = await chunks.next();
    if (next.done === true) return { ...reply, head: Buffer.concat(parts), rest: undefined };
    // Its bytes are good until the next one is asked for.
    parts.push(Buffer.from(next.value));
    length += next.value.length;
  }
  return { ...reply, head: Buffer.concat(parts), rest: { [Symbol.asyncIterator]: () => chunks } };
}
