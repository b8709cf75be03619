import { type Kysely, type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import type { DueAutomation, DueAutomations } from './automation-due.ts';
import { automationOf, ownerFactColumns, ownerFactsOf } from './automation-row.ts';
import { hex, notesOf } from './run-fact-store.ts';
import { factsInEffect, keyOfTime, timeOf, withFactsOf } from './run-facts.ts';
import { exactKey } from './sort-key.ts';

export function createDueAutomations({ read }: Pick<Database, 'read'>): DueAutomations {
  return {
    async find(source, { now, limit }) {
      const { rows } = await (source === 'noted' ? noted(limit + 1) : owned(limit + 1)).execute(read);
      const times = rows.map(({ id, at_key: at }) => ({ id, at: Date.parse(timeOf(at)) }));
      const keys = times.slice(0, limit).flatMap(({ id, at }) => (at <= now ? [id] : []));
      const due = await dueAmong(read, keys, now);
      return { due: due.toSorted((one, other) => one.due - other.due), next: times.find(({ at }) => at > now)?.at };
    },
    moveOn,
    async noteStart(transaction, { key, facts }, startedAt) {
      await transaction
        .insertInto('run_fact')
        .values({ automation_id: key, field: 'lastRunAt', revision: facts.lastRunAt.revision, at_key: keyOfTime(startedAt) })
        .onConflict((conflict) =>
          conflict.columns(['automation_id', 'field', 'revision']).doUpdateSet({ at_key: sql<Uint8Array>`excluded.at_key` }),
        )
        .execute();
    },
  };
}

/** Those that are due by the facts in effect, and whose workflow exists. */
async function dueAmong(read: Kysely<Tables>, keys: readonly Uint8Array[], now: number): Promise<readonly DueAutomation[]> {
  if (keys.length === 0) return [];
  // Reads the notes first (run-fact-store.ts).
  const notes = await notesOf(read, keys);
  const rows = await read
    .selectFrom('automation')
    .select(['id', 'document', ...ownerFactColumns])
    .where('id', 'in', keys)
    .execute();
  const found = rows.map(({ id, document, ...row }) => {
    const facts = ownerFactsOf(row);
    const noted = notes.get(hex(id)) ?? [];
    const { key, revision } = facts.nextRunAt;
    const automation = withFactsOf(automationOf(document), factsInEffect(facts, noted));
    return {
      key: id,
      automation,
      workflow: automation.data?.workflowId ?? '',
      due: automation.nextRunAt === undefined ? Infinity : Date.parse(automation.nextRunAt),
      written: key === null ? undefined : timeOf(key),
      facts,
      note: noted.find((each) => each.field === 'nextRunAt' && each.revision === revision)?.key,
    };
  });
  const workflows = await workflowsAmong(
    read,
    found.map(({ workflow }) => workflow),
  );
  return found.filter(({ due, workflow }) => due <= now && workflows.has(workflow));
}

async function workflowsAmong(read: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await read.selectFrom('workflow').select('id').where('id', 'in', ids.map(exactKey)).distinct().execute();
  return new Set(rows.map(({ id }) => Buffer.from(id).toString('utf8')));
}

async function moveOn(
  transaction: Transaction<Tables>,
  { key, facts, note }: DueAutomation,
  next: string | null,
): Promise<boolean> {
  const { revision } = facts.nextRunAt;
  if (note === undefined) {
    const inserted = await transaction
      .insertInto('run_fact')
      .values({ automation_id: key, field: 'nextRunAt', revision, at_key: keyOfTime(next) })
      .onConflict((conflict) => conflict.columns(['automation_id', 'field', 'revision']).doNothing())
      .returning('revision')
      .execute();
    return inserted.length > 0;
  }
  const updated = await transaction
    .updateTable('run_fact')
    .set({ at_key: keyOfTime(next) })
    .where('automation_id', '=', key)
    .where('field', '=', 'nextRunAt')
    .where('revision', '=', revision)
    .where('at_key', '=', note)
    .returning('revision')
    .execute();
  return updated.length > 0;
}

interface TimedRow {
  readonly id: Uint8Array;
  readonly at_key: Uint8Array;
}

/** Ids of workflows are lower-case ASCII, so that an automation that names one has its id as the key. `load` compares exactly. */
const hasWorkflow = sql<SqlBool>`exists (select 1 from workflow where workflow.id = automation.workflow_id_key)`;

function noted(limit: number): RawBuilder<TimedRow> {
  return sql<TimedRow>`select automation.id, run_fact.at_key from run_fact
    join automation on automation.id = run_fact.automation_id and automation.next_run_revision = run_fact.revision
    where run_fact.field = 'nextRunAt' and run_fact.at_key is not null and ${hasWorkflow}
    order by run_fact.at_key, run_fact.automation_id limit ${limit}`;
}

function owned(limit: number): RawBuilder<TimedRow> {
  return sql<TimedRow>`select automation.id, automation.next_run_at_key as at_key from automation
    where automation.next_run_at_key is not null and ${hasWorkflow} and not exists (
      select 1 from run_fact where run_fact.automation_id = automation.id and run_fact.field = 'nextRunAt'
      and run_fact.revision = automation.next_run_revision)
    order by automation.next_run_at_key limit ${limit}`;
}
