import type { Access } from '#access/access.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { Automation } from '#automations/automation.ts';
import { mayRun, namedWorkflow } from '#automations/automation-access.ts';
import { type AutomationPeople, authorsOf } from '#automations/automation-people.ts';
import { automationsToRun } from '#automations/store/automation-due-store.ts';
import type { Log } from '#base/log.ts';
import { visible } from '#base/text/visible.ts';
import type { Config } from '#config/config.ts';
import { sameConfig } from '#config/same-config.ts';
import type { Database } from '#database/database.ts';
import type { RunPeople } from '#runs/people/run-people.ts';
import { reachedWorkflows } from '#workflows/catalogue/workflow-pins.ts';
import type { WorkflowStore } from '#workflows/catalogue/workflow-store.ts';
import { schedulerNow } from './open-schedules.ts';

interface LossReportNeeds {
  readonly database: Pick<Database, 'read'>;
  readonly access: Access;
  readonly rights: Rights;
  readonly people: RunPeople;
  readonly workflowStore: WorkflowStore;
  readonly log: Log;
}

/**
 * Names, after a reload that took rights away, each automation that cannot run any more because of them: by hand, or by its schedule. Never
 * rejects.
 */
export function createLossReport(needs: LossReportNeeds): (before: Config['access'], after: Config['access']) => Promise<void> {
  const { database, log } = needs;
  return async (before, after) => {
    const isAffected = lossesOf(before, after);
    if (isAffected === undefined) return;
    const whyNot = createJudge(needs, isAffected);
    try {
      for await (const batch of automationsToRun(database)) {
        for (const { automation, people } of batch) {
          const reason = await whyNot(automation, people);
          if (reason !== undefined)
            log.warn('an automation can no longer run after the reload', { path: visible(automation.name), reason });
        }
      }
    } catch {
      log.warn('the automations that can no longer run after the reload could not be named');
    }
  };
}

/** Which principals may have lost a right; undefined: none has. */
function lossesOf(before: Config['access'], after: Config['access']): ((id: string) => boolean) | undefined {
  const { users: usersBefore, clients: clientsBefore, ...restBefore } = before;
  const { users, clients, ...rest } = after;
  if (!sameConfig(restBefore, rest)) return () => true;
  const now = heldBy({ users, clients });
  const earlier = heldBy({ users: usersBefore, clients: clientsBefore });
  const losers = new Set([...earlier].filter(([id, held]) => hasLost(held, now.get(id))).map(([id]) => id));
  return losers.size === 0 ? undefined : (id) => losers.has(id);
}

type Held = Pick<Config['access']['users'][number], 'roles' | 'groups'>;

function heldBy({ users, clients }: Pick<Config['access'], 'clients' | 'users'>): ReadonlyMap<string, Held> {
  return new Map<string, Held>([
    ...users.map((user) => [user.username, user] as const),
    ...clients.map((client) => [client.clientId, client] as const),
  ]);
}

function hasLost(before: Held, now: Held | undefined): boolean {
  return (['roles', 'groups'] as const).some((kind) =>
    before[kind].some((name) => now?.[kind].some((kept) => kept === name) !== true),
  );
}

/** Why an automation with an affected person cannot run: a sentence. Many automations have the same workflow and people. */
function createJudge({ access, rights, people: runPeople, workflowStore }: LossReportNeeds, isAffected: (id: string) => boolean) {
  const judged = new Map<string, Promise<string | undefined>>();
  const once = (key: readonly unknown[], judge: () => Promise<string | undefined>): Promise<string | undefined> => {
    const text = JSON.stringify(key);
    const known = judged.get(text) ?? judge();
    judged.set(text, known);
    return known;
  };
  return async (automation: Automation, people: AutomationPeople): Promise<string | undefined> => {
    const { workflowId: id = '', workflowVersion: version } = automation.data ?? {};
    const authors = authorsOf(people, automation) ?? [];
    const lost = await once([id, version, authors.map((author) => author.id)], async () => {
      const documents = (await reachedWorkflows(workflowStore, { id, version })) ?? [];
      const storers = documents.flatMap(({ pin }) => pin.storers.filter(({ lends }) => lends));
      if (![...authors, ...storers].some((person) => isAffected(person.id))) return undefined;
      return (await runPeople.whyLost(documents, authors))?.detail;
    });
    const { scheduler } = people;
    if (lost !== undefined || scheduler === undefined || automation.nextRunAt === undefined || !isAffected(scheduler.id))
      return lost;
    const principal = await schedulerNow(scheduler, access);
    if ('refused' in principal) return principal.refused;
    const asked = { principal, operation: 'runAutomation', workflow: namedWorkflow(automation) } as const;
    return mayRun(rights, asked, automation) ? undefined : 'Who scheduled it may not run it any more.';
  };
}
