import type { Principal } from '#access/principal.ts';
import type { Operation } from '#access/rights/operations.ts';
import type { Rights } from '#access/rights/rights.ts';
import type { Automation } from '#automations/automation.ts';
import { isReader, mayRunByRole, type RunningOperation, seesByRole } from '#automations/automation-access.ts';
import type { Clock } from '#base/clock.ts';
import type { StoredRunSummary } from '../journal/run-queries.ts';
import type { EventRecord } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';

export type RunReading = Extract<
  Operation,
  | 'followEvents'
  | 'followRun'
  | 'listBatchItems'
  | 'listRunCalls'
  | 'listRunTasks'
  | 'listRuns'
  | 'readRun'
  | 'readRunStatistics'
  | 'readTask'
  | 'readTaskData'
>;

/** A principal may see its own runs in any case. */
function seesRunsByRole(principal: Principal, automation: Automation): boolean {
  return seesByRole(principal, automation) || mayRunByRole(principal, automation);
}

interface SeenRun {
  readonly owner: string | undefined;
  /** Id of the run's workflow, which rights are about: the automation may name another one by now. */
  readonly workflow: string | undefined;
  /** Undefined where it was deleted. */
  readonly automation: Automation | undefined;
}

/** By a role, as its owner, or by a right to the operation. */
export function seesRun(
  rights: Rights,
  { principal, operation }: { readonly principal: Principal; readonly operation: RunReading | RunningOperation },
  { owner, workflow, automation }: SeenRun,
): boolean {
  if (principal.roles.includes('admin') || owner === principal.id) return true;
  if (automation === undefined) return false;
  return (
    seesRunsByRole(principal, automation) || (rights.covers(principal, operation, workflow) && isReader(principal, automation))
  );
}

/** True if the principal may send messages; senders may also see them. */
export function seesMessages(rights: Rights, principal: Principal): boolean {
  return rights.allows(principal, 'sendEvents');
}

/** Judges by what it looked up a moment ago. */
export interface RunVisibility {
  /** For a list. Rejects with `store-unavailable`. */
  seesListed(principal: Principal, run: StoredRunSummary): Promise<boolean>;
  seesEvent(principal: Principal, event: EventRecord): boolean | Promise<boolean>;
  /** For statistics: runs of anybody of the automation with this `_id`. */
  seesRunsOf(principal: Principal, automation: string): Promise<boolean>;
}

interface RunVisibilityNeeds {
  readonly store: Pick<RunStore, 'summary'>;
  readonly clock: Clock;
  readonly rights: Rights;
  readonly automation: (id: string) => Promise<{ readonly automation: Automation } | undefined>;
  readonly seesApproval: (principal: Principal, id: string) => Promise<boolean>;
}

/** Milliseconds for which an automation counts as unchanged. */
const remembered = 5_000;
const maxAutomations = 1_000;
const maxRuns = 10_000;

export function createRunVisibility({ store, clock, rights, automation: find, seesApproval }: RunVisibilityNeeds): RunVisibility {
  const automations = new Map<string, { readonly at: number; readonly found: Promise<Automation | undefined> }>();
  const runs = new Map<string, Promise<Pick<SeenRun, 'owner' | 'workflow'>>>();
  const automationOf = (id: string): Promise<Automation | undefined> => {
    const at = clock.monotonic();
    const known = automations.get(id);
    if (known !== undefined && at - known.at < remembered) return known.found;
    const found = find(id).then((one) => one?.automation);
    keep(automations, maxAutomations, id, { at, found });
    found.catch(() => automations.delete(id));
    return found;
  };
  const runOf = (id: string): Promise<Pick<SeenRun, 'owner' | 'workflow'>> => {
    const known = runs.get(id);
    if (known !== undefined) return known;
    const found = store.summary(id).then((one) => ({ owner: one?.principal.id, workflow: one?.workflow }));
    keep(runs, maxRuns, id, found);
    found.catch(() => runs.delete(id));
    return found;
  };
  /** An event of the gateway that is of no run. */
  const seesGatewayEvent = async (principal: Principal, event: string): Promise<boolean> => {
    const { type, subject } = JSON.parse(event) as { readonly type: string; readonly subject: string };
    if (type.startsWith('orchestration-gateway.approval.')) return await seesApproval(principal, subject);
    if (!type.startsWith('orchestration-gateway.occurrence.')) return false;
    const automation = await automationOf(subject);
    const workflow = automation?.data?.workflowId;
    return seesRun(rights, { principal, operation: 'followEvents' }, { owner: undefined, workflow, automation });
  };
  return {
    async seesListed(principal, { principal: { id: owner }, workflow, automation }) {
      if (principal.roles.includes('admin') || owner === principal.id) return true;
      const found = automation && (await automationOf(automation.id));
      return seesRun(rights, { principal, operation: 'listRuns' }, { owner, workflow, automation: found });
    },
    async seesRunsOf(principal, id) {
      const automation = await automationOf(id);
      const workflow = automation?.data?.workflowId;
      return seesRun(rights, { principal, operation: 'readRunStatistics' }, { owner: undefined, workflow, automation });
    },
    seesEvent(principal, { run, automation, kind, event }) {
      if (run === undefined && kind === 'message') return seesMessages(rights, principal);
      if (principal.roles.includes('admin')) return true;
      if (run === undefined) return seesGatewayEvent(principal, event);
      const found = automation === undefined ? Promise.resolve(undefined) : automationOf(automation);
      return found.then(async (one) => {
        if (one !== undefined && seesRunsByRole(principal, one)) return true;
        return seesRun(rights, { principal, operation: 'followEvents' }, { ...(await runOf(run)), automation: one });
      });
    },
  };
}

/** Sets the value, and drops the oldest one beyond `max`. */
function keep<Value>(map: Map<string, Value>, max: number, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > max && oldest !== undefined) map.delete(oldest);
}
