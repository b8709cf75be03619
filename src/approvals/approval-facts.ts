import type { ApprovalFact, ProvenFact } from '#audit/audit-entry.ts';
import type { Approval } from './approval.ts';
import {
  approvalText,
  decisionText,
  digestOfText,
  isApprovalProven,
  isProof,
  type ProofKey,
  releaseText,
} from './approval-proof.ts';
import type { BatchUse } from './batches/batch-approval-store.ts';

/** In place of an approval, where the log says something of all. */
export const everyApproval = '*';

/** What the audit log has to have of an approval as it is in the store. Nothing of one that is not proven, except for its end. */
export function factsOfApproval(approval: Approval, key: ProofKey): readonly ApprovalFact[] {
  const { id, status, call, batch, use } = approval;
  const facts: ApprovalFact[] = [];
  if (isApprovalProven(approval, key)) {
    facts.push({
      approval: id,
      of: 'asked',
      digest: digestOfApproval(approval),
      expires: approval.expiresAt,
      event: 'requested',
    });
    facts.push(...factsOfDecisions(approval));
  }
  if (status === 'expired') facts.push({ approval: id, of: 'ended', event: 'expired' });
  // The intent of a call has its use. Of a batch, each intent has its own, and the end of all is a fact as well.
  if (status === 'used' && (call === undefined || batch !== undefined) && use !== undefined) facts.push(useOf(id, use));
  return facts;
}

function factsOfDecisions(approval: Approval): readonly ApprovalFact[] {
  const { id } = approval;
  return approval.decisions.flatMap((decision, index): readonly ApprovalFact[] => {
    const digest = digestOfText(decisionText(approval, decision));
    const decided: ApprovalFact = { approval: id, of: decision.as, digest, event: eventKey(decision.as, index) };
    if (decision.withdrawn === undefined) return [decided];
    return [decided, { approval: id, of: 'withdrawn', digest, event: eventKey('withdrawn', index) }];
  });
}

/** The id of the event of a decision. `index`: its place among the decisions. */
export function eventKey(kind: 'granted' | 'rejected' | 'withdrawn', index: number): string {
  return `${kind}/${index + 1}`;
}

export function digestOfApproval(approval: Approval): string {
  return digestOfText(approvalText(approval));
}

export function useOf(approval: string, use: string): ApprovalFact {
  return { approval, of: 'used', use, event: `used/${use}` };
}

/** The uses of an approval for a batch have a name of their own for each item, so that they are found among thousands. */
export function approvalOfItem({ approval, item }: Pick<BatchUse, 'approval' | 'item'>): string {
  return `${approval}/${item}`;
}

export function useOfItem(use: BatchUse): ApprovalFact {
  return { approval: approvalOfItem(use), of: 'used', use: idOfItemUse(use) };
}

export function idOfItemUse({ place, use }: BatchUse): string {
  return `${place}.${use}`;
}

/** Whether the audit log has a use of the item at this place that was not released. `proofs`: of the item. */
export function isItemUsed(use: Omit<BatchUse, 'use'>, proofs: readonly ProvenFact[], key: ProofKey): boolean {
  const released = releasedUses(approvalOfItem(use), proofs, key);
  return proofs.some((proof) => proof.of === 'used' && proof.use?.startsWith(`${use.place}.`) && !released.has(proof.use));
}

/** `key`: undefined where MACs cannot be judged. */
function releasedUses(approval: string, proofs: readonly ProvenFact[], key: ProofKey | undefined): ReadonlySet<string> {
  return new Set(
    proofs.flatMap(({ of, use = '', mac }) =>
      of === 'released' && (key === undefined || isProof(mac, releaseText(approval, use), key)) ? [use] : [],
    ),
  );
}

export function isSameFact(one: ApprovalFact, other: ApprovalFact): boolean {
  return one.approval === other.approval && one.of === other.of && one.digest === other.digest && one.use === other.use;
}

/** What the audit log says of an approval. */
export interface ProvenState {
  /** The log has the approval as it is in the store. */
  readonly isAsked: boolean;
  /** How it ended, and the record of its use. */
  readonly over: { readonly status: 'used' | 'rejected' | 'expired'; readonly record: string } | undefined;
  /** Digests of grants that were withdrawn. */
  readonly withdrawn: ReadonlySet<string>;
  /** When a call of the batch was about to use it first. */
  readonly begunAt: number | undefined;
}

/** `key`: undefined where the MACs of releases cannot be judged, as in a verification without the key. */
export function provenState(approval: Approval, proofs: readonly ProvenFact[], key: ProofKey | undefined): ProvenState {
  const digest = digestOfApproval(approval);
  const released = releasedUses(approval.id, proofs, key);
  const end = proofs.find(({ of, use = '' }) => of === 'rejected' || of === 'ended' || (of === 'used' && !released.has(use)));
  return {
    isAsked: proofs.some((proof) => proof.of === 'asked' && proof.digest === digest),
    over: end && { status: end.of === 'rejected' ? 'rejected' : end.of === 'ended' ? 'expired' : 'used', record: end.record },
    begunAt: proofs.find(({ of }) => of === 'begun')?.at,
    withdrawn: new Set(proofs.flatMap(({ of, digest: one }) => (of === 'withdrawn' && one !== undefined ? [one] : []))),
  };
}
