import type { CallScope } from '#outbound/call-scope.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
import type { CallContext } from './call-context.ts';
import type { RelayReply } from './relay-reply.ts';

/**
 * The one step between the decision and the sending: a call that may change something is on record before `send` begins, and what came
 * of it before its caller hears of it. Nobody else permits a change, and a sender takes no state-changing call without. Rejects with 503
 * `audit-unavailable` where the record cannot be written, and with whatever `send` rejects with.
 */
export async function recorded(
  call: { readonly context: CallContext; readonly scope: CallScope; readonly method: OutboundCall['method'] },
  send: () => Promise<RelayReply>,
): Promise<RelayReply> {
  const { context, scope, method } = call;
  if (method === 'GET') return await send();
  await context.intend();
  scope.permitChange();
  try {
    const reply = await send();
    await context.concluded();
    return reply;
  } catch (failure) {
    await context.concluded(failure);
    throw failure;
  }
}
