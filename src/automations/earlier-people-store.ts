import type { NamedPrincipal } from '#access/people.ts';
import type { Database } from '#database/database.ts';
import type { Automation } from './automation.ts';
import { documentRows } from './automation-list-store.ts';
import { isHeld, peopleOfWriters } from './automation-people.ts';
import { insertPeople } from './automation-person-store.ts';
import { automationOf } from './automation-row.ts';
import { workflowsAmong } from './workflow-lookup-store.ts';

const settledAtOnce = 500;

/** Whether an earlier gateway stored an automation, which kept no ids of people. */
export async function hasUnsettledAutomations({ read }: Pick<Database, 'read'>): Promise<boolean> {
  const [first] = await read.selectFrom('automation_text').select('number').where('people', 'is', null).limit(1).execute();
  return first !== undefined;
}

/** Keeps the people of some of these automations, and answers what is not known of them. Empty: there are no further ones. */
export async function settleAutomations(
  database: Pick<Database, 'exclusively'>,
  writersOf: (automation: Automation) => readonly NamedPrincipal[],
): Promise<readonly { readonly name: string; readonly unknown: 'authors' | 'scheduler' | undefined }[]> {
  return database.exclusively('automation', async (transaction) => {
    const unsettled = documentRows(transaction).select('automation.number').where('people', 'is', null);
    const rows = await unsettled.limit(settledAtOnce).execute();
    const automations = rows.map(({ number, ...row }) => ({ number, automation: automationOf(row) }));
    const workflows = await workflowsAmong(
      transaction,
      automations.flatMap(({ automation: { data } }) => data?.workflowId ?? []),
    );
    const settled = automations.map(({ number, automation }) => {
      const { workflowId } = automation.data ?? {};
      const isUnconfirmed = workflowId !== undefined && !workflows.has(workflowId);
      const writers = writersOf(automation);
      const people = { ...peopleOfWriters(automation, writers), ...(writers.length > 0 && isUnconfirmed && { isUnconfirmed }) };
      const lacksScheduler = automation.nextRunAt !== undefined && people.scheduler === undefined;
      const unknown = writers.length === 0 ? ('authors' as const) : lacksScheduler ? ('scheduler' as const) : undefined;
      return { number, name: automation.name, people, isHeld: isHeld(people, automation), unknown };
    });
    for (const { number, people, isHeld: held } of settled) {
      await transaction
        .updateTable('automation_text')
        .set({ people: JSON.stringify(people) })
        .where('number', '=', number)
        .execute();
      await transaction
        .updateTable('automation')
        .set({ held: Number(held) })
        .where('number', '=', number)
        .execute();
    }
    await insertPeople(transaction, settled);
    return settled;
  });
}
