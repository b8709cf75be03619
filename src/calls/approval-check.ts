import type { InvolvedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import type { ApprovalFact, AuditFacts } from '#audit/audit-entry.ts';
import type { IntentPermit } from '#audit/intent-permit.ts';
import type { CarriedSecret } from '#relay/call-seal.ts';
import type { Call } from './call.ts';

/** Lets a call pass once people have approved it. The approvals themselves are in `src/approvals/`. */
export interface ApprovalGate {
  /**
   * Resolves where the call has its approval, and to undefined where none is asked for any more. Otherwise rejects:
   *
   * - `approval-required` (403): people have not decided yet. A new call is put before them first.
   * - `approval-mismatch` (403): the approval is none of this call.
   * - `approval-rejected`, `approval-used` and `approval-expired` (409).
   * - `store-unavailable` (503).
   */
  admit(asking: AskingCall): Promise<ApprovalPermit | undefined>;
}

export interface AskingCall {
  readonly principal: Principal;
  /** Who had a hand in the call, apart from the principal. Absent: no other one. */
  readonly involved?: readonly InvolvedPrincipal[];
  readonly call: Call;
  /** The rules that match the call now. None where only its caller names an approval, or people were asked before. */
  readonly rules: readonly ApprovalRule[];
  readonly reference: ApprovalReference;
}

/** What an entrance knows of the approval of a call. */
export interface ApprovalReference {
  /** The id that the caller named. */
  readonly id?: string | undefined;
  /** Why the caller makes the call, in its own words. */
  readonly reason?: string | undefined;
  /** Of a call over MCP: see AuditFacts. */
  readonly client?: AuditFacts['client'];
  /** An approval expires `expires` after this time, where it is ahead: milliseconds since the epoch. */
  readonly notBefore?: number | undefined;
  /** The task of a run that makes the call: its approval is for this attempt alone, and needs no id. */
  readonly task?: ApprovalTask | undefined;
  /** People were asked about this attempt of the task: what they decide holds, also where no rule matches it any more. */
  readonly isAsked?: boolean | undefined;
  /** Replaces in a JSON text what people are not shown: the values of secrets, and of password fields of a form. */
  readonly mask?: ((jsonText: string) => string) | undefined;
  /** The same in a body, which may be no JSON. Absent: `mask`. */
  readonly maskBody?: ((text: string) => string) | undefined;
  /** The secrets of the workflow that the call carries. */
  readonly secrets?: readonly CarriedSecret[] | undefined;
}

/** `activity` and `attempt` name a call of a run for ever. */
export interface ApprovalTask {
  readonly run: string;
  readonly activity: number;
  readonly attempt: number;
  /** The place of the task in the document. */
  readonly reference: string;
  /** Absent: it is in no batch. */
  readonly item?: ApprovalItem | undefined;
  /** For people: what runs. Absent in approvals of an earlier version. */
  readonly of?: {
    readonly automation: { readonly id: string; readonly name: string } | undefined;
    readonly workflow: string;
    readonly version: string;
  };
}

/** The item of a batch that a task works on. `run`, `activity` and `attempt` name the batch for ever. */
export interface ApprovalItem {
  readonly run: string;
  readonly activity: number;
  readonly attempt: number;
  readonly index: number;
  /** Of the document with the task: SHA-256, hexadecimal. */
  readonly digest: string | undefined;
  /** The turn of the task: the same for each attempt at it. */
  readonly turn: readonly (string | number)[];
}

/** One call may leave, once. */
export interface ApprovalPermit {
  readonly id: string;
  /** For the record of the intent: the use, which a change of the row of the approval does not take back. */
  readonly use: ApprovalFact;
  /** What the preview of the call names, with repetitions. */
  readonly devices?: readonly string[] | undefined;
  /** Used up with the intent, in its transaction. */
  readonly withIntent: IntentPermit;
  /** The intent is on record: tells those who watch. */
  used(): void;
  /** Nothing left the gateway: the approval can be used again. Never rejects. */
  release(): Promise<void>;
}
