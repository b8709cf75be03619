import type { Workflow } from '#workflows/workflow.ts';
import { JsonValue } from '../interpreter/state/json-value.ts';
import type { Note } from '../interpreter/state/run-events.ts';
import { type RunState, type TimelineCounts, writeState } from '../interpreter/state/run-state.ts';
import type { BatchWrite } from '../journal/batches/batch-records.ts';
import type {
  ClaimedRun,
  NewEvent,
  NewRun,
  RunCommand,
  RunPerson,
  RunRelease,
  RunWrite,
  TaskDecision,
} from '../journal/run-records.ts';
import type { FilledPasswords } from '../secrets/placeholders.ts';
import type { RunSecrets } from '../secrets/run-secrets.ts';
import { createDataMask } from '../task-data/data-mask.ts';
import { createTaskDataKeeper, type TaskDataKeeper } from '../task-data/task-data.ts';
import { ItemVoice } from './children/item-voice.ts';
import { hiddenWrite } from './run-placeholders.ts';
import { createTimeline } from './run-timeline.ts';
import type { RunTools } from './run-tools.ts';

/** Gathers what belongs into the next write of a run. */
export interface RunOutbox {
  notes(notes: readonly Note[]): void;
  consumed(number: number): void;
  child(run: NewRun): void;
  /** Later members of one batch replace earlier ones. */
  batch(write: BatchWrite): void;
  command(run: string, command: RunCommand): void;
  message(event: NewEvent): void;
  person(person: RunPerson): void;
  /** A task calls with these arguments, a JSON text. They wait for a write that another change makes. */
  called(activity: number, args: string): void;
  decided(activity: number, decision: TaskDecision): void;
  /** See `RunWrite.isSettled`. */
  settled(): void;
  /** Who joined the run since the last write: the store does not have them yet. */
  readonly people: readonly RunPerson[];
  /** Whether a write has something to say apart from the state. */
  readonly isEmpty: boolean;
  /** Everything that was gathered since the last call, with the state. `isUndecided`: the run waits for a decision about a call. */
  take(state: RunState, release: RunRelease | undefined, isUndecided?: boolean): RunWrite;
}

export function createKeeper(
  { passwords, tools }: { readonly passwords: FilledPasswords; readonly tools: RunTools },
  { hide }: Pick<RunSecrets, 'hide'>,
  { counted }: Pick<RunState, 'counted'>,
): TaskDataKeeper {
  const shown = createDataMask({ hide, passwords });
  return createTaskDataKeeper({ ...tools, keeps: tools.taskData.keeps, shown, bytes: counted?.data ?? 0 });
}

export function createOutbox(
  run: Pick<ClaimedRun, 'id' | 'fence' | 'item' | 'parent' | 'suspendedBy'>,
  workflow: Pick<Workflow, 'id' | 'name' | 'namespace' | 'version'>,
  counted?: TimelineCounts,
  hide: RunSecrets['hide'] = (text) => text,
  keeper?: TaskDataKeeper,
): RunOutbox {
  const shown = <T extends Failed>(of: T): T => (keeper === undefined ? of : withShownError(of, keeper));
  const voice = new ItemVoice(run, keeper?.shown);
  const timeline = createTimeline(workflow, counted, keeper);
  let gathered = emptyOutbox();
  let noted = false;
  return {
    notes(notes) {
      noted ||= notes.length > 0;
      timeline.add(notes.map((note) => ('error' in note ? shown(note) : note)));
    },
    consumed: (number) => void gathered.consumed.push(number),
    child: (run) => void gathered.children.push(run),
    batch: (write) => void gathered.batches.push(write),
    command: (run, command) => void gathered.commands.push({ run, command }),
    message: (event) => void gathered.messages.push(event),
    person: (person) => void gathered.people.push(person),
    called(activity, args) {
      keeper?.called(activity, new JsonValue(args));
      timeline.touch(activity);
    },
    decided: (activity, decision) => void gathered.decisions.push({ activity, decision }),
    settled: () => void (gathered.isSettled = true),
    get people() {
      return gathered.people;
    },
    get isEmpty() {
      const { isSettled, ...lists } = gathered;
      return !noted && !isSettled && Object.values(lists).every(({ length }) => length === 0);
    },
    take(state, release, isUndecided = false) {
      const { messages, isSettled, ...lists } = gathered;
      const { tasks, data, events, counted: now, leftOut } = timeline.take(release !== undefined);
      gathered = emptyOutbox();
      noted = false;
      const write = {
        run: run.id,
        fence: run.fence,
        state: state.endedAt === undefined ? writeState({ ...state, counted: now, unbegun: release?.unbegun }) : undefined,
        ...(leftOut && { notStored: { tasks: now.tasks, events: now.events } }),
        ...shown(summaryOf(state, release)),
        tasks,
        data,
        events: [...events, ...messages],
        ...lists,
        ...(isSettled && { isSettled }),
        release,
      };
      return voice.add(hiddenWrite(write, hide), isUndecided);
    },
  };
}

interface Failed {
  readonly error?: RunState['error'];
}

/** Readers see the error. Expressions of the run get it from the state, whole. */
function withShownError<T extends Failed>(of: T, { shown }: Pick<TaskDataKeeper, 'shown'>): T {
  return of.error === undefined ? of : { ...of, error: JSON.parse(shown(JSON.stringify(of.error))) as RunState['error'] };
}

function summaryOf(
  { status, suspension, startedAt, endedAt, output, error }: RunState,
  release: RunRelease | undefined,
): Pick<RunWrite, 'status' | 'suspendedBy' | 'startedAt' | 'endedAt' | 'output' | 'error'> {
  return {
    // What holds a call up outside of the run, such as people who have to approve it, is not in the state.
    status: status === 'running' && release !== undefined && release.wakeAt !== 0 ? 'waiting' : status,
    suspendedBy: suspension?.by,
    startedAt,
    endedAt,
    output: output?.text,
    error,
  };
}

function emptyOutbox() {
  return {
    isSettled: false,
    consumed: [] as number[],
    children: [] as NewRun[],
    batches: [] as BatchWrite[],
    commands: [] as { readonly run: string; readonly command: RunCommand }[],
    messages: [] as NewEvent[],
    people: [] as RunPerson[],
    decisions: [] as { readonly activity: number; readonly decision: TaskDecision }[],
  };
}
