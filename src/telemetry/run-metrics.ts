import { Counter, Histogram, type Registry } from 'prom-client';
import { skipCodes } from '#automations/last-skip.ts';
import { suspensionReasons } from '#runs/interpreter/suspension.ts';
import type { RunFigures } from '#runs/run-figures.ts';
import type { RunWatcher } from '#runs/run-watcher.ts';
import type { ScheduleWatcher } from '#schedules/decide-due.ts';
import { figure, gauge } from './gauges.ts';

/** Seconds: a run may be one call, or wait for days. */
const runBuckets: readonly number[] = [0.1, 0.5, 1, 5, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 604_800];

const endings = ['cancelled', 'completed', 'faulted'] as const;

/** Counts what becomes of the runs that this gateway holds. */
export function createRunMetrics(registry: Registry): RunWatcher {
  const registers = [registry];
  const ended = new Counter({
    name: 'gateway_runs_ended_total',
    help: 'Runs that ended, by status.',
    labelNames: ['status'],
    registers,
  });
  const durations = new Histogram({
    name: 'gateway_run_duration_seconds',
    help: 'Time from the creation of a run to its end, by status.',
    labelNames: ['status'],
    buckets: [...runBuckets],
    registers,
  });
  const suspended = new Counter({
    name: 'gateway_runs_suspended_total',
    help: 'Suspensions of runs, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const tasks = new Counter({
    name: 'gateway_run_tasks_ended_total',
    help: 'Tasks of runs that ended, by status.',
    labelNames: ['status'],
    registers,
  });
  const takenOver = new Counter({
    name: 'gateway_runs_taken_over_total',
    help: 'Runs that this gateway took over, because the lease of the gateway that held them ended.',
    registers,
  });
  const internalErrors = new Counter({
    name: 'gateway_run_internal_errors_total',
    help: 'Exceptions of the gateway itself while it worked on runs.',
    registers,
  });
  for (const status of endings) {
    ended.inc({ status }, 0);
    durations.zero({ status });
  }
  for (const reason of suspensionReasons) suspended.inc({ reason }, 0);
  for (const status of [...endings, 'skipped']) tasks.inc({ status }, 0);
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
  const occurrences = new Counter({
    name: 'gateway_schedule_occurrences_total',
    help: 'Due times of automations, by what became of them.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const lateness = new Histogram({
    name: 'gateway_schedule_lateness_seconds',
    help: 'Time from a due time of an automation to the creation of its run.',
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 3_600],
    registers: [registry],
  });
  const skips = new Counter({
    name: 'gateway_schedule_skips_total',
    help: 'Due times of automations that began no run, by reason.',
    labelNames: ['code'],
    registers: [registry],
  });
  for (const outcome of ['started', 'skipped']) occurrences.inc({ outcome }, 0);
  for (const code of skipCodes) skips.inc({ code }, 0);
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
export function measureRuns(registry: Registry, runs: { readonly figures: RunFigures; held(): number }): void {
  gauge(
    registry,
    { name: 'gateway_runs', help: 'Runs that have not ended, of all gateways on the store, by state.', labels: ['state'] },
    async () => {
      const counts = await runs.figures();
      return counts === undefined ? [] : openStatuses.map((state) => [{ state }, counts.byStatus.get(state) ?? 0]);
    },
  );
  const latenessHelp = 'How long the run has waited that waits longest for a gateway, of all gateways on the store.';
  gauge(registry, { name: 'gateway_run_lateness_seconds', help: latenessHelp }, async () => {
    const counts = await runs.figures();
    return counts === undefined ? [] : [[{}, counts.lateness / 1_000]];
  });
  figure(registry, 'gateway_runs_held', 'Runs that this gateway holds.', () => runs.held());
}
