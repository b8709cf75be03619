import type { Database } from '#database/database.ts';
import { documentRows } from './automation-list-store.ts';
import { automationOf, storedPeople } from './automation-row.ts';
import type { StoredAutomation } from './automation-store.ts';

const readAtOnce = 200;

/** Every automation with a workflow that its people let run, some at a time. One that changes meanwhile may be missing, or come twice. */
export async function* automationsToRun({
  read,
}: Pick<Database, 'read'>): AsyncGenerator<readonly Pick<StoredAutomation, 'automation' | 'people'>[], void, undefined> {
  for (let after = 0; ; ) {
    const rows = await documentRows(read)
      .select('automation.number')
      .where('automation.number', '>', after)
      .where('workflow_id_key', 'is not', null)
      .where('held', '=', 0)
      .orderBy('automation.number')
      .limit(readAtOnce)
      .execute();
    yield rows.map((row) => ({ automation: automationOf(row), people: storedPeople(row.people) }));
    const last = rows.at(-1);
    if (last === undefined || rows.length < readAtOnce) return;
    after = last.number;
  }
}
