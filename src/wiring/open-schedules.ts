import type { Access } from '#access/access.ts';
import type { NamedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { AuditLog } from '#audit/audit-log.ts';
import type { Automation } from '#automations/automation.ts';
import { mayRun, namedWorkflow } from '#automations/automation-access.ts';
import type { AutomationCatalogue, AutomationWithPeople } from '#automations/automation-catalogue.ts';
import { type AutomationPeople, isHeld, isScheduled } from '#automations/automation-people.ts';
import { createDueAutomations } from '#automations/store/automation-due-store.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError, type RequestProblem } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { uuidVersion7 } from '#base/text/uuid.ts';
import type { Config } from '#config/config.ts';
import type { Database } from '#database/database.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import type { RequireRoom } from '#database/sqlite/reserve.ts';
import type { FormCatalogue } from '#forms/form-catalogue.ts';
import { type AutomationRun, runOf } from '#runs/catalogue/run-starts.ts';
import type { NewRun } from '#runs/journal/run-records.ts';
import type { RunPeople } from '#runs/people/run-people.ts';
import type { ScheduledStart } from '#runs/schedules/decide-batch.ts';
import type { ScheduleWatcher } from '#runs/schedules/decide-due.ts';
import { createScheduler } from '#runs/schedules/scheduler.ts';
import type { WorkflowLoader } from '#workflows/catalogue/workflow-loader.ts';
import { reachedWorkflows, refuseNewerDocuments } from '#workflows/catalogue/workflow-pins.ts';
import type { WorkflowStore } from '#workflows/catalogue/workflow-store.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { Runs } from './open-runs.ts';
import { startFactsOf } from './start-facts.ts';

interface OpenSchedulesOptions {
  readonly config: Config;
  readonly database: Database;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Log;
  readonly access: Access;
  readonly automations: AutomationCatalogue;
  readonly loader: WorkflowLoader;
  readonly workflowStore: WorkflowStore;
  readonly forms: FormCatalogue;
  readonly people: RunPeople;
  readonly rights: Rights;
  readonly runs: Runs;
  readonly watcher: ScheduleWatcher;
  readonly requireRoom: RequireRoom;
}

/** Begins the runs of automations that are due, unless this gateway does no tasks. */
export function openSchedules(started: AsyncDisposableStack, options: OpenSchedulesOptions): void {
  const { config, database, audit, clock, log, automations, runs, watcher } = options;
  if (config.automations.tasks === 0) return;
  const scheduler = started.adopt(
    createScheduler({
      database,
      automations: createDueAutomations(database),
      createWith(work) {
        options.requireRoom();
        return runs.store.changeWith(work);
      },
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

async function scheduledRun(occurrence: Occurrence, options: OpenSchedulesOptions): Promise<ScheduledStart> {
  const { automation } = occurrence;
  const { data } = automation;
  const { lowest, ...facts } = await startFactsOf(occurrence, options.forms);
  // A gateway of the newer version begins the run: this one looks again later.
  refuseNewerRow('The form of the automation', lowest);
  const principal = await schedulerNow(facts.people.scheduler, options.access);
  if ('refused' in principal) return principal;
  const found = await scheduledWorkflow(automation, options);
  if (found === undefined)
    return { refused: 'Its workflow does not exist, or has no such version or no release.', code: 'workflow-missing' };
  const input = data?.input === undefined ? '{}' : JSON.stringify(data.input);
  const parts = { ...occurrence, ...found, ...facts, principal, input };
  return (await refusalOf(parts, options)) ?? { run: newRun(parts, options) };
}

async function scheduledWorkflow(
  automation: Automation,
  { loader, workflowStore }: Pick<OpenSchedulesOptions, 'loader' | 'workflowStore'>,
): Promise<Pick<RunParts, 'documents' | 'workflow'> | undefined> {
  const id = automation.data?.workflowId;
  const documents =
    id === undefined ? undefined : await reachedWorkflows(workflowStore, { id, version: automation.data?.workflowVersion });
  refuseNewerDocuments(documents ?? []);
  const loaded = documents && (await loader.load(documents[0].pin));
  return documents && loaded && { documents, workflow: loaded.workflow };
}

interface RunParts
  extends Omit<Occurrence, 'people'>,
    Pick<AutomationRun, 'principal' | 'people' | 'passwordFields' | 'documents' | 'input'> {
  readonly workflow: Workflow;
}

/** Why it may not run now; undefined where it may. */
async function refusalOf(
  { principal, automation, people, documents, workflow, input }: RunParts,
  { runs, rights, people: runPeople }: OpenSchedulesOptions,
): Promise<ScheduledStart | undefined> {
  const asked = { principal, operation: 'runAutomation', workflow: namedWorkflow(automation) } as const;
  if (!mayRun(rights, asked, automation))
    return { refused: 'Who scheduled it may not run it any more.', code: 'delegation-lost' };
  const full = await runs.quota.require(principal).catch(refusedByQuota);
  if (full !== undefined) return full;
  const lost = await runPeople.whyLost(documents, people.authors);
  if (lost !== undefined) return { refused: lost.detail, code: lost.isUnseen ? 'person-not-seen' : 'delegation-lost' };
  const [problem, ...more] = await runs.inputs.inputProblems({ automation, workflow, input, person: principal.id });
  if (problem === undefined) return undefined;
  const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
  return { refused: `Its data.input is not valid: ${problem.pointer} ${problem.detail}${others}.`, code: 'input-invalid' };
}

function refusedByQuota(thrown: unknown): ScheduledStart {
  if (!(thrown instanceof GatewayError) || thrown.code !== 'quota-reached') throw thrown;
  return { refused: thrown.message, code: thrown.code };
}

function newRun({ due, schedule, ...parts }: RunParts, { clock }: OpenSchedulesOptions): NewRun {
  const id = uuidVersion7(clock.now());
  return runOf({ ...parts, id, startedBy: { schedule, due } });
}

/** Who scheduled it, with the roles and groups of now. */
export async function schedulerNow(
  scheduler: NamedPrincipal | undefined,
  access: Access,
): Promise<Principal | Extract<ScheduledStart, { readonly refused: string }>> {
  if (scheduler === undefined) return { refused: 'No person is known to have scheduled it.', code: 'delegation-lost' };
  const principal = await access.principalNow(scheduler.id);
  if (principal !== undefined) return principal;
  return access.isGone(scheduler.id)
    ? { refused: 'Who scheduled it was removed or is blocked.', code: 'person-gone' }
    : { refused: 'Who scheduled it has not logged in for too long.', code: 'person-not-seen' };
}

/**
 * Every reason for which the schedule of an automation can begin no run. It is named by its `_id`, or given before it is stored. Empty without a
 * schedule.
 */
export type ScheduleWarnings = (automation: string | AutomationWithPeople) => Promise<readonly RequestProblem[]>;

type Needs = Omit<OpenSchedulesOptions, 'config' | 'database' | 'audit' | 'clock' | 'log' | 'watcher' | 'requireRoom'>;

export function createScheduleWarnings(needs: Needs): ScheduleWarnings {
  return async (given) => {
    const stored = typeof given === 'string' ? await needs.automations.find(given) : given;
    if (stored === undefined || !isScheduled(stored.automation) || stored.automation.data?.workflowId === undefined) return [];
    const { automation } = stored;
    const found = await scheduledWorkflow(automation, needs);
    if (found === undefined) return [missing(automation.data?.workflowVersion)];
    const problems = await needs.runs.inputs.inputProblems({ automation, workflow: found.workflow, ...givenInput(stored) });
    return [
      ...(isHeld(stored.people, automation) ? [unconfirmed] : []),
      ...(await peopleWarnings(stored, found.documents, needs)),
      ...problems.map(({ pointer, detail }) => ({ pointer: `/data/input${pointer}`, detail })),
    ];
  };
}

/** `person`: whose turn it is in the threads that judge inputs. */
function givenInput({ automation, people }: AutomationWithPeople) {
  return { input: JSON.stringify(automation.data?.input ?? {}), person: people.scheduler?.id ?? '' };
}

/** What those who answer for its runs may not do any more. */
async function peopleWarnings(
  stored: AutomationWithPeople,
  documents: Parameters<Needs['people']['whyLost']>[0],
  { access, forms, rights, people: runPeople }: Needs,
): Promise<readonly RequestProblem[]> {
  const { automation } = stored;
  const { people } = await startFactsOf(stored, forms);
  const principal = await schedulerNow(people.scheduler, access);
  const asked = { operation: 'runAutomation', workflow: namedWorkflow(automation) } as const;
  const mayNot = !('refused' in principal) && !mayRun(rights, { ...asked, principal }, automation);
  const lost = await runPeople.whyLost(documents, people.authors);
  return [
    ...('refused' in principal ? [{ pointer: '', detail: principal.refused }] : []),
    ...(mayNot ? [{ pointer: '', detail: 'Who scheduled it may not run it.' }] : []),
    ...(lost === undefined ? [] : [{ pointer: '/data/workflowId', detail: lost.detail }]),
  ];
}

const unconfirmed = {
  pointer: '/data/workflowId',
  detail: 'It is not due until a person who may write its workflow changes or takes it.',
};

function missing(version: string | undefined): RequestProblem {
  const detail = 'names no workflow that exists and has a release: the automation is not due';
  return version === undefined
    ? { pointer: '/data/workflowId', detail }
    : { pointer: '/data/workflowVersion', detail: 'names no version that exists: each due time is skipped' };
}
