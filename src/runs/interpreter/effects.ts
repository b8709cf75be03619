import type { Evaluation } from '#workflows/expression-pool.ts';
import type { FunctionName } from '#workflows/workflow.ts';

/**
 * What a run waits for. `key` stays the same while the run waits for the same thing. An engine compares keys with what it has in flight. It
 * starts what is new and aborts what vanished. Only `abort` of a call or child can change under the same key.
 */
export type Effect =
  | EvaluateEffect
  | ValidateEffect
  | FetchEffect
  | CallEffect
  | ChildEffect
  | PublishEffect
  | TimerEffect
  | ListenEffect;

/** An evaluation whose variables are those that an expression mentions. */
export interface TaskEvaluation extends Evaluation {
  /** An expression mentions `$secrets`, which has placeholders. */
  readonly usesSecrets: boolean;
}

/** Something that is known already, or is to be evaluated at the last moment. */
export type Argument = { readonly value: string } | { readonly evaluation: TaskEvaluation };

interface Keyed {
  readonly key: string;
}

export interface EvaluateEffect extends Keyed, TaskEvaluation {
  readonly kind: 'evaluate';
}

/** Is answered by `validated`. */
export interface ValidateEffect extends Keyed {
  readonly kind: 'validate';
  readonly schema: { readonly pointer: string; readonly document: string };
  /** JSON text. */
  readonly value: string;
}

/** An external schema. Is answered by `fetched`, once for each run. */
export interface FetchEffect extends Keyed {
  readonly kind: 'fetch';
  readonly pointer: string;
  readonly endpoint: Argument;
}

/** A task whose work is outside the run. `activity` and `attempt` name it for ever: no two calls of a run share them. */
interface OutsideEffect extends Keyed {
  readonly activity: number;
  readonly attempt: number;
  readonly reference: string;
  /** A time limit passed: abort it, and answer as always. `unknown` where an action may have happened, `aborted` where none did. */
  readonly abort: boolean;
}

/** Is answered by `callEnded`. */
export interface CallEffect extends OutsideEffect {
  readonly kind: 'call';
  readonly function: FunctionName;
  readonly with: Argument;
}

/** The run of another workflow. Is answered by `childEnded`: at its end, or after its begin where `await` is false. */
export interface ChildEffect extends OutsideEffect {
  readonly kind: 'child';
  readonly workflow: string;
  readonly version: string;
  readonly input: string;
  readonly await: boolean;
}

/** A CloudEvent as JSON text. Is answered by `published`. */
export interface PublishEffect extends Keyed {
  readonly kind: 'publish';
  readonly event: string;
}

/** Is answered by `timePassed` at `at` or later: milliseconds since the epoch. A run has at most one. */
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
  /** Numbers of messages that the run has taken already. */
  readonly except: ReadonlySet<number>;
  /** One expression, evaluated with the event (CloudEvents as JSON) as `.`. */
  readonly match: Omit<TaskEvaluation, 'dot'>;
}
