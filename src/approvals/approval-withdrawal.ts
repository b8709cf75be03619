import { type Approval, type ApprovalDecision, hasAllGrants, isOpen } from './approval.ts';
import type { DecidedApproval } from './approval-changes-store.ts';
import { eventKey } from './approval-facts.ts';

/** Why grants count no more, by the proofs of the grants. */
export type Losses = ReadonlyMap<string, string>;

/** Takes these grants out for good. Undefined: the approval has none of them any more. */
export function withdrawalFrom(
  { status, rules, decisions: before }: Approval,
  losses: Losses,
  at: number,
): DecidedApproval | undefined {
  const decisions = before.map((decision): ApprovalDecision => {
    const reason = decision.withdrawn === undefined ? losses.get(decision.proof ?? '') : undefined;
    return reason === undefined ? decision : { ...decision, withdrawn: { at, reason } };
  });
  const events = decisions.flatMap((decision, index) =>
    decision === before[index] ? [] : [{ kind: 'withdrawn' as const, key: eventKey('withdrawn', index) }],
  );
  if (!isOpen(status) || events.length === 0) return undefined;
  return { status: hasAllGrants(rules, decisions) ? 'granted' : 'waiting', decisions, events };
}
