import { randomUUID } from 'node:crypto';
import { needsNewer } from '#database/row-version.ts';
import type { Tables } from '#database/tables/tables.ts';
import { type Approval, type ApprovalFacts, hasAllGrants, isOpen, type StoredPreview } from './approval.ts';
import { isApprovalProven, isDecisionProven, type ProofKey } from './approval-proof.ts';

export type ApprovalRow = Tables['approval'];

export function factsText(facts: ApprovalFacts): string {
  const { principal, call, message, reason, client, task, batch, fingerprint, rules, involved } = facts;
  const { bodyDigest, proof, decisions, unknown } = facts;
  const asked = { principal, call, message, reason, client, task, batch, fingerprint, rules, involved };
  const kept = { ...asked, bodyDigest, proof, decisions } satisfies ApprovalFacts;
  return JSON.stringify({ ...kept, ...unknown });
}

/** The id of a use. A caller chooses the id of its request, and may send one twice, so that does not tell uses apart. */
export function newUse(): string {
  return randomUUID();
}

/** What the store keeps of a use: its id, and the id of the audit record of the call. A question has no record. */
export function textOfUse(use: string, record: string | undefined): string {
  return record === undefined ? use : `${use} ${record}`;
}

export function idOfUse(text: string): string {
  const [use = ''] = text.split(' ', 1);
  return use;
}

function recordOfUse(text: string): string | undefined {
  const at = text.indexOf(' ');
  return at < 0 ? undefined : text.slice(at + 1);
}

/** Everything but the body and the preview, which may be long. */
export const factColumns = [
  'id',
  'subject',
  'rules',
  'run',
  'status',
  'created_at',
  'expires_at',
  'changed_at',
  'caller_digest',
  'facts',
  'used_by',
  'unannounced',
  'unrecorded',
  'holds_until',
  'lowest',
] as const;

type FactRow = Pick<ApprovalRow, (typeof factColumns)[number]>;

/**
 * An approval as it counts. Decisions without a right proof are left out. Where it is open, its proofs say whether it is granted, and not
 * the row; one without a proof of this key has ended. One that needs a newer version is as its row says, since its proofs are that version's.
 */
export function approvalOf(row: FactRow & Partial<ApprovalRow>, key: ProofKey): Approval {
  const asIs = storedApproval(row);
  if (needsNewer(asIs.lowest)) return asIs;
  const isVoid = !isApprovalProven(asIs, key);
  const decisions = isVoid ? asIs.decisions : asIs.decisions.filter((decision) => isDecisionProven(asIs, decision, key));
  return { ...asIs, decisions, isVoid, status: statusOf({ ...asIs, decisions, isVoid }) };
}

function statusOf({ status, isVoid, rules, decisions }: Approval): Approval['status'] {
  if (!isOpen(status)) return status;
  if (isVoid) return 'expired';
  return hasAllGrants(rules, decisions) ? 'granted' : 'waiting';
}

/** An approval as the row says, proven or not. */
export function storedApproval(row: FactRow & Partial<ApprovalRow>): Approval {
  const { body = null, preview = null, used_by: use } = row;
  return {
    ...factsIn(row.facts),
    id: row.id,
    subject: row.subject,
    status: row.status,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    holdsUntil: row.holds_until ?? undefined,
    changedAt: row.changed_at,
    body: body === null ? undefined : Buffer.from(body),
    preview: preview === null ? undefined : (JSON.parse(preview) as StoredPreview),
    use: use === null ? undefined : idOfUse(use),
    usedBy: use === null ? undefined : recordOfUse(use),
    isUnannounced: row.unannounced === 1,
    isVoid: false,
    unrecorded: row.unrecorded,
    lowest: row.lowest,
  };
}

function factsIn(text: string): ApprovalFacts {
  const facts = JSON.parse(text) as Partial<ApprovalFacts> & Omit<ApprovalFacts, 'involved' | 'unknown'>;
  const { principal, call, message, reason, client, task, batch, fingerprint, rules, ...others } = facts;
  const { involved = [], bodyDigest, proof, decisions, ...unknown } = others;
  const asked = { principal, call, message, reason, client, task, batch, fingerprint, rules, involved };
  return { ...asked, bodyDigest, proof, decisions, ...(Object.keys(unknown).length > 0 && { unknown }) };
}
