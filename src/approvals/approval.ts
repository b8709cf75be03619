import type { InvolvedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import type { ApprovalReference, ApprovalTask } from '#calls/approval-check.ts';
import type { CarriedSecret } from '#relay/call-seal.ts';
import type { PassedOnHeaders } from '#relay/orchestrator-request.ts';
import type { CallOperation } from '#relay/relayed-call.ts';

export const approvalStatuses = ['waiting', 'granted', 'rejected', 'expired', 'used'] as const;

/** `granted`: it has all of its grants and was not used yet. */
export type ApprovalStatus = (typeof approvalStatuses)[number];

/** What people are asked to approve, and what they decided. Times are milliseconds since the epoch. */
export interface Approval extends ApprovalFacts {
  readonly id: string;
  /** See `ApprovalTables`. */
  readonly subject: string;
  readonly status: ApprovalStatus;
  readonly createdAt: number;
  /** From then on it can be neither granted nor used, but for one for a batch that was used before. */
  readonly expiresAt: number;
  /** For a batch, after its first use: in place of `expiresAt`. */
  readonly holdsUntil?: number | undefined;
  /** When the status changed last. */
  readonly changedAt: number;
  /** The body of the call; values of secrets and of password fields are masked. It and the preview may be long: many approvals at once are read without them. */
  readonly body: Buffer | undefined;
  readonly preview: StoredPreview | undefined;
  /** The id of the audit record of the call that used it. A question has none. */
  readonly usedBy: string | undefined;
  /** The id of its use. */
  readonly use: string | undefined;
  /** The event of its use is not in the log of events yet. */
  readonly isUnannounced: boolean;
  /** Its proof is not of the key in force: it lets nothing leave. */
  readonly isVoid: boolean;
  /** How often it changed since the audit log has all of its proofs. */
  readonly unrecorded: number;
  /** The lowest version that may act on it (row-version.ts). Absent: every version. */
  readonly lowest?: number | undefined;
}

/** What stays the same, except for the decisions. */
export interface ApprovalFacts {
  /** Who asks: the caller, or the principal that the run belongs to. */
  readonly principal: Principal;
  /** The call to approve; undefined where a task asks a question. */
  readonly call: StoredCall | undefined;
  /** The question of a task. */
  readonly message: string | undefined;
  /** `X-Reason` of the caller. */
  readonly reason: string | undefined;
  /** Of a call over MCP: the program of the client, as it names itself. Absent: it came by another entrance. */
  readonly client?: ApprovalReference['client'];
  readonly task: ApprovalTask | undefined;
  /** It is for all calls of a batch at the task, of which `call` is the first one. */
  readonly batch?: ApprovalBatch | undefined;
  /** A keyed hash of the call; undefined where a task asks a question. */
  readonly fingerprint: string | undefined;
  /** All of them must be satisfied. */
  readonly rules: readonly ApprovalTerms[];
  /** Who had a hand in the call, in addition to its caller, when it was asked. */
  readonly involved: readonly InvolvedPrincipal[];
  /** SHA-256 of the body that people are shown. */
  readonly bodyDigest: string | undefined;
  /** The MAC of all of the above, with the times. Undefined in an approval of an earlier version, which lets nothing leave. */
  readonly proof: string | undefined;
  readonly decisions: readonly ApprovalDecision[];
  /** Members that only a newer version knows: kept as they are, and proven with the rest. */
  readonly unknown?: Readonly<Record<string, unknown>> | undefined;
}

/** Milliseconds for which the grant for a batch holds after its first use. */
export const batchHolds = 86_400_000;

/** The batch that an approval is for. */
export interface ApprovalBatch {
  readonly run: string;
  readonly activity: number;
  readonly attempt: number;
  readonly items: number;
  /** SHA-256 of the items, as the store had them. */
  readonly digest: string;
}

/** What a rule asks for. */
export type ApprovalTerms = Pick<ApprovalRule, 'name' | 'approvers' | 'count' | 'selfApproval'>;

export function termsOf({ name, approvers, count, selfApproval }: ApprovalTerms): ApprovalTerms {
  const { roles, groups } = approvers;
  return { name, approvers: { roles: [...roles], groups: [...groups] }, count, selfApproval };
}

export interface ApprovalDecision {
  readonly as: 'granted' | 'rejected';
  readonly principal: Pick<Principal, 'id' | 'username'>;
  readonly at: number;
  readonly reason: string;
  /** The names of the rules that it counts for. */
  readonly rules: readonly string[];
  /** The MAC of the decision. */
  readonly proof: string | undefined;
  /** A grant that counts no more, for good: since when, and why. */
  readonly withdrawn?: { readonly at: number; readonly reason: string } | undefined;
}

/**
 * A call as it would leave, without its body. `redacted`: something is masked in it, or in its body. `secrets`: those of the workflow that it carries.
 */
export type StoredCall = { readonly redacted: boolean; readonly secrets?: readonly CarriedSecret[] } & (
  | {
      readonly operation: 'restCall';
      readonly method: string;
      readonly uri: string;
      /** With `***` in place of credentials. */
      readonly headers: Readonly<Record<string, string>>;
      readonly user: string | undefined;
    }
  | {
      readonly operation: Exclude<CallOperation, 'restCall'>;
      readonly adapter: string;
      readonly method: string;
      readonly path: string;
      readonly accept: string;
      readonly contentType: string | undefined;
      readonly passedOn: PassedOnHeaders;
      /** The writer of the workflow says that the call changes nothing. */
      readonly repeatable?: true | undefined;
    }
);

/** What the orchestrator says that the call would do. */
export interface StoredPreview {
  readonly kind: string;
  readonly text?: string | undefined;
  /** Why there is none. */
  readonly reason?: string | undefined;
  readonly at: number;
}

/** Whether an approval can have this id. Some texts are none that every store takes. */
export function isApprovalId(text: string): boolean {
  return /^[0-9a-f-]{36}$/u.test(text);
}

/** The status now: what expired may not be on record as such yet. */
export function statusAt(
  { status, expiresAt, holdsUntil }: Pick<Approval, 'status' | 'expiresAt' | 'holdsUntil'>,
  now: number,
): ApprovalStatus {
  if (!isOpen(status)) return status;
  if (holdsUntil !== undefined) return now >= holdsUntil ? 'used' : status;
  return now >= expiresAt ? 'expired' : status;
}

/** Whether the approval can still be granted, rejected or used. */
export function isOpen(status: ApprovalStatus): boolean {
  return status === 'waiting' || status === 'granted';
}

/** How many different people have granted, as far as it counts for the rule. */
export function grantsFor({ name }: Pick<ApprovalTerms, 'name'>, decisions: readonly ApprovalDecision[]): number {
  const counted = decisions.filter(
    ({ as, rules, withdrawn }) => as === 'granted' && withdrawn === undefined && rules.includes(name),
  );
  return new Set(counted.map(({ principal }) => principal.id)).size;
}

export function hasAllGrants(rules: readonly ApprovalTerms[], decisions: readonly ApprovalDecision[]): boolean {
  return rules.every((terms) => grantsFor(terms, decisions) >= terms.count);
}
