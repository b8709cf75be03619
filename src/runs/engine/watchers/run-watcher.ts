import type { SuspensionReason } from '../../interpreter/state/run-events.ts';
import type { ClaimedRun, RunWrite, TaskRecord } from '../../journal/run-records.ts';

export interface RunEnding {
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
