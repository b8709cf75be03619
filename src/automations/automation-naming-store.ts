import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import { type Automation, textOf } from './automation.ts';
import { keyColumns, parseDocument } from './automation-row.ts';
import { sortKey } from './sort-key.ts';

/** Whether an automation names the workflow in `data.workflowId`, exactly. */
export async function namesWorkflow(transaction: Transaction<Tables>, workflowId: string): Promise<boolean> {
  return (await automationsNaming(transaction, 'data.workflowId', workflowId)).length > 0;
}

/** The workflows of the automations that name the form in `data.formId`, exactly. */
export async function workflowsNamingForm(
  transaction: Transaction<Tables>,
  formId: string,
): Promise<readonly (string | undefined)[]> {
  return (await automationsNaming(transaction, 'data.formId', formId)).map(({ data }) => data?.workflowId);
}

async function automationsNaming(
  transaction: Transaction<Tables>,
  field: 'data.formId' | 'data.workflowId',
  id: string,
): Promise<readonly Automation[]> {
  // The column has the folded name, in which other ids may have the same key. They differ in case alone, so there are few.
  const rows = await transaction
    .selectFrom('automation')
    .innerJoin('automation_text', 'automation_text.number', 'automation.number')
    .select('document')
    .where(keyColumns[field], '=', sortKey(id))
    .execute();
  return rows.map(({ document }) => parseDocument(document)).filter((automation) => textOf(automation, field) === id);
}
