import { createHash } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { Automation } from '../automation.ts';
import type { HistoryEntry, NewHistoryEntry } from '../automation-history.ts';
import { documentText } from './automation-row.ts';
import { exactKey } from './sort-key.ts';

/** Without what a schedule writes by itself. */
export function historyText(automation: Automation): string {
  return documentText({ ...automation, lastSkip: undefined });
}

/** In the transaction of the change. At most some thousand entries. */
export async function addHistory(transaction: Transaction<Tables>, entries: readonly NewHistoryEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map(({ automation, change, by, at }) => {
    const document = historyText(automation);
    return {
      automation_id: exactKey(automation._id),
      at,
      change,
      principal: by?.username ?? '',
      principal_digest: by === undefined ? '' : digestOf(by.id),
      document,
      bytes: Buffer.byteLength(document),
    };
  });
  await transaction.insertInto('automation_history').values(rows).execute();
}

function digestOf(principal: string): string {
  return createHash('sha256').update(principal).digest('hex');
}

/** Of one page. The newest entry is in it, of any size. */
const pageLimits = { entries: 50, bytes: 1_048_576 } as const;

interface HistoryPage {
  readonly list: readonly HistoryEntry[];
  /** The number at the end of the page, where there are older entries. */
  readonly next: number | undefined;
}

/** The newest first, those before the number `before`. `sinceDeletion`: without what was before the last deletion of an automation with the `_id`. */
export function readHistory(
  { read }: Pick<Database, 'read'>,
  id: string,
  { before, sinceDeletion }: { readonly before: number | undefined; readonly sinceDeletion: boolean },
): Promise<HistoryPage> {
  return read.transaction().execute(async (moment) => {
    const after = sinceDeletion ? await lastDeletion(moment, id) : 0;
    let query = ofAutomation(moment, id).select(['number', 'bytes']).where('number', '>', after);
    if (before !== undefined) query = query.where('number', '<', before);
    const found = await query
      .orderBy('number', 'desc')
      .limit(pageLimits.entries + 1)
      .execute();
    const shown = found.slice(0, countFitting(found));
    const last = shown.at(-1);
    if (last === undefined) return { list: [], next: undefined };
    const list = await ofAutomation(moment, id)
      .select(['at', 'change', 'principal', 'document'])
      .where('number', '>=', last.number)
      .where('number', '<=', shown[0]?.number ?? 0)
      .orderBy('number', 'desc')
      .execute();
    return { list, next: shown.length < found.length ? last.number : undefined };
  });
}

function ofAutomation(read: Kysely<Tables>, id: string) {
  return read.selectFrom('automation_history').where('automation_id', '=', exactKey(id));
}

async function lastDeletion(read: Kysely<Tables>, id: string): Promise<number> {
  const row = await ofAutomation(read, id)
    .select('number')
    .where('change', '=', 'deleted')
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.number ?? 0;
}

function countFitting(entries: readonly { readonly bytes: number }[]): number {
  let bytes = 0;
  const tooMuch = entries.findIndex((entry, index) => {
    bytes += entry.bytes;
    return index > 0 && (index === pageLimits.entries || bytes > pageLimits.bytes);
  });
  return tooMuch < 0 ? entries.length : tooMuch;
}

/** Automations of one round. */
const forgottenAtOnce = 100;

/** Deletes what there was of automations up to deletions before this time (milliseconds since the epoch). Answers how many deletions; 0: none is left. */
export async function forgetHistory({ query }: Pick<Database, 'query'>, before: number): Promise<number> {
  const deletions = await query
    .selectFrom('automation_history')
    .select(['automation_id', 'number'])
    .where('change', '=', 'deleted')
    .where('at', '<', before)
    .orderBy('at')
    .limit(forgottenAtOnce)
    .execute();
  for (const { automation_id: id, number } of deletions)
    await sql`delete from automation_history where automation_id = ${id} and number <= ${number}`.execute(query);
  return deletions.length;
}
