import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditLog } from '#audit/audit-log.ts';
import type { IdempotentRequest } from '#audit/idempotency/idempotent-request.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { exceptionFields } from '#base/exception-fields.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { continueTrace, readTrace, type TraceContext } from '#base/trace-context.ts';
import type { Tracing } from '#base/tracing.ts';
import type { ApprovalReference } from '#calls/approval-check.ts';
import type { AttemptObservers } from '#calls/attempts.ts';
import { type Call, textsOf } from '#calls/call.ts';
import type { CallAnswer } from '#calls/call-answer.ts';
import { TooEarly } from '#calls/call-context.ts';
import { changeLeft } from '#calls/call-outcome.ts';
import type { CallPath } from '#calls/call-path.ts';
import { CallRecord } from '#calls/call-record.ts';
import type { Seal } from '#relay/call-seal.ts';
import type { StoredRun } from '../journal/run-records.ts';
import { entrancesOf, type RunStanding } from '../people/run-people.ts';
import { masksForPeople } from '../secrets/people-masks.ts';
import { type CallFailure, callFailure, readRenderedReply, readTaskReply, type TaskReply } from './task-reply.ts';

export interface EntranceOptions {
  readonly calls: CallPath;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly observers: AttemptObservers;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  readonly failedInside?: (() => void) | undefined;
  /** Counts a call that ended. `route`: `run` and the operation. */
  readonly callEnded?: ((route: string, record: CallRecord) => void) | undefined;
}

export interface CallingRun
  extends Pick<StoredRun, 'id' | 'principal' | 'automation' | 'owner' | 'workflow' | 'version' | 'entrance'> {
  readonly standing: RunStanding;
  readonly seal: Seal;
  /** A JSON text as readers see it. */
  readonly shown: (jsonText: string) => string;
}

interface EnteringCall {
  readonly run: CallingRun;
  /** Of the run; the call is a child of it. */
  readonly trace: TraceContext;
  readonly reference: string | undefined;
  readonly call: Call;
  /** The task wants the bytes of the reply, in base64. */
  readonly asBytes: boolean;
  /** Set where the call may change something. */
  readonly idempotent: IdempotentRequest | undefined;
  readonly approval?: ApprovalReference | undefined;
  /** As in CallContext. */
  readonly stored?: (() => Promise<boolean>) | undefined;
  /** See CallContext. */
  readonly notBefore?: number | undefined;
  /** False: the gateway may have lost the run, so nothing that changes something leaves. */
  readonly holds?: (() => boolean) | undefined;
  /** Aborted: the call is not entered again. One that has left goes on. */
  readonly lost?: AbortSignal | undefined;
  /** Milliseconds. A call that a limit delays for longer is the caller's to enter again. Default: no limit. */
  readonly maxWait?: number | undefined;
}

export type CallOutcome =
  /** `address`: the last one, where redirects led to another. */
  | { readonly kind: 'reply'; readonly reply: TaskReply; readonly address: string | undefined; readonly requestId: string }
  /** `after`: milliseconds after which the gateway may be asked again. */
  | (Unfinished & { readonly kind: 'failed'; readonly failure: CallFailure; readonly after: number })
  /** The call was made, and its reply is longer than a run may hold. */
  | { readonly kind: 'tooLong'; readonly requestId: string }
  | (Unfinished & { readonly kind: 'aborted' })
  /** Its time has not come: nothing happened. */
  | { readonly kind: 'early' };

interface Unfinished {
  /** A change may have happened at the upstream. */
  readonly left: boolean;
  /** It is known whether an earlier gateway made the call: the idempotency key was free, or brought an answer. */
  readonly isSettled: boolean;
  readonly requestId: string;
}

/** Milliseconds that a holder keeps a run which waits for a time. A longer wait is in the store alone. */
export const shortWait = 2_000;

/** Milliseconds between two attempts to put a call on record. */
const firstPause = 250;
const maxPause = 5_000;
/** Milliseconds after which a call in use, or one over the rate limit, is asked for again at the earliest. */
const minWait = 250;
/** Attempts at a call on which the gateway itself fails, and which does not leave. */
const maxFaults = 3;
/** Nothing of a call with such a failure has left, and the store may be back later. */
const storeAway: ReadonlySet<ErrorCode> = new Set(['audit-unavailable', 'store-unavailable']);
/** The gateway itself says that the call may be made, or asked for, later. */
const later: ReadonlySet<ErrorCode> = new Set(['too-many-requests', 'idempotency-key-in-use', 'overloaded']);

/**
 * Takes a call through the call path: this is the entrance of runs. It enters until the call is made or refused for good: neither a store
 * that is away nor the rate limit fails a run. `signal` aborts the call as a caller that leaves. Never rejects.
 */
export async function enterCallPath(entering: EnteringCall, signal: AbortSignal, options: EntranceOptions): Promise<CallOutcome> {
  let faults = 0;
  let wasStale = false;
  for (let pause = firstPause; ; pause = Math.min(2 * pause, maxPause)) {
    const ending: Ending = {};
    const outcome = await enterOnce(entering, { signal, ending }, options);
    if (ending.isStale === true && !wasStale) {
      wasStale = true;
      continue;
    }
    if (outcome.kind !== 'failed') return outcome;
    const { failure, requestId } = outcome;
    if (failure.code === 'internal-error') faults += 1;
    const wait = waitAfter(outcome, pause, entering.maxWait);
    if (wait === undefined || faults === maxFaults) return outcome;
    if (await mayEnterAfter(wait, entering, signal)) continue;
    // Of a call in use another gateway knows whether it happened.
    return { kind: 'aborted', left: failure.code === 'idempotency-key-in-use', isSettled: false, requestId };
  }
}

function waitAfter(
  { failure: { code }, after, left }: Extract<CallOutcome, { readonly kind: 'failed' }>,
  pause: number,
  maxWait = Infinity,
): number | undefined {
  if (left) return undefined;
  if (storeAway.has(code) || code === 'internal-error') return pause;
  const wait = Math.max(after, minWait);
  return later.has(code) && (code !== 'too-many-requests' || wait <= maxWait) ? wait : undefined;
}

async function mayEnterAfter(wait: number, { holds = () => true, lost }: EnteringCall, signal: AbortSignal): Promise<boolean> {
  const ending = lost === undefined ? signal : AbortSignal.any([signal, lost]);
  let mayEnter = await pauseFor(wait, ending);
  while (mayEnter && !holds()) mayEnter = await pauseFor(minWait, ending);
  return mayEnter;
}

/** False where the signal ended the wait. */
async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(milliseconds, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

async function enterOnce(
  entering: EnteringCall,
  { signal, ending }: { readonly signal: AbortSignal; readonly ending: Ending },
  options: EntranceOptions,
): Promise<CallOutcome> {
  const { run, call, idempotent } = entering;
  const approval = { ...entering.approval, ...masksForPeople(run), secrets: run.seal.carried(textsOf(call)) };
  const renewed = run.seal.renewal(approval.secrets);
  const record = openRecord(entering, options);
  record.principal = run.principal;
  record.idempotent = idempotent;
  record.note(factsOf(entering));
  const life = new CallLife(signal, record);
  try {
    const answer = await options.calls.perform(call, {
      record,
      via: entrancesOf(run),
      answerable: run.standing.answerable,
      involved: run.standing.involved,
      owner: run.owner,
      isRemembered: true,
      seal: run.seal,
      approval,
      notBefore: entering.notBefore,
      wait: undefined,
      stored: entering.stored,
      ...(entering.holds && { mayLeave: entering.holds }),
      whenEnded: (callback) => life.whenEnded(callback),
      whenStopping: (callback) => life.whenStopping(callback),
    });
    // A change is not sent again; the next one has the new value.
    if (answer.kind === 'reply' && answer.reply.status === 401) ending.isStale = (await renewed()) && idempotent === undefined;
    const outcome = await readOutcome(answer, entering, record.facts.replays ?? record.requestId);
    life.end(outcome.kind !== 'tooLong');
    ending.status = outcome.kind === 'failed' ? outcome.failure.status : 200;
    return outcome;
  } catch (thrown) {
    life.end(false);
    return failedOutcome(thrown, { record, signal, ending }, options);
  } finally {
    if (ending.isEarly === true) record.span?.end({ failed: false, facts: () => ({}) });
    else
      record.afterCall(() => {
        endRecord(record, ending, options.log);
        options.callEnded?.(routeOf(call), record);
      });
  }
}

interface Ending {
  status?: number | undefined;
  left?: CallerLeft;
  /** A query was refused with the former value of a secret. */
  isStale?: boolean;
  /** Nothing happened, so nothing is on record. */
  isEarly?: boolean;
}

function failedOutcome(
  thrown: unknown,
  { record, signal, ending }: { readonly record: CallRecord; readonly signal: AbortSignal; readonly ending: Ending },
  options: EntranceOptions,
): CallOutcome {
  ending.isEarly = thrown instanceof TooEarly;
  if (ending.isEarly) return { kind: 'early' };
  const { requestId } = record;
  const left = changeLeft(record.facts);
  // Approvals are asked for only once the idempotency key is known to be free.
  const isSettled = record.isIntended || isRefusedByApproval(thrown);
  if (thrown instanceof CallerLeft || signal.aborted) {
    ending.left = new CallerLeft();
    return { kind: 'aborted', left, isSettled, requestId };
  }
  const failure = thrown instanceof GatewayError ? thrown : unexpectedError(thrown, record, options);
  record.failure = failure;
  ending.status = failure.status;
  // The gateway writes Retry-After in seconds.
  const after = Number(failure.headers['Retry-After'] ?? 0) * 1_000;
  return { kind: 'failed', failure: callFailure(failure), after, left, isSettled, requestId };
}

function factsOf({ run, reference, approval, call }: EnteringCall): Pick<CallRecord['facts'], 'via' | 'repeatable'> {
  const activity = approval?.task?.activity;
  const via = { run: run.id, task: reference, ...(activity !== undefined && { id: String(activity) }) };
  return { via, repeatable: call.operation === 'restAction' ? call.repeatable : undefined };
}

const approvalCodes: ReadonlySet<ErrorCode> = new Set([
  'approval-required',
  'approval-mismatch',
  'approval-used',
  'approval-rejected',
  'approval-expired',
]);

function isRefusedByApproval(thrown: unknown): boolean {
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
  return new CallRecord({ origin, audit, clock, observers, mask: (text) => seal.masked(seal.shown(text)) });
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

  end(complete: boolean): void {
    this.#signal.removeEventListener('abort', this.#leave);
    this.#finish(complete);
  }

  #finish(complete: boolean): void {
    this.#whenEnded?.(complete);
    this.#whenEnded = undefined;
  }
}

/** The upstream has answered, now or an earlier call of the task. Rejects where the reply breaks off. */
async function readOutcome(answer: CallAnswer, { asBytes }: EnteringCall, requestId: string): Promise<CallOutcome> {
  const again = { after: 0, left: true, isSettled: true, requestId };
  if (answer.kind === 'error') return { kind: 'failed', failure: callFailure(answer.error), ...again };
  if (answer.kind === 'rendered') {
    if (answer.status >= 400) return { kind: 'failed', failure: JSON.parse(answer.body) as CallFailure, ...again };
    return { kind: 'reply', reply: readRenderedReply(answer), address: answer.headers['X-Upstream-Uri'], requestId };
  }
  const reply = await readTaskReply(answer.reply, asBytes);
  if (reply === undefined) return { kind: 'tooLong', requestId };
  return { kind: 'reply', reply, address: answer.reply.address, requestId };
}

/** The outcome of a change that left is unknown. */
function unexpectedError(thrown: unknown, record: CallRecord, { log, failedInside }: EntranceOptions): GatewayError {
  failedInside?.();
  log.error('a call of a run failed unexpectedly', { requestId: record.requestId, ...exceptionFields(thrown) });
  const code = changeLeft(record.facts) ? 'outcome-unknown' : 'internal-error';
  return new GatewayError(code, 'The gateway failed on this call. Its log has the cause under the request id.', {
    cause: thrown,
  });
}

function endRecord(record: CallRecord, { status, left }: { status?: number | undefined; left?: CallerLeft }, log: Log): void {
  record.end({ status, left });
  const { explanation, code, cutOff, adapter, attempted, facts } = record;
  record.span?.end({
    failed: cutOff || (status !== undefined && status >= 400),
    facts: () => ({
      'error.type': code ?? (cutOff ? 'cut-off' : undefined),
      'gateway.adapter': adapter,
      'gateway.attempts': attempted?.count,
      'gateway.upstream.status_code': facts.upstreamStatus,
    }),
  });
  log.info('call of a run', {
    requestId: record.requestId,
    run: facts.via?.run,
    traceId: record.trace.traceId,
    principal: record.principal.username,
    status,
    durationMs: Math.round(record.duration * 100) / 100,
    adapter,
    upstreamStatus: facts.upstreamStatus,
    code,
    detail: explanation?.detail,
    destination: explanation?.destination,
    path: explanation?.path,
    phase: explanation?.phase,
    reason: cutOff ? 'the call was aborted' : undefined,
  });
}
