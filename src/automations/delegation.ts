import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Automation } from './automation.ts';
import { decidingChanges } from './automation-people.ts';

/**
 * Completes "writing it …". Undefined where the principal may write the workflow, or there is none. `pinned`: judges only the
 * version that an automation with this `data.workflowVersion` would run.
 */
export type WhyNotWriter = (
  principal: Principal,
  workflowId: string,
  pinned?: { readonly version: string | undefined },
) => Promise<string | undefined>;

export interface DelegationNeeds {
  readonly whyNotWriter: WhyNotWriter;
  /** Throws `workflow-invalid` where the principal may not be author of what uses the secrets of the workflow. */
  readonly refuseAuthor: (
    principal: Principal,
    workflow: { readonly id: string; readonly version?: string | undefined },
  ) => Promise<void>;
  /** False: no secret is configured, so `refuseAuthor` refuses no person. */
  readonly asksAuthors: () => boolean;
}

interface Delegation {
  readonly principal: Principal;
  /** Absent: created. */
  readonly current?: Automation | undefined;
  /** Absent: deleted. */
  readonly next?: Automation | undefined;
}

/**
 * Throws `forbidden` (403) where a change decides what an automation runs, and the principal may not write the versions that run
 * before and after it. People run an automation who could not make its calls themselves, so this choice belongs to the writers of
 * the workflow. A deletion decides too: another automation could get the name. Throws `workflow-invalid` (400) as `refuseAuthor`.
 */
export async function refuseDelegation(
  { whyNotWriter: whyNot, refuseAuthor }: Omit<DelegationNeeds, 'asksAuthors'>,
  change: Delegation,
): Promise<void> {
  const { principal, current, next } = change;
  const what = decision(change);
  if (what === undefined) return;
  for (const automation of [next, current]) {
    const { workflowId: id, workflowVersion: version } = automation?.data ?? {};
    const reason = id === undefined ? undefined : await whyNot(principal, id, { version });
    if (reason === undefined) continue;
    throw new GatewayError(
      'forbidden',
      `${what} needs the right to write the workflow ${JSON.stringify(id)}, and writing it ${reason}.`,
      { logged: `${what} needs the right to write the workflow.` },
    );
  }
  const { workflowId: id, workflowVersion: version } = next?.data ?? {};
  if (id !== undefined) await refuseAuthor(principal, { id, version });
}

/** Undefined: the change decides nothing. */
function decision({ current, next }: Delegation): string | undefined {
  if (next === undefined) return 'Deleting the automation';
  const changes = [...decidingChanges(current, next), ...(current !== undefined && current.name !== next.name ? ['name'] : [])];
  return changes.length === 0 ? undefined : `Setting ${changes.join(' and ')}`;
}
