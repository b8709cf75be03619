import { createHash } from 'node:crypto';
import type { Tables } from '#database/tables.ts';
import type { Approval, ApprovalFacts, StoredPreview } from './approval.ts';

export type ApprovalRow = Tables['approval'];

/** Makes ids of principals comparable, of any length and content. */
export function digestOfCaller(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}

export function factsText({ principal, call, message, reason, task, fingerprint, rules, decisions }: ApprovalFacts): string {
  return JSON.stringify({ principal, call, message, reason, task, fingerprint, rules, decisions } satisfies ApprovalFacts);
}

export function approvalOf(row: ApprovalRow): Approval {
  return {
    ...(JSON.parse(row.facts) as ApprovalFacts),
    id: row.id,
    subject: row.subject,
    status: row.status,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    changedAt: row.changed_at,
    body: row.body === null ? undefined : Buffer.from(row.body),
    preview: row.preview === null ? undefined : (JSON.parse(row.preview) as StoredPreview),
    usedBy: row.used_by ?? undefined,
  };
}
