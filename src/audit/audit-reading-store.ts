import { type RawBuilder, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { type ChainedEntry, storable } from './audit-entry.ts';
import type { AuditQuery, RecordPosition } from './audit-query.ts';

/** A part of the log that was looked at. */
interface LookedAt {
  /** Those that are asked for, and all of several records, of which any may be. */
  readonly entries: readonly ChainedEntry[];
  /** The last that was looked at, asked for or not; absent where there is no more behind it. */
  readonly last: RecordPosition | undefined;
}

/** What reading the log needs of the store. */
interface AuditReadingStore {
  /** Looks at so many entries that can be shown, an intent for its call; `outcome` is not looked at. */
  entries(query: AuditQuery, page: { readonly order: 'newest' | 'oldest'; readonly lookAt: number }): Promise<LookedAt>;
  /** Steps and outcomes of calls, in the order they were written, by `CHAIN/CALL`. */
  partsOf(intents: readonly ChainedEntry[]): Promise<ReadonlyMap<string, readonly ChainedEntry[]>>;
  /** The chains whose gateways are there. */
  aliveAt(now: number): Promise<ReadonlySet<string>>;
}

export function createAuditReadingStore({ read }: Database): AuditReadingStore {
  return {
    async entries(query, { order, lookAt }) {
      const conditions = [sql`kind not in ('step', 'outcome')`];
      if (query.from !== undefined) conditions.push(sql`at >= ${query.from}`);
      if (query.to !== undefined) conditions.push(sql`at <= ${query.to}`);
      if (query.after !== undefined) {
        const { at, chain, seq, index } = query.after;
        const beyond = order === 'newest' ? sql`<` : sql`>`;
        // Of an entry that was shown in part the rest is still to come.
        conditions.push(sql`(at, chain, seq) ${beyond}${index === undefined ? sql`` : sql`=`} (${at}, ${chain}, ${seq})`);
      }
      const direction = order === 'newest' ? sql`desc` : sql`asc`;
      // Names are no conditions of the search: one that is rare would have it go through the whole log.
      const { rows } = await sql<Omit<ChainedEntry, 'facts'> & { readonly facts: string | null }>`
        select chain, seq, kind, call, at, total, principal, adapter, mac, case when kind = 'records' or ${named(query)} then facts end as facts
        from audit_entry where ${sql.join(conditions, sql` and `)}
        order by at ${direction}, chain ${direction}, seq ${direction} limit ${lookAt}`.execute(read);
      return {
        entries: rows.flatMap(({ facts, ...entry }) => (facts === null ? [] : { ...entry, facts })),
        last: rows.length < lookAt ? undefined : rows.at(-1),
      };
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

function named({ principal, adapter }: AuditQuery): RawBuilder<unknown> {
  const conditions = [sql`1 = 1`];
  if (principal !== undefined) conditions.push(sql`principal = ${storable(principal)}`);
  if (adapter !== undefined) conditions.push(sql`adapter = ${storable(adapter)}`);
  return sql`(${sql.join(conditions, sql` and `)})`;
}
