import type { ComponentChildren, JSX } from 'preact';
import { durationText, type RunTask } from '#client/gateway.ts';
import { Time } from '../parts/basics.tsx';
import { Status } from '../parts/status.tsx';
import { isUndecided } from '../task-tree.ts';
import { errorKind, seenText, timeText } from '../texts.ts';

/** The time of a run, in which its tasks have their bars. */
export interface Span {
  /** Milliseconds since the epoch. */
  readonly begin: number;
  /** Milliseconds. */
  readonly length: number;
}

interface BarProps {
  readonly span: Span;
  readonly begin: string;
  readonly end: string | undefined;
  readonly status: string;
}

/** When something of a run was under way, and how long. */
export function TimeBar({ span, begin: from, end: to, status }: BarProps): JSX.Element {
  const begin = Date.parse(from);
  const end = to === undefined ? span.begin + span.length : Date.parse(to);
  const share = (time: number): number => Math.min(100, Math.max(0, ((time - span.begin) / span.length) * 100));
  return (
    <>
      <span class="bar" aria-hidden="true">
        <span class={status} style={{ marginLeft: `${share(begin)}%`, width: `${Math.max(0.5, share(end) - share(begin))}%` }} />
      </span>
      <span class="took" title={`${timeText(from)} to ${to === undefined ? 'now' : timeText(to)}`}>
        {durationText(end - begin)}
      </span>
    </>
  );
}

/** One task: its state, its name, when it was under way, and why it failed. */
export function TaskRow({ task, span }: { readonly task: RunTask; readonly span: Span }): JSX.Element {
  const { name, label, attempt, reference, status, begin, end, decisions = [] } = task;
  return (
    <div class="task">
      <Status of={status} />
      <span class="task-name" title={reference}>
        {seenText(name)}
        {label !== undefined && <span class="soft"> {seenText(label)}</span>}
        {attempt > 1 && <span class="soft"> attempt {attempt}</span>}
      </span>
      <TimeBar span={span} begin={begin} end={end} status={status} />
      {!isUndecided(task) && <TaskFault task={task} />}
      {decisions.map(({ as, principal, at, reason }) => (
        <p key={at} class="task-details">
          <Status of={as} label={decided[as]} /> by {seenText(principal)} <Time at={at} />: {seenText(reason)}
        </p>
      ))}
    </div>
  );
}

const decided = {
  done: 'decided: it happened',
  failed: 'decided: it did not happen',
  again: 'decided: do it again',
  granted: 'granted',
  rejected: 'rejected',
  resumed: 'resumed',
} as const;

function TaskFault({ task: { error } }: { readonly task: RunTask }): JSX.Element | null {
  if (error === undefined) return null;
  const text: ComponentChildren = seenText(error.detail ?? error.title ?? '');
  return (
    <p class="task-details lines">
      <strong>
        {errorKind(error.type)} ({error.status})
      </strong>{' '}
      {text}
    </p>
  );
}
