import type { NamedPrincipal } from '#access/people.ts';
import type { Evaluated } from '#workflows/expression-pool.ts';
import type { HoldReason } from './suspension.ts';
import type { EffectError } from './task-error.ts';

/** What happened to a run. `at`: milliseconds since the epoch; a state without it is timeless. */
export type RunEvent = { readonly at: number } & (
  | { readonly kind: 'evaluated'; readonly key: string; readonly outcome: Evaluated }
  | { readonly kind: 'validated'; readonly key: string; readonly problems: readonly string[] }
  | { readonly kind: 'fetched'; readonly key: string; readonly document: string }
  | {
      readonly kind: 'callEnded' | 'childEnded';
      readonly key: string;
      readonly result: OutsideResult;
      readonly requestId?: string;
    }
  | { readonly kind: 'published'; readonly key: string }
  /** `match` is the result of the effect's expression. */
  | {
      readonly kind: 'eventArrived';
      readonly key: string;
      readonly match: string;
      readonly position: number;
      /** Who sent it. The run itself does not look at it. */
      readonly senders?: readonly NamedPrincipal[] | undefined;
    }
  /** The effect must not be done now: nothing of it has happened, and it is done once the run is resumed. */
  | { readonly kind: 'held'; readonly key: string; readonly by: HoldReason }
  /** An effect, of any kind, cannot be done: the task raises the error. */
  | { readonly kind: 'failed'; readonly key: string; readonly error: EffectError }
  | { readonly kind: 'timePassed' | 'cancel' }
  /** `inherited`: the parent was resumed. */
  | { readonly kind: 'resume'; readonly inherited?: true }
  /** Without `by` people suspend it; `inherited`: they suspended its parent. */
  | { readonly kind: 'suspend'; readonly by?: HoldReason; readonly inherited?: true }
  | Decision
);

export type OutsideResult =
  | { readonly kind: 'ok'; readonly output: string }
  | { readonly kind: 'error'; readonly error: EffectError }
  /** It may or may not have happened. */
  | { readonly kind: 'unknown'; readonly detail: string }
  /** Nothing happened, and it may be done again: it never left, or it was a query. */
  | { readonly kind: 'aborted' };

/** What people found out about an unknown outcome. */
export interface Decision {
  readonly kind: 'decided';
  readonly activity: number;
  /** `refused`: the output may not be taken, and the task raises `error`. */
  readonly as: 'done' | 'failed' | 'again' | 'refused';
  /** JSON text, for `done`. Default: null. */
  readonly output?: string;
  readonly error?: EffectError;
  readonly reason: string;
}
