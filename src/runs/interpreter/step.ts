import type { Workflow } from '#workflows/workflow.ts';
import { beginActivity, taskRunner } from './activity.ts';
import { drop, undecidedIn, visit } from './activity-tree.ts';
import { JsonValue, nullValue } from './json-value.ts';
import { grace } from './listen-match.ts';
import type { Note } from './notes.ts';
import { onlyWaits } from './pending.ts';
import { rootPlace, rootTask } from './root-task.ts';
import type { RunEvent } from './run-events.ts';
import type { Activity, RunConclusion, RunState, RunStatus, Suspension } from './run-state.ts';
import type { SuspensionReason } from './suspension.ts';
import { type Progress, Turn } from './turn.ts';
import { outermost } from './view.ts';

interface RunOptions {
  readonly id: string;
  /** Random: ids of events and jitter come from it. */
  readonly seed: string;
  /** JSON text. */
  readonly input: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly runtime: { readonly name: string; readonly version: string };
}

interface Step {
  readonly state: RunState;
  readonly notes: readonly Note[];
}

/** A run that has not started. It starts with the first `timePassed`. */
export function begin({ id, seed, input, at, runtime }: RunOptions): RunState {
  return {
    format: 1,
    id,
    seed,
    runtime: new JsonValue(JSON.stringify({ ...runtime, metadata: {} })),
    input: new JsonValue(input),
    status: 'pending',
    createdAt: at,
    context: nullValue,
    resources: [],
    serial: 0,
    tasks: 0,
    stoppedFor: 0,
  };
}

/** The state after the event. An event that the run does not wait for changes nothing: the state is the same object. */
export function step(workflow: Workflow, state: RunState, event: RunEvent): Step {
  const { status, root } = state;
  if (status === 'cancelled' || status === 'faulted' || status === 'completed') return { state, notes: [] };
  const turn = new Turn(workflow, state, event, taskRunner);
  const steered = steeredBy(turn, event);
  if (steered !== undefined) return steered;
  if (status === 'pending') return event.kind === 'timePassed' ? started(workflow, state, event) : { state, notes: [] };
  return root === undefined ? { state, notes: [] } : advanced(turn, root, event);
}

/** Events of the run as a whole; undefined for those of what it waits for. */
function steeredBy(turn: Turn, event: RunEvent): Step | undefined {
  switch (event.kind) {
    case 'cancel':
      return cancelled(turn);
    case 'suspend':
      return suspended(turn, event.by ?? 'people', event.inherited);
    case 'held':
      return held(turn, event);
    case 'resume':
      return resumed(turn, event.inherited);
    default:
      return undefined;
  }
}

function started(workflow: Workflow, state: RunState, event: RunEvent): Step {
  const turn = new Turn(workflow, { ...state, startedAt: event.at }, event, taskRunner);
  noteRun(turn, 'started');
  return after(turn, beginActivity(turn, rootTask(workflow), state.input, outermost, 0));
}

function advanced(turn: Turn, root: Activity, event: RunEvent): Step {
  const { run } = turn;
  if (run.suspension !== undefined && comesAgain(event)) return { state: run, notes: [] };
  if (event.kind === 'fetched') return { state: withResource(run, event.key, event.document), notes: [] };
  if (event.kind === 'decided' && !undecidedIn(rootPlace(turn, root)).some(({ activity: { id } }) => id === event.activity)) {
    return { state: run, notes: [] };
  }
  const progress = taskRunner.advance(rootPlace(turn, root), event);
  const same = progress.kind === 'busy' && progress.state === root && progress.unknown === undefined;
  return same && turn.notes.length === 0 ? { state: run, notes: [] } : after(turn, progress);
}

/** What a suspended run does not take: its effect is pending again once the run is resumed. */
function comesAgain({ kind }: RunEvent): boolean {
  return kind === 'timePassed' || kind === 'evaluated' || kind === 'validated';
}

/** A schema that was fetched. What waited for it waits for its verdict now. */
function withResource(run: RunState, key: string, document: string): RunState {
  const pointer = key.slice(key.indexOf(':') + 1);
  if (run.resources.some((known) => known.pointer === pointer)) return run;
  return { ...run, resources: [...run.resources, { pointer, document: new JsonValue(document) }] };
}

function after(turn: Turn, progress: Progress<Activity>): Step {
  switch (progress.kind) {
    case 'busy':
      return goOn(turn, progress.state, progress.unknown !== undefined);
    case 'faulted':
      return concluded(turn, { status: 'faulted', error: progress.error });
    default:
      return concluded(turn, { status: 'completed', output: progress.output });
  }
}

/** The run ends; one that people, or the gateway for people, suspended ends once it is resumed. */
function concluded(turn: Turn, end: RunConclusion): Step {
  const { suspension } = turn.run;
  if (suspension !== undefined && suspension.by !== 'unknown-outcome') {
    return { state: { ...kept(turn), root: undefined, suspension: { ...suspension, end } }, notes: turn.notes };
  }
  return finished(turn, end);
}

function finished(turn: Turn, { status, ...result }: RunConclusion): Step {
  noteRun(turn, status, result);
  return ended(turn, status, result);
}

/** No `catch` took an unknown outcome: people decide. With the last decision the run goes on by itself. */
function goOn(turn: Turn, root: Activity, unknown: boolean): Step {
  const state = { ...kept(turn), root, taken: reachable(turn, root) };
  const { suspension } = state;
  if (unknown && (suspension === undefined || suspension.by === 'unknown-outcome')) noteSuspendedCalls(turn, root);
  if (unknown && suspension === undefined) return suspend(turn, state, 'unknown-outcome');
  const decided = suspension?.by === 'unknown-outcome' && undecidedIn(rootPlace(turn, root)).length === 0;
  return decided ? resume(turn, state, suspension) : { state: withStatus(turn, state), notes: turn.notes };
}

/** The messages that were taken and that a `listen` may still look at, now or later. */
function reachable(turn: Turn, root: Activity): RunState['taken'] {
  const { run, taken, at } = turn;
  if (taken === run.taken || taken.length === 0) return run.taken;
  let oldest = at;
  visit(rootPlace(turn, root), ({ activity: { stage } }) => {
    if (stage.kind === 'work' && stage.work.kind === 'listen') oldest = Math.min(oldest, stage.work.since);
  });
  return taken.filter((one) => one.at >= oldest - grace);
}

function noteSuspendedCalls(turn: Turn, root: Activity): void {
  const { root: before } = turn.run;
  const known = new Set((before === undefined ? [] : undecidedIn(rootPlace(turn, before))).map(({ activity: { id } }) => id));
  for (const call of undecidedIn(rootPlace(turn, root))) {
    const { id, stage } = call.activity;
    const error = stage.kind === 'work' && stage.work.kind === 'outside' ? stage.work.undecided : undefined;
    if (!known.has(id)) turn.note({ run: turn, ...call }, 'suspended', { ...(error && { error }) });
  }
}

function ended(turn: Turn, status: RunStatus, more: Pick<RunState, 'output' | 'error'> = {}): Step {
  const state = { ...kept(turn), ...more, status, endedAt: turn.at, root: undefined, suspension: undefined };
  return { state, notes: turn.notes };
}

/** The run with what the step changed apart from the tree. */
function kept({ run, context, serial, created }: Turn): RunState {
  return { ...run, context, serial, tasks: created };
}

function withStatus({ workflow }: Turn, state: RunState): RunState {
  if (state.suspension !== undefined) return { ...state, status: 'suspended' };
  if (state.root === undefined) return { ...state, status: 'pending' };
  return { ...state, status: onlyWaits(workflow, state) ? 'waiting' : 'running' };
}

function cancelled(turn: Turn): Step {
  const { root } = turn.run;
  if (root !== undefined) drop(rootPlace(turn, root));
  noteRun(turn, 'cancelled');
  return ended(turn, 'cancelled');
}

function suspended(turn: Turn, by: SuspensionReason, inherited?: true): Step {
  const { run } = turn;
  const { suspension } = run;
  if (suspension === undefined) {
    if (run.root !== undefined) visit(rootPlace(turn, run.root), (place) => turn.note(place, 'suspended'));
    return suspend(turn, run, by, inherited);
  }
  if (inherited === true && suspension.by !== 'unknown-outcome') return passedOn(run, suspension, true);
  if (suspension.by === by && suspension.inherited === inherited) return { state: run, notes: [] };
  return { state: { ...run, suspension: { ...suspension, by, inherited, passes: undefined } }, notes: [] };
}

/** A run that is held for a reason of its own stays held when its parent is resumed. Its children learn of both; those of one that people suspended are suspended. */
function passedOn(run: RunState, suspension: Suspension, passes: true | undefined): Step {
  const isNews = suspension.by !== 'people' && suspension.passes !== passes;
  return { state: isNews ? { ...run, suspension: { ...suspension, passes } } : run, notes: [] };
}

/** The effect begins again, as one that the suspension holds back. A run that is suspended already stays so for the reason that it has. */
function held(turn: Turn, event: Extract<RunEvent, { readonly kind: 'held' }>): Step {
  const { run } = turn;
  const { state: stopped } = run.suspension === undefined ? suspended(turn, event.by) : { state: run };
  if (stopped.root === undefined) return { state: stopped, notes: turn.notes };
  const again = new Turn(turn.workflow, stopped, event, taskRunner);
  const { state, notes } = advanced(again, stopped.root, event);
  return { state, notes: [...turn.notes, ...notes] };
}

function suspend(turn: Turn, state: RunState, by: SuspensionReason, inherited?: true): Step {
  noteRun(turn, 'suspended', { suspendedBy: by });
  const suspension = { by, since: turn.at, after: state.serial, inherited };
  return { state: withStatus(turn, { ...state, suspension }), notes: turn.notes };
}

function resumed(turn: Turn, inherited?: true): Step {
  const { run } = turn;
  const { root, suspension } = run;
  if (suspension === undefined || suspension.by === 'unknown-outcome') return { state: run, notes: [] };
  if (inherited === true && suspension.inherited !== true) return passedOn(run, suspension, undefined);
  if (root !== undefined && undecidedIn(rootPlace(turn, root)).length > 0) {
    return { state: { ...run, suspension: { ...suspension, by: 'unknown-outcome', inherited: undefined } }, notes: [] };
  }
  if (root !== undefined) visit(rootPlace(turn, root), (place) => turn.note(place, 'resumed'));
  return resume(turn, run, suspension);
}

function resume(turn: Turn, state: RunState, { since, end }: Suspension): Step {
  noteRun(turn, 'resumed');
  if (end !== undefined) return finished(turn, end);
  const stoppedFor = state.stoppedFor + (turn.at - since);
  return { state: withStatus(turn, { ...state, stoppedFor, suspension: undefined }), notes: turn.notes };
}

function noteRun(turn: Turn, kind: 'started' | 'suspended' | 'resumed' | 'cancelled' | 'faulted' | 'completed', more = {}): void {
  turn.notes.push({ of: 'run', kind, at: turn.at, ...more });
}
