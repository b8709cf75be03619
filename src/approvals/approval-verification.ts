import type { ApprovalFact, ProvenFact } from '#audit/audit-entry.ts';
import type { VerifyApprovals } from '#audit/chain/audit-verification.ts';
import { type Approval, type ApprovalDecision, hasAllGrants, isOpen } from './approval.ts';
import { digestOfApproval, everyApproval, provenState } from './approval-facts.ts';
import { decisionText, digestOfText, isApprovalProven, isOfKey, type ProofKey } from './approval-proof.ts';
import type { VerifiedApprovals } from './approval-verification-store.ts';

/** How many approvals are compared at once. */
const pageSize = 100;
/** Milliseconds by which what the store has of a time, and what the log has, may differ. */
const slack = 60_000;

interface Compared {
  readonly approval: Approval | undefined;
  readonly proofs: readonly ProvenFact[];
  /** Identities of events that the store lacks. */
  readonly lacks: (fact: ApprovalFact) => boolean;
  /** Undefined: MACs cannot be judged. Digests can. */
  readonly key: ProofKey | undefined;
  /** What ended before `forgotten` may be deleted, with its events; proofs of before `pruned` may be. */
  readonly forgotten: number;
  readonly pruned: number;
}

/** Compares the approvals, the decisions and their events with what the audit log has of them. */
export function createApprovalVerification(store: VerifiedApprovals, key?: ProofKey): VerifyApprovals {
  return async (first, mayGoOn) => {
    const problems: string[] = [];
    for (let after = first; ; ) {
      const ids = await store.ids({ after, limit: pageSize });
      const suspected = await problemsAmong(store, ids, key);
      // A gateway may have written between two readings: what is wrong stays wrong.
      const again = suspected.size === 0 ? suspected : await problemsAmong(store, [...suspected.keys()], key);
      for (const [id, found] of again) problems.push(...found.filter((problem) => suspected.get(id)?.includes(problem) === true));
      if (ids.length < pageSize) return { problems, next: undefined };
      after = ids.at(-1) ?? '';
      if (!mayGoOn()) return { problems, next: after };
    }
  };
}

async function problemsAmong(
  store: VerifiedApprovals,
  ids: readonly string[],
  key: ProofKey | undefined,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const pruned = await store.proofs.prunedBefore();
  const proofs = Map.groupBy(await store.proofs.of([...ids, everyApproval]), ({ approval }) => approval);
  const forgotten = Math.max(0, ...(proofs.get(everyApproval) ?? []).map(({ before = 0 }) => before));
  const rows = new Map((await store.approvals(ids)).map((approval) => [approval.id, approval]));
  const expected = ids.flatMap((id) => proofs.get(id) ?? []).filter(({ at }) => at - slack >= forgotten);
  const missing = await store.missingEvents(expected);
  const found = ids.map((id): readonly [string, readonly string[]] => {
    const compared = { approval: rows.get(id), proofs: proofs.get(id) ?? [], lacks: missing, key, forgotten, pruned };
    return [id, [...problemsOf(id, compared), ...eventProblems(id, compared)]];
  });
  return new Map(found.filter(([, problems]) => problems.length > 0));
}

function problemsOf(id: string, compared: Compared): readonly string[] {
  const { approval } = compared;
  if (approval === undefined) return mayBeForgotten(compared) ? [] : [`the approval ${id} was removed`];
  // Its gateway has not told the log yet, or died before it could.
  if (approval.unrecorded > 0) return [];
  const asked = askedProblem(approval, compared);
  return [
    ...(asked === undefined ? [] : [asked]),
    ...decisionProblems(approval, compared),
    ...statusProblems(approval, compared),
  ];
}

/** Approvals are deleted some time after they ended. */
function mayBeForgotten({ proofs, forgotten }: Compared): boolean {
  const end = proofs.findLast(({ of }) => of === 'used' || of === 'rejected' || of === 'ended');
  const expires = proofs.find(({ of }) => of === 'asked')?.expires;
  return (end?.at ?? expires ?? 0) - slack < forgotten;
}

function askedProblem(approval: Approval, { proofs, key, pruned }: Compared): string | undefined {
  const { id, proof, createdAt } = approval;
  const asked = proofs.filter(({ of }) => of === 'asked');
  const isForged = key !== undefined && isOfKey(proof, key) && !isApprovalProven(approval, key);
  if (asked.length > 0)
    return isForged || !asked.some(({ digest }) => digest === digestOfApproval(approval))
      ? `the approval ${id} was changed`
      : undefined;
  // One of an earlier version has no proof, and lets nothing leave.
  if (proof === undefined && approval.status !== 'granted') return undefined;
  return isForged || createdAt >= pruned ? `the approval ${id} was made up` : undefined;
}

function decisionProblems(approval: Approval, { proofs, pruned }: Compared): readonly string[] {
  const { id, decisions } = approval;
  if (approval.proof === undefined) return [];
  const kept = new Map(decisions.map((decision) => [digestOf(approval, decision), decision]));
  const recorded = new Set(proofs.flatMap(({ of, digest }) => (of === 'granted' || of === 'rejected' ? [digest] : [])));
  const made = [...kept].filter(([digest, { at }]) => !recorded.has(digest) && at >= pruned);
  const removed = [...recorded].filter((digest) => !kept.has(digest ?? ''));
  const back = proofs.filter(
    ({ of, digest = '' }) => of === 'withdrawn' && kept.has(digest) && kept.get(digest)?.withdrawn === undefined,
  );
  return [
    ...made.map(([, { principal }]) => `a decision of ${principal.username} about the approval ${id} was made up`),
    ...removed.map(() => `a decision about the approval ${id} was removed`),
    ...back.map(() => `the withdrawal of a grant of the approval ${id} was taken back`),
  ];
}

function digestOf(approval: Approval, decision: ApprovalDecision): string {
  return digestOfText(decisionText(approval, decision));
}

const ends = { used: 'it was used', rejected: 'it was rejected', expired: 'it has ended' } as const;

function statusProblems(approval: Approval, { proofs, key }: Compared): readonly string[] {
  const { id, status, rules } = approval;
  const { over, withdrawn } = provenState(approval, proofs, key);
  if (over !== undefined)
    return over.status === status ? [] : [`the approval ${id} is ${status} in the store, although ${ends[over.status]}`];
  if (!isOpen(status)) return [];
  const counted = approval.decisions.filter((decision) => {
    const digest = digestOf(approval, decision);
    return !withdrawn.has(digest) && proofs.some((proof) => proof.of === 'granted' && proof.digest === digest);
  });
  return status === 'granted' && !hasAllGrants(rules, counted)
    ? [`the approval ${id} is granted in the store, without its grants`]
    : [];
}

function eventProblems(id: string, { approval, proofs, lacks, forgotten }: Compared): readonly string[] {
  const gone = proofs.filter((proof) => proof.event !== undefined && proof.at - slack >= forgotten && lacks(proof));
  // The event of a use follows the use.
  const isLate = ({ of }: ProvenFact): boolean => of === 'used' && approval?.isUnannounced === true;
  const names = new Set(gone.filter((proof) => !isLate(proof)).map(({ event = '' }) => event));
  return [...names].map((event) => `the event ${event} of the approval ${id} was removed`);
}
