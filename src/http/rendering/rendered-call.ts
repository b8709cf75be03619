import type { CallAnswer } from '#calls/call-answer.ts';
import type { CallReply } from '#relay/relayed-call.ts';
import type { RouteReply } from '../route.ts';
import type { RenderedReply } from './rendering.ts';

/** The reply to the caller of a relay route. `render` writes the upstream's reply as the route answers. */
export async function renderAnswered(
  answering: Promise<CallAnswer>,
  render: (reply: CallReply) => RenderedReply,
): Promise<RouteReply<never>> {
  const answer = await answering;
  if (answer.kind === 'error') return { kind: 'problem', error: answer.error, requestId: answer.requestId, headers: replayed };
  if (answer.kind === 'rendered') {
    const { status, mediaType, headers, body } = answer;
    return { kind: 'plain', status, headers: { ...headers, ...replayed }, body, ...(mediaType !== undefined && { mediaType }) };
  }
  const { reply, isRepeated } = answer;
  const rendered = await inWhole(reply, orDiscarded(reply, render));
  return isRepeated ? { ...rendered, headers: [...rendered.headers, ...Object.entries(replayed).flat()] } : rendered;
}

const replayed = { 'Idempotency-Replayed': 'true' };

/** Discards a reply whose rendering fails: otherwise its connection would stay open, unread. */
function orDiscarded(reply: CallReply, render: (reply: CallReply) => RenderedReply): RenderedReply {
  try {
    return render(reply);
  } catch (failure) {
    reply.discard();
    throw failure;
  }
}

/** Renders a reply in memory to its end before a byte of it is written. So a late fault is an error, and breaks no connection. */
async function inWhole({ whole }: CallReply, rendered: RenderedReply): Promise<RenderedReply> {
  if (whole === undefined || rendered.rest === undefined) return rendered;
  const parts = [rendered.head];
  for await (const chunk of rendered.rest) parts.push(Buffer.from(chunk));
  return { ...rendered, head: Buffer.concat(parts), rest: undefined };
}
