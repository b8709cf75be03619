import { createHash } from 'node:crypto';
import { exceptionFields } from '#base/exception-fields.ts';
import type { Log, LogFields } from '#base/log.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { Tracing } from '#base/tracing.ts';
import type { SuspensionReason } from '../interpreter/state/run-events.ts';
import { errorName } from '../interpreter/task-error.ts';
import type { ClaimedRun, RunWrite, TaskRecord } from '../journal/run-records.ts';

interface RunEnding {
  readonly status: 'cancelled' | 'faulted' | 'completed';
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  readonly error: RunWrite['error'];
}

/** Learns what becomes of the runs that this gateway holds, once the store has it. Every method must be cheap. */
export interface RunWatcher {
  /** The gateway that held the run ended, or lost its lease, and this one holds it now. */
  takenOver(run: ClaimedRun): void;
  suspended(run: ClaimedRun, by: SuspensionReason): void;
  /** The tasks that ended in one step of the run. */
  tasksEnded(tasks: readonly TaskRecord[]): void;
  ended(run: ClaimedRun, ending: RunEnding): void;
  /** The gateway itself failed while it worked on the run, or on all runs. */
  failedInside(thrown: unknown, run?: ClaimedRun): void;
}

/** Watchers that each want to learn some of it. */
export type RunWatchers = readonly Partial<RunWatcher>[];

type Save = (write: RunWrite) => Promise<'saved' | 'lost'>;

/** As `save`, for the steps of one run that was claimed just now: tells the watchers of the claim, and of each step. */
export function watchedSave(run: ClaimedRun, save: Save, watchers: RunWatchers): Save {
  if (run.abandonedClaims > 0) for (const watcher of watchers) watcher.takenOver?.(run);
  let { status } = run;
  return async (write) => {
    const outcome = await save(write);
    // A write whose first answer was lost may be `lost` at its repetition, and then no one learns of it.
    if (outcome === 'lost') return outcome;
    const isSuspended = write.status === 'suspended' && status !== 'suspended';
    ({ status } = write);
    tell(run, write, watchers);
    if (isSuspended) for (const watcher of watchers) watcher.suspended?.(run, write.suspendedBy ?? 'people');
    return outcome;
  };
}

function tell(run: ClaimedRun, write: RunWrite, watchers: RunWatchers): void {
  const over = write.tasks.filter(({ end }) => end !== undefined);
  const ending = endingOf(write);
  for (const watcher of watchers) {
    if (over.length > 0) watcher.tasksEnded?.(over);
    if (ending !== undefined) watcher.ended?.(run, ending);
  }
}

function endingOf({ status, startedAt, endedAt, error }: RunWrite): RunEnding | undefined {
  if (endedAt === undefined || (status !== 'cancelled' && status !== 'faulted' && status !== 'completed')) return undefined;
  return { status, startedAt, endedAt, error };
}

const suspensionReason: Readonly<Record<SuspensionReason, string>> = {
  people: 'someone suspended it',
  'unknown-outcome': 'the outcome of a call is unknown',
  'delegation-lost': 'somebody who answers for its calls is gone, or may not make them any more',
  'person-gone': 'the principal in whose name it calls was removed or blocked',
  'store-loss': 'the store lost commits while it was under way, and people have not released it',
};

/** Writes a line when a run ends, is suspended or is taken over, and when the gateway itself fails on one. */
export function createRunLog(log: Log): Pick<RunWatcher, 'takenOver' | 'suspended' | 'ended' | 'failedInside'> {
  return {
    takenOver: (run) => log.warn('a run was taken over: the gateway that held it ended, or lost its lease', fieldsOf(run)),
    failedInside: (thrown, run) =>
      log.error('the gateway failed on a run', { ...(run && fieldsOf(run)), ...exceptionFields(thrown) }),
    suspended(run, by) {
      const reason = suspensionReason[by];
      log.warn('a run is suspended', { ...fieldsOf(run), reason });
    },
    ended(run, { status, endedAt, error }) {
      const fields = { ...fieldsOf(run), durationMs: endedAt - run.createdAt };
      if (status === 'completed') log.info('a run has completed', fields);
      else if (status === 'cancelled') log.info('a run was cancelled', fields);
      else log.warn('a run has faulted', { ...fields, reason: error && errorName(error) });
    },
  };
}

function fieldsOf({ id, workflow, automation, principal }: ClaimedRun): LogFields {
  const { traceId } = traceOfRun(id);
  return { run: id, workflow, automation: automation?.id, traceId, principal: principal.username };
}

/** Records each run as a span when it has ended. The spans of its calls name it as their parent. */
export function createRunSpans(tracing: Tracing): Pick<RunWatcher, 'ended'> {
  return {
    ended({ id, workflow, version, automation, createdAt, parent }, { status, startedAt = createdAt, endedAt, error }) {
      tracing.ended({
        name: `run ${workflow}`,
        trace: traceOfRun(id),
        from: startedAt,
        to: endedAt,
        failed: status === 'faulted',
        facts: () => ({
          'gateway.run.id': id,
          'gateway.run.workflow': workflow,
          'gateway.run.version': version,
          'gateway.run.automation': automation?.id,
          'gateway.run.parent': parent?.run,
          'gateway.run.status': status,
          'error.type': error && errorName(error),
        }),
      });
    },
  };
}

/** The trace of a run: the same under each holder. Its calls are spans of it. */
export function traceOfRun(id: string): TraceContext {
  const digits = createHash('sha256').update(id).digest('hex');
  const traceId = digits.slice(0, 32);
  return { traceId, traceparent: `00-${traceId}-${digits.slice(32, 48)}-00` };
}
