import type { InvolvedPrincipal, PrincipalNow } from '#access/people.ts';
import type { Persons } from '#access/persons.ts';
import type { Principal } from '#access/principal.ts';
import { type ApprovalRule, isApprover } from '#access/rights/approval-options.ts';
import type { ProvenFact } from '#audit/audit-entry.ts';
import type { Clock } from '#base/clock.ts';
import { refuseNewerRow } from '#database/row-version.ts';
import { type Approval, type ApprovalDecision, type ApprovalTerms, batchHolds, hasAllGrants, statusAt } from './approval.ts';
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
  /** See `Principals`. */
  readonly isGone: (id: string) => boolean;
  readonly persons: Persons;
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
 * has to be asked for again. Rejects with `newer-version-needed`.
 */
export async function standingOf(approval: Approval, people: PeopleNow, needs: StandingNeeds): Promise<Standing | undefined> {
  refuseNewerRow('The approval', approval.lowest);
  if (approval.isVoid) return undefined;
  // Another gateway, or another request, may have changed it a moment ago.
  await needs.store.record(approval);
  const { isAsked, over, withdrawn, begunAt } = provenState(approval, await needs.proofs(approval.id), needs.key);
  if (over !== undefined) return { approval: endAs(approval, over), losses: noLosses };
  if (!isAsked) return undefined;
  const now = { ...approval, holdsUntil: begunAt === undefined ? undefined : begunAt + batchHolds };
  const status = statusAt(now, needs.clock.now());
  if (status !== 'granted') return { approval: { ...now, status }, losses: noLosses };
  return await countGrants(now, people, { needs, withdrawn });
}

const noLosses: Losses = new Map();

/** A call has its use in the record of its intent. A question has none. */
function endAs(approval: Approval, { status, record }: NonNullable<ProvenState['over']>): Approval {
  const usedBy = status === 'used' && approval.call !== undefined ? record : undefined;
  return { ...approval, status, usedBy: approval.usedBy ?? usedBy };
}

/** Counts the grants of an approval that has all of them. */
async function countGrants(
  approval: Approval,
  people: PeopleNow,
  { needs, withdrawn }: { readonly needs: StandingNeeds; readonly withdrawn: ReadonlySet<string> },
): Promise<Standing> {
  const decisions: ApprovalDecision[] = [];
  const losses = new Map<string, string>();
  for (const decision of approval.decisions) {
    const isWithdrawn = decision.withdrawn !== undefined || withdrawn.has(digestOfText(decisionText(approval, decision)));
    const other = otherGrant(decision, decisions, needs.persons);
    const rules = isWithdrawn || other !== undefined ? [] : await countingRules(approval, decision, people, needs);
    decisions.push({ ...decision, rules });
    if (rules.length < decision.rules.length)
      losses.set(decision.proof ?? '', lossBy(other) ?? 'its granter may not approve this call any more.');
  }
  const status = hasAllGrants(approval.rules, decisions) ? 'granted' : 'waiting';
  return { approval: { ...approval, decisions, status }, losses };
}

/** The rules for which the grant counts still. */
async function countingRules(
  approval: Approval,
  decision: ApprovalDecision,
  people: PeopleNow,
  { principalNow, isGone, persons: { isSame }, rules }: StandingNeeds,
): Promise<readonly string[]> {
  const { id } = decision.principal;
  if (isGone(id)) return [];
  const granter = await principalNow(id);
  const asked = peopleOf(approval, people);
  const inForce = approval.call === undefined ? [] : rules();
  const counts = (terms: ApprovalTerms): boolean => {
    const now = inForce.find(({ name }) => name === terms.name);
    const isOne =
      granter === undefined || [terms, ...(now ? [now] : [])].every(({ approvers }) => isApprover(granter, approvers));
    const principal = granter ?? decision.principal;
    return decision.rules.includes(terms.name) && isOne && isFreeOfHand(terms, asked, { principal, isSame });
  };
  return approval.rules.filter(counts).map(({ name }) => name);
}

/** An earlier grant of the same person that counts. */
function otherGrant(
  { principal }: ApprovalDecision,
  earlier: readonly ApprovalDecision[],
  { isSame }: Persons,
): ApprovalDecision | undefined {
  return earlier.find(
    ({ as, withdrawn, rules, principal: other }) =>
      as === 'granted' && withdrawn === undefined && rules.length > 0 && isSame(other, principal),
  );
}

function lossBy(other: ApprovalDecision | undefined): string | undefined {
  return other && `its granter is the same person as ${other.principal.username}, who granted it before.`;
}

type GranterNeeds = Pick<StandingNeeds, 'principalNow' | 'isGone' | 'persons'>;

/** Why grants are withdrawn, by their proofs. */
export async function lossesOf(approval: Approval, needs: GranterNeeds): Promise<Losses> {
  const losses = new Map<string, string>();
  const kept: ApprovalDecision[] = [];
  for (const decision of approval.decisions) {
    if (decision.as !== 'granted' || decision.withdrawn !== undefined) continue;
    const loss = (await lossOfGranter(approval, decision, needs)) ?? lossBy(otherGrant(decision, kept, needs.persons));
    if (loss === undefined) kept.push(decision);
    else if (decision.proof !== undefined) losses.set(decision.proof, loss);
  }
  return losses;
}

/** Undefined where the granter is an approver still, for each rule that the grant counts for. An issuer's person may only not have been seen for long. */
async function lossOfGranter(
  { rules }: Approval,
  decision: ApprovalDecision,
  { principalNow, isGone }: GranterNeeds,
): Promise<string | undefined> {
  const { id } = decision.principal;
  if (isGone(id)) return 'its granter was removed or blocked.';
  const granter = await principalNow(id);
  const lost = granter && rules.find(({ name, approvers }) => decision.rules.includes(name) && !isApprover(granter, approvers));
  return lost && `its granter is no longer an approver of the rule ${lost.name}.`;
}
