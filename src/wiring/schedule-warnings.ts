import { mayRun, namedWorkflow } from '#automations/automation-access.ts';
import type { AutomationWithPeople } from '#automations/automation-catalogue.ts';
import { isHeld, isScheduled } from '#automations/automation-people.ts';
import type { RequestProblem } from '#base/gateway-error.ts';
import { type OpenSchedulesOptions, scheduledWorkflow, schedulerNow } from './open-schedules.ts';
import { startFactsOf } from './people-of-runs.ts';

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
