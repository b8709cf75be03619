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
  /** Undefined once it has ended. */
  readonly given: ToolArguments | undefined;
  readonly client: NonNullable<AuditFacts['client']>;
  readonly approval: string;
  readonly status: Tables['agent_task']['status'];
  readonly result: ToolResult | undefined;
  readonly createdAt: number;
  readonly changedAt: number;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

type NewWaitingCall = Omit<WaitingCall, 'status' | 'result' | 'changedAt' | 'lowest'>;

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
    /** All that work and need no newer version, in the order of their ids. */
    async working(after: string, limit: number): Promise<readonly WaitingCaller[]> {
      const working = read
        .selectFrom('agent_task')
        .select(['id', 'principal', 'token', 'approval'])
        .where('status', '=', 'working')
        .where(mayActOn('agent_task'));
      const rows = await working.where('id', '>', after).orderBy('id').limit(limit).execute();
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
    /** Takes tasks whose approval waits no more, until this time. No other gateway gets them before. */
    async take({ limit, ...times }: Record<'now' | 'until' | 'limit', number>): Promise<readonly WaitingCall[]> {
      const { now } = times;
      const { rows } = await sql<{ readonly id: string }>`select id from agent_task
        where status = 'working' and leased_until < ${now} and ${mayActOn('agent_task')} and not exists (select 1 from approval
          where approval.id = agent_task.approval and approval.status = 'waiting' and approval.expires_at > ${now})
        limit ${limit}`.execute(read);
      const taken = await Promise.all(rows.map(({ id }) => takeOne(id, times)));
      return taken.filter((call) => call !== undefined);
    },
    /** Keeps, or gives back, tasks that this gateway took. */
    async lease(ids: readonly string[], until: number): Promise<void> {
      if (ids.length === 0) return;
      const kept = records.updateTable('agent_task').set({ leased_until: until }).where('id', 'in', ids);
      await kept.where('status', '=', 'working').where(mayActOn('agent_task')).execute();
    },
  };
}

function createEnding({ records }: Store) {
  /** Changes a task that works. False: it has ended. */
  const change = async (id: string, set: Partial<Tables['agent_task']>, freeAt = Number.MAX_SAFE_INTEGER): Promise<boolean> => {
    const working = records.updateTable('agent_task').set(set).where('id', '=', id).where('status', '=', 'working');
    const changed = await working.where('leased_until', '<', freeAt).where(mayActOn('agent_task')).returning('id').execute();
    return changed.length > 0;
  };
  return {
    /** It waits for another approval. */
    waitFor: (id: string, approval: string, now: number) => change(id, { approval, changed_at: now, leased_until: 0 }),
    complete: (id: string, result: ToolResult, now: number) =>
      change(id, { status: 'completed', result: JSON.stringify(result), arguments: null, changed_at: now }),
    /** False: it has ended, or a gateway works on it, and the call may have left. */
    cancel: (id: string, now: number) => change(id, { status: 'cancelled', arguments: null, changed_at: now }, now),
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
    result: row.result === null ? undefined : (JSON.parse(row.result) as ToolResult),
    createdAt: row.created_at,
    changedAt: row.changed_at,
    lowest: row.lowest,
  };
}
