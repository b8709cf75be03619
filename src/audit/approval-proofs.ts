import type { Database } from '#database/database.ts';
import type { ProvenFact } from './audit-entry.ts';
import { proofsOf, provenApprovals, prunedBefore } from './audit-proof-store.ts';

/** What the log has of approvals. Every method rejects with `store-unavailable`. */
export interface ApprovalProofs {
  /** In the order of time. */
  of(approvals: readonly string[]): Promise<readonly ProvenFact[]>;
  /** Ids of approvals that the log has proofs of, in order, from the one after `after` on. */
  approvals(page: { readonly after: string; readonly limit: number }): Promise<readonly string[]>;
  /** Proofs of before this time may have been pruned. */
  prunedBefore(): Promise<number>;
}

export function createApprovalProofs(database: Pick<Database, 'read'>): ApprovalProofs {
  return {
    of: (approvals) => proofsOf(database, approvals),
    approvals: (page) => provenApprovals(database, page),
    prunedBefore: () => prunedBefore(database),
  };
}
