import { sql } from 'kysely';
import type { Principal } from '#access/principal.ts';
import type { AuditFacts } from '#audit/audit-entry.ts';
import type { Database } from '#database/database.ts';
import { everyVersion, mayActOn } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { ToolArguments } from '../tool-arguments.ts';
import type { ToolResult } from '../tool-result.ts';

/** A call of an agent that waits for people. Times are milliseconds since the epoch. */
export interface WaitingCall {
  readonly id: string;
  /** As it was when it asked. */
  readonly principal: Pick<Principal, 'id' | 'username'>;
  readonly token: string | undefined;
  readonly tool: string;
  /** Undefined once it has ended, or its caller has taken it back. */
  readonly given: ToolArguments | undefined;
  readonly client: NonNullable<AuditFacts['client']>;
  readonly approval: string;
  readonly status: Tables['agent_task']['status'];
  /** It works, and the call may have left. */
  readonly hasBegun: boolean;
  readonly result: ToolResult | undefined;
  readonly createdAt: number;
  readonly changedAt: number;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

type NewWaitingCall = Omit<WaitingCall, 'changedAt' | 'hasBegun' | 'lowest' | 'result' | 'status'>;

type Store = Pick<Database, 'read' | 'records'>;

/** Any number of gateways work on one store. Every method rejects with `store-unavailable`. */
export type WaitingCallStore = ReturnType<typeof createWaitingCallStore>;

export function createWaitingCallStore(store: Store) {
  return { ...createReading(store), ...createTaking(store), ...createEnding(store) };
}

function createReading({ read, records }: Store) {
  return {
    /** The same call of the same principal waits for the same approval: then nothing changes. */
    async create(made: NewWaitingCall): Promise<void> {
      const insert = records.insertInto('agent_task').values(rowOf(made));
      await insert.onConflict((conflict) => conflict.column('id').doNothing()).execute();
    },
    async find(id: string): Promise<WaitingCall | undefined> {
      const row = await read.selectFrom('agent_task').selectAll().where('id', '=', id).executeTakeFirst();
      return row && callOf(row);
    },
    /** All that wait and need no newer version, in the order of their ids. */
    async waiting(after: string, limit: number): Promise<readonly WaitingCaller[]> {
      const waiting = read
        .selectFrom('agent_task')
        .select(['id', 'principal', 'token', 'approval'])
        .where('status', '=', 'working')
        .where('result', 'is', null)
        .where(mayActOn('agent_task'));
      const rows = await waiting.where('id', '>', after).orderBy('id').limit(limit).execute();
      return rows.map(waiterOf);
    },
    async forget(before: number): Promise<void> {
      const ended = records.deleteFrom('agent_task').where('status', '<>', 'working').where('changed_at', '<', before);
      await ended.where(mayActOn('agent_task')).execute();
    },
  };
}

function createTaking({ read, records }: Store) {
  const takeOne = async (id: string, { now, until }: Record<'now' | 'until', number>): Promise<WaitingCall | undefined> => {
    const free = records
      .updateTable('agent_task')
      .set({ leased_until: until })
      .where('id', '=', id)
      .where('status', '=', 'working');
    const row = await free.where('leased_until', '<', now).where(mayActOn('agent_task')).returningAll().executeTakeFirst();
    return row && callOf(row);
  };
  return {
    /** Tasks whose approval waits no more, and that no gateway works on: the oldest first. */
    async ready(now: number, limit: number): Promise<readonly Pick<WaitingCall, 'id' | 'principal'>[]> {
      const { rows } = await sql<Pick<Tables['agent_task'], 'id' | 'principal'>>`select id, principal from agent_task
        where status = 'working' and leased_until < ${now} and ${mayActOn('agent_task')} and not exists (select 1 from approval
          where approval.id = agent_task.approval and approval.status = 'waiting' and approval.expires_at > ${now})
        order by created_at, id limit ${limit}`.execute(read);
      return rows.map(({ id, principal }) => ({ id, principal: JSON.parse(principal) as WaitingCall['principal'] }));
    },
    /** Takes those of these tasks that are still free, until this time. No other gateway gets them before. */
    async take(ids: readonly string[], times: Record<'now' | 'until', number>): Promise<readonly WaitingCall[]> {
      const taken = await Promise.all(ids.map((id) => takeOne(id, times)));
      return taken.filter((call) => call !== undefined);
    },
    /** Keeps, or gives back, tasks that this gateway took. Answers those that their caller has taken back. */
    async lease(ids: readonly string[], until: number): Promise<readonly string[]> {
      if (ids.length === 0) return [];
      const kept = records.updateTable('agent_task').set({ leased_until: until }).where('id', 'in', ids);
      const rows = await kept
        .where('status', '=', 'working')
        .where(mayActOn('agent_task'))
        .returning(['id', 'arguments'])
        .execute();
      return rows.filter((row) => row.arguments === null).map(({ id }) => id);
    },
  };
}

/** In place of the result of a task that works: its call may have left. */
const begun = '{"begun":true}';

function createEnding({ records }: Store) {
  const working = (id: string, set: Partial<Tables['agent_task']>) =>
    records.updateTable('agent_task').set(set).where('id', '=', id).where('status', '=', 'working').where(mayActOn('agent_task'));
  /** Changes a task that works. False: it has ended. */
  const change = async (id: string, set: Partial<Tables['agent_task']>): Promise<boolean> =>
    (await working(id, set).returning('id').execute()).length > 0;
  return {
    /** From now on the call may leave. False: its caller has taken it back, or it has ended. Asking again changes nothing. */
    async begin(id: string): Promise<boolean> {
      const open = working(id, { result: begun }).where('arguments', 'is not', null);
      return (await open.returning('id').execute()).length > 0;
    },
    /** Nothing has left, and the call is tried again at this time. */
    putOff: (id: string, until: number) => change(id, { result: null, leased_until: until }),
    /** It waits for another approval. */
    waitFor: (id: string, approval: string, now: number) =>
      change(id, { approval, result: null, changed_at: now, leased_until: 0 }),
    complete: (id: string, result: ToolResult, now: number) =>
      change(id, { status: 'completed', result: JSON.stringify(result), arguments: null, changed_at: now }),
    /** The call has not left, and does not leave any more. */
    cancelled: (id: string, now: number) => change(id, { status: 'cancelled', result: null, arguments: null, changed_at: now }),
    /**
     * Ends a task whose call has not begun. False: it has begun or ended; the gateway that makes it learns that its caller takes it
     * back.
     */
    async takeBack(id: string, now: number): Promise<boolean> {
      const open = working(id, { status: 'cancelled', arguments: null, changed_at: now }).where('result', 'is', null);
      if ((await open.returning('id').execute()).length > 0) return true;
      await change(id, { arguments: null });
      return false;
    },
  };
}

/** Who waits for which approval. */
export type WaitingCaller = Pick<WaitingCall, 'approval' | 'id' | 'principal' | 'token'>;

function waiterOf({
  id,
  principal,
  token,
  approval,
}: Pick<Tables['agent_task'], 'approval' | 'id' | 'principal' | 'token'>): WaitingCaller {
  return { id, principal: JSON.parse(principal) as WaitingCall['principal'], token: token ?? undefined, approval };
}

function rowOf({ id, principal, token, tool, given, client, approval, createdAt }: NewWaitingCall): Tables['agent_task'] {
  return {
    id,
    principal: JSON.stringify({ id: principal.id, username: principal.username }),
    token: token ?? null,
    tool,
    arguments: JSON.stringify(given),
    client: JSON.stringify(client),
    approval,
    status: 'working',
    result: null,
    created_at: createdAt,
    changed_at: createdAt,
    leased_until: 0,
    lowest: everyVersion,
  };
}

function callOf(row: Tables['agent_task']): WaitingCall {
  return {
    ...waiterOf(row),
    tool: row.tool,
    given: row.arguments === null ? undefined : (JSON.parse(row.arguments) as ToolArguments),
    client: JSON.parse(row.client) as WaitingCall['client'],
    status: row.status,
    hasBegun: row.status === 'working' && row.result !== null,
    result: row.status === 'working' || row.result === null ? undefined : (JSON.parse(row.result) as ToolResult),
    createdAt: row.created_at,
    changedAt: row.changed_at,
    lowest: row.lowest,
  };
}
