import { sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import { jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables.ts';
import type { ChainedEntry, ChainLink } from './audit-entry.ts';
import { type AuditKey, newAuditKey, readAuditKey } from './audit-key.ts';
import { type ChainHead, emptyChain } from './hash-chain.ts';
import { applyKeyChanges } from './idempotency-store.ts';
import type { IntentPermit } from './intent-permit.ts';
import { type CallKeyChange, PermitsLost } from './key-change.ts';

/** What the writer of one chain needs from the store. Every method rejects with `store-unavailable` if the store is away. */
export interface AuditStore {
  /**
   * Creates the chain with the entry that `first` makes, unless the chain exists already, and resolves with its head. After a
   * failure that leaves open whether the chain was created, call it again.
   */
  begin(options: BeginOptions): Promise<{ readonly key: AuditKey; readonly head: ChainHead }>;
  /**
   * Writes all entries or none. Rejects with KeysTaken if another call has a key that these entries take, and with PermitsLost if a
   * permit cannot be used.
   */
  append(entries: readonly ChainedEntry[], changes: AppendChanges, durability: Durability): Promise<void>;
  /** Records that the gateway of this chain runs. When it resolves, all earlier entries are on the disk. */
  beat(chain: string, aliveUntil: number): Promise<void>;
  /** `at`: the time of the last entry. From it, verification knows whether pruning may have deleted that entry. */
  end(chain: string, at: number): Promise<void>;
}

/** What else is written with the entries, in one transaction. */
export interface AppendChanges {
  readonly keys: readonly CallKeyChange[];
  readonly permits: readonly { readonly permit: IntentPermit; readonly call: number }[];
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
        await insert(transaction, dialect, [first]);
        return { key, head: { seq: first.seq, mac: first.mac, at: first.at, total: first.total } };
      }),
    append: (entries, { keys, permits }, durability) =>
      write(durability, async (connection) => {
        if (keys.length === 0 && permits.length === 0) {
          await insert(connection, dialect, entries);
          return;
        }
        await connection.transaction().execute(async (transaction) => {
          await applyKeyChanges(transaction, keys, dialect);
          await usePermits(transaction, permits);
          await insert(transaction, dialect, entries);
        });
      }),
    beat: (chain, aliveUntil) =>
      write('disk', async (connection) => {
        await connection.updateTable('audit_chain').set({ alive_until: aliveUntil }).where('chain', '=', chain).execute();
      }),
    end: async (chain, at) =>
      void (await records.updateTable('audit_chain').set({ ended_at: at }).where('chain', '=', chain).execute()),
  };
}

/** Throws PermitsLost; the caller must then roll the transaction back. */
async function usePermits(transaction: Transaction<Tables>, permits: AppendChanges['permits']): Promise<void> {
  const lost = new Set<number>();
  for (const { permit, call } of permits.toSorted((one, other) => (one.permit.key < other.permit.key ? -1 : 1)))
    if (!(await permit.use(transaction))) lost.add(call);
  if (lost.size > 0) throw new PermitsLost(lost);
}

/**
 * Runs writes with the durability that they need. In SQLite, the pragma `synchronous` decides: a commit flushes the write-ahead
 * log (FULL) or does not (NORMAL, sqlite.org/pragma.html). A flush includes all earlier commits. The writer has one
 * connection, whose other users need FULL.
 */
function createDurableWriter({ records, dialect }: Database) {
  return (wanted: Durability, work: (connection: Database['query']) => Promise<void>): Promise<void> => {
    if (dialect === 'postgres') return work(records);
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
  facts: 'text',
  mac: 'text',
} as const;

const columnNames = Object.keys(columns) as (keyof typeof columns)[];

async function insert(query: Database['query'], dialect: Database['dialect'], entries: readonly ChainedEntry[]): Promise<void> {
  const rows = entries.map((entry) => columnNames.map((name) => entry[name]));
  await sql`insert into audit_entry (${sql.join(columnNames.map((name) => sql.ref(name)))})
    select * from ${jsonRows(dialect, columns, rows)}`.execute(query);
}
