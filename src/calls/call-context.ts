import type { InvolvedPrincipal, NamedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { Entrance } from '#access/rights/access-options.ts';
import type { Seal } from '#relay/call-seal.ts';
import type { ApprovalReference } from './approval-check.ts';
import type { CallRecord } from './call-record.ts';

/** The call may leave, and its approval is there, but its time has not come: nothing happened, and nothing is on record. */
export class TooEarly extends Error {
  constructor() {
    super('the time of the call has not come');
    this.name = 'TooEarly';
  }
}

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
  /** Of the automation that runs. */
  readonly owner?: NamedPrincipal | undefined;
  /** The principal comes from the store, and not from a request: what it is now counts. */
  readonly isRemembered?: boolean | undefined;
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
  /**
   * Of a call of a run: has its state stored, in one transaction with an intent that is recorded at the same
   * moment. Resolves to false where another gateway has the run: nothing may leave then. Asking again does nothing more. Never rejects.
   */
  readonly stored?: (() => Promise<boolean>) | undefined;
  /** The call leaves at this time or later: milliseconds since the epoch. Before it `perform` rejects with TooEarly. */
  readonly notBefore?: number | undefined;
  /** Asked when the call is on record. False: its entrance may not make it any more, so nothing leaves. */
  readonly mayLeave?: () => boolean;
  /** Calls back once: when the reply is out (`complete`), or when the caller left before that. */
  whenEnded(callback: (complete: boolean) => void): void;
  /** Calls back where the gateway stops before the call ends; the result takes that back. */
  whenStopping(callback: () => void): () => void;
}
