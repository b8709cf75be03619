import type { Transaction } from 'kysely';
import type { Tables } from '#database/tables.ts';
import { textOf } from './automation.ts';
import { keyColumns, parseDocument } from './automation-row.ts';
import { sortKey } from './sort-key.ts';

/** Whether an automation names the workflow in `data.workflowId`, exactly. */
export function namesWorkflow(transaction: Transaction<Tables>, workflowId: string): Promise<boolean> {
  return isNamed(transaction, 'data.workflowId', workflowId);
}

/** Whether an automation names the form in `data.formId`, exactly. */
export function namesForm(transaction: Transaction<Tables>, formId: string): Promise<boolean> {
  return isNamed(transaction, 'data.formId', formId);
}

async function isNamed(transaction: Transaction<Tables>, field: 'data.formId' | 'data.workflowId', id: string): Promise<boolean> {
  // The column has the folded name, in which other ids may have the same key. They differ in case alone, so there are few.
  const rows = await transaction
    .selectFrom('automation')
    .innerJoin('automation_text', 'automation_text.number', 'automation.number')
    .select('document')
    .where(keyColumns[field], '=', sortKey(id))
    .execute();
  return rows.some(({ document }) => textOf(parseDocument(document), field) === id);
}
