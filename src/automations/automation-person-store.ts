import type { Transaction } from 'kysely';
import type { NamedPrincipal } from '#access/people.ts';
import type { Tables } from '#database/tables.ts';
import type { AutomationPeople } from './automation-people.ts';
import { exactKey } from './sort-key.ts';

/** Well below the 32,766 parameters that SQLite takes in a statement. */
const insertedAtOnce = 5_000;

/** The people of automations that were just inserted, for the filters of a listing. */
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
