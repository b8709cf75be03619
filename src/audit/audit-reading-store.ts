import { type RawBuilder, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { type ChainedEntry, storable } from './audit-entry.ts';
import type { AuditQuery, RecordPosition } from './audit-query.ts';

/** A part of the log that was read. */
interface ExaminedEntries {
  /** The entries that match the query, and all entries of several records, because any of those may match. */
  readonly entries: readonly ChainedEntry[];
  /** The last entry that was read, whether it matches or not. Undefined at the end of the log. */
  readonly last: RecordPosition | undefined;
}

/** The queries that reading the log needs. */
interface AuditReadingStore {
  /** Reads up to `examine` entries, for a call only its intent. Does not filter by `outcome`. */
  entries(query: AuditQuery, page: { readonly order: 'newest' | 'oldest'; readonly examine: number }): Promise<ExaminedEntries>;
  /** The steps and outcomes of the calls, in the order of writing. The key is `CHAIN/CALL`. */
  partsOf(intents: readonly ChainedEntry[]): Promise<ReadonlyMap<string, readonly ChainedEntry[]>>;
  /** The chains of the gateways that run now. */
  aliveAt(now: number): Promise<ReadonlySet<string>>;
}

export function createAuditReadingStore({ read }: Database): AuditReadingStore {
  return {
    async entries(query, { order, examine }) {
      // The index has the first condition.
      const conditions = [sql`kind not in ('step', 'outcome')`, sql`kind <> 'proof'`];
      if (query.from !== undefined) conditions.push(sql`at >= ${query.from}`);
      if (query.to !== undefined) conditions.push(sql`at <= ${query.to}`);
      if (query.after !== undefined) {
        const { at, chain, seq, index } = query.after;
        const beyond = order === 'newest' ? sql`<` : sql`>`;
        // The rest of an entry that was shown in part comes first.
        conditions.push(sql`(at, chain, seq) ${beyond}${index === undefined ? sql`` : sql`=`} (${at}, ${chain}, ${seq})`);
      }
      const direction = order === 'newest' ? sql`desc` : sql`asc`;
      // The names are not part of the condition: with a rare name, one query would scan the whole log.
      const { rows } = await sql<Omit<ChainedEntry, 'facts'> & { readonly facts: string | null }>`
        select chain, seq, kind, call, at, total, principal, adapter, approval, mac, case when kind = 'records' or ${named(query)} then facts end as facts
        from audit_entry where ${sql.join(conditions, sql` and `)}
        order by at ${direction}, chain ${direction}, seq ${direction} limit ${examine}`.execute(read);
      return {
        entries: rows.flatMap(({ facts, ...entry }) => (facts === null ? [] : { ...entry, facts })),
        last: rows.length < examine ? undefined : rows.at(-1),
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
