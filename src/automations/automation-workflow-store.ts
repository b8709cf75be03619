import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import type { Automation } from './automation.ts';
import { keyColumns } from './automation-row.ts';
import { sortKey } from './sort-key.ts';

/** Whether an automation names the workflow in `data.workflowId`, exactly. */
export async function namesWorkflow(transaction: Transaction<Tables>, workflowId: string): Promise<boolean> {
  // The column has the folded name, in which other ids may have the same key. They differ in case alone, so there are few.
  const rows = await transaction
    .selectFrom('automation')
    .select('document')
    .where(keyColumns['data.workflowId'], '=', sortKey(workflowId))
    .execute();
  return rows.some(({ document }) => (JSON.parse(document) as Automation).data?.workflowId === workflowId);
}
