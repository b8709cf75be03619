import { sql, type Transaction } from 'kysely';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import { storedAuditKey } from './audit-store.ts';
import { inProgressSince } from './calls-in-progress.ts';
import { type AuditKey, isSigned, signed } from './chain/audit-key.ts';
import { forgetTerms } from './search/audit-term-store.ts';

/**
 * How many entries that begin a call or hold several records one transaction deletes. On SQLite, writers wait during the
 * transaction.
 */
const deletedAtOnce = 500;

/**
 * Bytes in the store for one entry in addition to its `facts`: the other columns, two indexes, and what finds the entry. They take 290 on
 * SQLite and 500 on PostgreSQL, as measured with a million records.
 */
export const entryOverhead = 400;

interface Limits {
  /** Entries before this time are deleted. Milliseconds since the epoch. */
  readonly tooOld: number;
  /** A call from this time on may be in progress if it has no outcome. Not before `tooOld`. Milliseconds since the epoch. */
  readonly endedBefore: number;
  readonly maxSize: number;
  readonly dialect: Database['dialect'];
}

/** What one transaction did: how many chains it cut, and the bytes that were left. */
export interface PruningRound {
  readonly deleted: number;
  readonly size: number;
  /** Entries that went before `retention` had passed, because the log was larger than `maxSize`. */
  readonly early: number;
}

interface PruningOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly retention: number;
  /** Undefined: no limit. */
  readonly maxSize?: number | undefined;
  /** Bytes within `maxSize` that no pruning frees: idempotency keys and their replies. */
  readonly sizeOfKeys?: () => number;
  readonly maxCallDuration: () => number;
  /** Told how many entries went before `retention` had passed. */
  readonly early?: (entries: number) => void;
}

/**
 * Deletes entries older than `retention` (milliseconds). While the log is then larger than `maxSize` (bytes), deletes the oldest
 * of the others. Each chain is cut at its beginning, and the place of the cut is signed, so that the rest can still be verified.
 * A call that may be in progress is never deleted, even if that exceeds `retention` or `maxSize`.
 */
export function createAuditPruning(options: PruningOptions): (isStopping?: () => boolean) => Promise<void> {
  const round = createPruningRound(options);
  return async (isStopping = () => false) => {
    while (!isStopping() && (await round()).deleted > 0) {
      // Each round is one transaction.
    }
  };
}

/** One transaction of the above, which deletes some hundred entries at most. */
export function createPruningRound(options: PruningOptions): () => Promise<PruningRound> {
  const { database, clock, retention, maxSize = Infinity, sizeOfKeys = () => 0, early = () => {} } = options;
  return async () => {
    const endedBefore = inProgressSince(options);
    const limits = { endedBefore, tooOld: Math.min(endedBefore, clock.now() - retention), maxSize, dialect: database.dialect };
    const prune = (transaction: Transaction<Tables>): Promise<PruningRound> => pruneSome(transaction, limits, sizeOfKeys());
    const round = await database.exclusively('audit_chain', prune, 'records');
    if (round.early > 0) early(round.early);
    return round;
  };
}

async function pruneSome(transaction: Transaction<Tables>, limits: Limits, keys: number): Promise<PruningRound> {
  const key = await storedAuditKey(transaction);
  if (key === undefined) return { deleted: 0, size: 0, early: 0 };
  const size = limits.maxSize === Infinity ? 0 : (await auditSize(transaction)) + keys;
  const excess = size - limits.maxSize;
  const { cuts, freed } = cutsAmong(await oldestEntries(transaction, limits, excess > 0), limits.tooOld, excess);
  for (const entry of cuts) await cut(transaction, { key, entry, tooOld: limits.tooOld, dialect: limits.dialect });
  const early = cuts.filter(({ at }) => at >= limits.tooOld).reduce((sum, { seq, pruned_seq: before }) => sum + seq - before, 0);
  return { deleted: cuts.length, size: size - freed, early };
}

/**
 * The approximate size of all entries in bytes, computed from the last entry of each chain. Not a join: SQLite would start it
 * with a scan of the entries.
 */
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
  /** 1: a change of the network that may be in progress. */
  readonly in_progress: number;
}

/** The oldest calls and events: of all, or of those that are too old. */
async function oldestEntries(
  transaction: Transaction<Tables>,
  { endedBefore, tooOld }: Limits,
  ofAll: boolean,
): Promise<readonly OldEntry[]> {
  const old = ofAll ? sql`` : sql`at < ${tooOld} and`;
  const { rows } = await sql<OldEntry>`
    select oldest.*, coalesce(c.pruned_seq, 0) as pruned_seq, coalesce(c.pruned_total, 0) as pruned_total,
      case when oldest.kind <> 'intent' or oldest.at < ${endedBefore} or exists (
        select 1 from audit_entry o where o.chain = oldest.chain and o.call = oldest.call and o.kind in ('step', 'outcome')
          and o.kind = 'outcome'
      ) then 0 else 1 end as in_progress
    from (
      select chain, seq, kind, call, at, total, mac from audit_entry where ${old} kind not in ('step', 'outcome')
      order by at, chain, seq limit ${deletedAtOnce}
    ) as oldest left join audit_chain c on c.chain = oldest.chain order by oldest.at, oldest.chain, oldest.seq`.execute(
    transaction,
  );
  return rows;
}

/** For each chain, the last entry to delete: all entries that are too old, then as many as `excess` bytes need. */
function cutsAmong(
  oldest: readonly OldEntry[],
  tooOld: number,
  excess: number,
): { readonly cuts: readonly OldEntry[]; readonly freed: number } {
  const cuts = new Map<string, OldEntry>();
  const blocked = new Set<string>();
  let freed = 0;
  for (const entry of oldest) {
    if (entry.at >= tooOld && freed >= excess) break;
    if (entry.in_progress === 1) blocked.add(entry.chain);
    if (blocked.has(entry.chain)) continue;
    const { seq, total } = cuts.get(entry.chain) ?? { seq: entry.pruned_seq, total: entry.pruned_total };
    freed += entry.total - total + entryOverhead * (entry.seq - seq);
    cuts.set(entry.chain, entry);
  }
  return { cuts: [...cuts.values()], freed };
}

async function cut(
  transaction: Transaction<Tables>,
  {
    key,
    entry,
    tooOld,
    dialect,
  }: { readonly key: AuditKey; readonly entry: OldEntry; readonly tooOld: number; readonly dialect: Database['dialect'] },
): Promise<void> {
  const { chain, seq, total, mac, at } = entry;
  // All entries up to the cut are older than this time. A checkpoint from before it may name an entry that is deleted now.
  const pruned = { pruned_seq: seq, pruned_total: total, pruned_mac: mac, pruned_before: Math.max(tooOld, at + 1) };
  await transaction
    .updateTable('audit_chain')
    .set({ ...pruned, anchor: signed(key, anchored({ chain, ...pruned })) })
    .where('chain', '=', chain)
    .execute();
  await forgetTerms(transaction, dialect, entry);
  for (const table of ['audit_body', 'audit_entry'] as const)
    await transaction.deleteFrom(table).where('chain', '=', chain).where('seq', '<=', seq).execute();
}

type Anchor = Pick<Tables['audit_chain'], 'chain' | 'pruned_before' | 'pruned_mac' | 'pruned_seq' | 'pruned_total'>;

function anchored(anchor: Anchor): readonly (string | number)[] {
  return ['anchor', anchor.chain, anchor.pruned_seq, anchor.pruned_total, anchor.pruned_mac, anchor.pruned_before];
}

/** True if a gateway signed the cut. */
export function isAnchorGenuine(key: AuditKey, row: Tables['audit_chain']): boolean {
  return isSigned(key, anchored(row), row.anchor);
}
