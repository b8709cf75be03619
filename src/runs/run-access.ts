import { hasRole, type Principal } from '#access/principal.ts';
import type { Automation } from '#automations/automation.ts';
import { mayRun, maySee, writingRoles } from '#automations/automation-access.ts';
import type { Clock } from '#base/clock.ts';
import type { EventRecord } from './run-records.ts';
import type { RunStore } from './run-store.ts';

/** Whether the principal may see runs of the automation. Its own runs it may see in any case. */
export function seesRunsOf(principal: Principal, automation: Automation): boolean {
  return maySee(principal, automation) || mayRun(principal, automation);
}

/** Whether the principal may see a run. `owner`: the id of the run's principal. `automation`: undefined where it was deleted. */
export function seesRun(
  principal: Principal,
  { owner, automation }: { readonly owner: string | undefined; readonly automation: Automation | undefined },
): boolean {
  if (principal.roles.includes('admin') || owner === principal.id) return true;
  return automation !== undefined && seesRunsOf(principal, automation);
}

/** Whether the principal may see messages that callers sent: those who may send them. */
export function seesMessages(principal: Principal): boolean {
  return hasRole(principal, writingRoles);
}

/** Answers who may see a run or an event, from what it looked up a moment ago. */
export interface RunSight {
  /** Whether the principal may see the runs of the automation with this id. Rejects with `store-unavailable`. */
  seesAutomation(principal: Principal, id: string): Promise<boolean>;
  seesEvent(principal: Principal, event: EventRecord): boolean | Promise<boolean>;
}

interface RunSightNeeds {
  readonly store: Pick<RunStore, 'summary'>;
  readonly clock: Clock;
  readonly automation: (id: string) => Promise<{ readonly automation: Automation } | undefined>;
  readonly seesApproval: (principal: Principal, id: string) => Promise<boolean>;
}

/** Milliseconds for which an automation counts as unchanged. */
const remembered = 5_000;
const mostAutomations = 1_000;
const mostOwners = 10_000;

export function createRunSight({ store, clock, automation: find, seesApproval }: RunSightNeeds): RunSight {
  const automations = new Map<string, { readonly at: number; readonly found: Promise<Automation | undefined> }>();
  const owners = new Map<string, Promise<string | undefined>>();
  const automationOf = (id: string): Promise<Automation | undefined> => {
    const at = clock.monotonic();
    const known = automations.get(id);
    if (known !== undefined && at - known.at < remembered) return known.found;
    const found = find(id).then((one) => one?.automation);
    keep(automations, { key: id, value: { at, found }, most: mostAutomations });
    found.catch(() => automations.delete(id));
    return found;
  };
  const ownerOf = (run: string): Promise<string | undefined> => {
    const known = owners.get(run);
    if (known !== undefined) return known;
    const found = store.summary(run).then((one) => one?.principal.id);
    keep(owners, { key: run, value: found, most: mostOwners });
    found.catch(() => owners.delete(run));
    return found;
  };
  const seesAutomation = async (principal: Principal, id: string): Promise<boolean> => {
    const automation = await automationOf(id);
    return automation !== undefined && seesRunsOf(principal, automation);
  };
  return {
    seesAutomation,
    seesEvent(principal, { run, automation, kind, event }) {
      if (run === undefined)
        return kind === 'message' ? seesMessages(principal) : seesGatewayEvent(principal, event, seesApproval);
      if (principal.roles.includes('admin')) return true;
      const ofAutomation = automation === undefined ? Promise.resolve(false) : seesAutomation(principal, automation);
      return ofAutomation.then(async (sees) => sees || (await ownerOf(run)) === principal.id);
    },
  };
}

/** An event of the gateway that is of no run. Those of an approval are for those who may see the approval. */
function seesGatewayEvent(
  principal: Principal,
  event: string,
  seesApproval: RunSightNeeds['seesApproval'],
): boolean | Promise<boolean> {
  if (principal.roles.includes('admin')) return true;
  const { type, subject } = JSON.parse(event) as { readonly type: string; readonly subject: string };
  return type.startsWith('orchestration-gateway.approval.') && seesApproval(principal, subject);
}

/** Sets the value, and drops the oldest one beyond `most`. */
function keep<Value>(map: Map<string, Value>, { key, value, most }: { key: string; value: Value; most: number }): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
