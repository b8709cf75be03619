import type { Transaction } from 'kysely';
import type { NamedPrincipal } from '#access/people.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { Automation } from '../automation.ts';
import { type AutomationPeople, isHeld, peopleOfWriters } from '../automation-people.ts';
import { documentRows } from './automation-list-store.ts';
import { workflowsAmong } from './automation-naming-store.ts';
import { automationOf } from './automation-row.ts';
import { exactKey } from './sort-key.ts';

/** SQLite takes 32,766 parameters in a statement. */
const insertedAtOnce = 5_000;

/** For the filters of a listing. */
export async function insertPeople(
  transaction: Transaction<Tables>,
  automations: readonly { readonly number: number; readonly people: AutomationPeople }[],
): Promise<void> {
  const rows = automations.flatMap(({ number, people }) =>
    Object.entries(byKind(people)).flatMap(([kind, list]) =>
      [...new Set(list.flatMap(({ id, username }) => [id, username]))].map((name) => ({
        number,
        kind: kind as keyof ReturnType<typeof byKind>,
        name: exactKey(name),
      })),
    ),
  );
  for (let start = 0; start < rows.length; start += insertedAtOnce)
    await transaction
      .insertInto('automation_person')
      .values(rows.slice(start, start + insertedAtOnce))
      .execute();
}

function byKind({ fields, owner, scheduler }: AutomationPeople) {
  const one = (person: NamedPrincipal | undefined): readonly NamedPrincipal[] => (person === undefined ? [] : [person]);
  return { author: Object.values(fields).flatMap(({ authors }) => authors), owner: one(owner), scheduler: one(scheduler) };
}

const settledAtOnce = 500;

/** True if an earlier gateway, which kept no ids of people, stored an automation. */
export async function hasUnsettledAutomations({ read }: Pick<Database, 'read'>): Promise<boolean> {
  const [first] = await read.selectFrom('automation_text').select('number').where('people', 'is', null).limit(1).execute();
  return first !== undefined;
}

/** Settles some of these automations, and answers what is not known of them. Empty: all are settled. */
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
