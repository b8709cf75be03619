import { type ApprovalRule, isApprover } from '#access/approval-options.ts';
import type { InvolvedPrincipal, PrincipalNow } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { ProvenFact } from '#audit/audit-entry.ts';
import type { Clock } from '#base/clock.ts';
import { type Approval, type ApprovalDecision, type ApprovalTerms, hasAllGrants, statusAt } from './approval.ts';
import { type ProvenState, provenState } from './approval-facts.ts';
import { isFreeOfHand, peopleOf } from './approval-people.ts';
import { decisionText, digestOfText, type ProofKey } from './approval-proof.ts';
import type { ApprovalStore } from './approval-store.ts';
import type { Losses } from './approval-withdrawal.ts';

export interface StandingNeeds {
  readonly store: Pick<ApprovalStore, 'record'>;
  readonly clock: Clock;
  readonly key: ProofKey;
  /** What the audit log has of an approval. Rejects with `store-unavailable`. */
  readonly proofs: (approval: string) => Promise<readonly ProvenFact[]>;
  readonly principalNow: PrincipalNow;
  /** The rules in force. */
  readonly rules: () => readonly ApprovalRule[];
}

/** Who is about to make the call, and who had a hand in it. */
interface PeopleNow {
  readonly principal: Principal;
  readonly involved?: readonly InvolvedPrincipal[] | undefined;
}

/** An approval at one moment. */
export interface Standing {
  /** With the grants that count, and the status that follows from them. */
  readonly approval: Approval;
  /** Grants that count no more. */
  readonly losses: Losses;
}

/**
 * What the approval is worth at this moment. The audit log decides what is over, and not the store alone. Undefined: it is void, so the call
 * has to be asked for again.
 */
export async function standingOf(approval: Approval, people: PeopleNow, needs: StandingNeeds): Promise<Standing | undefined> {
  if (approval.isVoid) return undefined;
  // Another gateway, or another request, may have changed it a moment ago.
  await needs.store.record(approval);
  const { isAsked, over, withdrawn } = provenState(approval, await needs.proofs(approval.id), needs.key);
  if (over !== undefined) return { approval: ended(approval, over), losses: noLosses };
  if (!isAsked) return undefined;
  const status = statusAt(approval, needs.clock.now());
  if (status !== 'granted') return { approval: { ...approval, status }, losses: noLosses };
  return await counted(approval, people, { needs, withdrawn });
}

const noLosses: Losses = new Map();

/** A call has its use in the record of its intent. A question has none. */
function ended(approval: Approval, { status, record }: NonNullable<ProvenState['over']>): Approval {
  const usedBy = status === 'used' && approval.call !== undefined ? record : undefined;
  return { ...approval, status, usedBy: approval.usedBy ?? usedBy };
}

/** Counts the grants of an approval that has all of them. */
async function counted(
  approval: Approval,
  people: PeopleNow,
  { needs, withdrawn }: { readonly needs: StandingNeeds; readonly withdrawn: ReadonlySet<string> },
): Promise<Standing> {
  const decisions: ApprovalDecision[] = [];
  const losses = new Map<string, string>();
  for (const decision of approval.decisions) {
    const isWithdrawn = decision.withdrawn !== undefined || withdrawn.has(digestOfText(decisionText(approval, decision)));
    const rules = isWithdrawn ? [] : await countingRules(approval, decision, people, needs);
    decisions.push({ ...decision, rules });
    if (rules.length < decision.rules.length) losses.set(decision.proof ?? '', 'its granter may not approve this call any more.');
  }
  const status = hasAllGrants(approval.rules, decisions) ? 'granted' : 'waiting';
  return { approval: { ...approval, decisions, status }, losses };
}

/** The rules for which the grant counts still. */
async function countingRules(
  approval: Approval,
  decision: ApprovalDecision,
  people: PeopleNow,
  { principalNow, rules }: StandingNeeds,
): Promise<readonly string[]> {
  const granter = await principalNow(decision.principal.id);
  if (granter === undefined && !mayBeUnknown(decision)) return [];
  const asked = peopleOf(approval, people);
  const inForce = approval.call === undefined ? [] : rules();
  const counts = (terms: ApprovalTerms): boolean => {
    const now = inForce.find(({ name }) => name === terms.name);
    const isOne =
      granter === undefined || [terms, ...(now ? [now] : [])].every(({ approvers }) => isApprover(granter, approvers));
    return decision.rules.includes(terms.name) && isOne && isFreeOfHand(terms, asked, granter ?? decision.principal);
  };
  return approval.rules.filter(counts).map(({ name }) => name);
}

/** The gateway knows each user and client, and of an issuer's people only those whose token it has seen. */
function mayBeUnknown({ principal }: ApprovalDecision): boolean {
  return principal.id.startsWith('oidc:');
}

/** Why a grant is withdrawn; undefined where its granter is an approver still, for each rule that it counts for. */
export async function lossOf(
  approval: Approval,
  decision: ApprovalDecision,
  principalNow: PrincipalNow,
): Promise<string | undefined> {
  if (decision.as !== 'granted' || decision.withdrawn !== undefined) return undefined;
  const granter = await principalNow(decision.principal.id);
  if (granter === undefined) return mayBeUnknown(decision) ? undefined : 'the gateway no longer knows its granter.';
  const lost = approval.rules.find(({ name, approvers }) => decision.rules.includes(name) && !isApprover(granter, approvers));
  return lost && `its granter is no longer an approver of the rule ${lost.name}.`;
}
