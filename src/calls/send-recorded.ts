import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { type CallScope, TimeLimitPassed, untilAborted } from '#outbound/call/call-scope.ts';
import type { OutboundCall } from '#outbound/call/outbound-call.ts';
import { type CallReply, inMemory } from '#relay/relayed-call.ts';
import type { ApprovalPermit } from './approval-check.ts';
import type { CallAnswer } from './call-answer.ts';
import type { CallContext } from './call-context.ts';
import type { CallRecord } from './call-record.ts';

/**
 * The one step between the decision and the sending. A call that may change something is on record before `send` begins, and its outcome
 * before its caller gets the reply. Only this function permits a change (`permitChange`); a sender refuses a state-changing call without it.
 * A call with an Idempotency-Key is made once: the reply of an earlier call with that key is the answer. An approval is used up with the intent.
 *
 * Rejects with 503 `audit-unavailable` where the record cannot be written, with the refusal of the key or of `admit`, and as `send` does.
 */
export async function sendRecorded(call: RecordedCall, send: () => Promise<CallReply>): Promise<CallAnswer> {
  const { method, admit, context } = call;
  const isPlain = method === 'GET' && context.record.idempotent === undefined && admit === undefined;
  if (!isPlain) return await sendAfterIntent(call, send);
  if ((await context.stored?.()) === false) throw tooLate();
  return answerWith(await send());
}

function answerWith(reply: CallReply): CallAnswer {
  return { kind: 'reply', reply, isRepeated: false };
}

interface RecordedCall {
  readonly context: CallContext;
  readonly scope: CallScope;
  readonly method: OutboundCall['method'];
  /** What the call sends, as readers of the audit log may see it; undefined: nothing. */
  readonly shownBody: () => Promise<string | undefined>;
  /** Absent: the call needs no approval. See ApprovalGate. */
  readonly admit: (() => Promise<ApprovalPermit | undefined>) | undefined;
}

async function sendAfterIntent(call: RecordedCall, send: () => Promise<CallReply>): Promise<CallAnswer> {
  const { context, scope, admit } = call;
  if (call.method !== 'GET') context.record.sent = await call.shownBody();
  // People are asked about a call whose run the store has.
  if (admit !== undefined) await context.stored?.();
  const [earlier, isStored] = await writeIntent(call);
  if (earlier !== undefined) return earlier;
  if (!isStored || context.mayLeave?.() === false)
    return answerWith(await withOutcome(context.record, () => Promise.reject(tooLate())));
  scope.permitChange();
  const { record } = context;
  if (record.idempotent === undefined) return answerWith(await withOutcome(record, send));
  // A caller that lost its connection may send the key again, and gets the reply.
  scope.detachCaller();
  const forget = context.whenStopping(() => scope.abort(new CallerLeft()));
  try {
    return answerWith(await withOutcome(record, async () => bufferReply(await send())));
  } finally {
    forget();
    scope.attachCaller();
  }
}

/**
 * As CallRecord.intend, within the time limit of the call. Nothing is sent where the time limit passes first, or the caller leaves. An intent
 * that goes on record all the same gets this outcome.
 */
async function writeIntent({
  context: { record, stored },
  scope,
  admit,
}: RecordedCall): Promise<readonly [CallAnswer | undefined, isStored: boolean]> {
  const intent = record.intend(admit);
  try {
    return await untilAborted(scope, Promise.all([intent, stored?.() ?? true]));
  } catch (thrown) {
    if (thrown !== scope.aborted) throw thrown;
    const failure = thrown instanceof TimeLimitPassed ? notInTime(thrown) : thrown;
    const recording = intent.then((earlier) => (earlier === undefined ? record.recordOutcome({ failure }) : undefined));
    // The audit log itself logs a record that cannot be written.
    recording.catch(() => {});
    throw failure;
  }
}

/** 503, not 504: no upstream was asked. */
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

/** Bytes of a reply that is kept for its Idempotency-Key, at most. A longer one streams, and cannot be repeated. */
const maxKept = 1_048_576;

/** Reads a reply to its end where it is short enough to be kept; what comes back has the same bytes. Rejects as its `rest` does. */
export async function bufferReply(reply: CallReply): Promise<CallReply> {
  if (reply.rest === undefined) return reply;
  const chunks = reply.rest[Symbol.asyncIterator]();
  const parts: Buffer[] = [];
  let { length } = reply.head;
  while (length <= maxKept) {
    const next = await chunks.next();
    if (next.done === true) return inMemory(reply, Buffer.concat([reply.head, ...parts]));
    parts.push(next.value);
    length += next.value.length;
  }
  return { ...reply, rest: resume(parts, chunks) };
}

async function* resume(parts: readonly Buffer[], chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  yield* parts;
  yield* { [Symbol.asyncIterator]: () => chunks };
}
