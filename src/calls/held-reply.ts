import { type CallReply, inMemory } from '#relay/relayed-call.ts';

/** Bytes of a reply that is kept for its Idempotency-Key, at most. A longer one streams, and cannot be repeated. */
const keptAtMost = 1_048_576;

/** Reads a reply to its end where it is short enough to be kept; what comes back has the same bytes. Rejects as its `rest` does. */
export async function heldReply(reply: CallReply): Promise<CallReply> {
  if (reply.rest === undefined) return reply;
  const chunks = reply.rest[Symbol.asyncIterator]();
  const parts: Buffer[] = [];
  let { length } = reply.head;
  while (length <= keptAtMost) {
    const next = await chunks.next();
    if (next.done === true) return inMemory(reply, Buffer.concat([reply.head, ...parts]));
    parts.push(next.value);
    length += next.value.length;
  }
  return { ...reply, rest: continued(parts, chunks) };
}

async function* continued(parts: readonly Buffer[], chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield* parts;
  yield* { [Symbol.asyncIterator]: () => chunks };
}
