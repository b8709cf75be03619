import { type Approvers, isApprover } from '#access/approval-options.ts';
import { type InvolvedPrincipal, type Involvement, isSamePerson, type NamedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import { type Approval, type ApprovalDecision, type ApprovalTerms, grantsFor, isOpen } from './approval.ts';

/** Who asks, and who had a hand in the call. */
type Asked = Pick<Approval, 'principal' | 'involved'>;

/** Why a principal may not grant, in the order in which the reasons are looked for. */
export const obstacleCodes = ['over', 'decided', 'caller', 'involved', 'same-person', 'not-approver'] as const;

/** `detail`: the reason as a sentence. */
export interface Obstacle {
  readonly code: (typeof obstacleCodes)[number];
  readonly detail: string;
}

/** With `selfApproval: authors`, a hand of these kinds alone does not exclude. */
const authorship: ReadonlySet<Involvement> = new Set<Involvement>(['author', 'workflow', 'form']);

/** The part that a person had in a call. */
interface Hand {
  readonly isCaller: boolean;
  /** Undefined: none. */
  readonly as: readonly Involvement[] | undefined;
  /** Another principal of the same person had it: the name of that principal. */
  readonly through: string | undefined;
}

function handOf({ principal: caller, involved }: Asked, person: NamedPrincipal): Hand {
  const isPerson = (one: NamedPrincipal): boolean => isSamePerson(one, person);
  const own = involved.filter(isPerson);
  const all = isPerson(caller) ? [caller, ...own] : own;
  const through = all.some(({ id }) => id === person.id) ? undefined : all[0]?.username;
  return { isCaller: isPerson(caller), as: own.length === 0 ? undefined : own.flatMap(({ as }) => as), through };
}

function isExcluded({ selfApproval }: Pick<ApprovalTerms, 'selfApproval'>, { isCaller, as }: Hand): boolean {
  if (selfApproval === true) return false;
  if (isCaller) return true;
  return as !== undefined && (selfApproval === false || as.some((one) => !authorship.has(one)));
}

/** Whether the part that a person had in the call lets it grant for the rule. */
export function isFreeOfHand(terms: Pick<ApprovalTerms, 'selfApproval'>, asked: Asked, person: NamedPrincipal): boolean {
  return !isExcluded(terms, handOf(asked, person));
}

/** Whether a grant of the principal counts for the rule, by its roles and groups and by the part that it had in the call. */
function mayGrant(terms: ApprovalTerms, asked: Asked, principal: Principal): boolean {
  return isApprover(principal, terms.approvers) && isFreeOfHand(terms, asked, principal);
}

/** The names of the rules for which a grant of the principal counts. */
export function grantableRules(approval: Approval, principal: Principal): readonly string[] {
  return approval.rules.filter((terms) => mayGrant(terms, approval, principal)).map(({ name }) => name);
}

/** Whether the principal is an approver of a rule, and may so reject the call, with any part in it. */
export function isOneOfApprovers({ rules }: Pick<Approval, 'rules'>, principal: Principal): boolean {
  return rules.some(({ approvers }) => isApprover(principal, approvers));
}

/** The grant of the principal that counts still. */
function grantOf({ decisions }: Pick<Approval, 'decisions'>, { id }: NamedPrincipal): ApprovalDecision | undefined {
  return decisions.find(({ as, principal, withdrawn }) => as === 'granted' && principal.id === id && withdrawn === undefined);
}

/** Why the principal may not grant now; undefined where it may. `approval.status`: now. */
export function obstacleOf(approval: Approval, principal: Principal): Obstacle | undefined {
  const { status, rules } = approval;
  if (!isOpen(status)) return { code: 'over', detail: `The approval is over: it is ${status}.` };
  if (grantOf(approval, principal) !== undefined) return { code: 'decided', detail: 'You have granted it already.' };
  if (grantableRules(approval, principal).length > 0) return undefined;
  const hand = handOf(approval, principal);
  return rules.some((terms) => isExcluded(terms, hand)) ? obstacleOfHand(hand) : notApprover(approval);
}

function obstacleOfHand({ isCaller, as = [], through }: Hand): Obstacle {
  const rule = 'and its rule does not let the people of a call approve it.';
  if (through !== undefined)
    return { code: 'same-person', detail: `You are the same person as ${through}, who had a hand in this call, ${rule}` };
  if (isCaller) return { code: 'caller', detail: `You asked for this call yourself, ${rule}` };
  return { code: 'involved', detail: `You had a hand in this call (${[...new Set(as)].join(', ')}), ${rule}` };
}

export function notApprover({ rules }: Approval): Obstacle {
  const named = rules.map(({ name, approvers }) => `${name}: ${namesOf(approvers)}`).join('; ');
  return { code: 'not-approver', detail: `You are none of the approvers (${named}).` };
}

function namesOf({ roles, groups }: Approvers): string {
  return [...new Set([...roles, ...groups])].join(', ');
}

/** A sentence for each rule that the known people cannot satisfy. */
export function warningsOf(approval: Approval, known: readonly Principal[]): readonly string[] {
  if (approval.status !== 'waiting') return [];
  return approval.rules.flatMap((terms) => {
    const { name, approvers, count } = terms;
    const missing = count - grantsFor(terms, approval.decisions);
    const able = known.filter((one) => mayGrant(terms, approval, one) && grantOf(approval, one) === undefined).length;
    if (able >= missing) return [];
    const who = able === 0 ? 'No known person' : `Only ${able} of the known people`;
    return [`${who} could grant for the rule ${name} (${namesOf(approvers)}), which needs ${missing} more.`];
  });
}

/** The people of a call as they are now, with those as it was asked. */
export function peopleOf(
  { principal, involved }: Asked,
  now: { readonly principal: Principal; readonly involved?: readonly InvolvedPrincipal[] | undefined },
): Asked {
  return { principal, involved: [...involved, ...(now.involved ?? [])] };
}
