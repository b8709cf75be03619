import type { CallScope } from '#outbound/call-scope.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
import type { CallContext } from './call-context.ts';
import { heldReply } from './held-reply.ts';
import type { RelayReply } from './relay-reply.ts';

/**
 * The one step between the decision and the sending: a call that may change something is on record before `send` begins, and what came
 * of it before its caller hears of it. Nobody else permits a change, and a sender takes no state-changing call without. A call that came
 * with an idempotency key is made once: where it was made before, the reply of that time is the answer. Rejects with 503
 * `audit-unavailable` where the record cannot be written, with what the key is refused for, and with whatever `send` rejects with.
 */
export function recorded(call: RecordedCall, send: () => Promise<RelayReply>): Promise<RelayReply> {
  return call.method === 'GET' && !call.context.isIdempotent ? send() : recordedAhead(call, send);
}

interface RecordedCall {
  readonly context: CallContext;
  readonly scope: CallScope;
  readonly method: OutboundCall['method'];
}

async function recordedAhead({ context, scope }: RecordedCall, send: () => Promise<RelayReply>): Promise<RelayReply> {
  const earlier = await context.intend();
  if (earlier !== undefined) return earlier;
  scope.permitChange();
  if (!context.isIdempotent) return await concluded(context, send);
  // Its caller comes back for the reply, perhaps because it lost its connection.
  scope.carryOn();
  try {
    return await concluded(context, async () => heldReply(await send()));
  } finally {
    scope.carriedOut();
  }
}

async function concluded(context: CallContext, send: () => Promise<RelayReply>): Promise<RelayReply> {
  let reply: RelayReply;
  try {
    reply = await send();
  } catch (failure) {
    await context.concluded({ failure });
    throw failure;
  }
  await context.concluded({ reply });
  return reply;
}
