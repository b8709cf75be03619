import type { JsonValue } from './json-value.ts';
import type { SuspensionReason } from './suspension.ts';
import type { TaskError } from './task-error.ts';

/** What a step did: for the timeline of a run and its lifecycle events. */
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
  readonly output?: JsonValue;
  readonly error?: TaskError;
}

export interface CorrelationNote {
  readonly of: 'correlation';
  readonly kind: 'started' | 'completed';
  readonly at: number;
  readonly keys: readonly { readonly name: string; readonly value: JsonValue }[];
}
