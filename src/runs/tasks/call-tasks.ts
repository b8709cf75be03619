import { type IdempotentRequest, idempotentRequest } from '#audit/idempotent-request.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { ApprovalTask } from '#calls/approval-gate.ts';
import type { FunctionName } from '#workflows/workflow.ts';
import type { OutsideResult } from '../interpreter/run-events.ts';
import { type EffectError, standardError } from '../interpreter/task-error.ts';
import type { LostStanding, PeopledRun, RunPeople, RunStanding } from '../run-people.ts';
import { type ApprovalTasks, approvalArguments, approvalResult } from './approval-task.ts';
import { readArguments } from './arguments.ts';
import { type CallingRun, type Entered, enterCallPath } from './call-entrance.ts';
import { callFailure, failedReading, failedResult } from './call-failure.ts';
import { endpointOf, httpArguments } from './http-arguments.ts';
import { textMask } from './mask.ts';
import { openapiArguments } from './openapi-arguments.ts';
import { type IsReadAction, orchestratorArguments } from './orchestrator-arguments.ts';
import { persistently } from './persistent-call.ts';
import type { PreparedCall } from './prepared-call.ts';
import { replyResult, tooLong } from './reply-output.ts';
import { restArguments } from './rest-arguments.ts';
import type { RunSecrets } from './run-secrets.ts';
import type { SecretValues } from './secret-values.ts';
import {
  createTaskDocuments,
  type DocumentOptions,
  type Failed,
  fetchDocumentOf,
  lostBy,
  type TaskDocuments,
} from './task-documents.ts';

/** A call task of a run. */
export interface RunCall {
  readonly run: PeopledRun;
  /** Of the run; the call is a child span. */
  readonly trace: TraceContext;
  /** With `attempt` it names the call for ever: no two calls of a run share them. */
  readonly activity: number;
  readonly attempt: number;
  readonly reference: string;
  readonly function: FunctionName;
  /** The evaluated `with` as JSON text. It has placeholders in place of secrets. */
  readonly args: string;
  readonly secrets: RunSecrets;
  /** When an earlier holder of the run may have begun the call: milliseconds since the epoch. */
  readonly begunAt?: number | undefined;
  /** People were asked about this attempt. */
  readonly isAsked?: boolean | undefined;
  /** False: the gateway may have lost the run. A call that may change something waits until it knows. */
  readonly holds?: () => boolean;
  /** Called before a call that may change something can leave. */
  readonly leaving?: () => void;
}

export interface CallTaskEnd {
  readonly result: OutsideResult;
  /** Of the record in the audit log; undefined where the arguments allowed no call. */
  readonly requestId: string | undefined;
}

/** People may have to decide first; or somebody who is behind the run may not let it go on, and nothing happened. */
type CallTaskAnswer = CallTaskEnd | 'waiting' | { readonly held: LostStanding };

/** The calls of tasks: an entrance to the call path. */
export interface CallTasks {
  /**
   * `signal` aborts the call like a caller that leaves: it is then `unknown` where an action may have happened, else `aborted`.
   * While the store is away, and while the rate limit refuses the call, it waits. `waiting`: people have to approve the call first, and a
   * command to the run says when they have decided. Rejects with `store-unavailable` before anything happens, and for `approval`; with any
   * other error where the gateway itself fails.
   */
  perform(call: RunCall, signal: AbortSignal): Promise<CallTaskAnswer>;
  /** Fetches an external schema by the way of restCall. YAML is converted to JSON. Rejects with `store-unavailable`. */
  fetch(
    wanted: RunDocument,
    signal: AbortSignal,
  ): Promise<{ readonly document: string } | { readonly error: EffectError } | { readonly held: LostStanding }>;
}

/** A document that a run needs. `endpoint`: `{ uri, authentication? }` as JSON text. */
export interface RunDocument extends Pick<RunCall, 'run' | 'trace' | 'secrets'> {
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

/** Idempotency keys are kept for 24 hours. A call that began earlier than this (milliseconds) has an unknown outcome. */
const keysAreSafeFor = 23 * 3_600_000;

export function createCallTasks(options: CallTasksOptions): CallTasks {
  const { secrets } = options;
  const documents = createTaskDocuments(options);
  const sealing = (ofRun: RunSecrets, { writers }: RunStanding): Pick<CallingRun, 'seal' | 'shown'> => ({
    seal: ofRun.seal(writers),
    shown: (text) => ofRun.hide(secrets.mask(text)),
  });
  return {
    async perform({ run: given, ...call }, signal) {
      const { function: name } = call;
      const standing = await options.people.standing(given);
      if ('by' in standing) return heldBack(call, standing);
      const run = { ...given, standing, ...sealing(call.secrets, standing) };
      const end = await (name === 'approval'
        ? asked({ ...call, run }, options)
        : performed({ ...call, run, function: name }, signal, { ...options, documents }));
      return end === 'waiting' || 'held' in end ? end : { ...end, result: maskedResult(end.result, secrets, call.secrets) };
    },
    async fetch({ run: given, ...wanted }, signal) {
      const standing = await options.people.standing(given);
      if ('by' in standing) return { held: standing };
      const run = { ...given, standing, ...sealing(wanted.secrets, standing) };
      const fetched = await orFailure(() => fetchWanted({ ...wanted, run }, signal, options));
      if ('json' in fetched) return { document: secrets.mask(fetched.json) };
      if ('lost' in fetched) return { held: fetched.lost };
      const { result } = fetched;
      return { error: maskedError(result.kind === 'error' ? result.error : notFetched, secrets, wanted.secrets) };
    },
  };
}

interface Needs extends CallTasksOptions {
  readonly documents: TaskDocuments;
}

const notFetched = standardError('runtime', 'The document was not fetched', 'The fetching of the document was aborted.');

/** Nothing happens of a call that is new. One that an earlier holder may have begun cannot be looked up any more. */
function heldBack(call: Pick<RunCall, 'function' | 'begunAt'>, standing: LostStanding): CallTaskAnswer {
  if (!mayBeMadeBefore(call)) return { held: standing };
  return {
    result: doubtful({ kind: 'error', error: standardError('authorization', 'The call was refused', standing.detail) }),
    requestId: undefined,
  };
}

function mayBeMadeBefore({ function: name, begunAt }: Pick<RunCall, 'function' | 'begunAt'>): boolean {
  return begunAt !== undefined && name !== 'orchestratorQuery' && name !== 'approval';
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

async function fetchWanted(
  { run, trace, reference, endpoint }: Omit<RunDocument, 'run'> & { readonly run: CallingRun },
  signal: AbortSignal,
  options: CallTasksOptions,
): ReturnType<typeof fetchDocumentOf> {
  const given = readArguments(endpoint);
  const read = endpointOf(given);
  given.check();
  return await fetchDocumentOf({ run, trace, reference, endpoint: read }, signal, options);
}

/** Asks people, and no far side. */
async function asked(
  call: StandingCall,
  { approvals, secrets, limitReached }: CallTasksOptions,
): Promise<CallTaskEnd | 'waiting'> {
  const { run, args } = call;
  const task = taskOf(call);
  const question = await orFailure(async () => approvalArguments(readArguments(args), limitReached));
  if ('result' in question) return { result: question.result, requestId: undefined };
  const message = textMask(call.secrets.hide)(secrets.maskText(question.message));
  const result = approvalResult(
    await approvals.ask({ ...question, message, task, principal: run.principal, involved: run.standing.involved }),
  );
  return result === undefined ? 'waiting' : { result, requestId: undefined };
}

function taskOf({ run: { id, automation, workflow, version }, activity, attempt, reference }: StandingCall): ApprovalTask {
  return { run: id, activity, attempt, reference, of: { automation, workflow, version } };
}

type StandingCall = Omit<RunCall, 'run'> & { readonly run: PeopledRun & CallingRun };

/** A call that goes to a far side. */
type MadeCall = StandingCall & { readonly function: Exclude<FunctionName, 'approval'> };

async function performed(call: MadeCall, signal: AbortSignal, needs: Needs): Promise<CallTaskAnswer> {
  const prepared = await orFailure(() => prepare(call, signal, needs));
  if ('lost' in prepared) return heldBack(call, prepared.lost);
  if (!('result' in prepared)) {
    if (prepared.changes) call.leaving?.();
    return await made(call, prepared, signal, needs);
  }
  // The arguments that an earlier gateway evaluated may have been good.
  const result = mayBeMadeBefore(call) ? doubtful(prepared.result) : prepared.result;
  return { result, requestId: undefined };
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

async function made(
  run: StandingCall,
  prepared: PreparedCall,
  signal: AbortSignal,
  options: CallTasksOptions,
): Promise<CallTaskAnswer> {
  const mayBeMade = prepared.changes && run.begunAt !== undefined;
  const known = knownBefore(run.begunAt, { mayBeMade, signal, now: options.clock.now() });
  if (known !== undefined) return { result: known, requestId: undefined };
  const idempotent = prepared.changes ? idempotentCall(run) : undefined;
  const { trace, reference, isAsked, holds = () => true } = run;
  const entering = {
    run: run.run,
    trace,
    reference,
    call: prepared.call,
    asBytes: prepared.output === 'raw',
    idempotent,
    approval: { task: taskOf(run), isAsked },
    holds,
  };
  const entered = await persistently(() => enterCallPath(entering, signal, options), { signal, holds });
  if (entered.kind === 'failed' && entered.failure.code === 'approval-required') return 'waiting';
  const lost = lostBy(entered);
  if (lost !== undefined && !mayBeMade) return { held: lost };
  return { result: resultOf(entered, withoutSecrets(prepared, run.secrets), mayBeMade), requestId: entered.requestId };
}

/** What is known of a call before the gateway is asked: that it is too old, or aborted. */
function knownBefore(
  begunAt: number | undefined,
  { mayBeMade, signal, now }: { readonly mayBeMade: boolean; readonly signal: AbortSignal; readonly now: number },
): OutsideResult | undefined {
  if (mayBeMade && begunAt !== undefined && now - begunAt > keysAreSafeFor) return forgotten;
  if (!signal.aborted) return undefined;
  return mayBeMade ? aborted : { kind: 'aborted' };
}

/** The payload is no part of it: evaluated again, the arguments may differ, and the call must not be made twice for that. */
function idempotentCall({ run, activity, attempt, begunAt }: StandingCall): IdempotentRequest {
  const key = `${run.id}/${activity}/${attempt}`;
  const request = idempotentRequest({ caller: run.principal.id, route: 'run', key, payload: [] });
  return { ...request, isNew: begunAt === undefined };
}

const forgotten: OutsideResult = {
  kind: 'unknown',
  detail: 'outcome-unknown: The call was begun more than 23 hours ago, and the gateway no longer knows what became of it.',
};

/** What prevented that the idempotency key was asked, which alone knows whether an earlier gateway made the call. */
function doubtful(result: OutsideResult): OutsideResult {
  if (result.kind !== 'error') return result.kind === 'aborted' ? aborted : result;
  const detail = `outcome-unknown: An earlier gateway may have made the call, and it cannot be looked up. ${result.error.detail ?? ''}`;
  return { kind: 'unknown', detail };
}

const aborted: OutsideResult = {
  kind: 'unknown',
  detail: 'outcome-unknown: The call was aborted after it may have left the gateway: it may or may not have happened.',
};

/** `mayBeMade`: an earlier holder of the run may have made the call. */
function resultOf(entered: Entered, prepared: PreparedCall, mayBeMade: boolean): OutsideResult {
  switch (entered.kind) {
    case 'reply':
      return replyResult(prepared, entered.reply);
    case 'tooLong':
      return tooLong();
    case 'failed': {
      const result = prepared.changes ? failedResult(entered.failure) : failedReading(entered.failure);
      return mayBeMade && !entered.isSettled ? doubtful(result) : result;
    }
    default:
      return prepared.changes && mayHaveLeft(entered, mayBeMade) ? aborted : { kind: 'aborted' };
  }
}

function mayHaveLeft(
  { left, isSettled }: Pick<Entered & { readonly kind: 'aborted' }, 'left' | 'isSettled'>,
  mayBeMade: boolean,
): boolean {
  return left || (mayBeMade && !isSettled);
}

/** What `output: response` tells of the request has no placeholder: only a far side could bring one back. */
function withoutSecrets(prepared: PreparedCall, secrets: RunSecrets): PreparedCall {
  return { ...prepared, request: JSON.parse(secrets.hide(JSON.stringify(prepared.request))) as PreparedCall['request'] };
}

function maskedResult(result: OutsideResult, values: SecretValues, secrets: RunSecrets): OutsideResult {
  switch (result.kind) {
    case 'ok':
      return { kind: 'ok', output: values.mask(result.output) };
    case 'error':
      return { kind: 'error', error: maskedError(result.error, values, secrets) };
    case 'unknown':
      return { kind: 'unknown', detail: textMask(secrets.hide)(values.maskText(result.detail)) };
    default:
      return result;
  }
}

function maskedError(error: EffectError, values: SecretValues, secrets: RunSecrets): EffectError {
  const { detail } = error;
  return { ...error, detail: detail === undefined ? undefined : textMask(secrets.hide)(values.maskText(detail)) };
}
