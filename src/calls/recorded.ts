import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type CallScope, TimeLimitPassed } from '#outbound/call-scope.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
import { untilAborted } from '#outbound/until-aborted.ts';
import type { RelayReply } from '#relay/relay-reply.ts';
import type { CallContext } from './call-context.ts';
import type { CallRecord } from './call-record.ts';
import { heldReply } from './held-reply.ts';

/**
 * The one step between the decision and the sending: a call that may change something is on record before `send` begins, and what came
 * of it before its caller hears of it. Nobody else permits a change, and a sender takes no state-changing call without. A call that came
 * with an idempotency key is made once: where it was made before, the reply of that time is the answer. Rejects with 503
 * `audit-unavailable` where the record cannot be written, with what the key is refused for, and with whatever `send` rejects with.
 */
export function recorded(call: RecordedCall, send: () => Promise<RelayReply>): Promise<RelayReply> {
  return call.method === 'GET' && call.context.record.idempotent === undefined ? send() : recordedAhead(call, send);
}

interface RecordedCall {
  readonly context: CallContext;
  readonly scope: CallScope;
  readonly method: OutboundCall['method'];
}

async function recordedAhead({ context, scope }: RecordedCall, send: () => Promise<RelayReply>): Promise<RelayReply> {
  const earlier = await intended(context.record, scope);
  if (earlier !== undefined) return earlier;
  scope.permitChange();
  const { record } = context;
  if (record.idempotent === undefined) return await withOutcome(record, send);
  // Its caller comes back for the reply, perhaps because it lost its connection.
  scope.detachCaller();
  const forget = context.whenStopping(() => scope.abort(new CallerLeft()));
  try {
    return await withOutcome(record, async () => heldReply(await send()));
  } finally {
    forget();
    scope.attachCaller();
  }
}

/**
 * As CallRecord.intend, within the time of the call. Where that is over first, or its caller leaves, nothing is sent, and where the intent is on
 * record in the end, that follows it.
 */
async function intended(record: CallRecord, scope: CallScope): Promise<RelayReply | undefined> {
  const intent = record.intend();
  try {
    return await untilAborted(scope, intent);
  } catch (thrown) {
    if (thrown !== scope.aborted) throw thrown;
    const failure = thrown instanceof TimeLimitPassed ? notInTime(thrown) : thrown;
    const recording = intent.then((earlier) => (earlier === undefined ? record.recordOutcome({ failure }) : undefined));
    // That the record cannot be written is told by the log.
    recording.catch(() => {});
    throw failure;
  }
}

/** No far side was asked: it is not to blame. */
function notInTime(cause: TimeLimitPassed): GatewayError {
  const detail = `The call could not be put on record within its ${cause.milliseconds} ms, so it did not leave the gateway: the store is slow.`;
  return new GatewayError('audit-unavailable', detail, { cause, headers: { 'Retry-After': '1' } });
}

async function withOutcome(record: CallRecord, send: () => Promise<RelayReply>): Promise<RelayReply> {
  let reply: RelayReply;
  try {
    reply = await send();
  } catch (failure) {
    await record.recordOutcome({ failure });
    throw failure;
  }
  await record.recordOutcome({ reply });
  return reply;
}
