import type { CorrelationNote, LifecycleNote, Note, TaskNote } from '../interpreter/state/run-events.ts';
import type { TimelineCounts } from '../interpreter/state/run-state.ts';
import { type EventFacts, type NamedWorkflow, packedEvents } from '../journal/events/packed-events.ts';
import type { NewEvent, NewTaskData, TaskRecord } from '../journal/run-records.ts';
import type { TaskDataKeeper } from '../task-data/task-data.ts';

/** What the notes of some steps add to the timeline of a run, and to the event log. */
interface TimelineEntries {
  readonly tasks: readonly TaskRecord[];
  readonly data: readonly NewTaskData[];
  readonly events: readonly NewEvent[];
  /** What the run counts from now on, and whether entries were left out. */
  readonly counted: TimelineCounts;
  readonly leftOut: boolean;
}

/** Gathers the notes of a run's steps until they are written. */
interface Timeline {
  add(notes: readonly Note[]): void;
  /** The task is to be in the next entries although it has not changed, because its data has. */
  touch(activity: number): void;
  /** What was added since the last call. `rests`: the run waits, so what is under way has to be seen. */
  take(rests: boolean): TimelineEntries;
}

const statusAfter = {
  created: 'pending',
  started: 'running',
  suspended: 'suspended',
  resumed: 'running',
  retried: 'running',
  skipped: 'skipped',
  cancelled: 'cancelled',
  faulted: 'faulted',
  completed: 'completed',
} as const satisfies Record<TaskNote['kind'], TaskRecord['status']>;

const ends: ReadonlySet<TaskNote['kind']> = new Set(['skipped', 'cancelled', 'faulted', 'completed']);

/** Completed tasks of a run that only compute and that the store keeps, with their events. */
export const maxCompleted = 20_000;

function isDone(kind: TaskNote['kind']): boolean {
  return kind === 'completed' || kind === 'skipped';
}

/** What becomes of an entry in a full timeline. `isHeld`: so were those of the same task before. */
function fateOf(kind: TaskNote['kind'], isHeld: boolean): 'stored' | 'held' | 'counted' {
  if (kind === 'created' || (kind === 'started' && isHeld)) return 'held';
  return kind === 'skipped' || (kind === 'completed' && isHeld) ? 'counted' : 'stored';
}

interface Entry {
  readonly record: TaskRecord;
  readonly events: readonly EventFacts[];
}

const nothingCounted: TimelineCounts = { completed: 0, tasks: 0, events: 0 };

/**
 * Beyond `maxCompleted`, a task that only computes is held back until it ends: where it completes or is skipped, it is
 * counted alone.
 */
export function createTimeline(
  workflow: NamedWorkflow,
  before: TimelineCounts = nothingCounted,
  keeper?: TaskDataKeeper,
): Timeline {
  let tasks = new Map<number, TaskRecord>();
  let events: EventFacts[] = [];
  let [counted, leftOut] = [before, false];
  const held = new Map<number, Entry>();
  /** Tasks that are under way, as the store has them. */
  const open = new Map<number, TaskRecord>();
  const store = (activity: number, entry: Entry): void => {
    tasks.set(activity, entry.record);
    if (entry.record.end === undefined) open.set(activity, entry.record);
    else open.delete(activity);
    events.push(...entry.events);
  };
  const addTask = (note: TaskNote, event: EventFacts | undefined): void => {
    const { activity, kind, isPlain } = note;
    const earlier = held.get(activity);
    held.delete(activity);
    const entry = joinEntry(earlier, { ...recordOf(note), ...keeper?.note(note) }, event);
    const fate = isPlain && counted.completed >= maxCompleted ? fateOf(kind, earlier !== undefined) : 'stored';
    if (fate === 'held') held.set(activity, entry);
    else if (fate === 'counted') {
      leftOut = true;
      keeper?.forget(activity);
      counted = { ...counted, tasks: counted.tasks + 1, events: counted.events + entry.events.length };
    } else {
      store(activity, entry);
      if (isPlain && isDone(kind)) counted = { ...counted, completed: counted.completed + 1 };
    }
  };
  return {
    add(notes) {
      for (const note of notes) {
        const event = eventOf(note, workflow);
        if (note.of === 'task') addTask(note, event);
        else if (event !== undefined) events.push(event);
      }
    },
    touch(activity) {
      const record = open.get(activity);
      if (record !== undefined && !tasks.has(activity)) tasks.set(activity, record);
    },
    take(rests) {
      if (rests) for (const [activity, entry] of held) store(activity, entry);
      if (rests) held.clear();
      const rows = keeper?.take([...tasks.values()]) ?? { tasks: [...tasks.values()], data: [] };
      if (keeper !== undefined) counted = { ...counted, data: keeper.bytes };
      const taken = { ...rows, events: packedEvents(events, workflow), counted, leftOut };
      tasks = new Map();
      events = [];
      leftOut = false;
      return taken;
    },
  };
}

function joinEntry(earlier: Entry | undefined, record: TaskRecord, event: EventFacts | undefined): Entry {
  return { record, events: [...(earlier?.events ?? []), ...(event === undefined ? [] : [event])] };
}

function recordOf({
  activity,
  createdAt,
  reference,
  name,
  iteration,
  attempt,
  kind,
  at,
  requestId,
  error,
}: TaskNote): TaskRecord {
  const end = ends.has(kind) ? at : undefined;
  return { activity, reference, name, iteration, attempt, status: statusAfter[kind], begin: createdAt, end, requestId, error };
}

function eventOf(note: Note, workflow: NamedWorkflow): EventFacts | undefined {
  if (note.of === 'run') return ofRun(note, workflow);
  return note.of === 'task' ? ofTask(note) : ofCorrelation(note);
}

function ofRun({ kind, at, error, suspendedBy }: LifecycleNote, { name, namespace, version }: NamedWorkflow): EventFacts {
  const definition = kind === 'started' ? { definition: { name, namespace, version } } : {};
  return [`workflow.${kind}`, at, { ...definition, ...(error && { error }), ...(suspendedBy && { suspendedBy }) }];
}

function ofTask({ kind, at, reference, activity, iteration, attempt, error }: TaskNote): EventFacts | undefined {
  // The DSL has no event for a task whose `if` is false.
  if (kind === 'skipped') return undefined;
  const place = [reference, activity, attempt] as const;
  const task = iteration === undefined ? place : ([...place, iteration] as const);
  return error === undefined ? [kind, at, task] : [kind, at, task, { error }];
}

function ofCorrelation({ kind, at, keys }: CorrelationNote): EventFacts {
  const found = Object.fromEntries(keys.map(({ name, value }): [string, unknown] => [name, JSON.parse(value.text)]));
  return [`workflow.correlation-${kind}`, at, kind === 'completed' ? { correlationKeys: found } : {}];
}
