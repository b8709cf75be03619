import { sql, type Transaction } from 'kysely';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { type AuditKey, isSigned, signed } from './audit-key.ts';
import { storedAuditKey } from './audit-store.ts';
import { underWaySince } from './under-way.ts';

/** Entries that begin a call, or hold several, which one transaction deletes: on SQLite it holds up those that write. */
const deletedAtOnce = 500;

/**
 * Bytes that a store needs for an entry beside its `facts`: columns and two indexes, as measured on SQLite and PostgreSQL (210 to
 * 280), and free room in their pages.
 */
export const entryOverhead = 280;

interface Limits {
  /** Entries before it are deleted; milliseconds since the epoch. */
  readonly tooOld: number;
  /** Nothing from here on may be deleted: its call may be under way. Not before `tooOld`. */
  readonly settled: number;
  readonly maxSize: number;
}

/**
 * Deletes what is older than `retention` (milliseconds), and the oldest of what remains as long as the log is larger than `maxSize`
 * (bytes), from the beginning of each chain on. What remains can still be verified: the place where a chain was cut is signed. A call
 * that may still be under way stays, however short the retention and small the size.
 */
export function createAuditPruning(options: {
  readonly database: Database;
  readonly clock: Clock;
  readonly retention: number;
  /** Absent: as large as it gets. */
  readonly maxSize?: number | undefined;
  readonly longestCall: () => number;
}): (isStopping?: () => boolean) => Promise<void> {
  const { database, clock, retention, maxSize = Infinity } = options;
  return async (isStopping = () => false) => {
    const settled = underWaySince(options);
    const limits = { settled, tooOld: Math.min(settled, clock.now() - retention), maxSize };
    while (!isStopping() && (await database.exclusively('audit_chain', (transaction) => pruneSome(transaction, limits)))) {
      // one transaction at a time
    }
  };
}

/** True where there may be more. */
async function pruneSome(transaction: Transaction<Tables>, limits: Limits): Promise<boolean> {
  const key = await storedAuditKey(transaction);
  if (key === undefined) return false;
  const excess = limits.maxSize === Infinity ? 0 : (await auditSize(transaction)) - limits.maxSize;
  const cuts = cutsAmong(await oldestEntries(transaction, excess > 0 ? limits.settled : limits.tooOld), limits.tooOld, excess);
  for (const entry of cuts) await cut(transaction, { key, entry, tooOld: limits.tooOld });
  return cuts.length > 0;
}

/** Bytes of all entries, near enough: from the ends of the chains, whatever their length. Not a join, which SQLite begins at the entries. */
async function auditSize(transaction: Transaction<Tables>): Promise<number> {
  const { rows } = await sql<{ size: number }>`
    select cast(coalesce(sum(size), 0) as bigint) as size from (
      select (select e.total - c.pruned_total + ${sql.lit(entryOverhead)} * (e.seq - c.pruned_seq) from audit_entry e
        where e.chain = c.chain order by e.seq desc limit 1) as size from audit_chain c
    ) as chains`.execute(transaction);
  return rows[0]?.size ?? 0;
}

interface OldEntry {
  readonly chain: string;
  readonly seq: number;
  readonly at: number;
  readonly total: number;
  readonly mac: string;
  readonly pruned_seq: number;
  readonly pruned_total: number;
}

/** The oldest calls and events that were put on record before `before`. */
async function oldestEntries(transaction: Transaction<Tables>, before: number): Promise<readonly OldEntry[]> {
  const { rows } = await sql<OldEntry>`
    select oldest.*, coalesce(c.pruned_seq, 0) as pruned_seq, coalesce(c.pruned_total, 0) as pruned_total from (
      select chain, seq, at, total, mac from audit_entry where at < ${before} and kind not in ('step', 'outcome')
      order by at, chain, seq limit ${deletedAtOnce}
    ) as oldest left join audit_chain c on c.chain = oldest.chain order by oldest.at, oldest.chain, oldest.seq`.execute(
    transaction,
  );
  return rows;
}

/** The last entry of each chain that is to go: all that is too old, and then as much as `excess` bytes need. */
function cutsAmong(oldest: readonly OldEntry[], tooOld: number, excess: number): readonly OldEntry[] {
  const cuts = new Map<string, OldEntry>();
  let freed = 0;
  for (const entry of oldest) {
    if (entry.at >= tooOld && freed >= excess) break;
    const { seq, total } = cuts.get(entry.chain) ?? { seq: entry.pruned_seq, total: entry.pruned_total };
    freed += entry.total - total + entryOverhead * (entry.seq - seq);
    cuts.set(entry.chain, entry);
  }
  return [...cuts.values()];
}

async function cut(
  transaction: Transaction<Tables>,
  { key, entry, tooOld }: { readonly key: AuditKey; readonly entry: OldEntry; readonly tooOld: number },
): Promise<void> {
  const { chain, seq, total, mac, at } = entry;
  // Everything up to the entry was before this: what a checkpoint of that time names may be gone.
  const pruned = { pruned_seq: seq, pruned_total: total, pruned_mac: mac, pruned_before: Math.max(tooOld, at + 1) };
  await transaction
    .updateTable('audit_chain')
    .set({ ...pruned, anchor: signed(key, anchored({ chain, ...pruned })) })
    .where('chain', '=', chain)
    .execute();
  await transaction.deleteFrom('audit_entry').where('chain', '=', chain).where('seq', '<=', seq).execute();
}

type Anchor = Pick<Tables['audit_chain'], 'chain' | 'pruned_before' | 'pruned_mac' | 'pruned_seq' | 'pruned_total'>;

function anchored(anchor: Anchor): readonly (string | number)[] {
  return ['anchor', anchor.chain, anchor.pruned_seq, anchor.pruned_total, anchor.pruned_mac, anchor.pruned_before];
}

/** True where a gateway cut the chain there. */
export function isAnchorGenuine(key: AuditKey, row: Tables['audit_chain']): boolean {
  return isSigned(key, anchored(row), row.anchor);
}
