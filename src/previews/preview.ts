import type { Principal } from '#access/principal.ts';
import type { Entrance } from '#access/rights/access-options.ts';
import { wholeAnswer } from '#adapters/dry-run-proof.ts';
import type { DryRunFormat, DryRuns, Preview } from '#adapters/dry-runs.ts';
import type { KnownAdapters } from '#adapters/known-adapters.ts';
import { readRestconfError, saidBy } from '#adapters/restconf.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import { CallerLeft } from '#base/caller-left.ts';
import type { Clock } from '#base/clock.ts';
import { type ErrorCode, upstreamErrors } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { Span } from '#base/tracing.ts';
import type { AttemptObservers } from '#calls/attempts.ts';
import type { Call } from '#calls/call.ts';
import type { CallContext } from '#calls/call-context.ts';
import type { CallFacts } from '#calls/call-outcome.ts';
import type { CallPath } from '#calls/call-path.ts';
import { CallRecord } from '#calls/call-record.ts';

/** In whose name a preview is taken, and in the course of which request. */
export interface PreviewContext {
  /** The call is decided by the rights of this principal, which should be the one whose call it is. */
  readonly principal: Principal;
  /** Who asks for the preview, whose rate limit counts it. Absent: the principal. */
  readonly asker?: Principal | undefined;
  readonly entrance: Entrance;
  /** See CallContext. */
  readonly answerable?: readonly Principal[] | undefined;
  readonly owner?: CallContext['owner'];
  /** Of the request; the record of the dry run has the same id. */
  readonly requestId: string;
  readonly trace: TraceContext;
  readonly span: Span | undefined;
  /** Undefined where no caller sent it, as in a run. */
  readonly sourceAddress: string | undefined;
  /** The task of a run whose call it is. */
  readonly via?: CallFacts['via'];
  /** See AuditFacts. */
  readonly client?: CallFacts['client'];
  /** The id of the approval whose call it is. */
  readonly approval?: string | undefined;
  /** Milliseconds; 30 s at most, which is the default. */
  readonly wait?: number | undefined;
  /** Its abort ends the dry run: the caller has left. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks the orchestrator what a call would do. It changes nothing: the call leaves as a dry run alone, to a node that has proven that it
 * knows dry runs. It takes the path of every call: decision (without approvals), rate limit, record. Resolves to `none` with a reason where the
 * call has no dry run, or where the orchestrator refuses it or does not answer. Rejects where the gateway refuses the call itself (400, 403,
 * 404, 429, 503 `audit-unavailable`), and with CallerLeft. Without
 * `format` it is `native`, or `cli` where the orchestrator refuses a POST in that format.
 */
export type TakePreview = (call: Call, context: PreviewContext, format?: DryRunFormat) => Promise<Preview>;

interface PreviewOptions {
  readonly adapters: () => KnownAdapters;
  readonly calls: CallPath;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly observers: AttemptObservers;
}

/** Milliseconds. A preview is for people who wait for it. */
const maxWait = 30_000;

export function createPreviews(options: PreviewOptions): TakePreview {
  return async (call, context, format) => {
    const first = await take(call, context, { ...options, format: format ?? 'native' });
    // NSO has no native form of what an action such as sync-from changes in the orchestrator alone.
    if (format !== undefined || !first.isRefused) return first.preview;
    const second = await take(call, context, { ...options, format: 'cli' });
    return second.preview.kind === 'none' ? first.preview : second.preview;
  };
}

interface TakenPreview {
  readonly preview: Preview;
  /** The orchestrator refused the dry run of a POST with 400, as it does with a format that it does not know. */
  readonly isRefused: boolean;
}

async function take(
  call: Call,
  context: PreviewContext,
  { format, ...options }: PreviewOptions & { readonly format: DryRunFormat },
): Promise<TakenPreview> {
  if (call.operation === 'restCall')
    return { preview: none('A restCall goes to no orchestrator that could say what it would do.'), isRefused: false };
  const record = openRecord(call.operation, context, options);
  record.note({ via: context.via, client: context.client, approval: context.approval, preview: format });
  const life = new PreviewCall(record, context);
  const ending: { left?: CallerLeft; status?: number } = {};
  try {
    const preview = await ask(call, format, life, options);
    ending.status = 200;
    const { upstreamStatus, verb } = record.facts;
    return { preview, isRefused: preview.kind === 'none' && upstreamStatus === 400 && verb === 'POST' };
  } catch (failure) {
    if (failure instanceof CallerLeft) ending.left = failure;
    if (!(failure instanceof GatewayError)) throw failure;
    record.failure = failure;
    ending.status = failure.status;
    if (answeredAsNone.has(failure.code)) return { preview: none(reasonOf(failure)), isRefused: false };
    throw failure;
  } finally {
    life.end(true);
    record.afterCall(() => record.end({ status: ending.status, left: ending.left }));
  }
}

/** Sends the dry run of a call to an orchestrator, and reads its answer. */
async function ask(
  call: Exclude<Call, { readonly operation: 'restCall' }>,
  format: DryRunFormat,
  context: CallContext,
  { adapters, calls }: PreviewOptions,
): Promise<Preview> {
  // Looked up now, since a reload may replace the adapter instances while the call is on its way.
  const known = adapters().all();
  const answer = await calls.perform({ ...call, dryRun: format }, context);
  const dryRuns = known.find(({ name }) => name === call.adapter)?.kind.dryRuns;
  if (answer.kind !== 'reply' || dryRuns === undefined) throw new Error('Something else answered a dry run.');
  return await readPreview(answer.reply, dryRuns, { format, path: call.params.path });
}

function openRecord(operation: string, context: PreviewContext, { audit, clock, observers }: PreviewOptions): CallRecord {
  const { requestId, trace, span, sourceAddress } = context;
  const origin = { requestId, trace, span, sourceAddress, route: `preview ${operation}`, address: '', isRecorded: true };
  const record = new CallRecord({ origin, audit, clock, observers });
  record.principal = context.principal;
  return record;
}

/** What the call path sees of the request in whose course the preview is taken. */
class PreviewCall implements CallContext {
  readonly record: CallRecord;
  readonly via: readonly Entrance[];
  readonly answerable?: readonly Principal[];
  readonly owner: CallContext['owner'];
  readonly isRemembered: boolean;
  readonly asker: Principal | undefined;
  readonly wait: number;
  readonly #signal: AbortSignal | undefined;
  readonly #leave = (): void => this.end(false);
  #whenEnded: (complete: boolean) => void = () => {};

  constructor(record: CallRecord, context: PreviewContext) {
    const { entrance, answerable, asker, owner, approval, wait = maxWait, signal } = context;
    this.record = record;
    this.via = [entrance];
    this.asker = asker;
    this.owner = owner;
    // The call of an approval, or of a run, was asked for earlier.
    this.isRemembered = approval !== undefined || entrance === 'run';
    if (answerable !== undefined) this.answerable = answerable;
    this.wait = Math.min(wait, maxWait);
    this.#signal = signal;
    signal?.addEventListener('abort', this.#leave, { once: true });
  }

  whenEnded(callback: (complete: boolean) => void): void {
    if (this.#signal?.aborted === true) callback(false);
    else this.#whenEnded = callback;
  }

  whenStopping(): () => void {
    return () => {};
  }

  /** `complete`: the reply is read, or is not wanted. False: the caller left. */
  end(complete: boolean): void {
    this.#signal?.removeEventListener('abort', this.#leave);
    this.#whenEnded(complete);
    this.#whenEnded = () => {};
  }
}

function none(reason: string): Preview {
  return { kind: 'none', reason };
}

/** The orchestrator answers no dry run, which is an answer about the preview. */
const answeredAsNone: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...upstreamErrors,
  'no-dry-run',
  'outcome-unknown',
  'adapter-busy',
  'adapter-unavailable',
  'credentials-refused',
]);

function reasonOf({ code, message }: GatewayError): string {
  if (code === 'outcome-unknown') return 'The orchestrator did not answer the dry run.';
  return code === 'upstream-timeout' ? 'The orchestrator did not answer in time.' : message;
}

/** Bytes of an answer. A preview is kept, shown and approved as a whole, so a longer one is none. */
const maxAnswerSize = 1024 ** 2;

/** Reads the orchestrator's reply to a dry run. Rejects as `read` of DryRuns does, and with `response-too-large`. */
async function readPreview(
  reply: Parameters<typeof wholeAnswer>[0],
  dryRuns: DryRuns,
  asked: { readonly format: DryRunFormat; readonly path: string },
): Promise<Preview> {
  if (reply.status < 300) return dryRuns.read(await wholeAnswer(reply, maxAnswerSize), asked);
  const reason = saidBy(reply, readRestconfError(reply));
  reply.discard();
  return { kind: 'none', reason: reason.replaceAll('\0', '\uFFFD').toWellFormed() };
}
