import { sql } from 'kysely';
import type { Database } from '#database/database.ts';
import type { AuditFacts, ProvenFact } from './audit-entry.ts';

/** See `ApprovalProofs`. An entry with a proof has one record. */
export async function proofsOf({ read }: Pick<Database, 'read'>, approvals: readonly string[]): Promise<readonly ProvenFact[]> {
  if (approvals.length === 0) return [];
  const rows = await read
    .selectFrom('audit_entry')
    .select(['chain', 'seq', 'at', 'facts'])
    .where('approval', 'in', approvals)
    .orderBy('at')
    .orderBy('chain')
    .orderBy('seq')
    .execute();
  return rows.flatMap(({ chain, seq, at, facts }) => {
    const { proof } = JSON.parse(facts) as AuditFacts;
    return proof === undefined ? [] : [{ ...proof, record: `${chain}/${seq}`, at }];
  });
}

export async function provenApprovals(
  { read }: Pick<Database, 'read'>,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly string[]> {
  const rows = await read
    .selectFrom('audit_entry')
    .select('approval')
    .distinct()
    .where('approval', '>', after)
    // The uses of an approval for a batch have its id, a slash and an index.
    .where('approval', 'not like', '%/%')
    .orderBy('approval')
    .limit(limit)
    .execute();
  return rows.flatMap(({ approval }) => approval ?? []);
}

export async function prunedBefore({ read }: Pick<Database, 'read'>): Promise<number> {
  const { before } = await read
    .selectFrom('audit_chain')
    .select(({ fn }) => fn.coalesce(fn.max('pruned_before'), sql<number>`0`).as('before'))
    .executeTakeFirstOrThrow();
  return before;
}
