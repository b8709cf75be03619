import type { TraceContext } from '#base/trace-context.ts';
import type { CallEffect, Effect, EvaluateEffect, FetchEffect, ListenEffect, ValidateEffect } from '../interpreter/effects.ts';
import type { RunEvent } from '../interpreter/state/run-events.ts';
import type { EffectError } from '../interpreter/task-error.ts';
import type { ClaimedRun } from '../journal/run-records.ts';
import type { LostStanding } from '../people/run-people.ts';
import type { RunSecrets } from '../secrets/run-secrets.ts';
import { evaluateArgument, evaluateTask } from '../tasks/arguments.ts';
import { approvalTaskOf, type CallTaskEnd } from '../tasks/call-tasks.ts';
import type { RunTools } from './run-tools.ts';

/** What a holder works on to answer an effect. Time, events of other parts and other runs are answered by the executor itself. */
export type WorkedEffect = EvaluateEffect | ValidateEffect | FetchEffect | CallEffect | ListenEffect;

export function isWorked(effect: Effect): effect is WorkedEffect {
  return effect.kind !== 'timer' && effect.kind !== 'child' && effect.kind !== 'batch' && effect.kind !== 'publish';
}

interface Working {
  readonly run: ClaimedRun;
  readonly trace: TraceContext;
  readonly tools: RunTools;
  readonly secrets: RunSecrets;
  readonly holds: () => boolean;
  /** Aborted once another gateway has the run. */
  readonly lost: AbortSignal;
  /** For a call: an earlier holder may have begun it, or people were asked about it. */
  readonly begunAt: number | undefined;
  /** The run was suspended before: its call may have asked people under an earlier key. */
  readonly wasSuspended: boolean;
  /** As in `RunCall`. */
  readonly isDoubtful: boolean;
  /** Called before a call that may change something can leave. */
  readonly leaving: () => void;
  readonly stored: (() => Promise<boolean>) | undefined;
  /** Called with the arguments of a call. */
  readonly called: (activity: number, args: string) => void;
}

/**
 * Resolves to the event that answers the effect; undefined for a call that waits for people. Rejects where the store is away, and where the
 * gateway itself fails.
 */
export async function workOn(
  effect: Exclude<WorkedEffect, ListenEffect>,
  working: Working,
  signal: AbortSignal,
): Promise<RunEvent | undefined> {
  const { tools } = working;
  switch (effect.kind) {
    case 'evaluate': {
      const outcome = await evaluateTask({ expressions: tools.expressions, secrets: working.secrets }, effect);
      return 'error' in outcome
        ? failed(tools, effect, outcome.error)
        : { kind: 'evaluated', at: tools.clock.now(), key: effect.key, outcome: outcome.outcome };
    }
    case 'validate': {
      const problems = await tools.checkSchema({ schema: effect.schema.document, value: effect.value });
      return { kind: 'validated', at: tools.clock.now(), key: effect.key, problems };
    }
    case 'fetch':
      return await fetched(effect, working, signal);
    default:
      return await called(effect, working, signal);
  }
}

function failed({ clock }: RunTools, { key }: Effect, error: EffectError): RunEvent {
  return { kind: 'failed', at: clock.now(), key, error };
}

function held({ clock }: RunTools, { key }: Effect, { by }: LostStanding): RunEvent {
  return { kind: 'held', at: clock.now(), key, by };
}

async function fetched(effect: FetchEffect, { run, trace, tools, secrets }: Working, signal: AbortSignal): Promise<RunEvent> {
  const endpoint = await evaluateArgument({ expressions: tools.expressions, secrets }, effect.endpoint);
  if ('error' in endpoint) return failed(tools, effect, endpoint.error);
  const answer = await tools.calls.fetch({ run, trace, secrets, endpoint: endpoint.text }, signal);
  if ('held' in answer) return held(tools, effect, answer.held);
  if ('error' in answer) return failed(tools, effect, answer.error);
  return { kind: 'fetched', at: tools.clock.now(), key: effect.key, document: answer.document };
}

async function called(
  effect: CallEffect,
  { run, trace, tools, secrets, holds, lost, begunAt, wasSuspended, isDoubtful, leaving, stored, called: tell }: Working,
  signal: AbortSignal,
): Promise<RunEvent | undefined> {
  const { key, activity, attempt, reference, turn } = effect;
  const ended = ({ result, requestId }: CallTaskEnd): RunEvent => ({
    kind: 'callEnded',
    at: tools.clock.now(),
    key,
    result,
    ...(requestId !== undefined && { requestId }),
  });
  const task = approvalTaskOf({ run, activity, attempt, reference, turn });
  const isAsked = (begunAt !== undefined || wasSuspended) && (await tools.approvals.isUnused(task));
  const isUnmade = begunAt === undefined || isAsked;
  if (isUnmade && signal.aborted) {
    await tools.approvals.withdraw(task);
    return ended({ result: { kind: 'aborted' }, requestId: undefined });
  }
  const args = await evaluateArgument({ expressions: tools.expressions, secrets }, effect.with);
  if ('error' in args) return ended({ result: { kind: 'error', error: args.error }, requestId: undefined });
  tell(activity, args.text);
  const asked = { run, trace, activity, attempt, reference, turn, function: effect.function, args: args.text };
  const call = { ...asked, secrets, isAsked, isDoubtful, holds, lost, leaving, stored };
  const end = await tools.calls.perform({ ...call, begunAt: isUnmade ? undefined : begunAt }, signal);
  if (end === 'waiting') return undefined;
  return 'held' in end ? held(tools, effect, end.held) : ended(end);
}

type Evaluating = Pick<Working, 'tools' | 'secrets'>;

/** Messages that are looked at in one reading. */
const messagesAtOnce = 100;

/** What the message means for the `listen`; undefined where it does not match, or a filter fails on it. */
async function arrivalOf(
  effect: ListenEffect,
  { number: position, event, senders }: Awaited<ReturnType<RunTools['messages']>>[number],
  { tools, secrets }: Evaluating,
): Promise<RunEvent | undefined> {
  const answer = await evaluateTask({ expressions: tools.expressions, secrets }, { ...effect.match, dot: event });
  if ('error' in answer) return failed(tools, effect, answer.error);
  const match = 'results' in answer.outcome ? answer.outcome.results[0] : undefined;
  if (match === undefined || match === 'null') return undefined;
  return { kind: 'eventArrived', at: tools.clock.now(), key: effect.key, match, position, senders };
}

interface Scan {
  /** The event, where a message matched. */
  readonly arrived: RunEvent | undefined;
  /** The last message that was looked at. */
  readonly scanned: number;
}

/** Looks for a message that a `listen` waits for, among those beyond the number `from`. */
export async function scanMessages(
  effect: ListenEffect,
  { tools, secrets, from, signal }: Evaluating & { readonly from: number; readonly signal: AbortSignal },
): Promise<Scan> {
  let scanned = Math.max(from, effect.after ?? 0);
  // Messages up to here that are not found are older than the listen.
  const end = await tools.lastEvent();
  for (;;) {
    const found = await tools.messages({
      after: scanned,
      ...(effect.after === undefined && { since: effect.since }),
      limit: messagesAtOnce,
    });
    for (const message of found) {
      signal.throwIfAborted();
      scanned = message.number;
      const arrived = effect.except.has(scanned) ? undefined : await arrivalOf(effect, message, { tools, secrets });
      if (arrived !== undefined) return { arrived, scanned };
    }
    if (found.length < messagesAtOnce) return { arrived: undefined, scanned: Math.max(scanned, end) };
  }
}
