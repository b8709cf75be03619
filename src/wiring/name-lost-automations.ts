import type { Automation } from '#automations/automation.ts';
import { automationsOfWorkflows } from '#automations/automation-naming-store.ts';
import { type AutomationPeople, peopleOfRun } from '#automations/automation-people.ts';
import type { Log } from '#base/log.ts';
import { visible } from '#base/visible.ts';
import type { Database } from '#database/database.ts';
import { pinnedVersion } from '#runs/new-run.ts';
import type { RunPeople } from '#runs/run-people.ts';
import { reachedWorkflows } from '#workflows/workflow-pins.ts';
import type { WorkflowStore } from '#workflows/workflow-store.ts';
import { schedulerOf } from './open-schedules.ts';

interface LostAutomationsNeeds extends Pick<Parameters<typeof schedulerOf>[1], 'access' | 'rights'> {
  readonly database: Pick<Database, 'read'>;
  readonly workflowStore: WorkflowStore;
  readonly people: Pick<RunPeople, 'whyLost'>;
  readonly log: Log;
}

/** Tells the operator what a reload that takes rights away has stopped. */
export interface LostAutomations {
  /** Names, in the background, the automations that cannot run because of their people. One that is named already is not named again. */
  name(): void;
  /** Resolves once nothing is read any more. */
  stop(): Promise<void>;
}

export function createLostAutomations(needs: LostAutomationsNeeds): LostAutomations {
  const { database, log } = needs;
  let named: ReadonlySet<string> = new Set();
  let working: Promise<void> | undefined;
  let isAsked = false;
  let isStopped = false;
  const look = async (): Promise<void> => {
    const lost = new Set<string>();
    for await (const found of automationsOfWorkflows(database)) {
      if (isStopped) return;
      const { _id, name } = found.automation;
      const reason = await whyLost(found, needs);
      if (reason === undefined) continue;
      lost.add(_id);
      if (!named.has(_id)) log.warn('an automation can no longer run because of its people', { path: visible(name), reason });
    }
    named = lost;
  };
  const work = async (): Promise<void> => {
    while (isAsked && !isStopped) {
      isAsked = false;
      await look().catch(() => log.warn('the automations that can no longer run could not be found: the store is away'));
    }
    working = undefined;
  };
  return {
    name() {
      isAsked = true;
      working ??= work();
    },
    async stop() {
      isStopped = true;
      await working;
    },
  };
}

/** Undefined where its people let it run, and where other things than people keep it from running. */
async function whyLost(
  { automation, people: stored }: { readonly automation: Automation; readonly people: AutomationPeople },
  needs: LostAutomationsNeeds,
): Promise<string | undefined> {
  const people = peopleOfRun(stored, { automation, formWriter: undefined });
  // Those without an author were named at the upgrade.
  if (people.authors.length === 0) return undefined;
  const documents = await reachedWorkflows(needs.workflowStore, {
    id: automation.data?.workflowId ?? '',
    version: pinnedVersion(automation),
  });
  if (documents === undefined) return undefined;
  const lost = await needs.people.whyLost(documents, people.authors);
  if (lost !== undefined || automation.nextRunAt === undefined) return lost;
  const scheduler = await schedulerOf({ automation, scheduler: people.scheduler }, needs);
  return 'refused' in scheduler ? scheduler.refused : undefined;
}
