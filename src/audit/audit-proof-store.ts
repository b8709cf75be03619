import type { Kysely, Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import type { ApprovalFact, AuditFacts, ChainedEntry } from './audit-entry.ts';

/** A fact with its record in the log. */
export interface ProvenFact extends ApprovalFact {
  /** `CHAIN/SEQ`. */
  readonly record: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** What the log has of an approval, in the order of time. */
export async function readProofs({ read }: Pick<Database, 'read'>, approval: string): Promise<readonly ProvenFact[]> {
  return proofsIn(await entries(read).where('approval', '=', approval).orderBy('at').orderBy('chain').orderBy('seq').execute());
}

/** The proofs of these approvals. */
export async function proofsOfAll(
  reading: Kysely<Tables> | Transaction<Tables>,
  approvals: readonly string[],
): Promise<readonly ProvenFact[]> {
  if (approvals.length === 0) return [];
  return proofsIn(await entries(reading).where('approval', 'in', approvals).orderBy('approval').orderBy('at').execute());
}

/** Ids of approvals that the log has proofs of, in order, from the one after `after` on. */
export async function provenApprovals(
  reading: Kysely<Tables> | Transaction<Tables>,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await reading
    .selectFrom('audit_entry')
    .select('approval')
    .distinct()
    .where('approval', '>', after)
    .orderBy('approval')
    .limit(limit)
    .execute();
  return rows.flatMap(({ approval }) => approval ?? []);
}

function entries(reading: Kysely<Tables> | Transaction<Tables>) {
  return reading.selectFrom('audit_entry').select(['chain', 'seq', 'at', 'facts']);
}

/** An entry with a proof has one record. */
function proofsIn(rows: readonly Pick<ChainedEntry, 'chain' | 'seq' | 'at' | 'facts'>[]): readonly ProvenFact[] {
  return rows.flatMap(({ chain, seq, at, facts }) => {
    const { proof } = JSON.parse(facts) as AuditFacts;
    return proof === undefined ? [] : [{ ...proof, record: `${chain}/${seq}`, at }];
  });
}
