import type { Entrance } from '#access/access-options.ts';
import type { InvolvedPrincipal } from '#access/people.ts';
import type { Role } from '#access/principal.ts';
import type { ApprovalReference } from './approval-gate.ts';
import type { CallRecord } from './call-record.ts';

/** In what circumstances a call is made; its entrance fills it in. */
export interface CallContext {
  readonly record: CallRecord;
  /** The roles that the call is decided by, where they are not the principal's own: those of the writer of a workflow. */
  readonly delegated?: readonly Role[];
  /** Who had a hand in the call, apart from its caller. Absent: no one. */
  readonly involved?: readonly InvolvedPrincipal[];
  /** By which entrances the call comes. Absent: over HTTP. */
  readonly via?: readonly Entrance[] | undefined;
  /** Absent: the caller named no approval, and gave no reason. */
  readonly approval?: ApprovalReference | undefined;
  /** Milliseconds that the caller is willing to wait, where it said so. */
  readonly wait: number | undefined;
  /** Asked when the call is on record. False: its entrance may not make it any more, so nothing leaves. */
  readonly mayLeave?: () => boolean;
  /** Calls back once: when the reply is out (`complete`), or when the caller left before that. */
  whenEnded(callback: (complete: boolean) => void): void;
  /** Calls back where the gateway stops before the call ends; the result takes that back. */
  whenStopping(callback: () => void): () => void;
}
