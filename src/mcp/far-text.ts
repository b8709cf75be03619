import type { CallReply } from '#relay/relayed-call.ts';
import { mediaTypeOf, textStage } from '#relay/reply-text.ts';
import { base64Stage, type Stage, stagedBody } from '#relay/stage.ts';

/** Bytes of a reply that an agent can read, page by page. */
const maxText = 2 * 1024 ** 2;

/** The reply of an upstream as text, with its digits as they came. */
export interface FarText {
  readonly status: number;
  /** Without parameters; empty where the upstream named none. */
  readonly mediaType: string;
  /** UTF-8. */
  readonly bytes: Buffer;
  /** The reply is longer, and the rest was not read. */
  readonly isCut: boolean;
  /** The bytes are base64, since the reply is no text. */
  readonly isBase64: boolean;
}

/** Reads a reply to its end, or to its limit. Rejects where it breaks off. */
export async function readFarText(reply: CallReply): Promise<FarText> {
  const inBase64 = (): Body => ({ stages: [base64Stage()], isBase64: true });
  const asText = (): Body | undefined => {
    const text = textStage(reply);
    return text && { stages: [text()], isBase64: false };
  };
  const { chosen, head, rest } = stagedBody(reply, [asText, inBase64]);
  const parts = [head];
  let { length } = head;
  for await (const chunk of rest ?? []) {
    // A chunk is valid until the next one is asked for.
    parts.push(Buffer.from(chunk));
    length += chunk.length;
    if (length > maxText) break;
  }
  const all = Buffer.concat(parts);
  const bytes = all.length > maxText ? all.subarray(0, maxText) : all;
  const mediaType = mediaTypeOf(reply)?.essence ?? '';
  return { status: reply.status, mediaType, bytes, isCut: all.length > maxText, isBase64: chosen.isBase64 };
}

export function cutNote(narrow: string): string {
  return `The reply has more than ${maxText} bytes, and the rest was not read. ${narrow}`;
}

interface Body {
  readonly stages: readonly Stage[];
  readonly isBase64: boolean;
}
