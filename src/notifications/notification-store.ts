import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import { isOneOf } from '#database/json-rows.ts';
import { mayActOn } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import { cutEvent } from '#runs/journal/events/cut-event.ts';
import { unpackedEvents } from '#runs/journal/events/packed-events.ts';
import { identityOfEvent } from '#runs/journal/run-row.ts';
import type { AttemptOutcome, Notification, NotificationStatus } from './notification.ts';

/** A notification that this gateway sends now. Another gateway may take it over when the lease has ended. */
export interface ClaimedNotification extends Pick<Notification, 'number' | 'receiver' | 'webhookId' | 'type' | 'attempts'> {
  readonly body: string;
}

/** What becomes of a notification after an attempt. `wait`: milliseconds until the next one. */
export type Settlement =
  | { readonly status: 'delivered' | 'failed'; readonly outcome: AttemptOutcome }
  | { readonly status: 'waiting'; readonly outcome: AttemptOutcome; readonly wait: number };

/** Times are milliseconds since the epoch. */
export interface ReceiverFigures {
  /** `gone`: it answered that it is, and gets nothing. */
  readonly state: 'active' | 'gone';
  readonly waiting: number;
  readonly oldestWaiting: number | undefined;
}

interface NotificationFilter {
  /** Ids of receivers. */
  readonly receivers: readonly string[];
  readonly status?: NotificationStatus | undefined;
}

/**
 * The notifications of all gateways on a store. An event becomes one notification for each receiver, in the transaction that moves the
 * receiver's position on. A gateway claims it for the time of a lease. Every method rejects with `store-unavailable`.
 */
export interface NotificationStore {
  /** Begins at the end of the log for a receiver that is new. One that was gone gets notifications again. */
  welcome(receiver: string): Promise<void>;
  /**
   * Looks at the next events for a receiver, and makes notifications of those that it wants and that came after `since`. Resolves to true
   * where there may be more.
   */
  scan(receiver: string, options: { readonly wants: (type: string) => boolean; readonly since: number }): Promise<boolean>;
  /** The longest due come first. `lease` in milliseconds. */
  claim(receiver: string, options: { readonly limit: number; readonly lease: number }): Promise<readonly ClaimedNotification[]>;
  /** Does nothing where another gateway has taken the notification over. */
  settle(claimed: ClaimedNotification, settlement: Settlement): Promise<void>;
  /** The receiver is gone: drops what waits for it, until `welcome`. */
  disable(receiver: string): Promise<void>;
  /** The newest first. */
  list(
    filter: NotificationFilter,
    page: { readonly limit: number; readonly before?: number | undefined },
  ): Promise<readonly Notification[]>;
  /** Of those that the store knows. */
  figures(receivers: readonly string[]): Promise<ReadonlyMap<string, ReceiverFigures>>;
  /** Deletes some that were made before; answers how many. */
  forget(options: { readonly before: number; readonly limit: number }): Promise<number>;
}

interface Context {
  readonly database: Database;
  /** The server's time on PostgreSQL, so that gateways agree. */
  readonly now: RawBuilder<number>;
  readonly clock: Clock;
}

/** Events that one transaction looks at. */
const page = 200;

export function createNotificationStore({
  database,
  clock,
}: {
  readonly database: Database;
  readonly clock: Clock;
}): NotificationStore {
  const serverTime = sql<number>`(select floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`;
  const context: Context = {
    database,
    clock,
    get now() {
      return database.dialect === 'postgres' ? serverTime : sql<number>`cast(${clock.now()} as bigint)`;
    },
  };
  const { records } = database;
  return {
    welcome: (receiver) => welcome(context, receiver),
    scan: (receiver, options) => scan(context, receiver, options),
    claim: (receiver, options) => claim(context, receiver, options),
    settle: (claimed, settlement) => settle(context, claimed, settlement),
    disable: (receiver) =>
      records.transaction().execute(async (transaction) => {
        const { now } = context;
        await sql`update notification_receiver set disabled_at = ${now} where id = ${receiver}`.execute(transaction);
        await sql`update notification set status = 'dropped', due_at = null, ended_at = ${now}
          where receiver = ${receiver} and due_at is not null and ${mayActOn('notification')}`.execute(transaction);
      }),
    list: (filter, options) => listNotifications(context, filter, options),
    figures: (receivers) => figures(context, receivers),
    async forget({ before, limit }) {
      const { numAffectedRows = 0n } = await sql`delete from notification where number in
        (select number from notification where created_at < ${before} and ${mayActOn('notification')} order by created_at limit ${limit})`.execute(
        records,
      );
      return Number(numAffectedRows);
    },
  };
}

async function welcome({ database: { records } }: Context, receiver: string): Promise<void> {
  await sql`insert into notification_receiver (id, position, disabled_at)
    select ${receiver}, coalesce((select max(number) from event_log), 0), null
    where true on conflict (id) do update set disabled_at = null`.execute(records);
}

/** A reading comes first, because a look at a log without news must not take the write lock of SQLite. */
async function scan(
  context: Context,
  receiver: string,
  options: { readonly wants: (type: string) => boolean; readonly since: number },
): Promise<boolean> {
  const { read, records } = context.database;
  const { rows } = await sql<{ readonly news: number }>`select 1 as news from notification_receiver
    where id = ${receiver} and position < (select coalesce(max(number), 0) from event_log)`.execute(read);
  if (rows.length === 0) return false;
  return await records.transaction().execute((transaction) => scanPage(context, transaction, { receiver, ...options }));
}

/** The run that has the batch tells of it. */
const isInBatch = sql`exists (select 1 from run where run.id = event_log.run and run.in_batch is not null)`;

interface ScannedEvent {
  readonly number: number;
  readonly at: number;
  readonly identity: string | null;
  readonly run: string | null;
  /** Null: it is no event of the gateway, or of a run in a batch. */
  readonly event: string | null;
}

async function scanPage(
  { database: { dialect }, now }: Context,
  transaction: Transaction<Tables>,
  { receiver, wants, since }: { readonly receiver: string; readonly wants: (type: string) => boolean; readonly since: number },
): Promise<boolean> {
  const lock = dialect === 'postgres' ? sql`for update` : sql``;
  const { rows: receivers } = await sql<{ readonly position: number; readonly disabled_at: number | null }>`
    select position, disabled_at from notification_receiver where id = ${receiver} ${lock}`.execute(transaction);
  const [known] = receivers;
  if (known === undefined) return false;
  const { rows } = await sql<ScannedEvent>`select number, at, identity, run,
    case when kind = 'lifecycle' and not ${isInBatch} then event end as event
    from event_log where number > ${known.position} order by number limit ${page}`.execute(transaction);
  const last = rows.at(-1);
  if (last === undefined) return false;
  const wanted = known.disabled_at === null ? rows.flatMap(eventsIn).filter(({ at }) => at >= since) : [];
  for (const { number, webhookId, type, body } of wanted.filter((event) => wants(event.type))) {
    await sql`insert into notification (receiver, event, webhook_id, type, body, status, attempts, created_at, due_at)
      values (${receiver}, ${number}, ${webhookId}, ${type}, ${body}, 'waiting', 0, ${now}, ${now})
      on conflict (receiver, event) do nothing`.execute(transaction);
  }
  await sql`update notification_receiver set position = ${last.number} where id = ${receiver}`.execute(transaction);
  return rows.length === page;
}

/** The events of the gateway in a row. */
function eventsIn({ event: text, ...row }: ScannedEvent) {
  if (text === null) return [];
  return unpackedEvents({ ...row, kind: 'lifecycle', event: text }).map(({ number, at, id, event }) => {
    const { type, source } = JSON.parse(event) as { readonly type: string; readonly source: string };
    const identity = id === undefined ? row.identity : identityOfEvent('lifecycle', source, id);
    return { number, at, webhookId: `msg_${identity ?? number}`, type, body: cutEvent({ event, run: row.run ?? undefined }) };
  });
}

async function claim(
  { database: { dialect, read, records }, now }: Context,
  receiver: string,
  { limit, lease }: { readonly limit: number; readonly lease: number },
): Promise<readonly ClaimedNotification[]> {
  if (limit === 0) return [];
  const isDue = sql<boolean>`receiver = ${receiver} and due_at <= ${now} and ${mayActOn('notification')}`;
  const { rows: due } = await sql`select 1 from notification where ${isDue} limit 1`.execute(read);
  if (due.length === 0) return [];
  const locking = dialect === 'postgres' ? sql`for update skip locked` : sql``;
  const { rows } = await sql<ClaimedRow>`
    with due as (select number from notification where ${isDue} order by due_at, number limit ${limit} ${locking})
    update notification set due_at = ${now} + ${lease}, attempts = attempts + 1
    from due where notification.number = due.number
    returning notification.number as number, receiver, webhook_id, type, body, attempts`.execute(records);
  return rows
    .map(({ webhook_id: webhookId, ...row }) => ({ ...row, webhookId }))
    .toSorted((one, other) => one.number - other.number);
}

type ClaimedRow = Pick<Tables['notification'], 'number' | 'receiver' | 'webhook_id' | 'type' | 'body' | 'attempts'>;

/** The number of the attempt is the fence: a gateway that stood still and comes back changes nothing. */
async function settle(
  { database: { records }, now }: Context,
  { number, attempts }: ClaimedNotification,
  settlement: Settlement,
): Promise<void> {
  const { status, outcome } = settlement;
  const isOver = status !== 'waiting';
  const due = isOver ? sql`null` : sql`${now} + cast(${Math.round(settlement.wait)} as bigint)`;
  const { status: lastStatus = null, code: lastCode = null } = outcome;
  const last = sql`, last_status = ${lastStatus}, last_code = ${lastCode}`;
  await sql`update notification set status = ${status}, due_at = ${due}, ended_at = ${isOver ? now : sql`null`} ${last}
    where number = ${number} and attempts = ${attempts} and status = 'waiting'`.execute(records);
}

async function listNotifications(
  { database: { dialect, read } }: Context,
  { receivers, status }: NotificationFilter,
  { limit, before }: { readonly limit: number; readonly before?: number | undefined },
): Promise<readonly Notification[]> {
  let query = read
    .selectFrom('notification')
    .select([...listedColumns])
    .where(isOneOf(dialect, 'receiver', receivers));
  if (status !== undefined) query = query.where('status', '=', status);
  if (before !== undefined) query = query.where('number', '<', before);
  const rows = await query.orderBy('number', 'desc').limit(limit).execute();
  return rows.map(notificationOf);
}

const listedColumns = [
  'number',
  'receiver',
  'event',
  'webhook_id',
  'type',
  'status',
  'attempts',
  'created_at',
  'due_at',
  'ended_at',
  'last_status',
  'last_code',
] as const satisfies readonly (keyof Tables['notification'])[];

function notificationOf(row: Pick<Tables['notification'], (typeof listedColumns)[number]>): Notification {
  const { number, receiver, event, type, status, attempts } = row;
  return {
    number,
    receiver,
    event,
    type,
    status,
    attempts,
    webhookId: row.webhook_id,
    createdAt: row.created_at,
    dueAt: row.due_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
    lastStatus: row.last_status ?? undefined,
    lastCode: row.last_code ?? undefined,
  };
}

async function figures(
  { database: { dialect, read } }: Context,
  receivers: readonly string[],
): Promise<ReadonlyMap<string, ReceiverFigures>> {
  const { rows } = await sql<{
    readonly id: string;
    readonly disabled_at: number | null;
    readonly waiting: number;
    readonly oldest: number | null;
  }>`
    select id, disabled_at, count(notification.number) as waiting, min(notification.created_at) as oldest
    from notification_receiver left join notification on notification.receiver = id and notification.due_at is not null
    where ${isOneOf(dialect, 'id', receivers)} group by id, disabled_at`.execute(read);
  return new Map(
    rows.map(({ id, disabled_at: disabledAt, waiting, oldest }) => [
      id,
      { state: disabledAt === null ? 'active' : 'gone', waiting, oldestWaiting: oldest ?? undefined },
    ]),
  );
}
