import { type Kysely, type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { mayActOn } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { DueAutomation, DueAutomations } from '../timing/schedule.ts';
import { documentRows } from './automation-list-store.ts';
import { workflowsAmong } from './automation-naming-store.ts';
import { automationOf, keyOfTime, skipText, storedPeople, timeOf } from './automation-row.ts';
import type { StoredAutomation } from './automation-store.ts';

export function createDueAutomations({ query, read }: Pick<Database, 'query' | 'read'>): DueAutomations {
  return {
    async find({ now, limit }) {
      const rows = await read
        .selectFrom('automation')
        .select(['number', 'next_run_at_key'])
        .where('next_run_at_key', 'is not', null)
        .where('held', '=', 0)
        .where(mayActOn('automation'))
        .where(hasWorkflow)
        .orderBy('next_run_at_key')
        .limit(limit + 1)
        .execute();
      const times = rows.map(({ number, next_run_at_key: key }) => ({ number, at: key === null ? 0 : Date.parse(timeOf(key)) }));
      const numbers = times.slice(0, limit).flatMap(({ number, at }) => (at <= now ? [number] : []));
      const due = numbers.length === 0 ? [] : await dueAmong(read, numbers, now);
      return { due: due.toSorted((one, other) => one.due - other.due), next: times.find(({ at }) => at > now)?.at };
    },
    moveOn: (all) =>
      query.transaction().execute(async (transaction) => {
        let moved = 0;
        for (const { found, next, startedAt, skip } of all) {
          const { key, automation } = found;
          if (startedAt !== undefined)
            await transaction
              .updateTable('automation')
              .set({ last_run_at_key: keyOfTime(startedAt) })
              .where('id', '=', key)
              .execute();
          const { numUpdatedRows } = await transaction
            .updateTable('automation')
            .set({ next_run_at_key: keyOfTime(next), ...(skip !== undefined && { last_skip: skipText(skip) }) })
            .where('id', '=', key)
            .where('next_run_at_key', '=', keyOfTime(automation.nextRunAt))
            .where(mayActOn('automation'))
            .executeTakeFirstOrThrow();
          moved += Number(numUpdatedRows);
        }
        return moved;
      }),
  };
}

/** Ids of workflows are lower-case ASCII, so they equal their keys. `dueAmong` compares exactly. */
const hasWorkflow = sql<SqlBool>`exists (select 1 from workflow where workflow.id = automation.workflow_id_key)`;

async function dueAmong(read: Kysely<Tables>, numbers: readonly number[], now: number): Promise<readonly DueAutomation[]> {
  const rows = await documentRows(read)
    .select(['id', 'next_run_given_key'])
    .where('automation.number', 'in', numbers)
    .where('held', '=', 0)
    .where(mayActOn('automation'))
    .execute();
  const found = rows.map((row) => {
    const automation = automationOf(row);
    const people = storedPeople(row.people);
    return {
      key: row.id,
      automation,
      people,
      due: automation.nextRunAt === undefined ? Infinity : Date.parse(automation.nextRunAt),
      written: row.next_run_given_key === null ? undefined : timeOf(row.next_run_given_key),
    };
  });
  const workflows = await workflowsAmong(
    read,
    found.map(({ automation }) => workflowOf(automation)),
  );
  return found.filter(({ automation, due }) => due <= now && workflows.has(workflowOf(automation)));
}

function workflowOf({ data }: DueAutomation['automation']): string {
  return data?.workflowId ?? '';
}

const readAtOnce = 200;

/** In portions. An automation that changes meanwhile may be missing, or come twice. */
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
