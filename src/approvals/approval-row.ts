import { randomUUID } from 'node:crypto';
import type { Tables } from '#database/tables.ts';
import type { Approval, ApprovalFacts, StoredPreview } from './approval.ts';

export type ApprovalRow = Tables['approval'];

export function factsText({ principal, call, message, reason, task, fingerprint, rules, decisions }: ApprovalFacts): string {
  return JSON.stringify({ principal, call, message, reason, task, fingerprint, rules, decisions } satisfies ApprovalFacts);
}

/** A use of an approval, as the store keeps it. It has an id of its own: a caller chooses the id of its request, and may send one twice. */
export function newUse(requestId: string): string {
  return `${randomUUID()} ${requestId}`;
}

/** The id of the use itself. */
export function idOfUse(use: string): string {
  return use.slice(0, use.indexOf(' '));
}

function requestOfUse(use: string): string {
  return use.slice(use.indexOf(' ') + 1);
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
] as const;

type FactRow = Pick<ApprovalRow, (typeof factColumns)[number]>;

export function approvalOf(row: FactRow & Partial<ApprovalRow>): Approval {
  const { body = null, preview = null } = row;
  return {
    ...(JSON.parse(row.facts) as ApprovalFacts),
    id: row.id,
    subject: row.subject,
    status: row.status,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    changedAt: row.changed_at,
    body: body === null ? undefined : Buffer.from(body),
    preview: preview === null ? undefined : (JSON.parse(preview) as StoredPreview),
    usedBy: row.used_by === null ? undefined : requestOfUse(row.used_by),
  };
}
