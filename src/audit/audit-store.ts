import { sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import { insertRows } from '#database/parameter-rows.ts';
import type { Tables } from '#database/tables.ts';
import type { ChainedEntry, ChainLink } from './audit-entry.ts';
import { type AuditKey, newAuditKey, readAuditKey } from './audit-key.ts';
import { type ChainHead, emptyChain } from './hash-chain.ts';
import { applyKeyEffects } from './idempotency-store.ts';
import type { CallKeyEffect } from './key-effect.ts';

/** What the writer of one chain needs of the store. Everything rejects with `store-unavailable` where the store is away. */
export interface AuditStore {
  /**
   * Makes the chain with the entry that `first` makes, unless it is there already, and answers where it stands: fit to be asked
   * again after a failure that left open whether something was written.
   */
  begin(options: BeginOptions): Promise<{ readonly key: AuditKey; readonly head: ChainHead }>;
  /** All of them are kept, or none. Rejects with KeysTaken where a key that is to be taken is another call's. */
  append(entries: readonly ChainedEntry[], effects: readonly CallKeyEffect[], durability: Durability): Promise<void>;
  /** The gateway of this chain is there; all that was appended before is on the disk then. */
  beat(chain: string, aliveUntil: number): Promise<void>;
  /** `at`: the time of the last entry, by which verification tells whether pruning has taken it. */
  end(chain: string, at: number): Promise<void>;
}

/**
 * What is kept of it outlives the gateway; with `disk` also a machine that loses its power. On PostgreSQL every commit is on the disk, unless
 * its operator has it otherwise.
 */
export type Durability = 'disk' | 'process';

interface BeginOptions {
  readonly chain: string;
  readonly at: number;
  readonly aliveUntil: number;
  readonly first: (key: AuditKey, links: readonly ChainLink[]) => ChainedEntry;
}

export function createAuditStore(database: Database): AuditStore {
  const { query, dialect } = database;
  const write = createDurableWriter(database);
  return {
    begin: (options) =>
      query.transaction().execute(async (transaction) => {
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
        await insert[dialect](transaction, [first]);
        return { key, head: { seq: first.seq, mac: first.mac, at: first.at, total: first.total } };
      }),
    append: (entries, effects, durability) =>
      write(durability, async (connection) => {
        if (effects.length === 0) {
          await insert[dialect](connection, entries);
          return;
        }
        await connection.transaction().execute(async (transaction) => {
          await applyKeyEffects(transaction, effects, dialect);
          await insert[dialect](transaction, entries);
        });
      }),
    beat: (chain, aliveUntil) =>
      write('disk', async (connection) => {
        await connection.updateTable('audit_chain').set({ alive_until: aliveUntil }).where('chain', '=', chain).execute();
      }),
    end: async (chain, at) =>
      void (await query.updateTable('audit_chain').set({ ended_at: at }).where('chain', '=', chain).execute()),
  };
}

/**
 * Runs writing work with the durability it asks for. SQLite flushes its write-ahead log at each commit or not (`synchronous` FULL or
 * NORMAL, sqlite.org/pragma.html); a flush takes those before it along. The writer opens with FULL, and has one connection.
 */
function createDurableWriter({ query, dialect }: Database) {
  let current: Durability = 'disk';
  return (wanted: Durability, work: (connection: Database['query']) => Promise<void>): Promise<void> => {
    if (dialect === 'postgres') return work(query);
    return query.connection().execute(async (connection) => {
      const changed = current !== wanted;
      current = wanted;
      // The worker takes statements in the order they come: nobody waits for this one before the next is on its way.
      const set = sql.raw(`pragma synchronous = ${wanted === 'disk' ? 'full' : 'normal'}`);
      await Promise.all([changed ? set.execute(connection) : undefined, work(connection)]);
    });
  };
}

/** The key of this store, made by whichever gateway needs it first. */
async function auditKey(query: Database['query'] | Transaction<Tables>, now: number): Promise<AuditKey> {
  const made = newAuditKey();
  await query
    .insertInto('audit_key')
    .values({ id: 1, mac_key: made.macKey, private_key: made.privateKey, public_key: made.publicKey, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const key = await storedAuditKey(query);
  if (key === undefined) throw new Error('The audit key was written and is not there.');
  return key;
}

export async function storedAuditKey(query: Database['query'] | Transaction<Tables>): Promise<AuditKey | undefined> {
  const row = await query.selectFrom('audit_key').selectAll().where('id', '=', 1).executeTakeFirst();
  if (row === undefined) return undefined;
  return readAuditKey({ macKey: row.mac_key, privateKey: row.private_key, publicKey: row.public_key });
}

/** Where a chain stands; undefined where there is none. */
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

/** The last entries that no other chain names yet. Not a join: SQLite would go through all entries for it. */
async function openEnds(transaction: Transaction<Tables>): Promise<readonly ChainLink[]> {
  const { rows } = await sql<ChainLink>`
    select chain, seq, (select mac from audit_entry e where e.chain = ends.chain and e.seq = ends.seq) as mac from (
      select chain, linked_seq, (select max(seq) from audit_entry e where e.chain = c.chain) as seq from audit_chain c
    ) as ends where seq > linked_seq order by chain`.execute(transaction);
  return rows.map(({ chain, seq, mac }) => ({ chain, seq, mac }));
}

const columns = 'chain, seq, kind, call, at, total, principal, adapter, facts, mac';

type Inserting = (query: Database['query'], entries: readonly ChainedEntry[]) => Promise<void>;

const insert: Readonly<Record<Database['dialect'], Inserting>> = {
  async sqlite(query, entries) {
    await query.executeQuery(insertRows(`audit_entry (${columns})`, entries.map(asRow)));
  },
  // One parameter and one text, however many entries: nothing is planned anew for another number of them.
  async postgres(query, entries) {
    await sql`insert into audit_entry (${sql.raw(columns)})
      select value ->> 0, (value ->> 1)::bigint, value ->> 2, (value ->> 3)::bigint, (value ->> 4)::bigint, (value ->> 5)::bigint,
        value ->> 6, value ->> 7, value ->> 8, value ->> 9
      from json_array_elements(${JSON.stringify(entries.map(asRow))}::json)`.execute(query);
  },
};

function asRow({ chain, seq, kind, call, at, total, principal, adapter, facts, mac }: ChainedEntry): readonly unknown[] {
  return [chain, seq, kind, call, at, total, principal, adapter, facts, mac];
}
