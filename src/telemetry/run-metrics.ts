import type { Registry } from 'prom-client';
import { skipCodes } from '#automations/automation.ts';
import type { KeptFigures } from '#base/timing/kept-figures.ts';
import type { RunWatcher } from '#runs/engine/run-watcher.ts';
import { suspensionReasons } from '#runs/interpreter/state/run-events.ts';
import type { RunCounts } from '#runs/journal/run-queries.ts';
import type { ScheduleWatcher } from '#runs/schedules/decide-due.ts';
import { figure, gauge } from './gauges.ts';
import { counter, histogram } from './observers.ts';

/** Seconds: a run may be one call, or wait for days. */
const runBuckets: readonly number[] = [0.1, 0.5, 1, 5, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 604_800];

const endings = ['cancelled', 'completed', 'faulted'] as const;

/** Counts what becomes of the runs that this gateway holds. */
export function createRunMetrics(registry: Registry): RunWatcher {
  const ended = counter(
    registry,
    'gateway_runs_ended_total',
    'Runs that ended at this gateway: `completed`, `faulted` or `cancelled`.',
    { status: endings },
  );
  const durations = histogram(
    registry,
    'gateway_run_duration_seconds',
    'From the creation of a run to its end, with all waits and suspensions.',
    { buckets: runBuckets, labels: { status: endings } },
  );
  const suspended = counter(
    registry,
    'gateway_runs_suspended_total',
    'Suspensions of runs: by `people`, or for an `unknown-outcome` of a call, which people have to decide. `delegation-lost` and `person-gone` are about the people behind the calls, `store-loss` is about commits that the store lost.',
    { reason: suspensionReasons },
  );
  const tasks = counter(
    registry,
    'gateway_run_tasks_ended_total',
    'Tasks of runs that ended: `completed`, `faulted`, `cancelled` or `skipped` (the `if` of the task is false).',
    { status: [...endings, 'skipped'] },
  );
  const takenOver = counter(
    registry,
    'gateway_runs_taken_over_total',
    'Runs that this gateway took over, because the gateway that held them ended, stood still, or did not reach the store.',
  );
  const internalErrors = counter(
    registry,
    'gateway_run_internal_errors_total',
    'Exceptions of the gateway itself while it worked on runs. The log has the stack of each. A task on which the gateway fails three times is an error of its run (`runtime`, status 500).',
  );
  return {
    takenOver: () => takenOver.inc(),
    failedInside: () => internalErrors.inc(),
    suspended: (_run, by) => suspended.inc({ reason: by }),
    tasksEnded(over) {
      for (const { status } of over) tasks.inc({ status });
    },
    ended({ createdAt }, { status, endedAt }) {
      ended.inc({ status });
      durations.observe({ status }, (endedAt - createdAt) / 1_000);
    },
  };
}

/** Counts the due times of automations that this gateway decided about. */
export function createScheduleMetrics(registry: Registry): ScheduleWatcher {
  const occurrences = counter(
    registry,
    'gateway_schedule_occurrences_total',
    'Due times of automations that this gateway decided about: a run `started`, or the due time was `skipped`. `GET /audit` has the skipped ones.',
    { outcome: ['started', 'skipped'] },
  );
  const lateness = histogram(
    registry,
    'gateway_schedule_lateness_seconds',
    'From a due time of an automation to the creation of its run. A due time that passed while no gateway was up is as late as that.',
    { buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 3_600] },
  );
  const skips = counter(
    registry,
    'gateway_schedule_skips_total',
    'Skipped due times, by the `code` that `lastSkip` of the automation has too.',
    { code: skipCodes },
  );
  return {
    started(latenessMs) {
      occurrences.inc({ outcome: 'started' });
      lateness.observe(latenessMs / 1_000);
    },
    skipped(code) {
      occurrences.inc({ outcome: 'skipped' });
      skips.inc({ code });
    },
  };
}

const openStatuses = ['pending', 'running', 'waiting', 'suspended'] as const;

/** Gauges of the runs that have not ended. Those of the store have no value while it does not answer. */
export function measureRuns(registry: Registry, runs: { readonly figures: KeptFigures<RunCounts>; held(): number }): void {
  gauge(
    registry,
    {
      name: 'gateway_runs',
      help: 'Runs of all gateways on the store that have not ended: `pending`, `running`, `waiting` or `suspended`. The counts are at most five seconds old, and absent while the store gives no answer for a minute.',
      labels: ['state'],
    },
    async () => {
      const counts = await runs.figures();
      return counts === undefined ? [] : openStatuses.map((state) => [{ state }, counts.byStatus.get(state) ?? 0]);
    },
  );
  const latenessHelp =
    'How long the run has waited that waits longest for a gateway, of all gateways on the store; 0 if none waits. A run whose gateway ended waits from the end of its lease.';
  gauge(registry, { name: 'gateway_run_lateness_seconds', help: latenessHelp }, async () => {
    const counts = await runs.figures();
    return counts === undefined ? [] : [[{}, counts.lateness / 1_000]];
  });
  figure(registry, 'gateway_runs_held', 'Runs that this gateway holds, at most `automations.tasks`.', () => runs.held());
}
