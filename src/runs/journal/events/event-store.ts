import { type RawBuilder, sql, type Transaction } from 'kysely';
import { jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { EventLogFilter } from '../run-queries.ts';
import type { EventRecord, NewEvent } from '../run-records.ts';
import { digestOf, eventsOf, identityOf } from '../run-row.ts';
import { atOnce, type RunStoreContext } from '../run-store-context.ts';
import { visibleEvent } from '../run-visibility-store.ts';
import { cutEvent, surelyShort } from './cut-event.ts';

/** An event with the run that it is about or that emitted it, and the automation of the run. */
export interface LoggedEvent {
  readonly run: string | null;
  readonly automation: string | null;
  readonly event: NewEvent;
}

/** The part of a lock of PostgreSQL that says what it is for; the other part is the schema. */
type LockName = 'orchestration-gateway messages' | 'orchestration-gateway event numbers';

/**
 * A message wakes the runs that listen; a release that listens looks for messages. Of two such transactions one comes first: a message
 * excludes all others, releases exclude messages alone. It is the first lock of a transaction, before any row.
 */
export async function lockMessages(
  { database: { dialect } }: RunStoreContext,
  transaction: Transaction<Tables>,
  mode: 'message' | 'release',
): Promise<void> {
  if (dialect === 'sqlite') return;
  const name: LockName = 'orchestration-gateway messages';
  const lock = sql.raw(mode === 'message' ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared');
  await sql`select ${lock}(hashtext(${name}), hashtext(current_schema()))`.execute(transaction);
}

/**
 * The last step of a transaction that writes runs. On PostgreSQL it takes the lock of the event numbers until the commit, so that
 * numbers become visible in their order. Before it, `lockMessages` was called where a message is among the events.
 */
export async function appendEvents(
  { database: { dialect }, now }: RunStoreContext,
  transaction: Transaction<Tables>,
  events: readonly LoggedEvent[],
): Promise<void> {
  if (events.length === 0) return;
  if (events.some(({ event }) => event.kind === 'message')) {
    await sql`update run_claim set due_at = ${atOnce(now())} where listens = 1 and owner is null`.execute(transaction);
  }
  if (dialect === 'postgres') {
    const name: LockName = 'orchestration-gateway event numbers';
    await sql`select pg_advisory_xact_lock(hashtext(${name}), hashtext(current_schema()))`.execute(transaction);
  }
  let last = 0;
  const rows = events.map(({ run, automation, event }) => [
    (last += event.packed?.count ?? 1),
    event.at,
    run,
    automation,
    event.kind,
    identityOf(event),
    event.event,
    event.senders === undefined ? null : JSON.stringify(event.senders),
    run === null && event.senders?.[0] !== undefined ? digestOf(event.senders[0].id) : null,
  ]);
  const given = {
    place: 'bigint',
    at: 'bigint',
    run: 'text',
    automation: 'text',
    kind: 'text',
    identity: 'text',
    event: 'text',
    senders: 'text',
    sender_digest: 'text',
  } as const;
  // A row has the number of its last event.
  const overriding = dialect === 'postgres' ? sql`overriding system value` : sql``;
  await sql`insert into event_log (number, at, run, automation, kind, identity, event, senders, sender_digest) ${overriding}
    select numbers.before + place, at, run, automation, kind, identity, event, senders, sender_digest
    from ${numbersBefore[dialect](last)}, ${jsonRows(dialect, given, rows)}
    where true on conflict (identity) do nothing`.execute(transaction);
}

/** Takes so many numbers. On PostgreSQL the caller has the lock of event numbers. */
const numbersBefore = {
  sqlite: (_count: number) =>
    sql`(select coalesce(max(seq), 0) as before from sqlite_sequence where name = 'event_log') as numbers`,
  // A subquery with OFFSET is computed once.
  postgres: (count: number) =>
    sql`(select setval(sequence, nextval(sequence) + ${count}::bigint - 1) - ${count}::bigint as before
      from (select pg_get_serial_sequence('event_log', 'number')::regclass as sequence) as of_numbers offset 0) as numbers`,
};

/** Events that are not of a run: messages of callers, and what the gateway itself tells. One that is in the log already stays as it is. */
export async function publishEvents(context: RunStoreContext, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  const messages = events.some(({ kind }) => kind === 'message');
  await context.changes.commit(async (transaction) => {
    if (messages) await lockListeners(context, transaction);
    await appendEvents(
      context,
      transaction,
      events.map((event) => ({ run: null, automation: null, event })),
    );
    return { result: undefined, runs: [], events: true, messages };
  });
}

async function lockListeners(context: RunStoreContext, transaction: Transaction<Tables>): Promise<void> {
  await lockMessages(context, transaction, 'message');
  if (context.database.dialect === 'postgres') {
    // Rows are locked in the order in which every transaction locks them.
    await sql`select run from run_claim where listens = 1 order by run for update`.execute(transaction);
  }
}

const columns = ['number', 'at', 'run', 'automation', 'kind', 'identity', 'event', 'senders'] as const;

/** Which messages: those after a number, and of a time (milliseconds since the epoch) or later. */
export interface MessageStart {
  readonly after?: number;
  readonly since?: number;
}

/** Message events in the order of their numbers. */
export async function readMessages(
  { database: { read } }: RunStoreContext,
  { after, since, limit }: MessageStart & { readonly limit: number },
): Promise<readonly EventRecord[]> {
  let wanted = read.selectFrom('event_log').select(columns).where('kind', '=', 'message');
  if (after !== undefined) wanted = wanted.where('number', '>', after);
  if (since !== undefined) wanted = wanted.where('at', '>=', since);
  const rows = await wanted.orderBy('number').limit(limit).execute();
  return rows.flatMap(eventsOf);
}

export interface EventsOptions {
  readonly after: number;
  readonly run?: string | undefined;
  readonly filter?: EventLogFilter | undefined;
  readonly limit: number;
}

/** As short events are read, in the place of a longer one. */
const shortEvent = sql<string | null>`case when octet_length(event) > ${surelyShort} then null else event end`;

/** Events of any kind in the order of their numbers, as streams have them: long data is cut. */
export async function readEvents(
  context: RunStoreContext,
  { after, run, filter = {}, limit }: EventsOptions,
): Promise<readonly EventRecord[]> {
  const { read } = context.database;
  const shown = [...columns.filter((column) => column !== 'event'), shortEvent.as('event')] as const;
  let query = read.selectFrom('event_log').select(shown).where('number', '>', after);
  if (run !== undefined) query = query.where('run', '=', run);
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind);
  if (filter.automation !== undefined) query = query.where('automation', '=', filter.automation);
  if (filter.visibleTo !== undefined) query = query.where(visibleEvent(context, filter.visibleTo));
  const rows = await query.orderBy('number').limit(limit).execute();
  const records: EventRecord[] = [];
  for (const row of rows) {
    if (records.length >= limit) break;
    // A long text is read alone, since a page of them would not fit into memory.
    const event = row.event ?? (await longText(context, row.number));
    const found = eventsOf({ ...row, event }).filter((record) => record.number > after);
    records.push(...found.map((record) => shortened(context, record)));
  }
  return records.slice(0, limit);
}

async function longText({ database: { read } }: RunStoreContext, number: number): Promise<string> {
  const row = await read.selectFrom('event_log').select('event').where('number', '=', number).executeTakeFirst();
  return row?.event ?? '{}';
}

function shortened({ limitReached }: RunStoreContext, record: EventRecord): EventRecord {
  const event = cutEvent(record);
  if (event === record.event) return record;
  limitReached?.('event-data');
  return { ...record, event };
}

/** The highest number; 0 where the log is empty. */
export async function lastEventNumber({ database: { read } }: RunStoreContext): Promise<number> {
  const row = await read.selectFrom('event_log').select('number').orderBy('number', 'desc').limit(1).executeTakeFirst();
  return row?.number ?? 0;
}

/** The highest number of a message, as an expression; 0 where there is none. */
export const lastMessage: RawBuilder<number> = sql<number>`(select coalesce(max(number), 0) from event_log where kind = 'message')`;
