import type { Evaluation } from '#workflows/jq/expression-pool.ts';
import type { BatchTask, FunctionName } from '#workflows/workflow.ts';
import type { JsonValue } from './state/json-value.ts';

/**
 * What a run waits for, with the same `key` as long as it waits for the same thing. An engine starts effects with new keys, and aborts those
 * whose keys vanish. Only `abort` of a call, child or batch, and `items`, can change under the same key.
 */
export type Effect =
  | EvaluateEffect
  | ValidateEffect
  | FetchEffect
  | CallEffect
  | ChildEffect
  | BatchEffect
  | PublishEffect
  | TimerEffect
  | ListenEffect;

export interface TaskEvaluation extends Evaluation {
  /** An expression mentions `$secrets`, which has placeholders. */
  readonly usesSecrets: boolean;
}

/** An evaluation happens at the last moment. */
export type Argument = { readonly value: string } | { readonly evaluation: TaskEvaluation };

interface Keyed {
  readonly key: string;
}

export interface EvaluateEffect extends Keyed, TaskEvaluation {
  readonly kind: 'evaluate';
}

/** Answered by `validated`. */
export interface ValidateEffect extends Keyed {
  readonly kind: 'validate';
  readonly schema: { readonly pointer: string; readonly document: string };
  /** JSON text. */
  readonly value: string;
}

/** An external schema. Answered by `fetched`, once for each run. */
export interface FetchEffect extends Keyed {
  readonly kind: 'fetch';
  readonly pointer: string;
  readonly endpoint: Argument;
}

/** `activity` and `attempt` name it for ever: no two calls of a run share them. */
interface OutsideEffect extends Keyed {
  readonly activity: number;
  readonly attempt: number;
  readonly reference: string;
  /** The indices of the loops around the task, the outermost first. */
  readonly turn: readonly number[];
  /** A time limit passed: abort it, and answer as always. `unknown` where an action may have happened, `aborted` where none did. */
  readonly abort: boolean;
}

/** Answered by `callEnded`. */
export interface CallEffect extends OutsideEffect {
  readonly kind: 'call';
  readonly function: FunctionName;
  readonly with: Argument;
}

/** The run of another workflow. Answered by `childEnded`: at its end, or after its begin where `await` is false. */
export interface ChildEffect extends OutsideEffect {
  readonly kind: 'child';
  readonly workflow: string;
  readonly version: string;
  readonly input: string;
  readonly await: boolean;
}

/** Runs of a workflow for the items of a list. Answered by `batchBegun` once the store gets the items, and by `childEnded` at its end. */
export interface BatchEffect extends OutsideEffect, Pick<BatchTask, 'parallel' | 'canary' | 'stopAfter' | 'failures'> {
  readonly kind: 'batch';
  readonly workflow: string;
  readonly version: string;
  /** A list; undefined once the batch has begun. */
  readonly items: JsonValue | undefined;
}

/** Answered by `published`. */
export interface PublishEffect extends Keyed {
  readonly kind: 'publish';
  /** A CloudEvent as JSON text. */
  readonly event: string;
}

/** Answered by `timePassed` at `at` or later: milliseconds since the epoch. A run has at most one. */
export interface TimerEffect extends Keyed {
  readonly kind: 'timer';
  readonly at: number;
}

/**
 * Events in the order of their positions, beyond `after` where it is set, else from the time `since` on. The first for which `match` gives
 * another result than null is answered by `eventArrived`.
 */
export interface ListenEffect extends Keyed {
  readonly kind: 'listen';
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly after?: number;
  /** Positions of messages that the run has taken. */
  readonly except: ReadonlySet<number>;
  /** One expression, evaluated with the event (CloudEvents as JSON) as `.`. */
  readonly match: Omit<TaskEvaluation, 'dot'>;
}
