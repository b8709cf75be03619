import { type RawBuilder, type SqlBool, sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import { jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import type { ChainedEntry, ChainLink, MadeEntry } from './audit-entry.ts';
import { bodiesAdded } from './bodies/kept-body-store.ts';
import { type AuditKey, newAuditKey, readAuditKey } from './chain/audit-key.ts';
import { type ChainHead, emptyChain } from './chain/hash-chain.ts';
import type { CompanionBatch } from './companion.ts';
import { applyKeyChanges } from './idempotency/idempotency-store.ts';
import { type CallKeyChange, PermitsLost } from './idempotency/idempotent-request.ts';
import type { IntentPermit } from './intent-permit.ts';
import { termStatements } from './search/audit-term-store.ts';

/** What the writer of one chain needs from the store. Every method rejects with `store-unavailable` if the store is away. */
export interface AuditStore {
  /**
   * Creates the chain with the entry that `first` makes, unless the chain exists already, and resolves with its head. After a
   * failure that leaves open whether the chain was created, call it again.
   */
  begin(options: BeginOptions): Promise<{ readonly key: AuditKey; readonly head: ChainHead }>;
  /**
   * Writes all entries or none, and in the same transaction what `companion` does. Rejects with KeysTaken if another call has a key that these entries take, and with PermitsLost if a
   * permit cannot be used.
   */
  append(
    entries: readonly MadeEntry[],
    changes: AppendChanges,
    durability: Durability,
    companion?: CompanionBatch['write'],
  ): Promise<void>;
  /**
   * Records that the gateway of this chain runs. When it resolves, all earlier entries are on the disk. Rejects with HeadMissing if the store
   * does not have `head`.
   */
  beat(chain: string, aliveUntil: number, head: ChainPlace | undefined): Promise<void>;
  /** Where the store does not have the entry: the number of the first entry that is missing up to it. Undefined: it has the entry. */
  missingFrom(chain: string, head: ChainPlace): Promise<number | undefined>;
  /** How many entries the chain has of each of the calls. */
  recorded(chain: string, calls: readonly number[]): Promise<ReadonlyMap<number, number>>;
  /** `at`: the time of the last entry. From it, verification knows whether pruning may have deleted that entry. */
  end(chain: string, at: number): Promise<void>;
}

type ChainPlace = Pick<ChainHead, 'seq' | 'mac'>;

/** The store does not have the entry that the chain is to go on from: it lost commits. */
export class HeadMissing extends Error {
  constructor() {
    super('the store does not have the last entry that it acknowledged');
    this.name = 'HeadMissing';
  }
}

/** What else is written with the entries, in one transaction. */
export interface AppendChanges {
  /** The entry that the first one follows. Where the store does not have it, `append` rejects with HeadMissing and writes nothing. */
  readonly after: ChainPlace;
  readonly keys: readonly CallKeyChange[];
  readonly permits: readonly { readonly permit: IntentPermit; readonly call: number; readonly record: string }[];
}

/**
 * `process`: the entries survive the end of the gateway process. `disk`: they also survive a power failure. On PostgreSQL every
 * commit goes to the disk, unless the operator configures it otherwise.
 */
export type Durability = 'disk' | 'process';

interface BeginOptions {
  readonly chain: string;
  readonly at: number;
  readonly aliveUntil: number;
  readonly first: (key: AuditKey, links: readonly ChainLink[]) => ChainedEntry;
}

export function createAuditStore(database: Database): AuditStore {
  const { records, dialect } = database;
  const write = createDurableWriter(database);
  return {
    begin: (options) =>
      records.transaction().execute(async (transaction) => {
        const key = await auditKey(transaction, options.at);
        const there = await headOf(transaction, options.chain);
        if (there !== undefined) return { key, head: there };
        const links = await openEnds(transaction);
        const first = options.first(key, links);
        await transaction
          .insertInto('audit_chain')
          .values({
            chain: options.chain,
            started_at: options.at,
            alive_until: options.aliveUntil,
            ended_at: null,
            linked_seq: 0,
            pruned_seq: 0,
            pruned_total: 0,
            pruned_mac: '',
            pruned_before: 0,
            anchor: '',
          })
          .execute();
        for (const { chain, seq } of links) {
          await transaction
            .updateTable('audit_chain')
            .set({ linked_seq: seq })
            .where('chain', '=', chain)
            .where('linked_seq', '<', seq)
            .execute();
        }
        await insertion(dialect, [first]).execute(transaction);
        return { key, head: { seq: first.seq, mac: first.mac, at: first.at, total: first.total } };
      }),
    append: (entries, { keys, permits, after }, durability, companion) =>
      write(companion === undefined ? durability : 'of runs', async (connection) => {
        if (dialect === 'postgres' && keys.length === 0 && permits.length === 0 && companion === undefined)
          return await insertAfter(connection, dialect, entries, after);
        await connection.transaction().execute(async (transaction) => {
          await applyKeyChanges(transaction, keys, dialect);
          await usePermits(transaction, permits);
          await insertAfter(transaction, dialect, entries, after);
          // Comes last: it holds locks that all gateways wait for.
          await companion?.(transaction);
        });
      }),
    beat: (chain, aliveUntil, head) =>
      write('disk', async (connection) => {
        const alive = connection.updateTable('audit_chain').set(atLeast(aliveUntil)).where('chain', '=', chain);
        if (head === undefined) await alive.execute();
        else if ((await alive.where(isThere(chain, head)).executeTakeFirst()).numUpdatedRows === 0n) throw new HeadMissing();
      }),
    ...lossesOf(database),
    end: async (chain, at) =>
      void (await records.updateTable('audit_chain').set({ ended_at: at }).where('chain', '=', chain).execute()),
  };
}

/** A beat that hung and comes late takes nothing back. */
function atLeast(aliveUntil: number): { readonly alive_until: RawBuilder<number> } {
  return { alive_until: sql<number>`case when alive_until > ${aliveUntil} then alive_until else ${aliveUntil} end` };
}

/** Looks for entries that the store acknowledged. */
function lossesOf({ records, dialect }: Database): Pick<AuditStore, 'missingFrom' | 'recorded'> {
  return {
    async missingFrom(chain, head) {
      const found = await records.selectNoFrom(isThere(chain, head).as('there')).executeTakeFirst();
      if (found?.there) return undefined;
      const { rows } = await sql<{ readonly last: number }>`select cast(coalesce(
        (select max(seq) from audit_entry where chain = ${chain} and seq < ${head.seq}),
        (select pruned_seq from audit_chain where chain = ${chain}), 0) as bigint) as last`.execute(records);
      return (rows[0]?.last ?? 0) + 1;
    },
    async recorded(chain, calls) {
      const { rows } = await sql<{
        readonly call: number;
        readonly entries: number;
      }>`select call, count(*) as entries from audit_entry where chain = ${chain} and kind in ('intent', 'step', 'outcome')
        and call in (select call from ${jsonRows(
          dialect,
          { call: 'bigint' },
          calls.map((call) => [call]),
        )}) group by call`.execute(records);
      return new Map(rows.map(({ call, entries }) => [call, entries]));
    },
  };
}

/** Throws PermitsLost; the caller must then roll the transaction back. */
async function usePermits(transaction: Transaction<Tables>, permits: AppendChanges['permits']): Promise<void> {
  const lost = new Set<number>();
  for (const { permit, call, record } of permits.toSorted((one, other) => (one.permit.key < other.permit.key ? -1 : 1)))
    if (!(await permit.use(transaction, record))) lost.add(call);
  if (lost.size > 0) throw new PermitsLost(lost);
}

/**
 * Runs writes with the durability that they need. In SQLite, the pragma `synchronous` decides: a commit flushes the write-ahead
 * log (FULL) or does not (NORMAL, sqlite.org/pragma.html). A flush includes all earlier commits. The writer has one
 * connection, whose other users need FULL. What is of runs takes turns with other work, and is on the disk.
 */
function createDurableWriter({ records, ofRuns, dialect }: Database) {
  return (wanted: Durability | 'of runs', work: (connection: Database['query']) => Promise<void>): Promise<void> => {
    if (dialect === 'postgres') return work(records);
    if (wanted === 'of runs') return ofRuns.connection().execute(work);
    if (wanted === 'disk') return records.connection().execute(work);
    return records.connection().execute(async (connection) => {
      const set = (mode: 'full' | 'normal'): Promise<unknown> => sql.raw(`pragma synchronous = ${mode}`).execute(connection);
      try {
        // The worker executes statements in the order of arrival, so the work need not wait for the pragma.
        await Promise.all([set('normal'), work(connection)]);
      } finally {
        await set('full');
      }
    });
  };
}

/** The key of this store. The first gateway that needs it makes it. */
async function auditKey(query: Database['query'] | Transaction<Tables>, now: number): Promise<AuditKey> {
  const made = newAuditKey();
  await query
    .insertInto('audit_key')
    .values({ id: 1, mac_key: made.macKey, private_key: made.privateKey, public_key: made.publicKey, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const key = await storedAuditKey(query);
  if (key === undefined) throw new Error('The audit key was written, but the store does not have it.');
  return key;
}

export async function storedAuditKey(query: Database['query'] | Transaction<Tables>): Promise<AuditKey | undefined> {
  const row = await query.selectFrom('audit_key').selectAll().where('id', '=', 1).executeTakeFirst();
  if (row === undefined) return undefined;
  return readAuditKey({ macKey: row.mac_key, privateKey: row.private_key, publicKey: row.public_key });
}

/** The head of a chain; undefined if the chain does not exist. */
async function headOf(transaction: Transaction<Tables>, chain: string): Promise<ChainHead | undefined> {
  const row = await transaction.selectFrom('audit_chain').selectAll().where('chain', '=', chain).executeTakeFirst();
  if (row === undefined) return undefined;
  const last = await transaction
    .selectFrom('audit_entry')
    .select(['seq', 'mac', 'at', 'total'])
    .where('chain', '=', chain)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (last !== undefined) return last;
  if (row.pruned_seq === 0) return emptyChain(chain);
  return { seq: row.pruned_seq, mac: row.pruned_mac, at: row.pruned_before, total: row.pruned_total };
}

/** The last entries that no other chain links to yet. Not a join: for a join, SQLite would scan all entries. */
async function openEnds(transaction: Transaction<Tables>): Promise<readonly ChainLink[]> {
  const { rows } = await sql<ChainLink>`
    select chain, seq, (select mac from audit_entry e where e.chain = ends.chain and e.seq = ends.seq) as mac from (
      select chain, linked_seq, (select max(seq) from audit_entry e where e.chain = c.chain) as seq from audit_chain c
    ) as ends where seq > linked_seq order by chain`.execute(transaction);
  return rows.map(({ chain, seq, mac }) => ({ chain, seq, mac }));
}

const columns = {
  chain: 'text',
  seq: 'bigint',
  kind: 'text',
  call: 'bigint',
  at: 'bigint',
  total: 'bigint',
  principal: 'text',
  adapter: 'text',
  approval: 'text',
  facts: 'text',
  mac: 'text',
} as const;

const columnNames = Object.keys(columns) as (keyof typeof columns)[];

/** True where the chain has this entry, or pruning has deleted it. */
function isThere(chain: string, { seq, mac }: ChainPlace) {
  return sql<SqlBool>`(exists (select 1 from audit_entry e where e.chain = ${chain} and e.seq = ${seq} and e.mac = ${mac})
    or exists (select 1 from audit_chain c where c.chain = ${chain} and c.pruned_seq >= ${seq}))`;
}

/** Throws HeadMissing, and has inserted nothing, where the store does not have `after`. */
async function insertAfter(
  query: Database['query'],
  dialect: Database['dialect'],
  entries: readonly MadeEntry[],
  after: ChainPlace,
): Promise<void> {
  const [first] = entries;
  if (first === undefined) return;
  const condition = isThere(first.chain, after);
  const bodies = entries.filter(({ body }) => body !== undefined);
  const inserted = insertion(dialect, entries, condition);
  const others = [
    ...termStatements(dialect, entries, condition),
    ...(bodies.length > 0 ? [bodiesAdded(dialect, bodies, condition)] : []),
  ];
  if ((await written(query, dialect, inserted, others)) < entries.length) throw new HeadMissing();
}

/**
 * How many rows the first statement wrote. On PostgreSQL all are one statement, which takes one round trip. On SQLite they are sent to its
 * worker at once, and need a transaction around them.
 */
async function written(
  query: Database['query'],
  dialect: Database['dialect'],
  first: RawBuilder<unknown>,
  others: readonly RawBuilder<unknown>[],
): Promise<number> {
  if (dialect === 'sqlite') {
    const [{ numAffectedRows = 0n }] = await Promise.all([first.execute(query), ...others.map((other) => other.execute(query))]);
    return Number(numAffectedRows);
  }
  const named = others.map((other, index) => sql`, ${sql.ref(`other${index}`)} as (${other})`);
  const { rows } = await sql<{ readonly count: number }>`with first as (${first} returning 1)${sql.join(named, sql``)}
    select count(*) as count from first`.execute(query);
  return rows[0]?.count ?? 0;
}

function insertion(
  dialect: Database['dialect'],
  entries: readonly MadeEntry[],
  condition: RawBuilder<SqlBool> = sql`true`,
): RawBuilder<unknown> {
  const rows = entries.map((entry) => columnNames.map((name) => entry[name]));
  return sql`insert into audit_entry (${sql.join(columnNames.map((name) => sql.ref(name)))})
    select * from ${jsonRows(dialect, columns, rows)} where ${condition}`;
}
