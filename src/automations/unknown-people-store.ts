import type { Database } from '#database/database.ts';
import { noPeople } from './automation-people.ts';

const settledAtOnce = 500;

/**
 * Names some automations that an earlier gateway stored, which kept no ids of people, and remembers that they were named. Empty: there are no
 * further ones.
 */
export async function settleUnknownPeople({ query, read }: Pick<Database, 'query' | 'read'>): Promise<readonly string[]> {
  // A store that can only be read is started, too.
  if ((await read.selectFrom('automation_text').select('number').where('people', 'is', null).limit(1).execute()).length === 0)
    return [];
  return query.transaction().execute(async (transaction) => {
    const rows = await transaction
      .selectFrom('automation_text')
      .innerJoin('automation', 'automation.number', 'automation_text.number')
      .select(['automation.number', 'name'])
      .where('people', 'is', null)
      .limit(settledAtOnce)
      .execute();
    const numbers = rows.map(({ number }) => number);
    if (numbers.length > 0)
      await transaction
        .updateTable('automation_text')
        .set({ people: JSON.stringify(noPeople) })
        .where('number', 'in', numbers)
        .execute();
    return rows.map(({ name }) => Buffer.from(name).toString('utf8'));
  });
}
