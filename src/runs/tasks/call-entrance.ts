import { randomUUID } from 'node:crypto';
import type { AuditLog } from '#audit/audit-log.ts';
import type { IdempotentRequest } from '#audit/idempotent-request.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { exceptionFields } from '#base/exception-fields.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { continueTrace, readTrace, type TraceContext } from '#base/trace-context.ts';
import type { Span, Tracing } from '#base/tracing.ts';
import type { ApprovalReference } from '#calls/approval-gate.ts';
import type { AttemptObservers } from '#calls/attempts.ts';
import { type Call, textsOf } from '#calls/call.ts';
import type { CallAnswer } from '#calls/call-answer.ts';
import { changeLeft } from '#calls/call-outcome.ts';
import type { CallPath } from '#calls/call-path.ts';
import { CallRecord } from '#calls/call-record.ts';
import type { Seal } from '#relay/seal.ts';
import type { RunStanding } from '../run-people.ts';
import type { StoredRun } from '../run-records.ts';
import { type CallFailure, callFailure } from './call-failure.ts';
import { readRenderedReply, readTaskReply, type TaskReply } from './task-reply.ts';

/** What the entrance of runs to the call path needs. */
export interface EntranceOptions {
  readonly calls: CallPath;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly observers: AttemptObservers;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  /** Counts a call that the gateway itself could not take through. */
  readonly failedInside?: (() => void) | undefined;
  /** Counts a call that ended. `route`: `run` and the operation. */
  readonly callEnded?: ((route: string, record: CallRecord) => void) | undefined;
}

/** The run whose task calls: in whose name, who answers for the call, and who has a hand in it. */
export interface CallingRun extends Pick<StoredRun, 'id' | 'principal' | 'automation' | 'workflow' | 'version'> {
  readonly standing: RunStanding;
  /** What lets its calls carry secrets. */
  readonly seal: Seal;
  /** A JSON text as readers see it. */
  readonly shown: (jsonText: string) => string;
}

interface EnteringCall {
  readonly run: CallingRun;
  /** Of the run; the call is a child of it. */
  readonly trace: TraceContext;
  /** The place of the task in the document. */
  readonly reference: string | undefined;
  readonly call: Call;
  /** The task wants the bytes of the reply, in base64. */
  readonly asBytes: boolean;
  /** Set where the call may change something. */
  readonly idempotent: IdempotentRequest | undefined;
  readonly approval?: ApprovalReference | undefined;
  /** False: the gateway may have lost the run, so nothing that changes something leaves. */
  readonly holds?: (() => boolean) | undefined;
}

/** What came of one way through the call path. */
export type Entered =
  /** `address`: the last one, where redirects led to another. */
  | { readonly kind: 'reply'; readonly reply: TaskReply; readonly address: string | undefined; readonly requestId: string }
  /** `after`: milliseconds after which the gateway may be asked again. */
  | (Unfinished & { readonly kind: 'failed'; readonly failure: CallFailure; readonly after: number })
  /** The call was made, and its reply is longer than a run may hold. */
  | { readonly kind: 'tooLong'; readonly requestId: string }
  | (Unfinished & { readonly kind: 'aborted' });

interface Unfinished {
  /** A change may have happened at the far side. */
  readonly left: boolean;
  /** It is known whether an earlier gateway made the call: the idempotency key was free, or brought an answer. */
  readonly isSettled: boolean;
  readonly requestId: string;
}

/**
 * Takes one call through the call path: this is the entrance of runs. `signal` aborts the call as a caller that leaves. Never rejects.
 */
export async function enterCallPath(entering: EnteringCall, signal: AbortSignal, options: EntranceOptions): Promise<Entered> {
  const { run, call, idempotent } = entering;
  const approval = { ...entering.approval, mask: run.shown, secrets: run.seal.carried(textsOf(call)) };
  const record = openRecord(entering, options);
  record.principal = run.principal;
  record.idempotent = idempotent;
  record.note({ via: viaOf(entering), repeatable: call.operation === 'restAction' ? call.repeatable : undefined });
  const life = new CallLife(signal, record);
  const ending: { status?: number | undefined; left?: CallerLeft } = {};
  try {
    const answer = await options.calls.perform(call, {
      record,
      via: ['run'],
      answerable: run.standing.answerable,
      involved: run.standing.involved,
      seal: run.seal,
      approval,
      wait: undefined,
      ...(entering.holds && { mayLeave: entering.holds }),
      whenEnded: (callback) => life.whenEnded(callback),
      whenStopping: (callback) => life.whenStopping(callback),
    });
    const entered = await enteredBy(answer, entering, record.facts.replays ?? record.requestId);
    life.end(entered.kind !== 'tooLong');
    ending.status = entered.kind === 'failed' ? entered.failure.status : 200;
    return entered;
  } catch (thrown) {
    life.end(false);
    const { requestId } = record;
    const left = changeLeft(record.facts);
    // Approvals are asked for only once the idempotency key is known to be free.
    const isSettled = record.isIntended || refusedByApproval(thrown);
    if (thrown instanceof CallerLeft || signal.aborted) {
      ending.left = new CallerLeft();
      return { kind: 'aborted', left, isSettled, requestId };
    }
    const failure = noted(thrown, record, options);
    ending.status = failure.status;
    return { kind: 'failed', failure: callFailure(failure), after: retryAfter(failure), left, isSettled, requestId };
  } finally {
    record.afterCall(() => {
      ended(record, ending, options.log);
      options.callEnded?.(routeOf(call), record);
    });
  }
}

/** The task that makes the call, for the audit log. */
function viaOf({ run, reference, approval }: EnteringCall): NonNullable<CallRecord['facts']['via']> {
  const activity = approval?.task?.activity;
  return { run: run.id, task: reference, ...(activity !== undefined && { id: String(activity) }) };
}

const approvalCodes: ReadonlySet<ErrorCode> = new Set([
  'approval-required',
  'approval-mismatch',
  'approval-used',
  'approval-rejected',
  'approval-expired',
]);

function refusedByApproval(thrown: unknown): boolean {
  return thrown instanceof GatewayError && approvalCodes.has(thrown.code);
}

function openRecord({ run: { seal }, trace: runTrace, call }: EnteringCall, options: EntranceOptions): CallRecord {
  const { audit, clock, observers, tracing } = options;
  const requestId = randomUUID();
  const route = routeOf(call);
  const ofRun = readTrace(runTrace.traceparent, undefined);
  const flags = tracing?.isRecorded(runTrace.traceId) === true ? '01' : '00';
  const received = ofRun && { ...ofRun, flags };
  const span = tracing?.request({ name: route, kind: 'internal', received, facts: () => ({ 'gateway.request.id': requestId }) });
  const trace = span?.trace ?? continueTrace(received);
  const origin = { requestId, trace, span, sourceAddress: undefined, route, address: '', isRecorded: true };
  return new CallRecord({ origin, audit, clock, observers, mask: (text) => seal.shown(text) });
}

function routeOf({ operation }: Call): string {
  return `run ${operation}`;
}

/** Tells the call path when its caller, the task, has ended or left. */
class CallLife {
  readonly #stops = new Set<() => void>();
  readonly #signal: AbortSignal;
  readonly #record: CallRecord;
  #whenEnded: ((complete: boolean) => void) | undefined;
  readonly #leave = (): void => {
    this.#record.cutOff = true;
    this.#finish(false);
    // A call with an idempotency key goes on without its caller, unless it is stopped.
    for (const stop of this.#stops) stop();
  };

  constructor(signal: AbortSignal, record: CallRecord) {
    this.#signal = signal;
    this.#record = record;
    signal.addEventListener('abort', this.#leave, { once: true });
  }

  whenEnded(callback: (complete: boolean) => void): void {
    if (this.#signal.aborted) callback(false);
    else this.#whenEnded = callback;
  }

  whenStopping(callback: () => void): () => void {
    this.#stops.add(callback);
    return () => this.#stops.delete(callback);
  }

  /** The reply has been read, or is not wanted. */
  end(complete: boolean): void {
    this.#signal.removeEventListener('abort', this.#leave);
    this.#finish(complete);
  }

  #finish(complete: boolean): void {
    this.#whenEnded?.(complete);
    this.#whenEnded = undefined;
  }
}

/** The far side has answered, now or an earlier call of the task. Rejects where the reply breaks off. */
async function enteredBy(answer: CallAnswer, { asBytes }: EnteringCall, requestId: string): Promise<Entered> {
  const again = { after: 0, left: true, isSettled: true, requestId };
  if (answer.kind === 'error') return { kind: 'failed', failure: callFailure(answer.error), ...again };
  if (answer.kind === 'rendered') {
    if (answer.status >= 400) return { kind: 'failed', failure: JSON.parse(answer.body) as CallFailure, ...again };
    return { kind: 'reply', reply: readRenderedReply(answer), address: answer.headers['X-Upstream-Uri'], requestId };
  }
  const reply = await readTaskReply(answer.reply, asBytes);
  return reply === undefined
    ? { kind: 'tooLong', requestId }
    : { kind: 'reply', reply, address: answer.reply.address, requestId };
}

/** Notes why the call failed. An unexpected error gets a log line of its own; after a change left, its outcome is unknown. */
function noted(thrown: unknown, record: CallRecord, options: EntranceOptions): GatewayError {
  const failure = thrown instanceof GatewayError ? thrown : unexpected(thrown, record, options);
  record.failure = failure;
  return failure;
}

function unexpected(thrown: unknown, record: CallRecord, { log, failedInside }: EntranceOptions): GatewayError {
  failedInside?.();
  log.error('a call of a run failed unexpectedly', { requestId: record.requestId, ...exceptionFields(thrown) });
  const code = changeLeft(record.facts) ? 'outcome-unknown' : 'internal-error';
  return new GatewayError(code, 'The gateway failed on this call. Its log has the cause under the request id.', {
    cause: thrown,
  });
}

/** Milliseconds of `Retry-After`, which the gateway writes in seconds. */
function retryAfter({ headers }: GatewayError): number {
  return Number(headers['Retry-After'] ?? 0) * 1_000;
}

function ended(record: CallRecord, { status, left }: { status?: number | undefined; left?: CallerLeft }, log: Log): void {
  record.end({ status, left });
  const { span, explanation } = record;
  if (span !== undefined) endSpan(span, record, status);
  log.info('call of a run', {
    requestId: record.requestId,
    run: record.facts.via?.run,
    traceId: record.trace.traceId,
    principal: record.principal.username,
    status,
    durationMs: Math.round(record.duration * 100) / 100,
    adapter: record.adapter,
    upstreamStatus: record.facts.upstreamStatus,
    code: record.code,
    detail: explanation?.detail,
    destination: explanation?.destination,
    path: explanation?.path,
    phase: explanation?.phase,
    reason: record.cutOff ? 'the call was aborted' : undefined,
  });
}

function endSpan(span: Span, { code, cutOff, adapter, attempted, facts }: CallRecord, status: number | undefined): void {
  span.end({
    failed: cutOff || (status !== undefined && status >= 400),
    facts: () => ({
      'error.type': code ?? (cutOff ? 'cut-off' : undefined),
      'gateway.adapter': adapter,
      'gateway.attempts': attempted?.count,
      'gateway.upstream.status_code': facts.upstreamStatus,
    }),
  });
}
