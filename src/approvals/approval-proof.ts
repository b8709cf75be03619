import { createHash, createHmac, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { type Approval, type ApprovalDecision, type ApprovalFacts, termsOf } from './approval.ts';

/** The key of the proofs of approvals and decisions. `id` tells one key from another, and nothing about them. */
export interface ProofKey {
  readonly id: string;
  readonly secret: Buffer;
}

/** `secret`: as configured, or the bytes of a key. */
export function proofKeyOf(secret: KeyObject | string): ProofKey {
  const derived = Buffer.from(hkdfSync('sha256', secret, '', 'orchestration-gateway approvals', 32));
  return { id: createHash('sha256').update(derived).digest('base64url').slice(0, 11), secret: derived };
}

/** What an approval asks for, without what people decided and what became of it. */
type AskedApproval = Omit<ApprovalFacts, 'decisions'> & Pick<Approval, 'id' | 'subject' | 'createdAt' | 'expiresAt'>;

/**
 * What the proof of an approval is about. The body is in it by its digest. A new version puts its members at the end, and leaves out those without
 * a value: so a neighbouring version computes the same text.
 */
export function approvalText(approval: Omit<AskedApproval, 'proof'>): string {
  const { id, subject, principal, call, bodyDigest, message, reason, client, task, batch, fingerprint } = approval;
  const { rules, involved, unknown } = approval;
  const asked = {
    id,
    subject,
    principal,
    call,
    bodyDigest,
    message,
    reason,
    client,
    task,
    batch,
    fingerprint,
    rules: rules.map(termsOf),
    involved,
    ...unknown,
  };
  return JSON.stringify(['approval', asked, approval.createdAt, approval.expiresAt]);
}

/** What the proof of a decision is about. */
export function decisionText(
  { id, fingerprint, proof }: Pick<Approval, 'id' | 'fingerprint' | 'proof'>,
  { as, principal, at, reason, rules }: Omit<ApprovalDecision, 'proof'>,
): string {
  return JSON.stringify(['decision', id, fingerprint, proof, as, principal.id, principal.username, at, reason, rules]);
}

/** What the proof of a release is about: the use let nothing leave. */
export function releaseText(approval: string, use: string): string {
  return JSON.stringify(['released', approval, use]);
}

/** The MAC of the text, with the id of its key in front. */
export function proofOf(text: string, { id, secret }: ProofKey): string {
  return `${id}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

export function isProof(proof: string | undefined, text: string, key: ProofKey): boolean {
  const expected = Buffer.from(proofOf(text, key));
  const given = Buffer.from(proof ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Whether a key with this id made the proof. */
export function isOfKey(proof: string | undefined, { id }: ProofKey): boolean {
  return proof?.startsWith(`${id}.`) === true;
}

/** What the audit log keeps of a text, so that a change of it shows without the key too. */
export function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

export function digestOfBody(body: Uint8Array | undefined): string | undefined {
  return body === undefined ? undefined : createHash('sha256').update(body).digest('base64url');
}

export function isApprovalProven(approval: AskedApproval, key: ProofKey): boolean {
  return isProof(approval.proof, approvalText(approval), key);
}

export function isDecisionProven(approval: AskedApproval, decision: ApprovalDecision, key: ProofKey): boolean {
  return isProof(decision.proof, decisionText(approval, decision), key);
}
