import { durationText, type RunError } from '#client/gateway.ts';
import { errorText, taskPath, turnText } from './run-words.ts';

/** A lifecycle event of a run or of one of its tasks. */
export interface LifecycleEvent {
  readonly of: 'workflow' | 'task';
  /** Such as `started`, `completed`, `correlation-started`. */
  readonly kind: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** JSON pointer of the task; empty for the run. */
  readonly reference: string;
  /** Of the task; empty for the run. */
  readonly id: string;
  readonly iteration: number | undefined;
  readonly attempt: number | undefined;
  readonly error: RunError | undefined;
}

/** A lifecycle event from the text of a CloudEvent. Undefined for other events, such as one that the workflow emits. */
export function readLifecycleEvent(text: string): LifecycleEvent | undefined {
  const { type, time, data } = JSON.parse(text) as {
    readonly type?: unknown;
    readonly time?: unknown;
    readonly data?: Partial<Record<'task' | 'id' | 'iteration' | 'attempt' | 'error', unknown>>;
  };
  const [, of, kind] = /^io\.serverlessworkflow\.(workflow|task)\.([a-z-]+)\.v1$/u.exec(String(type)) ?? [];
  if (kind === undefined || typeof data !== 'object') return undefined;
  return {
    of: of === 'task' ? 'task' : 'workflow',
    kind,
    at: Date.parse(String(time)),
    reference: textOr(data.task),
    id: textOr(data.id),
    iteration: typeof data.iteration === 'number' ? data.iteration : undefined,
    attempt: typeof data.attempt === 'number' ? data.attempt : undefined,
    error: data.error as RunError | undefined,
  };
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The timeline of a run, event by event. Texts are not yet without control characters. */
interface RunTimeline {
  /** The line that an event adds; undefined for none. */
  line(event: LifecycleEvent): string | undefined;
  /** The tasks under way, without those that only contain others; empty where there are none. */
  underWay(): string;
}

const shownKinds: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled', 'suspended', 'resumed', 'retried']);
const ends: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled']);

/** A line for each task that ended: when, how, which, and how long it took. */
export function createRunTimeline(): RunTimeline {
  const open = new Map<string, LifecycleEvent>();
  let begin: number | undefined;
  return {
    line(event) {
      const { of, kind, at, id } = event;
      begin ??= at;
      const begun = open.get(id);
      // A task that is skipped is created and never started.
      if (of === 'task' && kind === 'started') open.set(id, event);
      if (of === 'task' && ends.has(kind)) open.delete(id);
      if (!isShown(event)) return undefined;
      return lineOf(event, at - begin, begun === undefined ? undefined : at - begun.at);
    },
    underWay() {
      const references = [...open.values()].map(({ reference }) => reference);
      return [...open.values()]
        .filter(({ reference }) => !references.some((other) => other.startsWith(`${reference}/`)))
        .map((event) => `${taskPath(event.reference)}${turnText(event)}`)
        .join(', ');
    },
  };
}

/** The command prints the end of the run itself, with its output. */
function isShown({ of, kind }: LifecycleEvent): boolean {
  return shownKinds.has(kind) && (of === 'task' || !ends.has(kind));
}

/** Times are in milliseconds. */
function lineOf(event: LifecycleEvent, since: number, took: number | undefined): string {
  const { of, kind, error } = event;
  const facts = [
    took === undefined || !ends.has(kind) ? undefined : durationText(took),
    error === undefined ? undefined : errorText(error),
  ].filter((fact) => fact !== undefined);
  const what = of === 'workflow' ? 'the run' : `${taskPath(event.reference)}${turnText(event)}`;
  return [`${(since / 1_000).toFixed(3).padStart(9)} s`, kind.padEnd(9), what, ...facts].join('  ');
}
