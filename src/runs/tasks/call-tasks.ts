import { type IdempotentRequest, idempotentRequest } from '#audit/idempotent-request.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { FunctionName } from '#workflows/workflow.ts';
import type { OutsideResult } from '../interpreter/run-events.ts';
import { type EffectError, standardError } from '../interpreter/task-error.ts';
import { type ApprovalTasks, approvalArguments, approvalResult } from './approval-task.ts';
import { readArguments } from './arguments.ts';
import { type CallingRun, type Entered, type EntranceOptions, enterCallPath } from './call-entrance.ts';
import { callFailure, failedResult } from './call-failure.ts';
import { endpointOf, httpArguments } from './http-arguments.ts';
import { openapiArguments } from './openapi-arguments.ts';
import { orchestratorArguments } from './orchestrator-arguments.ts';
import { persistently } from './persistent-call.ts';
import type { PreparedCall } from './prepared-call.ts';
import { replyResult, tooLong } from './reply-output.ts';
import { restArguments } from './rest-arguments.ts';
import type { SecretValues } from './secret-values.ts';
import { createTaskDocuments, fetchDocumentOf, type TaskDocuments } from './task-documents.ts';

/** A call task of a run. */
export interface RunCall {
  readonly run: CallingRun;
  /** Of the run; the call is a child span. */
  readonly trace: TraceContext;
  /** With `attempt` it names the call for ever: no two calls of a run share them. */
  readonly activity: number;
  readonly attempt: number;
  readonly reference: string;
  readonly function: FunctionName;
  /** The evaluated `with` as JSON text. It may hold secrets. */
  readonly args: string;
  /** When an earlier holder of the run may have begun the call: milliseconds since the epoch. */
  readonly begunAt?: number | undefined;
  /** People were asked about this attempt. */
  readonly isAsked?: boolean | undefined;
  /** False: the gateway may have lost the run. A call that may change something waits until it knows. */
  readonly holds?: () => boolean;
}

export interface CallTaskEnd {
  readonly result: OutsideResult;
  /** Of the record in the audit log; undefined where the arguments allowed no call. */
  readonly requestId: string | undefined;
}

/** The calls of tasks: an entrance to the call path. */
export interface CallTasks {
  /**
   * Never rejects. `signal` aborts the call like a caller that leaves: it is then `unknown` where an action may have happened, else `aborted`.
   * While the store is away, and while the rate limit refuses the call, it waits. `waiting`: people have to approve the call first, and a
   * command to the run says when they have decided. For `approval`, rejects with `store-unavailable`.
   */
  perform(call: RunCall, signal: AbortSignal): Promise<CallTaskEnd | 'waiting'>;
  /** Fetches an external schema by the way of restCall. YAML is converted to JSON. Never rejects. */
  fetch(wanted: RunDocument, signal: AbortSignal): Promise<{ readonly document: string } | { readonly error: EffectError }>;
}

/** A document that a run needs. `endpoint`: `{ uri, authentication? }` as JSON text. */
export interface RunDocument extends Pick<RunCall, 'run' | 'trace'> {
  readonly endpoint: string;
  /** The place in the workflow document that needs it. */
  readonly reference?: string | undefined;
}

interface CallTasksOptions extends EntranceOptions {
  readonly secrets: SecretValues;
  readonly approvals: ApprovalTasks;
}

/** Idempotency keys are kept for 24 hours. A call that began earlier than this (milliseconds) has an unknown outcome. */
const keysAreSafeFor = 23 * 3_600_000;

export function createCallTasks(options: CallTasksOptions): CallTasks {
  const { secrets } = options;
  const documents = createTaskDocuments(options);
  return {
    async perform(call, signal) {
      const { function: name } = call;
      const end = await (name === 'approval'
        ? asked(call, options)
        : performed({ ...call, function: name }, signal, { ...options, documents }));
      return end === 'waiting' ? end : { ...end, result: maskedResult(end.result, secrets) };
    },
    async fetch(wanted, signal) {
      const fetched = await orFailure(() => fetchWanted(wanted, signal, options));
      if ('json' in fetched) return { document: secrets.mask(fetched.json) };
      const { result } = fetched;
      return { error: maskedError(result.kind === 'error' ? result.error : notFetched, secrets) };
    },
  };
}

interface Needs extends CallTasksOptions {
  readonly documents: TaskDocuments;
}

const notFetched = standardError('runtime', 'The document was not fetched', 'The fetching of the document was aborted.');

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
  { run, trace, reference, endpoint }: RunDocument,
  signal: AbortSignal,
  options: CallTasksOptions,
): ReturnType<typeof fetchDocumentOf> {
  const given = readArguments(endpoint);
  const read = endpointOf(given);
  given.check();
  return await fetchDocumentOf({ run, trace, reference, endpoint: read }, signal, options);
}

/** Asks people, and no far side. */
async function asked(call: RunCall, { approvals, secrets }: CallTasksOptions): Promise<CallTaskEnd | 'waiting'> {
  const { run, activity, attempt, reference, args } = call;
  const task = { run: run.id, activity, attempt, reference };
  const question = await orFailure(async () => approvalArguments(readArguments(args)));
  if ('result' in question) return { result: question.result, requestId: undefined };
  const message = secrets.maskText(question.message);
  const result = approvalResult(await approvals.ask({ ...question, message, task, principal: run.principal }));
  return result === undefined ? 'waiting' : { result, requestId: undefined };
}

/** A call that goes to a far side. */
type MadeCall = RunCall & { readonly function: Exclude<FunctionName, 'approval'> };

async function performed(call: MadeCall, signal: AbortSignal, needs: Needs): Promise<CallTaskEnd | 'waiting'> {
  const prepared = await orFailure(() => prepare(call, signal, needs));
  if (!('result' in prepared)) return await made(call, prepared, signal, needs);
  // The arguments that an earlier gateway evaluated may have been good.
  const result =
    call.begunAt === undefined || call.function === 'orchestratorQuery' ? prepared.result : doubtful(prepared.result);
  return { result, requestId: undefined };
}

/** Throws `invalid-request` with every problem of the arguments. */
async function prepare(
  { run, trace, reference, function: name, args }: MadeCall,
  signal: AbortSignal,
  { documents }: Needs,
): Promise<PreparedCall | { readonly result: OutsideResult }> {
  const given = readArguments(args);
  if (name === 'restCall') return restArguments(given);
  if (name === 'http') return httpArguments(given);
  if (name === 'openapi') return await openapiArguments(given, documents, { run, trace, reference }, signal);
  return orchestratorArguments(name, given);
}

async function made(
  run: RunCall,
  prepared: PreparedCall,
  signal: AbortSignal,
  options: CallTasksOptions,
): Promise<CallTaskEnd | 'waiting'> {
  const mayBeMade = prepared.changes && run.begunAt !== undefined;
  const known = knownBefore(run.begunAt, { mayBeMade, signal, now: options.clock.now() });
  if (known !== undefined) return { result: known, requestId: undefined };
  const idempotent = prepared.changes ? idempotentCall(run) : undefined;
  const { trace, reference, activity, attempt, isAsked, holds = () => true } = run;
  const task = { run: run.run.id, activity, attempt, reference };
  const approval = { task, isAsked };
  const entering = {
    run: run.run,
    trace,
    reference,
    call: prepared.call,
    asBytes: prepared.output === 'raw',
    idempotent,
    approval,
    holds,
  };
  const entered = await persistently(() => enterCallPath(entering, signal, options), { signal, holds });
  if (entered.kind === 'failed' && entered.failure.code === 'approval-required') return 'waiting';
  return { result: resultOf(entered, prepared, mayBeMade), requestId: entered.requestId };
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
function idempotentCall({ run, activity, attempt, begunAt }: RunCall): IdempotentRequest {
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
      const result = failedResult(entered.failure);
      return mayBeMade && !entered.isSettled ? doubtful(result) : result;
    }
    default:
      return entered.left || (mayBeMade && !entered.isSettled) ? aborted : { kind: 'aborted' };
  }
}

function maskedResult(result: OutsideResult, secrets: SecretValues): OutsideResult {
  switch (result.kind) {
    case 'ok':
      return { kind: 'ok', output: secrets.mask(result.output) };
    case 'error':
      return { kind: 'error', error: maskedError(result.error, secrets) };
    case 'unknown':
      return { kind: 'unknown', detail: secrets.maskText(result.detail) };
    default:
      return result;
  }
}

function maskedError(error: EffectError, secrets: SecretValues): EffectError {
  return { ...error, detail: error.detail === undefined ? undefined : secrets.maskText(error.detail) };
}
