import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type CallScope, TimeLimitPassed } from '#outbound/call-scope.ts';
import type { OutboundCall } from '#outbound/outbound-call.ts';
import { untilAborted } from '#outbound/until-aborted.ts';
import type { CallReply } from '#relay/relayed-call.ts';
import type { ApprovalPermit } from './approval-gate.ts';
import type { CallAnswer } from './call-answer.ts';
import type { CallContext } from './call-context.ts';
import type { CallRecord } from './call-record.ts';
import { heldReply } from './held-reply.ts';

/**
 * The one step between the decision and the sending. A call that may change something is on record before `send` begins, and its outcome
 * before its caller gets the reply. Only this function permits a change (`permitChange`); a sender refuses a state-changing call without it.
 * A call with an Idempotency-Key is made once: the reply of an earlier call with that key is the answer. An approval is used up with the intent.
 *
 * Rejects with 503 `audit-unavailable` where the record cannot be written, with the refusal of the key or of `admit`, and as `send` does.
 */
export async function recorded(call: RecordedCall, send: () => Promise<CallReply>): Promise<CallAnswer> {
  const { method, admit, context } = call;
  const isPlain = method === 'GET' && context.record.idempotent === undefined && admit === undefined;
  return isPlain ? answered(await send()) : await recordedAhead(call, send);
}

function answered(reply: CallReply): CallAnswer {
  return { kind: 'reply', reply, isRepeated: false };
}

interface RecordedCall {
  readonly context: CallContext;
  readonly scope: CallScope;
  readonly method: OutboundCall['method'];
  /** Absent: the call needs no approval. See ApprovalGate. */
  readonly admit: (() => Promise<ApprovalPermit | undefined>) | undefined;
}

async function recordedAhead(call: RecordedCall, send: () => Promise<CallReply>): Promise<CallAnswer> {
  const { context, scope } = call;
  const earlier = await intended(call);
  if (earlier !== undefined) return earlier;
  if (context.mayLeave?.() === false) return answered(await withOutcome(context.record, () => Promise.reject(tooLate())));
  scope.permitChange();
  const { record } = context;
  if (record.idempotent === undefined) return answered(await withOutcome(record, send));
  // A caller that lost its connection may send the key again, and gets the reply.
  scope.detachCaller();
  const forget = context.whenStopping(() => scope.abort(new CallerLeft()));
  try {
    return answered(await withOutcome(record, async () => heldReply(await send())));
  } finally {
    forget();
    scope.attachCaller();
  }
}

/**
 * As CallRecord.intend, within the time limit of the call. Nothing is sent where the time limit passes first, or the caller leaves. An intent
 * that goes on record all the same gets this outcome.
 */
async function intended({ context: { record }, scope, admit }: RecordedCall): Promise<CallAnswer | undefined> {
  const intent = record.intend(admit);
  try {
    return await untilAborted(scope, intent);
  } catch (thrown) {
    if (thrown !== scope.aborted) throw thrown;
    const failure = thrown instanceof TimeLimitPassed ? notInTime(thrown) : thrown;
    const recording = intent.then((earlier) => (earlier === undefined ? record.recordOutcome({ failure }) : undefined));
    // The audit log itself logs a record that cannot be written.
    recording.catch(() => {});
    throw failure;
  }
}

/** 503, not 504: no far side was asked. */
function notInTime(cause: TimeLimitPassed): GatewayError {
  const detail = `The call could not be put on record within its ${cause.milliseconds} ms, so it did not leave the gateway: the store is slow.`;
  return new GatewayError('audit-unavailable', detail, { cause, headers: { 'Retry-After': '1' } });
}

function tooLate(): GatewayError {
  return new GatewayError(
    'audit-unavailable',
    'The call was put on record so late that another gateway may have taken over its run, so it did not leave the gateway.',
    { headers: { 'Retry-After': '1' } },
  );
}

async function withOutcome(record: CallRecord, send: () => Promise<CallReply>): Promise<CallReply> {
  let reply: CallReply;
  try {
    reply = await send();
  } catch (failure) {
    await record.recordOutcome({ failure });
    throw failure;
  }
  await record.recordOutcome({ reply });
  return reply;
}
