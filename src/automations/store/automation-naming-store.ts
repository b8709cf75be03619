import type { Kysely, Transaction } from 'kysely';
import type { Tables } from '#database/tables/tables.ts';
import { type Automation, textOf } from '../automation.ts';
import { keyColumns, parseDocument } from './automation-row.ts';
import { exactKey, sortKey } from './sort-key.ts';

/** True if an automation names the workflow in `data.workflowId`, exactly. */
export async function namesWorkflow(transaction: Transaction<Tables>, workflowId: string): Promise<boolean> {
  return (await automationsNaming(transaction, 'data.workflowId', workflowId)).length > 0;
}

/** Of the automations that name the form in `data.formId`, exactly. */
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
  // Other ids may fold to the same key. They differ in case alone, so there are few.
  const rows = await transaction
    .selectFrom('automation')
    .innerJoin('automation_text', 'automation_text.number', 'automation.number')
    .select('document')
    .where(keyColumns[field], '=', sortKey(id))
    .execute();
  return rows.map(({ document }) => parseDocument(document)).filter((automation) => textOf(automation, field) === id);
}

/** Those that exist. */
export async function workflowsAmong(read: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await read.selectFrom('workflow').select('id').where('id', 'in', ids.map(exactKey)).distinct().execute();
  return new Set(rows.map(({ id }) => Buffer.from(id).toString('utf8')));
}
