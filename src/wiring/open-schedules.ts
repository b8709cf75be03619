import type { Access } from '#access/access.ts';
import type { NamedPrincipal } from '#access/people.ts';
import { issuerOfId, type Principal } from '#access/principal.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { Automation } from '#automations/automation.ts';
import { mayRun } from '#automations/automation-access.ts';
import type { AutomationCatalogue } from '#automations/automation-catalogue.ts';
import { createDueAutomations } from '#automations/automation-due-store.ts';
import type { AutomationPeople } from '#automations/automation-people.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import { uuidVersion7 } from '#base/uuid.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import { runOf } from '#runs/new-run.ts';
import type { ScheduledStart } from '#schedules/decide-batch.ts';
import type { ScheduleWatcher } from '#schedules/decide-due.ts';
import { createScheduler } from '#schedules/scheduler.ts';
import type { WorkflowLoader } from '#workflows/workflow-loader.ts';
import type { Runs } from './open-runs.ts';

interface OpenSchedulesOptions {
  readonly config: Config;
  readonly database: Database;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly access: Access;
  readonly automations: AutomationCatalogue;
  readonly loader: WorkflowLoader;
  readonly runs: Runs;
  readonly watcher: ScheduleWatcher;
}

/** Begins the runs of automations that are due, unless this gateway does no tasks. */
export function openSchedules(started: AsyncDisposableStack, options: OpenSchedulesOptions): void {
  const { config, database, audit, clock, log, automations, runs, watcher } = options;
  if (config.automations.tasks === 0) return;
  const scheduler = started.adopt(
    createScheduler({
      database,
      automations: createDueAutomations(database),
      createWith: (work) => runs.store.changeWith(work),
      start: (occurrence) => scheduledRun(occurrence, options),
      audit,
      clock,
      log,
      watcher,
      retention: config.automations.retention,
    }),
    (running) => running.close(),
  );
  const forget = automations.onChange(() => scheduler.changed());
  started.defer(forget);
}

interface Occurrence {
  readonly automation: Automation;
  readonly people: AutomationPeople;
  readonly due: number;
  readonly schedule: string;
}

async function scheduledRun(
  { automation, people, due, schedule }: Occurrence,
  { access, clock, loader, runs }: OpenSchedulesOptions,
): Promise<ScheduledStart> {
  const { data } = automation;
  const principal = await schedulerNow(people.scheduler, access);
  if ('refused' in principal) return principal;
  if (!mayRun(principal, automation)) return { refused: 'Who scheduled it may not run it any more.', code: 'delegation-lost' };
  const found = data?.workflowId === undefined ? undefined : await loader.load({ id: data.workflowId });
  if (found === undefined) return { refused: 'Its workflow does not exist.' };
  const input = data?.input === undefined ? '{}' : JSON.stringify(data.input);
  const [problem, ...more] = await runs.inputs.inputProblems({ automation, workflow: found.workflow, input });
  if (problem !== undefined) {
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    return { refused: `Its data.input is not valid: ${problem.pointer} ${problem.detail}${others}.` };
  }
  return {
    run: runOf({ ...found, id: uuidVersion7(clock.now()), principal, startedBy: { schedule, due }, automation, input }),
  };
}

/** Who scheduled it, with the roles and groups of now. */
async function schedulerNow(
  scheduler: NamedPrincipal | undefined,
  access: Access,
): Promise<Principal | Extract<ScheduledStart, { readonly refused: string }>> {
  if (scheduler === undefined) return { refused: 'No person is known to have scheduled it.', code: 'delegation-lost' };
  const principal = await access.principalNow(scheduler.id);
  if (principal !== undefined) return principal;
  return issuerOfId(scheduler.id) === undefined
    ? { refused: 'Who scheduled it is no user any more.', code: 'person-gone' }
    : { refused: 'Who scheduled it has not logged in for too long.', code: 'person-not-seen' };
}
