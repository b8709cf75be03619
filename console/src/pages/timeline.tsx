import type { JSX } from 'preact';
import { durationText, type Run, type RunTask } from '#client/gateway.ts';
import { Empty, Panel } from '../parts/basics.tsx';
import { Status } from '../parts/status.tsx';
import { may } from '../session.ts';
import { errorKind, taskNames, timeText } from '../texts.ts';
import { Decision } from './decision.tsx';
import { TaskCalls } from './task-calls.tsx';

const unknownOutcome = 'urn:orchestration-gateway:errors:outcome-unknown';

interface TimelineProps {
  readonly run: Run;
  readonly tasks: readonly RunTask[];
  readonly decided: () => void;
}

/** The tasks of a run in the order of their begin, each with a bar for when it was under way. */
export function Timeline({ run, tasks, decided }: TimelineProps): JSX.Element {
  const begin = Date.parse(run.startedAt ?? run.createdAt);
  const end = run.endedAt === undefined ? Date.now() : Date.parse(run.endedAt);
  const around = new Set(tasks.flatMap(({ reference }) => referencesAround(reference)));
  return (
    <Panel title="Timeline">
      {tasks.length === 0 ? (
        <Empty>No task has begun.</Empty>
      ) : (
        <ol class="timeline">
          {tasks.map((task) => (
            <li key={task.id} class={isUndecided(task) ? 'undecided' : undefined}>
              <TaskRow task={task} span={{ begin, length: Math.max(1, end - begin) }} />
              {mayHaveCalls(task, around) && <TaskCalls run={run.id} task={task} />}
              {isUndecided(task) && <UnknownOutcome run={run} task={task} decided={decided} />}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

/** Whether people must decide what happened: until then the gateway refuses to resume the run. */
export function isUndecided({ status, error }: RunTask): boolean {
  return status === 'suspended' && error?.type === unknownOutcome;
}

/** The references of the tasks that a task is in. */
function referencesAround(reference: string): readonly string[] {
  const parts = reference.split('/');
  return parts.map((_part, count) => parts.slice(0, count).join('/'));
}

/** A call that is in flight has no request id yet, and one that was cut off may never get one. `around`: tasks that have tasks inside. */
function mayHaveCalls({ requestId, reference, status }: RunTask, around: ReadonlySet<string>): boolean {
  if (requestId !== undefined) return true;
  return !around.has(reference) && ['running', 'suspended', 'faulted', 'cancelled'].includes(status);
}

interface Span {
  readonly begin: number;
  /** Milliseconds. */
  readonly length: number;
}

function TaskRow({ task, span }: { readonly task: RunTask; readonly span: Span }): JSX.Element {
  const begin = Date.parse(task.begin);
  const end = task.end === undefined ? span.begin + span.length : Date.parse(task.end);
  const names = taskNames(task.reference);
  const share = (time: number): number => Math.min(100, Math.max(0, ((time - span.begin) / span.length) * 100));
  return (
    <div class="task">
      <Status of={task.status} />
      <span class="task-name" title={task.reference}>
        {names.slice(0, -1).map((name, at) => (
          <span class="soft" key={`${at}${name}`}>
            {name} /{' '}
          </span>
        ))}
        {names.at(-1)}
        {task.iteration !== undefined && <span class="soft"> [{task.iteration}]</span>}
        {task.attempt > 1 && <span class="soft"> attempt {task.attempt}</span>}
      </span>
      <span class="bar" aria-hidden="true">
        <span
          class={task.status}
          style={{ marginLeft: `${share(begin)}%`, width: `${Math.max(0.5, share(end) - share(begin))}%` }}
        />
      </span>
      <span class="took" title={`${timeText(task.begin)} to ${task.end === undefined ? 'now' : timeText(task.end)}`}>
        {durationText(end - begin)}
      </span>
      {!isUndecided(task) && <TaskDetails task={task} />}
    </div>
  );
}

function TaskDetails({ task: { error } }: { readonly task: RunTask }): JSX.Element | null {
  if (error === undefined) return null;
  return (
    <p class="task-details">
      <strong>
        {errorKind(error.type)} ({error.status})
      </strong>{' '}
      {error.detail ?? error.title}
    </p>
  );
}

function UnknownOutcome({
  run,
  task,
  decided,
}: {
  readonly run: Run;
  readonly task: RunTask;
  readonly decided: () => void;
}): JSX.Element {
  const { detail = '' } = task.error ?? {};
  // Before the cause, if it has one, the gateway says what this part of the page says.
  const why = detail.slice(Math.max(0, detail.indexOf('Cause: ')));
  return (
    <div class="decision">
      <p>
        <strong>It is unknown whether this call happened.</strong> Find out at the orchestrator, then decide.
      </p>
      {why !== '' && <p class="note">{why}</p>}
      {may('decideRun') ? (
        <Decision run={run.id} task={task.id} decided={decided} />
      ) : (
        <p>The role admin decides, or a principal with a right to decide.</p>
      )}
    </div>
  );
}
