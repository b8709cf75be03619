import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Tables } from '#database/tables/tables.ts';
import type { ChangingWork, RunsChange } from './run-changes.ts';
import type { NewEvent, NewRun } from './run-records.ts';
import type { RunStoreContext } from './run-store-context.ts';

/** What a gateway noticed: entries of a chain of the audit log up to the number `to`. `at`: milliseconds since the epoch. */
export interface StoreLoss {
  readonly chain: string;
  readonly to: number;
  readonly records: number;
  readonly at: number;
}

/** Losses that people have not released. */
export interface OpenLoss {
  /** When the last one was noticed. */
  readonly at: number;
  readonly records: number;
  /** The highest number of an event when the first gateway noticed that. */
  readonly lastEvent: number;
}

/** Milliseconds within which all gateways notice one loss. */
const noticedWithin = 60_000;

/** More than all claims that the store can have lost: a holder with a fence of before writes nothing more. */
const fenceJump = 1_000_000_000;

/**
 * Marks the store as lost, once for each loss: takes every run from its holder, and holds those under way. `also`: what else ends with it, in
 * the same transaction. False: the loss was marked before.
 */
export function markLost(
  { database: { dialect }, now }: RunStoreContext,
  loss: StoreLoss,
  { holds, also }: { readonly holds: boolean; readonly also: (transaction: Transaction<Tables>) => Promise<RunsChange> },
): ChangingWork<boolean> {
  return async (transaction) => {
    await lockClaims(dialect, transaction);
    const { chain, to: to_seq, records, at } = loss;
    const last = await transaction
      .selectFrom('event_log')
      .select(({ fn }) => fn.max('number').as('number'))
      .executeTakeFirst();
    const marked = await transaction
      .insertInto('store_loss')
      .values({ chain, to_seq, records, at, last_event: last?.number ?? 0, holds: holds ? 1 : 0, released_at: null })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    if (marked.numInsertedOrUpdatedRows !== 1n) return { result: false };
    await sql`update run_claim set fence = fence + ${fenceJump}, owner = null, deaths = 0, listens = 0, due_at = ${now()},
      loss = ${holds ? 1 : 2}`.execute(transaction);
    // What was done after a decision may be lost with it, so people decide again.
    await transaction
      .deleteFrom('run_command')
      .where('consumed', '=', 0)
      .where('command', 'like', '{"kind":"decide",%')
      .execute();
    const { events = [], ...change } = await also(transaction);
    return { result: true, ...change, all: true, events: [...events, lostEvent(loss)] };
  };
}

/** Lets the runs go on that are held. Answers how many. */
export function releaseHeld({ database: { dialect }, now }: RunStoreContext, at: number): ChangingWork<number> {
  return async (transaction) => {
    await lockClaims(dialect, transaction);
    await transaction.updateTable('store_loss').set({ holds: 0, released_at: at }).where('released_at', 'is', null).execute();
    const { numAffectedRows = 0n } =
      await sql`update run_claim set fence = fence + 1, owner = null, deaths = 0, due_at = ${now()},
      loss = 2 where loss = 1`.execute(transaction);
    return { result: Number(numAffectedRows), all: true };
  };
}

/** Rows are locked in the order in which every transaction locks them. */
async function lockClaims(dialect: RunStoreContext['database']['dialect'], transaction: Transaction<Tables>): Promise<void> {
  if (dialect === 'postgres') await sql`select run from run_claim order by run for update`.execute(transaction);
}

export async function openLoss({ database: { read } }: RunStoreContext): Promise<OpenLoss | undefined> {
  const rows = await read
    .selectFrom('store_loss')
    .select(['at', 'records', 'last_event'])
    .where('released_at', 'is', null)
    .orderBy('at', 'desc')
    .execute();
  const [newest] = rows;
  if (newest === undefined) return undefined;
  const together = rows.filter(({ at }) => at > newest.at - noticedWithin);
  return {
    at: newest.at,
    records: rows.reduce((sum, { records }) => sum + records, 0),
    lastEvent: Math.min(...together.map(({ last_event: last }) => last)),
  };
}

/**
 * The column `loss` of a new run. One that a run under way begins may have been begun before, and so may one that was due before the loss was
 * noticed.
 */
export function lossOf({ parent, startedBy }: NewRun): RawBuilder<number> {
  if (parent !== undefined) return sql<number>`coalesce((select max(loss) from run_claim where run = ${parent.run}), 0)`;
  if (!('due' in startedBy)) return sql<number>`0`;
  return sql<number>`coalesce((select max(case when holds = 1 then 1 else 2 end) from store_loss where at >= ${startedBy.due}), 0)`;
}

function lostEvent({ chain, to, records, at }: StoreLoss): NewEvent {
  const event = {
    specversion: '1.0',
    id: `${chain}/${to}`,
    source: '/store',
    type: 'orchestration-gateway.store.lost.v1',
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    data: { at: new Date(at).toISOString(), records },
  };
  return { at, kind: 'lifecycle', event: JSON.stringify(event) };
}
