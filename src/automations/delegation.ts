import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Automation } from './automation.ts';

/**
 * Why a principal, whose role may write automations, may not write the workflow with this id, in words that complete "writing it …".
 * Undefined where it may, and where there is no such workflow.
 */
export type WhyNotWriter = (principal: Principal, workflowId: string) => Promise<string | undefined>;

interface Delegation {
  readonly principal: Principal;
  /** Absent: the automation is new. */
  readonly current?: Pick<Automation, 'data'>;
  readonly next: Pick<Automation, 'data'>;
}

/**
 * Throws `forbidden` (403) where the change sets `data.workflowId` or `data.input`, and the principal may not write that workflow. People
 * run an automation who could not make its calls themselves, so that this choice belongs to the writers of the workflow.
 */
export async function refuseDelegation(whyNot: WhyNotWriter, { principal, current, next }: Delegation): Promise<void> {
  const workflowId = next.data?.workflowId;
  const changed = (['workflowId', 'input'] as const).filter((name) => textOfField(current, name) !== textOfField(next, name));
  if (workflowId === undefined || changed.length === 0) return;
  const reason = await whyNot(principal, workflowId);
  if (reason === undefined) return;
  const fields = changed.map((name) => `data.${name}`).join(' and ');
  throw new GatewayError(
    'forbidden',
    `Setting ${fields} needs the right to write the workflow ${JSON.stringify(workflowId)}, and writing it ${reason}.`,
    { logged: `Setting ${fields} needs the right to write the workflow.` },
  );
}

function textOfField(automation: Pick<Automation, 'data'> | undefined, name: 'input' | 'workflowId'): string | undefined {
  return JSON.stringify(automation?.data?.[name]);
}
