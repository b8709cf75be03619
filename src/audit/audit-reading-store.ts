import { sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { type ChainedEntry, storable } from './audit-entry.ts';
import type { AuditQuery } from './audit-query.ts';

/** What reading the log needs of the store. */
interface AuditReadingStore {
  /** Those that are shown, an intent for its call; `outcome` is not looked at. */
  entries(
    query: AuditQuery,
    page: { readonly order: 'newest' | 'oldest'; readonly limit: number },
  ): Promise<readonly ChainedEntry[]>;
  /** Steps and outcomes of calls, in the order they were written, by `CHAIN/CALL`. */
  partsOf(intents: readonly ChainedEntry[]): Promise<ReadonlyMap<string, readonly ChainedEntry[]>>;
  /** The chains whose gateways are there. */
  aliveAt(now: number): Promise<ReadonlySet<string>>;
}

export function createAuditReadingStore({ read }: Database): AuditReadingStore {
  return {
    async entries(query, { order, limit }) {
      const conditions = [sql`kind not in ('step', 'outcome')`];
      if (query.from !== undefined) conditions.push(sql`at >= ${query.from}`);
      if (query.to !== undefined) conditions.push(sql`at <= ${query.to}`);
      if (query.principal !== undefined) conditions.push(sql`principal = ${storable(query.principal)}`);
      if (query.adapter !== undefined) conditions.push(sql`adapter = ${storable(query.adapter)}`);
      if (query.after !== undefined) {
        const { at, chain, seq } = query.after;
        conditions.push(sql`(at, chain, seq) ${order === 'newest' ? sql`<` : sql`>`} (${at}, ${chain}, ${seq})`);
      }
      const direction = order === 'newest' ? sql`desc` : sql`asc`;
      const { rows } = await sql<ChainedEntry>`select * from audit_entry where ${sql.join(conditions, sql` and `)}
        order by at ${direction}, chain ${direction}, seq ${direction} limit ${limit}`.execute(read);
      return rows;
    },
    async partsOf(intents) {
      const parts = new Map<string, ChainedEntry[]>();
      for (const chain of new Set(intents.map((intent) => intent.chain))) {
        const calls = intents.filter((intent) => intent.chain === chain).map(({ call }) => call);
        const { rows } = await sql<ChainedEntry>`select * from audit_entry where chain = ${chain} and call in (${sql.join(calls)})
          and kind in ('step', 'outcome') order by call, seq`.execute(read);
        for (const row of rows) {
          const name = `${chain}/${row.call}`;
          parts.set(name, [...(parts.get(name) ?? []), row]);
        }
      }
      return parts;
    },
    async aliveAt(now) {
      const rows = await read
        .selectFrom('audit_chain')
        .select('chain')
        .where('ended_at', 'is', null)
        .where('alive_until', '>=', now)
        .execute();
      return new Set(rows.map(({ chain }) => chain));
    },
  };
}
