import type { ApprovalProofs } from '#audit/approval-proofs.ts';
import type { ApprovalFact } from '#audit/audit-entry.ts';
import type { Database } from '#database/database.ts';
import { identityOfEvent } from '#runs/journal/run-row.ts';
import type { Approval } from './approval.ts';
import { sourceOf } from './approval-events.ts';
import { factColumns, storedApproval } from './approval-row.ts';

/** What a verification of approvals reads. */
export interface VerifiedApprovals {
  /** Ids of approvals in the store or in the audit log, in order, from the one after `after` on. */
  ids(page: { readonly after: string; readonly limit: number }): Promise<readonly string[]>;
  /** As the store has them, proven or not. */
  approvals(ids: readonly string[]): Promise<readonly Approval[]>;
  /** Says of each of these facts whether its event is missing in the log of events. */
  missingEvents(facts: readonly ApprovalFact[]): Promise<(fact: ApprovalFact) => boolean>;
  readonly proofs: ApprovalProofs;
}

const eventsAtOnce = 500;

export function createVerifiedApprovals({ read }: Pick<Database, 'read'>, proofs: ApprovalProofs): VerifiedApprovals {
  return {
    async ids({ after, limit }) {
      const rows = await read.selectFrom('approval').select('id').where('id', '>', after).orderBy('id').limit(limit).execute();
      const proven = (await proofs.approvals({ after, limit })).filter((id) => id !== '*');
      return [...new Set([...rows.map(({ id }) => id), ...proven])].toSorted().slice(0, limit);
    },
    async approvals(ids) {
      if (ids.length === 0) return [];
      const rows = await read.selectFrom('approval').select(factColumns).where('id', 'in', ids).execute();
      return rows.map(storedApproval);
    },
    async missingEvents(facts) {
      const wanted = facts.filter(({ event }) => event !== undefined).map(identityOf);
      const there = new Set<string | null>();
      for (let from = 0; from < wanted.length; from += eventsAtOnce) {
        const some = wanted.slice(from, from + eventsAtOnce);
        const rows = await read.selectFrom('event_log').select('identity').where('identity', 'in', some).execute();
        for (const { identity } of rows) there.add(identity);
      }
      return (fact) => !there.has(identityOf(fact));
    },
    proofs,
  };
}

function identityOf({ approval, event }: ApprovalFact): string {
  return identityOfEvent('lifecycle', sourceOf(approval), event);
}
