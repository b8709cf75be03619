import type { Workflow } from '#workflows/workflow.ts';
import { beginActivity, drop, outsideWork, taskRunner, undecidedIn, visit } from './activity.ts';
import { grace } from './kinds/listen-match.ts';
import { onlyWaits, rootPlace, rootTask } from './pending.ts';
import { JsonValue, nullValue } from './state/json-value.ts';
import type { LifecycleNote, Note, RunEvent, SuspensionReason } from './state/run-events.ts';
import type { Activity, RunConclusion, RunState, RunStatus, Suspension } from './state/run-state.ts';
import { outermost, type TasksInside } from './state/view.ts';
import { type Progress, Turn } from './turn.ts';

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
  if (status === 'cancelled' || status === 'faulted' || status === 'completed') return unchanged(state);
  const turn = new Turn(workflow, state, event, taskRunner);
  const steered = steer(turn, event);
  if (steered !== undefined) return steered;
  if (status === 'pending') return event.kind === 'timePassed' ? start(workflow, state, event) : unchanged(state);
  return root === undefined ? unchanged(state) : advance(turn, root, event);
}

function unchanged(state: RunState): Step {
  return { state, notes: [] };
}

/** Events of the run as a whole; undefined for those of what it waits for. */
function steer(turn: Turn, event: RunEvent): Step | undefined {
  switch (event.kind) {
    case 'cancel':
      return event.settles === true ? cancelSettled(turn) : cancel(turn, turn.run.root);
    case 'suspend':
      return takeSuspend(turn, event.by ?? 'people', event.inherited);
    case 'held':
      return hold(turn, event);
    case 'resume':
      return takeResume(turn, event.inherited);
    default:
      return undefined;
  }
}

function start(workflow: Workflow, state: RunState, event: RunEvent): Step {
  const turn = new Turn(workflow, { ...state, startedAt: event.at }, event, taskRunner);
  noteRun(turn, 'started');
  return after(turn, beginActivity(turn, rootTask(workflow), state.input, outermost, 0));
}

function advance(turn: Turn, root: Activity, event: RunEvent): Step {
  const { run } = turn;
  if (run.suspension !== undefined && comesAgain(event)) return unchanged(run);
  if (event.kind === 'fetched') return unchanged(withResource(run, event.key, event.document));
  if (event.kind === 'decided' && !undecidedOf(turn, root).some(({ activity: { id } }) => id === event.activity)) {
    return unchanged(run);
  }
  const progress = taskRunner.advance(rootPlace(turn, root), event);
  const same = progress.kind === 'busy' && progress.state === root && progress.unknown === undefined;
  return same && turn.notes.length === 0 ? unchanged(run) : after(turn, progress);
}

function comesAgain({ kind }: RunEvent): boolean {
  return kind === 'timePassed' || kind === 'evaluated' || kind === 'validated';
}

function undecidedOf(turn: Turn, root: Activity | undefined): TasksInside {
  return root === undefined ? [] : undecidedIn(rootPlace(turn, root));
}

function withResource(run: RunState, key: string, document: string): RunState {
  const pointer = key.slice(key.indexOf(':') + 1);
  if (run.resources.some((known) => known.pointer === pointer)) return run;
  return { ...run, resources: [...run.resources, { pointer, document: new JsonValue(document) }] };
}

function after(turn: Turn, progress: Progress<Activity>): Step {
  if (turn.run.cancels === true && isSettled(turn, progress))
    return cancel(turn, progress.kind === 'busy' ? progress.state : undefined);
  switch (progress.kind) {
    case 'busy':
      return goOn(turn, progress.state, progress.unknown !== undefined);
    case 'faulted':
      return conclude(turn, { status: 'faulted', error: progress.error });
    default:
      return conclude(turn, { status: 'completed', output: progress.output });
  }
}

/** The run ends; one that people, or the gateway for people, suspended ends once it is resumed. */
function conclude(turn: Turn, conclusion: RunConclusion): Step {
  const { suspension } = turn.run;
  if (suspension !== undefined && suspension.by !== 'unknown-outcome') {
    return { state: { ...stateAfter(turn), root: undefined, suspension: { ...suspension, end: conclusion } }, notes: turn.notes };
  }
  return finish(turn, conclusion);
}

function finish(turn: Turn, { status, ...result }: RunConclusion): Step {
  noteRun(turn, status, result);
  return end(turn, status, result);
}

/** No `catch` took an unknown outcome: people decide. With the last decision the run goes on by itself. */
function goOn(turn: Turn, root: Activity, unknown: boolean): Step {
  const state = { ...stateAfter(turn), root, taken: reachable(turn, root) };
  const { suspension } = state;
  if (unknown && (suspension === undefined || suspension.by === 'unknown-outcome')) noteSuspendedCalls(turn, root);
  if (unknown && suspension === undefined) return suspend(turn, state, 'unknown-outcome');
  const isDecided = suspension?.by === 'unknown-outcome' && undecidedOf(turn, root).length === 0;
  return isDecided ? resume(turn, state, suspension) : { state: withStatus(turn, state), notes: turn.notes };
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
  const known = new Set(undecidedOf(turn, turn.run.root).map(({ activity: { id } }) => id));
  for (const call of undecidedOf(turn, root)) {
    const error = outsideWork(call)?.undecided;
    if (!known.has(call.activity.id)) turn.note({ run: turn, ...call }, 'suspended', { ...(error && { error }) });
  }
}

function end(turn: Turn, status: RunStatus, result: Pick<RunState, 'output' | 'error'> = {}): Step {
  const state = { ...stateAfter(turn), ...result, status, endedAt: turn.at, root: undefined, suspension: undefined };
  return { state, notes: turn.notes };
}

/** The run with what the step changed apart from the tree. */
function stateAfter({ run, context, serial, created }: Turn): RunState {
  return { ...run, context, serial, tasks: created };
}

function withStatus({ workflow }: Turn, state: RunState): RunState {
  if (state.suspension !== undefined) return { ...state, status: 'suspended' };
  if (state.root === undefined) return { ...state, status: 'pending' };
  return { ...state, status: onlyWaits(workflow, state) ? 'waiting' : 'running' };
}

function cancel(turn: Turn, root: Activity | undefined): Step {
  if (root !== undefined) drop(rootPlace(turn, root));
  noteRun(turn, 'cancelled');
  return end(turn, 'cancelled');
}

/** As after a time limit: calls in flight are aborted, and what is unknown waits for people. Then the run is cancelled. */
function cancelSettled(turn: Turn): Step {
  const { run, at } = turn;
  const { root, suspension, stoppedFor } = run;
  if (root === undefined || !isUnsettled(turn, root)) return cancel(turn, root);
  if (run.cancels === true) return unchanged(run);
  const since = suspension?.since ?? at;
  const waits = undecidedOf(turn, root).length > 0;
  const undecided: Suspension = { since, after: suspension?.after ?? run.serial, by: 'unknown-outcome' };
  const expired = { ...run, cancels: true as const, root: { ...root, expired: true } };
  if (waits) return { state: withStatus(turn, { ...expired, suspension: undecided }), notes: turn.notes };
  return {
    state: withStatus(turn, { ...expired, suspension: undefined, stoppedFor: stoppedFor + (at - since) }),
    notes: turn.notes,
  };
}

function isUnsettled(turn: Turn, root: Activity): boolean {
  const place = rootPlace(turn, root);
  return taskRunner.inFlight(place) > 0 || taskRunner.hasUnknown(place);
}

/** Nothing that may have happened is left open. While the root is expired, calls are in flight. */
function isSettled(turn: Turn, progress: Progress<Activity>): boolean {
  if (progress.kind !== 'busy') return true;
  return progress.state.expired !== true && !taskRunner.hasUnknown(rootPlace(turn, progress.state));
}

function takeSuspend(turn: Turn, by: SuspensionReason, inherited?: true): Step {
  const { run } = turn;
  const { suspension } = run;
  if (suspension === undefined) {
    noteTasks(turn, 'suspended');
    return suspend(turn, run, by, inherited);
  }
  if (inherited === true && suspension.by !== 'unknown-outcome') return passOn(run, suspension, true);
  if (suspension.by === by && suspension.inherited === inherited) return unchanged(run);
  return unchanged({ ...run, suspension: { ...suspension, by, inherited, passes: undefined } });
}

/** A run that is held for a reason of its own stays held when its parent is resumed. Its children learn of both; those of one that people suspended are suspended. */
function passOn(run: RunState, suspension: Suspension, passes: true | undefined): Step {
  const isNews = suspension.by !== 'people' && suspension.passes !== passes;
  return unchanged(isNews ? { ...run, suspension: { ...suspension, passes } } : run);
}

/** The effect begins again, as one that the suspension holds back. A run that is suspended already stays so for the reason that it has. */
function hold(turn: Turn, event: Extract<RunEvent, { readonly kind: 'held' }>): Step {
  const { run } = turn;
  const { state: stopped } = run.suspension === undefined ? takeSuspend(turn, event.by) : { state: run };
  if (stopped.root === undefined) return { state: stopped, notes: turn.notes };
  const { state, notes } = advance(new Turn(turn.workflow, stopped, event, taskRunner), stopped.root, event);
  return { state, notes: [...turn.notes, ...notes] };
}

function suspend(turn: Turn, state: RunState, by: SuspensionReason, inherited?: true): Step {
  noteRun(turn, 'suspended', { suspendedBy: by });
  const suspension = { by, since: turn.at, after: state.serial, inherited };
  return { state: withStatus(turn, { ...state, suspension }), notes: turn.notes };
}

function takeResume(turn: Turn, inherited?: true): Step {
  const { run } = turn;
  const { root, suspension } = run;
  if (suspension === undefined || suspension.by === 'unknown-outcome') return unchanged(run);
  if (inherited === true && suspension.inherited !== true) return passOn(run, suspension, undefined);
  if (undecidedOf(turn, root).length > 0) {
    return unchanged({ ...run, suspension: { ...suspension, by: 'unknown-outcome', inherited: undefined } });
  }
  noteTasks(turn, 'resumed');
  return resume(turn, run, suspension);
}

function resume(turn: Turn, state: RunState, { since, end: conclusion }: Suspension): Step {
  noteRun(turn, 'resumed');
  if (conclusion !== undefined) return finish(turn, conclusion);
  const stoppedFor = state.stoppedFor + (turn.at - since);
  return { state: withStatus(turn, { ...state, stoppedFor, suspension: undefined }), notes: turn.notes };
}

function noteTasks(turn: Turn, kind: 'suspended' | 'resumed'): void {
  const { root } = turn.run;
  if (root !== undefined) visit(rootPlace(turn, root), (place) => turn.note(place, kind));
}

function noteRun(turn: Turn, kind: LifecycleNote['kind'], more = {}): void {
  turn.notes.push({ of: 'run', kind, at: turn.at, ...more });
}
