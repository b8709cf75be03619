import type { Directive } from '#workflows/workflow.ts';
import type { TaskError } from '../task-error.ts';
import { JsonValue, longText } from './json-value.ts';
import type { OutsideResult, SuspensionReason } from './run-events.ts';

export type RunStatus = 'pending' | 'running' | 'waiting' | 'suspended' | 'cancelled' | 'faulted' | 'completed';

/** Plain data that no one changes: a step makes a new state, which shares with the old what is the same. */
export interface RunState {
  readonly format: 1;
  readonly id: string;
  /** Ids and jitter come from it. */
  readonly seed: string;
  /** `$runtime`. */
  readonly runtime: JsonValue;
  readonly input: JsonValue;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  /** `$context`. */
  readonly context: JsonValue;
  /** Messages that a `listen` took: no other one of the run gets them. One that none can reach any more is left out. */
  readonly taken?: readonly TakenMessage[] | undefined;
  /** External schemas that were fetched, by pointer. */
  readonly resources: readonly { readonly pointer: string; readonly document: JsonValue }[];
  /** The last number of a wait. */
  readonly serial: number;
  readonly tasks: number;
  /** Milliseconds that the run was suspended. The run's own clock leaves them out. */
  readonly stoppedFor: number;
  readonly suspension?: Suspension | undefined;
  /** It is cancelled as soon as no call is in flight or undecided. */
  readonly cancels?: true | undefined;
  /** The whole workflow as a task, until the run ends. */
  readonly root?: Activity | undefined;
  readonly output?: JsonValue | undefined;
  readonly error?: TaskError | undefined;
  /** Of the timeline; the interpreter does not read it. */
  readonly counted?: TimelineCounts | undefined;
  /** In the store alone: keys of calls that wait to be asked for again, and that no gateway has begun. */
  readonly unbegun?: readonly string[] | undefined;
}

/**
 * `completed`: tasks that only compute, whose completion is stored. `tasks`, `events`: those that are not stored. `data`: bytes of the data of
 * tasks.
 */
export interface TimelineCounts {
  readonly completed: number;
  readonly tasks: number;
  readonly events: number;
  readonly data?: number | undefined;
}

export interface TakenMessage {
  /** Its number in the event log. */
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export interface Suspension {
  readonly by: SuspensionReason;
  readonly since: number;
  /** What began to wait after this number is held back. */
  readonly after: number;
  /** The suspension of the parent suspended it, so that the parent's resumption resumes it. */
  readonly inherited?: true | undefined;
  /** The gateway holds the run, and its parent is suspended, which its children have learned. */
  readonly passes?: true | undefined;
  /** How the run ends once it is resumed: its last task ended during the suspension. */
  readonly end?: RunConclusion | undefined;
}

export type RunConclusion =
  | { readonly status: 'completed'; readonly output: JsonValue }
  | { readonly status: 'faulted'; readonly error: TaskError };

/** What has a time limit. Moments of a state are milliseconds of the run's own clock. */
export interface Timed {
  readonly deadline?: number | undefined;
  /** Set when the deadline passed around calls in flight: they are aborted, and all others that wait are held back. */
  readonly expired?: boolean | undefined;
}

/** An instance of a task in a run. It is in the tree until it ends; then only its output is kept. */
export interface Activity extends Timed {
  /** Unique in the run, from 1 in order of creation. 0: the root. */
  readonly id: number;
  readonly createdAt: number;
  /** The same moment on the run's own clock. */
  readonly begun: number;
  readonly iteration?: number | undefined;
  readonly attempt: number;
  readonly requestId?: string | undefined;
  /** `$task.input`. */
  readonly raw: JsonValue;
  /** `$input`. The raw input until `input.from` gave another. */
  readonly input: JsonValue;
  readonly stage: ActivityStage;
}

/** `wait`: the number of what it waits for. */
export type ActivityStage = EnteringStage | { readonly kind: 'work'; readonly work: Work } | LeavingStage;

export interface EnteringStage {
  readonly kind: 'if' | 'check-input' | 'enter';
  readonly wait: number;
}

/** `output`: the raw output. `value`: as it is transformed by now. */
export interface LeavingStage {
  readonly kind: 'leave' | 'check-output' | 'export' | 'check-context';
  readonly wait: number;
  readonly output: JsonValue;
  readonly value: JsonValue;
  readonly context?: JsonValue | undefined;
  readonly directive: Directive;
}

export interface ListPosition {
  readonly index: number;
  /** The raw input of the task at `index`. */
  readonly data: JsonValue;
  readonly child?: Activity | undefined;
  /** Set where the list goes on in another step, so that no step takes long. */
  readonly pause?: number | undefined;
}

export type Work = ListWork | OutsideWork | PublishWork | TimerWork | ForWork | ForkWork | ListenWork | TryWork;

export interface ListWork {
  readonly kind: 'list';
  readonly list: ListPosition;
}

export interface OutsideWork {
  readonly kind: 'outside';
  readonly wait: number;
  readonly attempt: number;
  readonly input?: JsonValue | undefined;
  /** How it ended after the time limit of a task around it. */
  readonly answer?: OutsideResult | undefined;
  /** The outcome is unknown, and people have to decide. */
  readonly undecided?: TaskError | undefined;
}

export interface PublishWork {
  readonly kind: 'publish';
  readonly wait: number;
  readonly event: JsonValue;
}

export interface TimerWork {
  readonly kind: 'timer';
  readonly wait: number;
  readonly at: number;
}

export interface ForWork {
  readonly kind: 'for';
  readonly items: JsonValue;
  readonly index: number;
  /** The raw input of the iteration. */
  readonly data: JsonValue;
  /** Set while `while` is evaluated, or where the iteration begins in another step. */
  readonly wait?: number | undefined;
  readonly list?: ListPosition | undefined;
}

export interface ForkWork {
  readonly kind: 'fork';
  readonly branches: readonly Branch[];
}

export type Branch = { readonly activity: Activity } | { readonly output: JsonValue };

export interface ListenWork {
  readonly kind: 'listen';
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The wait for the next event; it changes with each event. */
  readonly wait: number;
  readonly position?: number | undefined;
  /** Values that correlations expect. */
  readonly expected: readonly { readonly name: string; readonly value: JsonValue }[];
  /** The filters, by index, that have had their event: of `all`, and of `until`. */
  readonly taken: readonly number[];
  readonly untilTaken: readonly number[];
  /** Events that wait for `foreach`. */
  readonly queue: readonly JsonValue[];
  readonly outputs: readonly JsonValue[];
  /** The event that `foreach` works on. Its index is the number of outputs. */
  readonly item?: ListenItem | undefined;
  /** Set while `until` is evaluated. */
  readonly until?: number | undefined;
  /** No further event is consumed. */
  readonly closed: boolean;
}

interface ListenItem {
  readonly value: JsonValue;
  readonly activity: Activity;
}

export interface TryWork {
  readonly kind: 'try';
  /** From 1. */
  readonly attempt: number;
  readonly since: number;
  /** ISO 8601, as far as `retry.limit` has them. */
  readonly attemptDuration?: string | undefined;
  readonly duration?: string | undefined;
  readonly stage: TryStage;
}

export type TryStage = AttemptStage | JudgingStage | DelayStage | CatchStage;

export interface AttemptStage extends Timed {
  readonly kind: 'attempt';
  readonly list: ListPosition;
}

export interface JudgingStage {
  readonly kind: 'judge';
  readonly wait: number;
  readonly error: TaskError;
  /** Its tasks have an unknown outcome, on which people decide where the `catch` does not take it. */
  readonly attempt?: AttemptStage | undefined;
}

interface DelayStage {
  readonly kind: 'delay';
  readonly wait: number;
  readonly at: number;
}

interface CatchStage {
  readonly kind: 'catch';
  readonly error: TaskError;
  readonly list: ListPosition;
}

/** A state as a small text, and its long values apart. Two texts of a run that have the same value name it by the same id. */
interface StateText {
  readonly text: string;
  readonly values: ReadonlyMap<string, string>;
}

interface WrittenValue {
  /** JSON text of a short value. */
  readonly json?: string;
  /** Id of a long value. */
  readonly apart?: string;
}

export function writeState(state: RunState): StateText {
  const values = new Map<string, string>();
  const text = JSON.stringify(state, (_name, member: unknown): unknown => {
    if (!(member instanceof JsonValue)) return member;
    if (member.text.length < longText) return { json: member.text } satisfies WrittenValue;
    values.set(member.id, member.text);
    return { apart: member.id } satisfies WrittenValue;
  });
  return { text, values };
}

/** Reads what `writeState` wrote. Throws Error where a value is missing. */
export function readState(text: string, values: ReadonlyMap<string, string>): RunState {
  const read = new Map<string, JsonValue>();
  return JSON.parse(text, (_name, member: unknown): unknown => {
    if (typeof member !== 'object' || member === null) return member;
    const { json, apart } = member as WrittenValue;
    if (json !== undefined) return new JsonValue(json);
    return apart === undefined ? member : readApart(apart, values, read);
  }) as RunState;
}

function readApart(id: string, values: ReadonlyMap<string, string>, read: Map<string, JsonValue>): JsonValue {
  const known = read.get(id);
  if (known !== undefined) return known;
  const text = values.get(id);
  if (text === undefined) throw new Error(`The state names a value that is not kept: ${id}.`);
  const value = new JsonValue(text);
  read.set(id, value);
  return value;
}
