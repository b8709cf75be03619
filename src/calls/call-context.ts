import type { Entrance } from '#access/access-options.ts';
import type { InvolvedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { Seal } from '#relay/seal.ts';
import type { ApprovalReference } from './approval-gate.ts';
import type { CallRecord } from './call-record.ts';

/** In what circumstances a call is made; its entrance fills it in. */
export interface CallContext {
  readonly record: CallRecord;
  /**
   * Of a call of a run: everybody who decided what it says, with the roles and groups of now. The call must be allowed to each of them, and the
   * rights of its principal do not count. An empty list allows nothing.
   */
  readonly answerable?: readonly Principal[];
  /** Who had a hand in the call, apart from its caller. Absent: no other principal. */
  readonly involved?: readonly InvolvedPrincipal[];
  /** By which entrances the call comes. Absent: over HTTP. */
  readonly via?: readonly Entrance[] | undefined;
  /** Of a call of a run: the secrets that it may carry. */
  readonly seal?: Seal | undefined;
  /** Absent: the caller named no approval, and gave no reason. */
  readonly approval?: ApprovalReference | undefined;
  /** Whose rate limit counts the call. Absent: that of its caller. */
  readonly asker?: Principal | undefined;
  /** Milliseconds that the caller is willing to wait, where it said so. */
  readonly wait: number | undefined;
  /** Asked when the call is on record. False: its entrance may not make it any more, so nothing leaves. */
  readonly mayLeave?: () => boolean;
  /** Calls back once: when the reply is out (`complete`), or when the caller left before that. */
  whenEnded(callback: (complete: boolean) => void): void;
  /** Calls back where the gateway stops before the call ends; the result takes that back. */
  whenStopping(callback: () => void): () => void;
}
