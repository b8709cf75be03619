import { createHash } from 'node:crypto';
import { cutText } from '#base/text/cut-text.ts';
import type { Directive, Task, Workflow } from '#workflows/workflow.ts';
import type { JsonValue } from './state/json-value.ts';
import type { Note, RunEvent, TaskNote } from './state/run-events.ts';
import type { Activity, RunState, TakenMessage } from './state/run-state.ts';
import { type ActivityLocation, isPrivate, type RunView, type TaskScope } from './state/view.ts';
import { type EffectError, standardError, type TaskError } from './task-error.ts';

/** Tasks that call, wait or ask, or that run another workflow. */
const outside: ReadonlySet<Task['kind']> = new Set(['batch', 'call', 'wait', 'listen', 'run']);

/** UTF-8 bytes of the context and of one task's output together. */
export const maxBytes = 8 * 1024 * 1024;
export const maxTasks = 100_000;
export const maxLevels = 100;
/** Tasks and iterations of one step: the run goes on in the next. */
const maxInStep = 200;

/** The progress of a task, or of its work. `State`: where it is now. */
export type Progress<State> =
  /** `unknown`: an outcome is unknown that no `catch` inside took. */
  | { readonly kind: 'busy'; readonly state: State; readonly unknown?: TaskError | undefined }
  /** `directive`: of a `switch`; a task's own otherwise. */
  | { readonly kind: 'ended'; readonly output: JsonValue; readonly directive?: Directive | undefined }
  /** The directive `end`: the run ends with this output. */
  | { readonly kind: 'finished'; readonly output: JsonValue }
  /** `final`: a limit of the run, which no `catch` takes. */
  | { readonly kind: 'faulted'; readonly error: TaskError; readonly final?: boolean | undefined };

/** The key of a wait, whose number is unique in the run. */
export function keyOf(wait: number): string {
  return `wait.${wait}`;
}

export type TurnLocation<T extends Task = Task> = ActivityLocation<T, Turn>;

/** What the kinds of tasks need of tasks in general. */
export interface TaskRunner {
  begin(turn: Turn, task: Task, raw: JsonValue, scope: TaskScope): Progress<Activity>;
  advance(place: TurnLocation, event: StepEvent): Progress<Activity>;
  /** Notes the end of a task, and of all in it, that is given up. */
  drop(place: TurnLocation): void;
  inFlight(place: ActivityLocation): number;
  hasUnknown(place: ActivityLocation): boolean;
}

/** `settled`: the calls that were aborted after a time limit have ended, and one outcome is unknown. */
export type StepEvent = RunEvent | { readonly kind: 'settled'; readonly at: number };

/** One step: what changes apart from the tree of activities. */
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
    const wait = 'key' in event ? /^wait\.(\d+)$/u.exec(event.key)?.[1] : undefined;
    this.target = wait === undefined ? undefined : Number(wait);
    this.context = run.context;
    this.taken = run.taken ?? [];
    this.serial = run.serial;
    this.created = run.tasks;
  }

  nextWait(): number {
    this.serial += 1;
    return this.serial;
  }

  /** Called before each task and iteration. False: it begins in a later step, as this one is long or the run is suspended. */
  mayBegin(): boolean {
    this.#spent += 1;
    return this.#spent <= maxInStep && this.run.suspension === undefined;
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

  note(place: ActivityLocation, kind: TaskNote['kind'], more: Partial<TaskNote> = {}): void {
    const { task, activity, scope } = place;
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
      ...(iteration !== undefined && { iteration }),
      attempt,
      ...(requestId !== undefined && { requestId }),
      ...(!isPrivate(place) && { data: { input: activity.input, label: scope.label } }),
      ...more,
    });
  }

  /** The fault for a value that is too large together with the context. Undefined where it fits. */
  tooLarge(task: Task, value: JsonValue, context = this.context): Progress<never> | undefined {
    // A character has at most three bytes, so that short values need no count.
    if ((value.text.length + context.text.length) * 3 <= maxBytes) return undefined;
    if (value.bytes + context.bytes <= maxBytes) return undefined;
    return limitFault(task, `The context and the data of one task have more than ${maxBytes / 1_048_576} MiB together.`);
  }
}

/** The progress of what is inside as that of what is around it. The same state gives the same object `before`. */
export function wrapProgress<Inner, Outer>(
  progress: Progress<Inner>,
  inner: Inner | undefined,
  before: Outer | undefined,
  around: (state: Inner) => Outer,
): Progress<Outer> {
  if (progress.kind !== 'busy') return progress;
  const same = before !== undefined && progress.state === inner;
  return { ...progress, state: same ? before : around(progress.state) };
}

export function fault<State>(task: Task, error: EffectError): Progress<State> {
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
