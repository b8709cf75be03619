import { randomUUID } from 'node:crypto';
import type { Workflow } from '#workflows/workflow.ts';
import type { CorrelationNote, LifecycleNote, Note, TaskNote } from './interpreter/notes.ts';
import type { TimelineCounts } from './interpreter/run-state.ts';
import type { NewEvent, TaskRecord } from './run-records.ts';

/** What the notes of some steps add to the timeline of a run, and to the event log. */
interface TimelineEntries {
  readonly tasks: readonly TaskRecord[];
  readonly events: readonly NewEvent[];
  /** What the run counts from now on, and whether entries were left out. */
  readonly counted: TimelineCounts;
  readonly leftOut: boolean;
}

/** Gathers the notes of a run's steps until they are written. */
interface Timeline {
  add(notes: readonly Note[]): void;
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
export const mostCompleted = 20_000;

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
  readonly events: readonly NewEvent[];
}

const nothingCounted: TimelineCounts = { completed: 0, tasks: 0, events: 0 };

/**
 * `run`: the id of the run. Beyond `mostCompleted`, a task that only computes is held back until it ends: where it completes or is skipped, it is
 * counted alone.
 */
export function createTimeline(
  run: string,
  workflow: Pick<Workflow, 'id' | 'name' | 'namespace' | 'version'>,
  before: TimelineCounts = nothingCounted,
): Timeline {
  let tasks = new Map<number, TaskRecord>();
  let events: NewEvent[] = [];
  let [counted, leftOut] = [before, false];
  const held = new Map<number, Entry>();
  const eventOf = eventsOf(run, workflow);
  const store = (activity: number, entry: Entry): void => {
    tasks.set(activity, entry.record);
    events.push(...entry.events);
  };
  const addTask = (note: TaskNote, event: NewEvent | undefined): void => {
    const { activity, kind, isPlain } = note;
    const earlier = held.get(activity);
    held.delete(activity);
    const entry = { record: recordOf(note), events: [...(earlier?.events ?? []), ...(event === undefined ? [] : [event])] };
    const fate = isPlain && counted.completed >= mostCompleted ? fateOf(kind, earlier !== undefined) : 'stored';
    if (fate === 'held') held.set(activity, entry);
    else if (fate === 'counted') {
      leftOut = true;
      counted = { ...counted, tasks: counted.tasks + 1, events: counted.events + entry.events.length };
    } else {
      store(activity, entry);
      if (isPlain && isDone(kind)) counted = { ...counted, completed: counted.completed + 1 };
    }
  };
  return {
    add(notes) {
      for (const note of notes) {
        const event = eventOf(note);
        if (note.of === 'task') addTask(note, event);
        else if (event !== undefined) events.push(event);
      }
    },
    take(rests) {
      if (rests) for (const [activity, entry] of held) store(activity, entry);
      if (rests) held.clear();
      const taken = { tasks: [...tasks.values()], events, counted, leftOut };
      tasks = new Map();
      events = [];
      leftOut = false;
      return taken;
    },
  };
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

/** The lifecycle events of the DSL, as CloudEvents 1.0. Events of tasks leave the output out: it may be large. */
function eventsOf(
  run: string,
  { id, name, namespace, version }: Pick<Workflow, 'id' | 'name' | 'namespace' | 'version'>,
): (note: Note) => NewEvent | undefined {
  const qualified = `${name}-${run}.${namespace}`;
  const eventWith = (type: string, at: number, data: Readonly<Record<string, unknown>>): NewEvent => {
    const head = { specversion: '1.0', id: randomUUID(), source: `/runs/${run}`, type: `io.serverlessworkflow.${type}.v1` };
    const time = new Date(at).toISOString();
    const event = JSON.stringify({ ...head, time, subject: id, datacontenttype: 'application/json', data });
    return { at, kind: 'lifecycle', event };
  };
  const ofRun = ({ kind, at, error, suspendedBy }: LifecycleNote): NewEvent => {
    const definition = kind === 'started' ? { definition: { name, namespace, version } } : {};
    const reason = { ...(error && { error }), ...(suspendedBy && { suspendedBy }) };
    const data = { name: qualified, [`${kind}At`]: new Date(at).toISOString(), ...definition, ...reason };
    return eventWith(`workflow.${kind}`, at, data);
  };
  const ofTask = ({ kind, at, reference, activity, iteration, attempt, error }: TaskNote): NewEvent | undefined => {
    // The DSL has no event for a task whose `if` is false.
    if (kind === 'skipped') return undefined;
    const time = { [`${kind}At`]: new Date(at).toISOString() };
    return eventWith(`task.${kind}`, at, {
      workflow: qualified,
      task: reference,
      id: String(activity),
      ...(iteration !== undefined && { iteration }),
      attempt,
      ...time,
      ...(error && { error }),
    });
  };
  const ofCorrelation = ({ kind, at, keys }: CorrelationNote): NewEvent => {
    const found = Object.fromEntries(keys.map(({ name: key, value }): [string, unknown] => [key, JSON.parse(value.text)]));
    const correlationKeys = kind === 'completed' ? { correlationKeys: found } : {};
    return eventWith(`workflow.correlation-${kind}`, at, {
      name: qualified,
      [`${kind}At`]: new Date(at).toISOString(),
      ...correlationKeys,
    });
  };
  return (note) => {
    if (note.of === 'run') return ofRun(note);
    return note.of === 'task' ? ofTask(note) : ofCorrelation(note);
  };
}
