import type { ErrorFacts } from './run-facts.ts';
import { durationText, errorText, taskPath, turnText } from './run-facts.ts';

/** A lifecycle event of a run or of one of its tasks. */
export interface RunEvent {
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
  readonly error: ErrorFacts | undefined;
}

/** A lifecycle event from the text of a CloudEvent. Undefined for other events, such as one that the workflow emits. */
export function readRunEvent(text: string): RunEvent | undefined {
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
    error: data.error as ErrorFacts | undefined,
  };
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The timeline of a run, event by event. Texts are not yet without control characters. */
export interface RunTimeline {
  /** The line that an event adds; undefined for none. */
  line(event: RunEvent): string | undefined;
  /** The tasks under way, without those that only contain others; empty where there are none. */
  underWay(): string;
}

const shownKinds: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled', 'suspended', 'resumed', 'retried']);
const ends: ReadonlySet<string> = new Set(['completed', 'faulted', 'cancelled']);

/** A line for each task that ended: when, how, which, and how long it took. */
export function createRunTimeline(): RunTimeline {
  const open = new Map<string, RunEvent>();
  let begin: number | undefined;
  return {
    line(event) {
      const { of, kind, at, id } = event;
      begin ??= at;
      const begun = open.get(id);
      if (of === 'task' && kind === 'created') open.set(id, event);
      if (of === 'task' && ends.has(kind)) open.delete(id);
      if (!shownKinds.has(kind) || (of === 'workflow' && ends.has(kind))) return undefined;
      const took = begun === undefined || !ends.has(kind) ? undefined : durationText(at - begun.at);
      const facts = [took, event.error && errorText(event.error)].filter((fact) => fact !== undefined);
      const what = of === 'workflow' ? 'the run' : `${taskPath(event.reference)}${turnText(event)}`;
      const when = ((at - begin) / 1_000).toFixed(3);
      return `${when.padStart(9)} s  ${kind.padEnd(9)}  ${what}${facts.length === 0 ? '' : `  ${facts.join('  ')}`}`;
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
