import { sql, type Transaction } from 'kysely';
import type { Clock } from '#base/clock.ts';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import { type AuditKey, isSigned, signed } from './audit-key.ts';
import { storedAuditKey } from './audit-store.ts';

/** Entries that one transaction deletes: on SQLite it holds up every other writer. */
const deletedAtOnce = 2_000;
/** Milliseconds beyond the longest call, for clocks that differ. */
const margin = 60_000;

/**
 * Deletes what is older than `retention` (milliseconds), from the beginning of each chain on. What remains can still be verified: the
 * place where a chain was cut is signed. A call that may still be under way stays, however short the retention.
 */
export function createAuditPruning(options: {
  readonly database: Database;
  readonly clock: Clock;
  readonly retention: number;
  readonly longestCall: number;
}): () => Promise<void> {
  const { database, clock, retention, longestCall } = options;
  return async () => {
    const before = clock.now() - Math.max(retention, longestCall + margin);
    while (await database.exclusively('audit_chain', (transaction) => pruneSome(transaction, before))) {
      // one transaction at a time
    }
  };
}

/** True where there may be more. */
async function pruneSome(transaction: Transaction<Tables>, before: number): Promise<boolean> {
  const key = await storedAuditKey(transaction);
  if (key === undefined) return false;
  const { rows } = await sql<{ chain: string; seq: number }>`
    select chain, max(seq) as seq from (
      select chain, seq from audit_entry where at < ${before} and kind not in ('step', 'outcome') order by at limit ${deletedAtOnce}
    ) as oldest group by chain`.execute(transaction);
  for (const { chain, seq } of rows) await cut(transaction, { key, chain, seq, before });
  return rows.length > 0;
}

async function cut(
  transaction: Transaction<Tables>,
  { key, chain, seq, before }: { readonly key: AuditKey; readonly chain: string; readonly seq: number; readonly before: number },
): Promise<void> {
  const last = await transaction
    .selectFrom('audit_entry')
    .select(['mac', 'total'])
    .where('chain', '=', chain)
    .where('seq', '=', seq)
    .executeTakeFirstOrThrow();
  const pruned = { pruned_seq: seq, pruned_total: last.total, pruned_mac: last.mac, pruned_before: before };
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
