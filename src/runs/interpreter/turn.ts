import { createHash } from 'node:crypto';
import { cutText } from '#base/cut-text.ts';
import type { Directive, Task, Workflow } from '#workflows/workflow.ts';
import type { JsonValue } from './json-value.ts';
import type { Note, TaskNote } from './notes.ts';
import type { RunEvent } from './run-events.ts';
import type { Activity, RunState, TakenMessage } from './run-state.ts';
import { type EffectError, standardError, type TaskError } from './task-error.ts';
import type { ActivityPlace, RunView, TaskScope } from './view.ts';

/** Tasks that call, wait or ask, or that run another workflow. */
const outside: ReadonlySet<Task['kind']> = new Set<Task['kind']>(['call', 'wait', 'listen', 'run']);

/** UTF-8 bytes of the context and of one task's output together, at most. */
export const mostBytes = 8 * 1024 * 1024;
export const mostTasks = 100_000;
export const mostLevels = 100;
/** Tasks and iterations of one step, at most: the run goes on in the next. */
const mostInStep = 200;

/** What came of a task, or of its work. `State`: where it is now. */
export type Progress<State> =
  /** `unknown`: an outcome is unknown that no `catch` inside took. */
  | { readonly kind: 'busy'; readonly state: State; readonly unknown?: TaskError | undefined }
  /** `directive`: of a `switch`; a task's own otherwise. */
  | { readonly kind: 'ended'; readonly output: JsonValue; readonly directive?: Directive | undefined }
  /** The directive `end`: the run ends with this output. */
  | { readonly kind: 'finished'; readonly output: JsonValue }
  /** `final`: a limit of the run, which no `catch` takes. */
  | { readonly kind: 'faulted'; readonly error: TaskError; readonly final?: boolean | undefined };

/** The key of what has the number `wait`, which is unique in the run. */
export function keyOf(wait: number): string {
  return `wait.${wait}`;
}

function waitOf(key: string): number | undefined {
  const wait = /^wait\.(\d+)$/u.exec(key)?.[1];
  return wait === undefined ? undefined : Number(wait);
}

export type TurnPlace<T extends Task = Task> = ActivityPlace<T, Turn>;

/** What the kinds of tasks need of tasks in general. */
export interface TaskRunner {
  begin(turn: Turn, task: Task, raw: JsonValue, scope: TaskScope): Progress<Activity>;
  advance(place: TurnPlace, event: StepEvent): Progress<Activity>;
  /** Notes the end of a task, and of all in it, that is given up. */
  drop(place: TurnPlace): void;
  /** Calls in the task that are in flight. */
  inFlight(place: ActivityPlace): number;
  hasUnknown(place: ActivityPlace): boolean;
}

/** `settled`: the calls that were aborted after a time limit have ended, and one outcome is unknown. */
export type StepEvent = RunEvent | { readonly kind: 'settled'; readonly at: number };

/** One step under way: what changes apart from the tree of activities. It lives no longer than the step. */
export class Turn implements RunView {
  readonly workflow: Workflow;
  readonly run: RunState;
  readonly tasks: TaskRunner;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The run's own clock. */
  readonly now: number;
  /** The number of the wait that the event is for. */
  readonly target: number | undefined;
  readonly notes: Note[] = [];
  context: JsonValue;
  taken: readonly TakenMessage[];
  serial: number;
  created: number;
  #spent = 0;

  constructor(workflow: Workflow, run: RunState, event: RunEvent, tasks: TaskRunner) {
    this.workflow = workflow;
    this.run = run;
    this.tasks = tasks;
    this.at = event.at;
    this.now = (run.suspension?.since ?? event.at) - run.stoppedFor;
    this.target = 'key' in event ? waitOf(event.key) : undefined;
    this.context = run.context;
    this.taken = run.taken ?? [];
    this.serial = run.serial;
    this.created = run.tasks;
  }

  nextWait(): number {
    this.serial += 1;
    return this.serial;
  }

  /** Is asked before each task and iteration. False: it begins in a later step, as this one is long or the run is suspended. */
  mayBegin(): boolean {
    this.#spent += 1;
    return this.#spent <= mostInStep && this.run.suspension === undefined;
  }

  /** Takes a message for a `listen`. False: another one of the run has it. */
  take(position: number): boolean {
    if (this.taken.some((one) => one.position === position)) return false;
    this.taken = [...this.taken, { position, at: this.at }];
    return true;
  }

  /** From 0 to below 1; the same in each replay of the step. */
  random(): number {
    return this.hash(`jitter ${this.nextWait()}`).readUIntBE(0, 6) / 2 ** 48;
  }

  hash(purpose: string): Buffer {
    return createHash('sha256').update(`${this.run.seed} ${purpose}`).digest();
  }

  note({ task, activity }: ActivityPlace, kind: TaskNote['kind'], more: Partial<TaskNote> = {}): void {
    if (activity.id === 0) return;
    const { id, createdAt, iteration, attempt, requestId } = activity;
    this.notes.push({
      of: 'task',
      kind,
      at: this.at,
      activity: id,
      createdAt,
      reference: task.reference,
      name: task.name,
      isPlain: !outside.has(task.kind),
      ...(iteration === undefined ? {} : { iteration }),
      attempt,
      ...(requestId === undefined ? {} : { requestId }),
      ...more,
    });
  }

  /** The fault for a value that is too large together with the context. Undefined where it fits. */
  tooLarge(task: Task, value: JsonValue, context = this.context): Progress<never> | undefined {
    // A character has at most three bytes, so that short values need no count.
    if ((value.text.length + context.text.length) * 3 <= mostBytes) return undefined;
    if (value.bytes + context.bytes <= mostBytes) return undefined;
    return limitFault(task, `The context and the data of one task have more than ${mostBytes / 1_048_576} MiB together.`);
  }
}

/** The progress of what is inside as the progress of what is around it. The same state gives the same object `before`. */
export function wrapped<Inner, Outer>(
  progress: Progress<Inner>,
  inner: Inner | undefined,
  before: Outer | undefined,
  around: (state: Inner) => Outer,
): Progress<Outer> {
  if (progress.kind !== 'busy') return progress;
  const same = before !== undefined && progress.state === inner;
  return { ...progress, state: same ? before : around(progress.state) };
}

export function faulted<State>(task: Task, error: EffectError): Progress<State> {
  return { kind: 'faulted', error: atTask(task, error) };
}

/** Texts of an error are cut: lists, events and states have them. */
export function atTask(task: Task, error: EffectError, part = ''): TaskError {
  const { title, detail } = error;
  const cut = {
    ...(title !== undefined && { title: cutText(title) }),
    ...(detail !== undefined && { detail: cutText(detail) }),
  };
  return { ...error, ...cut, instance: `${task.reference}${task.reference === '' ? part : ''}` };
}

export function limitFault<State>(task: Task, detail: string): Progress<State> {
  return { kind: 'faulted', error: atTask(task, standardError('runtime', 'Limit of runs reached', detail)), final: true };
}

export function expressionError(label: string, detail: string): EffectError {
  return standardError('expression', 'Expression failed', `${label}: ${detail}`);
}
