import type { FarSideReply } from '#outbound/outbound-call.ts';
import { textStage } from './reply-text.ts';

/** Most bytes of `upstream.body`. */
const limit = 65_536;

/** The first 64 KiB of a reply, as text by its charset or else as base64; at most 64 KiB of either. */
export function readableBody(reply: FarSideReply): { readonly text: string; readonly base64: boolean } {
  const text = decoded(reply);
  if (text !== undefined) return { text: truncated(text), base64: false };
  return { text: reply.head.subarray(0, (limit / 4) * 3).toString('base64'), base64: true };
}

function decoded(reply: FarSideReply): Buffer | undefined {
  const stage = textStage(reply)?.();
  try {
    if (stage === undefined) return undefined;
    const bytes = stage.push(reply.head);
    return reply.rest === undefined ? Buffer.concat([bytes, stage.end()]) : bytes;
  } catch {
    return undefined;
  }
}

/** Leaves out a character that the cut would split, by going back over continuation bytes (10xxxxxx). */
function truncated(bytes: Buffer): string {
  let end = Math.min(limit, bytes.length);
  while (end < bytes.length && end > limit - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** The text of a reply's first 64 KiB; empty where the reply is not text. */
export function beginningOf(reply: FarSideReply): string {
  return decoded(reply)?.toString('utf8') ?? '';
}
