import type { InvolvedPrincipal, Involvement, NamedPrincipal } from '#access/people.ts';
import type { SamePerson } from '#access/persons.ts';
import type { Principal } from '#access/principal.ts';
import { type Approvers, isApprover } from '#access/rights/approval-options.ts';
import { needsNewer } from '#database/row-version.ts';
import { merged } from '#runs/people/run-people.ts';
import { type Approval, type ApprovalDecision, type ApprovalTerms, grantsFor, isOpen } from './approval.ts';

/** Who asks, and who had a hand in the call. */
type Asked = Pick<Approval, 'principal' | 'involved'>;

/** Why a principal may not grant, in the order in which the reasons are looked for. */
export const obstacleCodes = ['newer-version', 'over', 'decided', 'caller', 'involved', 'same-person', 'not-approver'] as const;

/** `detail`: the reason as a sentence. */
export interface Obstacle {
  readonly code: (typeof obstacleCodes)[number];
  readonly detail: string;
}

/** With `selfApproval: authors`, a hand of these kinds alone does not exclude. */
const authorship: ReadonlySet<Involvement> = new Set<Involvement>(['author', 'workflow', 'form']);
/** These say in which other run a person had its hand, and not what it did there. */
const otherRuns: ReadonlySet<Involvement> = new Set<Involvement>(['parent', 'repeated']);

/** Who would grant, and who is the same person. */
interface Granter<P extends NamedPrincipal = Principal> {
  readonly principal: P;
  readonly isSame: SamePerson;
}

/** The part that a person had in a call. */
interface Hand {
  readonly isCaller: boolean;
  /** Undefined: none. */
  readonly as: readonly Involvement[] | undefined;
  /** Another principal of the same person had it: the name of that principal. */
  readonly through: string | undefined;
}

function handOf({ principal: caller, involved }: Asked, person: NamedPrincipal, isSame: SamePerson): Hand {
  const isPerson = (one: NamedPrincipal): boolean => isSame(one, person);
  const own = involved.filter(isPerson);
  const all = isPerson(caller) ? [caller, ...own] : own;
  const through = all.some(({ id }) => id === person.id) ? undefined : all[0]?.username;
  return { isCaller: isPerson(caller), as: own.length === 0 ? undefined : own.flatMap(({ as }) => as), through };
}

function isExcluded({ selfApproval }: Pick<ApprovalTerms, 'selfApproval'>, { isCaller, as }: Hand): boolean {
  if (selfApproval === true) return false;
  if (isCaller) return true;
  return as !== undefined && (selfApproval === false || !isAuthorship(as));
}

/** A run of an earlier gateway may say of a person only that it had a hand in another run: that could be any hand. */
function isAuthorship(as: readonly Involvement[]): boolean {
  const did = as.filter((one) => !otherRuns.has(one));
  return did.length > 0 && did.every((one) => authorship.has(one));
}

/** Whether the part that a person had in the call lets it grant for the rule. */
export function isFreeOfHand(
  terms: Pick<ApprovalTerms, 'selfApproval'>,
  asked: Asked,
  granter: Granter<NamedPrincipal>,
): boolean {
  return !isExcluded(terms, handOf(asked, granter.principal, granter.isSame));
}

/** Whether a grant of the principal counts for the rule, by its roles and groups and by the part that it had in the call. */
function mayGrant(terms: ApprovalTerms, asked: Asked, granter: Granter): boolean {
  return isApprover(granter.principal, terms.approvers) && isFreeOfHand(terms, asked, granter);
}

/** The names of the rules for which a grant of the principal counts. */
export function grantableRules(approval: Approval, granter: Granter): readonly string[] {
  return approval.rules.filter((terms) => mayGrant(terms, approval, granter)).map(({ name }) => name);
}

/** Whether the principal is an approver of a rule, and may so reject the call, with any part in it. */
export function isOneOfApprovers({ rules }: Pick<Approval, 'rules'>, principal: Principal): boolean {
  return rules.some(({ approvers }) => isApprover(principal, approvers));
}

/** The grants that count still. */
function grantsIn({ decisions }: Pick<Approval, 'decisions'>): readonly ApprovalDecision[] {
  return decisions.filter(({ as, withdrawn }) => as === 'granted' && withdrawn === undefined);
}

/** Why the principal may not grant now; undefined where it may. `approval.status`: now. */
export function obstacleOf(approval: Approval, granter: Granter): Obstacle | undefined {
  const { status, rules } = approval;
  const { principal, isSame } = granter;
  if (needsNewer(approval.lowest))
    return { code: 'newer-version', detail: 'It needs a newer version of the gateway: decide it at a gateway of that version.' };
  if (!isOpen(status)) return { code: 'over', detail: `The approval is over: it is ${status}.` };
  const grants = grantsIn(approval);
  if (grants.some((grant) => grant.principal.id === principal.id))
    return { code: 'decided', detail: 'You have granted it already.' };
  const mayGrantOne = grantableRules(approval, granter).length > 0;
  const hand = handOf(approval, principal, isSame);
  if (!mayGrantOne && rules.some((terms) => isExcluded(terms, hand))) return obstacleOfHand(hand);
  const other = grants.find((grant) => isSame(grant.principal, principal));
  if (other !== undefined)
    return { code: 'same-person', detail: `You are the same person as ${other.principal.username}, who has granted it already.` };
  return mayGrantOne ? undefined : notApprover(approval);
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
export function warningsOf(approval: Approval, known: readonly Principal[], isSame: SamePerson): readonly string[] {
  if (approval.status !== 'waiting') return [];
  const grants = grantsIn(approval);
  const free = known.filter((one) => !grants.some(({ principal }) => isSame(principal, one)));
  return approval.rules.flatMap((terms) => {
    const { name, approvers, count } = terms;
    const missing = count - grantsFor(terms, approval.decisions);
    const able = free
      .filter((principal) => mayGrant(terms, approval, { principal, isSame }))
      .filter((one, index, all) => all.findIndex((other) => isSame(other, one)) === index).length;
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
  return { principal, involved: merged([...involved, ...(now.involved ?? [])]) };
}
