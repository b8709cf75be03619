import type { NamedPrincipal } from '#access/people.ts';
import type { Evaluated } from '#workflows/jq/expression-pool.ts';
import { outcomeUnknown } from '#workflows/workflow.ts';
import type { EffectError, TaskError } from '../task-error.ts';
import type { JsonValue } from './json-value.ts';

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
  | { readonly kind: 'published' | 'batchBegun'; readonly key: string }
  | {
      readonly kind: 'eventArrived';
      readonly key: string;
      /** The result of the effect's expression. */
      readonly match: string;
      readonly position: number;
      /** The run itself does not look at them. */
      readonly senders?: readonly NamedPrincipal[] | undefined;
    }
  /** The effect must not be done now. Nothing of it has happened, and it is done once the run is resumed. */
  | { readonly kind: 'held'; readonly key: string; readonly by: HoldReason }
  /** An effect, of any kind, cannot be done: the task raises the error. */
  | { readonly kind: 'failed'; readonly key: string; readonly error: EffectError }
  | { readonly kind: 'timePassed' }
  /** `settles`: calls that may have happened come to their ends first, or to a decision of people. */
  | { readonly kind: 'cancel'; readonly settles?: true }
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

/** Whether it says what happened. */
export function isOutcome(result: OutsideResult): boolean {
  return result.kind === 'ok' || (result.kind === 'error' && result.error.type !== outcomeUnknown);
}

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

export type Note = LifecycleNote | TaskNote | CorrelationNote;

export interface LifecycleNote {
  readonly of: 'run';
  readonly kind: 'started' | 'suspended' | 'resumed' | 'cancelled' | 'faulted' | 'completed';
  readonly at: number;
  readonly output?: JsonValue;
  readonly error?: TaskError;
  readonly suspendedBy?: SuspensionReason;
}

export interface TaskNote {
  readonly of: 'task';
  /** `skipped`: its `if` was false. `retried`: it begins another attempt. The last four end a task. */
  readonly kind: 'created' | 'started' | 'suspended' | 'resumed' | 'retried' | 'skipped' | 'cancelled' | 'faulted' | 'completed';
  readonly at: number;
  readonly activity: number;
  readonly createdAt: number;
  readonly reference: string;
  readonly name: string;
  /** The task calls nothing, waits for nothing and asks no one by itself. */
  readonly isPlain: boolean;
  /** The index of the innermost `for`. */
  readonly iteration?: number;
  /** From 1: of the innermost `try`. */
  readonly attempt: number;
  readonly requestId?: string;
  /** Absent where the document says that nothing is kept. `label`: as of `TaskScope`. */
  readonly data?: { readonly input: JsonValue; readonly label?: (() => string) | undefined };
  readonly output?: JsonValue;
  readonly error?: TaskError;
}

export interface CorrelationNote {
  readonly of: 'correlation';
  readonly kind: 'started' | 'completed';
  readonly at: number;
  readonly keys: readonly { readonly name: string; readonly value: JsonValue }[];
}

/**
 * `unknown-outcome`: people have to decide about a call. `delegation-lost`: a person who answers for its calls is gone or may not make them.
 * `person-gone`: the one in whose name it calls is gone. `store-loss`: the store lost commits of the run.
 */
export const suspensionReasons = ['people', 'unknown-outcome', 'delegation-lost', 'person-gone', 'store-loss'] as const;

export type SuspensionReason = (typeof suspensionReasons)[number];

/** Why the gateway itself holds a run. */
export type HoldReason = Extract<SuspensionReason, 'delegation-lost' | 'person-gone' | 'store-loss'>;
