import type { RenderedAnswer } from '#calls/call-answer.ts';
import type { CallReply } from '#relay/relayed-call.ts';
import { headersForCaller } from '#relay/reply-headers.ts';
import { textStage } from '#relay/reply-text.ts';
import { base64Stage, type Stage } from '#relay/stage.ts';
import { stagedBody } from '#relay/staged-body.ts';

/** The reply of a far side as a task reads it. */
export interface TaskReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /** The body is in base64: it is no text, or the task wants its bytes. */
  readonly isBase64: boolean;
}

/** Bytes that a run may hold. */
export const longestOutput = 8 * 1024 ** 2;

/** White space around JSON goes, so that a longer body may be a short output. */
const longestBody = 2 * longestOutput;

/** Reads a reply to its end; undefined where it is too long for a run. Rejects where it breaks off. `asBytes`: always in base64. */
export async function readTaskReply(reply: CallReply, asBytes: boolean): Promise<TaskReply | undefined> {
  const inBase64 = (): Body => ({ stages: [base64Stage()], isBase64: true });
  const asText = (): Body | undefined => {
    const text = textStage(reply);
    return text && { stages: [text()], isBase64: false };
  };
  const { chosen, head, rest } = stagedBody(reply, asBytes ? [inBase64] : [asText, inBase64]);
  const parts = [head];
  let { length } = head;
  for await (const chunk of rest ?? []) {
    length += chunk.length;
    if (length > longestBody) return undefined;
    // A chunk is valid until the next one is asked for.
    parts.push(Buffer.from(chunk));
  }
  const body = Buffer.concat(parts).toString();
  return { status: reply.status, headers: headersForCaller(reply), body, isBase64: chosen.isBase64 };
}

interface Body {
  readonly stages: readonly Stage[];
  readonly isBase64: boolean;
}

/** A reply that an older gateway kept as JSON text for a task. */
export function readRenderedReply({ body: text }: RenderedAnswer): TaskReply {
  const { statusCode, headers, body, bodyEncoding } = JSON.parse(text) as {
    readonly statusCode: number;
    readonly headers: TaskReply['headers'];
    readonly body: string;
    readonly bodyEncoding?: 'base64';
  };
  return { status: statusCode, headers, body, isBase64: bodyEncoding !== undefined };
}
