import { type IdempotentRequest, idempotentRequest } from '#audit/idempotency/idempotent-request.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { ApprovalTask } from '#calls/approval-check.ts';
import type { FunctionName } from '#workflows/workflow.ts';
import type { OutsideResult } from '../interpreter/state/run-events.ts';
import { type EffectError, standardError } from '../interpreter/task-error.ts';
import type { LostStanding, PeopledRun, RunPeople, RunStanding } from '../people/run-people.ts';
import { textMask } from '../secrets/mask.ts';
import type { RunSecrets } from '../secrets/run-secrets.ts';
import type { SecretValues } from '../secrets/secret-values.ts';
import { type ApprovalTasks, approvalArguments, approvalResult } from './approval-task.ts';
import { type IsReadAction, orchestratorArguments, type PreparedCall, readArguments } from './arguments.ts';
import { type CallingRun, type CallOutcome, enterCallPath, shortWait } from './call-entrance.ts';
import { openapiArguments } from './openapi-arguments.ts';
import { endpointOf, httpArguments, restArguments } from './rest-arguments.ts';
import {
  createTaskDocuments,
  type DocumentOptions,
  type Failed,
  fetchDocumentOf,
  lostBy,
  type TaskDocuments,
} from './task-documents.ts';
import { callFailure, failedReading, failedResult, replyResult, tooLong } from './task-reply.ts';

export interface RunCall {
  readonly run: PeopledRun;
  /** Of the run; the call is a child span. */
  readonly trace: TraceContext;
  /** With `attempt` it names the call for ever: no two calls of a run share them. */
  readonly activity: number;
  readonly attempt: number;
  readonly reference: string;
  /** The indices of the loops around the task, the outermost first. Absent: none. */
  readonly turn?: readonly number[] | undefined;
  readonly function: FunctionName;
  /** The evaluated `with` as JSON text. It has placeholders in place of secrets. */
  readonly args: string;
  readonly secrets: RunSecrets;
  /** When an earlier holder of the run may have begun the call: milliseconds since the epoch. */
  readonly begunAt?: number | undefined;
  /** The store lost commits, and may have lost this call: it is looked up, and not made. */
  readonly isDoubtful?: boolean | undefined;
  /** People were asked about this attempt. */
  readonly isAsked?: boolean | undefined;
  /** False: the gateway may have lost the run. A call that may change something waits until it knows. */
  readonly holds?: () => boolean;
  /** As in CallContext. Absent: the store has the state. */
  readonly stored?: (() => Promise<boolean>) | undefined;
  /** Aborted once another gateway has the run: the call does not leave any more. One that has left goes on. */
  readonly lost?: AbortSignal;
  /** Called before a call that may change something can leave. */
  readonly leaving?: () => void;
}

export interface CallTaskEnd {
  readonly result: OutsideResult;
  /** Of the record in the audit log; undefined where the arguments allowed no call. */
  readonly requestId: string | undefined;
}

/** `waiting`: people have to decide first. `held`: the people behind the run may not let it go on, and nothing happened. */
type CallTaskAnswer = CallTaskEnd | 'waiting' | { readonly held: LostStanding };

export interface CallTasks {
  /**
   * `signal` aborts the call like a caller that leaves: it is then `unknown` where an action may have happened, else `aborted`. While the store
   * is away, and while the rate limit refuses the call, it waits. `waiting`: a command to the run says when people have decided. Rejects with
   * `store-unavailable` before anything happens, and for `approval`; with any other error where the gateway itself fails. Where a limit delays
   * the call for longer than `shortWait`, it rejects with `too-many-requests`: nothing happened.
   */
  perform(call: RunCall, signal: AbortSignal): Promise<CallTaskAnswer>;
  /** Fetches an external schema by the way of restCall. YAML is converted to JSON. Rejects with `store-unavailable`. */
  fetch(
    wanted: RunDocument,
    signal: AbortSignal,
  ): Promise<{ readonly document: string } | { readonly error: EffectError } | { readonly held: LostStanding }>;
}

export interface RunDocument extends Pick<RunCall, 'run' | 'trace' | 'secrets'> {
  /** `{ uri, authentication? }` as JSON text. */
  readonly endpoint: string;
  /** The place in the workflow document that needs it. */
  readonly reference?: string | undefined;
}

interface CallTasksOptions extends DocumentOptions {
  readonly secrets: SecretValues;
  readonly approvals: ApprovalTasks;
  readonly people: Pick<RunPeople, 'standing'>;
  readonly isReadAction: IsReadAction;
}

/** Milliseconds. Idempotency keys are kept for 24 hours: a call that began earlier has an unknown outcome. */
const keysAreSafeFor = 23 * 3_600_000;

export function createCallTasks(options: CallTasksOptions): CallTasks {
  const { secrets } = options;
  const documents = createTaskDocuments(options);
  const callingRun = (run: PeopledRun, standing: RunStanding, own: RunSecrets): StandingRun => ({
    ...run,
    standing,
    seal: own.seal(standing.writers),
    shown: (text) => own.hide(secrets.mask(text)),
  });
  const maskError = (error: EffectError, own: RunSecrets): EffectError => {
    const { detail } = error;
    return { ...error, detail: detail === undefined ? undefined : textMask(own.hide)(secrets.maskText(detail)) };
  };
  const maskResult = (result: OutsideResult, own: RunSecrets): OutsideResult => {
    if (result.kind === 'ok') return { kind: 'ok', output: secrets.mask(result.output) };
    if (result.kind === 'error') return { kind: 'error', error: maskError(result.error, own) };
    if (result.kind === 'aborted') return result;
    return { kind: 'unknown', detail: textMask(own.hide)(secrets.maskText(result.detail)) };
  };
  return {
    async perform(given, signal) {
      const { function: name } = given;
      const standing = await options.people.standing(given.run);
      if ('by' in standing) return holdBack(given, standing);
      const call = { ...given, run: callingRun(given.run, standing, given.secrets) };
      const end = await (name === 'approval'
        ? askPeople(call, options)
        : performCall({ ...call, function: name }, signal, { ...options, documents }));
      return end === 'waiting' || 'held' in end ? end : { ...end, result: maskResult(end.result, given.secrets) };
    },
    async fetch({ run: given, secrets: own, trace, reference, endpoint }, signal) {
      const standing = await options.people.standing(given);
      if ('by' in standing) return { held: standing };
      const run = callingRun(given, standing, own);
      const fetched = await orFailure(async () => {
        const read = readArguments(endpoint);
        const found = endpointOf(read);
        read.check();
        return await fetchDocumentOf({ run, trace, reference, endpoint: found }, signal, options);
      });
      if ('json' in fetched) return { document: secrets.mask(fetched.json) };
      if ('lost' in fetched) return { held: fetched.lost };
      return { error: maskError(fetched.result.kind === 'error' ? fetched.result.error : notFetched, own) };
    },
  };
}

interface Needs extends CallTasksOptions {
  readonly documents: TaskDocuments;
}

const notFetched = standardError('runtime', 'The document was not fetched', 'The fetching of the document was aborted.');

/** Nothing happens of a call that is new. One that an earlier holder may have begun cannot be looked up any more. */
function holdBack(call: Pick<RunCall, 'function' | 'begunAt' | 'isDoubtful'>, standing: LostStanding): CallTaskAnswer {
  if (!mayBeMadeBefore(call)) return { held: standing };
  const error = standardError('authorization', 'The call was refused', standing.detail);
  return { result: doubt({ kind: 'error', error }), requestId: undefined };
}

function mayBeMadeBefore({ function: name, begunAt, isDoubtful }: Pick<RunCall, 'function' | 'begunAt' | 'isDoubtful'>): boolean {
  return (begunAt !== undefined || isDoubtful === true) && name !== 'orchestratorQuery' && name !== 'approval';
}

/** What `work` throws for arguments that are no call becomes the result. */
async function orFailure<T>(work: () => Promise<T>): Promise<T | { readonly result: OutsideResult }> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { result: failedResult(callFailure(thrown)) };
  }
}

type StandingRun = PeopledRun & CallingRun;
type StandingCall = Omit<RunCall, 'run'> & { readonly run: StandingRun };

async function askPeople(call: StandingCall, { approvals, limitReached }: CallTasksOptions): Promise<CallTaskEnd | 'waiting'> {
  const { run, args } = call;
  const question = await orFailure(async () => approvalArguments(readArguments(args), limitReached));
  if ('result' in question) return { result: question.result, requestId: undefined };
  const message = textMask(call.secrets.hide)(run.seal.masked(question.message));
  const { principal, standing, notBefore } = run;
  const result = approvalResult(
    await approvals.ask({ ...question, message, task: approvalTaskOf(call), principal, involved: standing.involved, notBefore }),
  );
  return result === undefined ? 'waiting' : { result, requestId: undefined };
}

/** The task as approvals know it. */
export function approvalTaskOf({
  run,
  activity,
  attempt,
  reference,
  turn = [],
}: Pick<RunCall, 'activity' | 'attempt' | 'reference' | 'run' | 'turn'>): ApprovalTask {
  const { id, automation, workflow, version, workflowDigest: digest, item, around = [] } = run;
  const task = { run: id, activity, attempt, reference, of: { automation, workflow, version } };
  return item === undefined ? task : { ...task, item: { ...item, digest, turn: [...around, ...turn] } };
}

type MadeCall = StandingCall & { readonly function: Exclude<FunctionName, 'approval'> };

async function performCall(call: MadeCall, signal: AbortSignal, needs: Needs): Promise<CallTaskAnswer> {
  const prepared = await orFailure(() => prepare(call, signal, needs));
  if ('lost' in prepared) return holdBack(call, prepared.lost);
  if ('result' in prepared) {
    // The arguments that an earlier gateway evaluated may have been good.
    const result = mayBeMadeBefore(call) ? doubt(prepared.result) : prepared.result;
    return { result, requestId: undefined };
  }
  if (prepared.changes) call.leaving?.();
  return await makeCall(call, prepared, signal, needs);
}

/** Throws `invalid-request` with every problem of the arguments. */
async function prepare(
  { run, trace, reference, function: name, args }: MadeCall,
  signal: AbortSignal,
  { documents, isReadAction }: Needs,
): Promise<PreparedCall | Failed> {
  const given = readArguments(args);
  if (name === 'restCall') return restArguments(given);
  if (name === 'http') return httpArguments(given);
  if (name === 'openapi') return await openapiArguments(given, documents, { run, trace, reference }, signal);
  return orchestratorArguments(name, given, isReadAction);
}

async function makeCall(
  given: StandingCall,
  prepared: PreparedCall,
  signal: AbortSignal,
  options: CallTasksOptions,
): Promise<CallTaskAnswer> {
  const now = options.clock.now();
  const call = prepared.changes ? inItsTime(given, now) : given;
  const mayBeMade = prepared.changes && (call.begunAt !== undefined || call.isDoubtful === true);
  const known = knownBefore(call, mayBeMade, signal, now);
  if (known !== undefined) return { result: known, requestId: undefined };
  // What an earlier gateway may have done is looked up in its time.
  if (mayBeMade) refuseBefore(call.run.notBefore, now);
  const outcome = await enterInTime(call, prepared, signal, options);
  if (outcome.kind === 'failed' && outcome.failure.code === 'approval-required') return 'waiting';
  const refused = lostBy(outcome);
  if (refused !== undefined && !mayBeMade) return { held: refused };
  // What `output: response` tells of the request has no placeholder: only an upstream could bring one back.
  const request = JSON.parse(call.secrets.hide(JSON.stringify(prepared.request))) as PreparedCall['request'];
  return { result: resultOf(outcome, { ...prepared, request }, mayBeMade), requestId: outcome.requestId };
}

type LateOutcome = Exclude<CallOutcome, { readonly kind: 'early' }>;

/** Throws where a limit, or the time of the run, delays the call. */
async function enterInTime(
  call: StandingCall,
  prepared: PreparedCall,
  signal: AbortSignal,
  options: CallTasksOptions,
): Promise<LateOutcome> {
  const outcome = await enterCallPath(enteringOf(call, prepared), signal, options);
  if (outcome.kind === 'early') throw notYet(call.run.notBefore, options.clock.now());
  throwWhereLimited(outcome);
  return outcome;
}

function enteringOf(call: StandingCall, prepared: PreparedCall): Parameters<typeof enterCallPath>[0] {
  const { run, trace, reference, isAsked, stored, holds, lost } = call;
  const notBefore = prepared.changes ? run.notBefore : undefined;
  return {
    run,
    trace,
    reference,
    call: prepared.call,
    asBytes: prepared.output === 'raw',
    idempotent: idempotentCall(call, prepared),
    approval: { task: approvalTaskOf(call), isAsked, notBefore },
    notBefore,
    stored,
    holds,
    lost,
    maxWait: shortWait,
  };
}

/** Milliseconds by which the clocks of gateways may differ. */
const slack = 60_000;

/** No gateway begins a change before the time of its run. */
function inItsTime(call: StandingCall, now: number): StandingCall {
  const { run, begunAt } = call;
  const { notBefore = 0 } = run;
  if (notBefore - now >= slack) return { ...call, begunAt: undefined, isDoubtful: false };
  return begunAt === undefined ? call : { ...call, begunAt: Math.max(begunAt, notBefore) };
}

function refuseBefore(time: number | undefined, now: number): void {
  if (time !== undefined && now < time) throw notYet(time, now);
}

/** The run waits as for a limit. */
function notYet(time: number | undefined, now: number): GatewayError {
  const headers = { 'Retry-After': String(Math.max(0, (time ?? 0) - now) / 1_000) };
  return new GatewayError('too-many-requests', 'The time of the run has not come.', { headers });
}

/** What is known of a call before the gateway is asked: that it is too old, or aborted. */
function knownBefore(
  { begunAt, lost }: StandingCall,
  mayBeMade: boolean,
  signal: AbortSignal,
  now: number,
): OutsideResult | undefined {
  if (mayBeMade && begunAt !== undefined && now - begunAt > keysAreSafeFor) return forgotten;
  if (!signal.aborted && lost?.aborted !== true) return undefined;
  return mayBeMade ? aborted : { kind: 'aborted' };
}

/** Throws where a limit delays the call, of which nothing has left. */
function throwWhereLimited(outcome: LateOutcome): void {
  if (outcome.kind !== 'failed' || outcome.left || outcome.failure.code !== 'too-many-requests') return;
  const headers = { 'Retry-After': String(outcome.after / 1_000) };
  throw new GatewayError('too-many-requests', outcome.failure.detail, { headers });
}

/** The payload is no part of it: evaluated again, the arguments may differ, and the call must not be made twice for that. */
function idempotentCall(
  { run, activity, attempt, begunAt, isDoubtful = false }: StandingCall,
  { changes }: PreparedCall,
): IdempotentRequest | undefined {
  if (!changes) return undefined;
  const key = `${run.id}/${activity}/${attempt}`;
  const request = idempotentRequest({ caller: run.principal.id, route: 'run', key, payload: [] });
  return { ...request, isNew: begunAt === undefined && !isDoubtful, isDoubtful };
}

const forgotten: OutsideResult = {
  kind: 'unknown',
  detail: 'outcome-unknown: The call was begun more than 23 hours ago, and the gateway no longer knows what became of it.',
};

const aborted: OutsideResult = {
  kind: 'unknown',
  detail: 'outcome-unknown: The call was aborted after it may have left the gateway: it may or may not have happened.',
};

/** For a result before the idempotency key was asked, which alone knows whether an earlier gateway made the call. */
function doubt(result: OutsideResult): OutsideResult {
  if (result.kind !== 'error') return result.kind === 'aborted' ? aborted : result;
  const detail = `outcome-unknown: An earlier gateway may have made the call, and it cannot be looked up. ${result.error.detail ?? ''}`;
  return { kind: 'unknown', detail };
}

/** `mayBeMade`: an earlier holder of the run may have made the call. */
function resultOf(
  outcome: Exclude<CallOutcome, { readonly kind: 'early' }>,
  prepared: PreparedCall,
  mayBeMade: boolean,
): OutsideResult {
  if (outcome.kind === 'reply') return replyResult(prepared, outcome.reply);
  if (outcome.kind === 'tooLong') return tooLong();
  const { changes } = prepared;
  const isDoubtful = mayBeMade && !outcome.isSettled;
  if (outcome.kind === 'aborted') return changes && (outcome.left || isDoubtful) ? aborted : { kind: 'aborted' };
  const result = changes ? failedResult(outcome.failure) : failedReading(outcome.failure);
  return isDoubtful ? doubt(result) : result;
}
