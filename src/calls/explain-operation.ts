import { type AskedOperation, createRights, decideOperation } from '#access/rights.ts';
import type { ExplainedCall } from './explain-call.ts';

/** The decision about an operation that relays no call, before its object is known. */
export function explainOperation(asked: AskedOperation): Pick<ExplainedCall, 'allowed' | 'rule' | 'approvals' | 'reason'> {
  const { principal, operation, customRoles, entrance } = asked;
  const decision = decideOperation(asked);
  const { allowed, reason } = decision;
  if (!decision.allowed)
    return { allowed, rule: `roles of ${operation}`, approvals: [], reason: `The caller gets 403 forbidden: ${reason}` };
  const { by, rule } = decision;
  const scope = by === 'right' ? createRights(() => customRoles, entrance).scope(principal, operation) : 'all';
  const limits = scope === 'all' ? '' : ` It covers these workflows alone: ${scope.join(', ')}.`;
  return { allowed, rule, approvals: [], reason: `${reason}${limits}` };
}
