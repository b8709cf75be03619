import type { Clock } from '#base/clock.ts';
import type { TraceContext } from '#base/trace-context.ts';
import type { ExpressionPool } from '#workflows/expression-pool.ts';
import type { FunctionName, Workflow } from '#workflows/workflow.ts';
import type { OutsideResult } from './interpreter/run-events.ts';
import type { EffectError } from './interpreter/task-error.ts';
import type { EventRecord, StoredRun } from './run-records.ts';

/** What a run needs of the parts around it. Each waits where the store is away; none rejects for what a workflow does. */
export interface RunTools {
  readonly clock: Clock;
  /** `$runtime`. */
  readonly runtime: { readonly name: string; readonly version: string };
  readonly expressions: Pick<ExpressionPool, 'evaluate'>;
  readonly secrets: RunSecrets;
  readonly calls: CallTasks;
  /** The problems of a value, or why the schema cannot be used. JSON texts. */
  checkSchema(check: { readonly schema: string; readonly value: string }): Promise<readonly string[]>;
  /** A version of a workflow, `latest` for the newest; undefined where it does not exist. */
  loadWorkflow(name: { readonly id: string; readonly version: string }): Promise<Workflow | undefined>;
  /** Messages in order: beyond the number `after`, and not older than `since`. */
  messages(range: {
    readonly after: number;
    readonly since: number;
    readonly limit: number;
  }): Promise<readonly Pick<EventRecord, 'number' | 'event'>[]>;
}

/** The secrets of workflows (`automations.secrets`). */
export interface RunSecrets {
  /** An object with these secrets, as JSON text; or the names that are not configured. */
  variable(names: readonly string[]): { readonly text: string } | { readonly missing: readonly string[] };
  /** The JSON text with `***` instead of each value of a secret. */
  mask(text: string): string;
}

/** A call of a task, with its arguments as JSON text, in which secrets may be. */
export interface RunCall {
  readonly run: Pick<StoredRun, 'id' | 'principal' | 'delegated' | 'workflow' | 'version'>;
  readonly trace: TraceContext;
  readonly activity: number;
  readonly attempt: number;
  readonly reference: string;
  readonly function: FunctionName;
  readonly args: string;
  /** Milliseconds since the epoch: an earlier holder of the run may have made the call then. */
  readonly begunAt?: number;
}

export interface CallEnd {
  readonly result: OutsideResult;
  readonly requestId?: string;
}

/** Makes the calls of runs by the one path of calls. */
export interface CallTasks {
  /** `signal` aborts the call as a caller that leaves does. The result says whether it may have happened. */
  perform(call: RunCall, signal: AbortSignal): Promise<CallEnd>;
  /** Fetches a document, as JSON text. `endpoint`: `{ uri, authentication? }` as JSON text. */
  fetch(
    options: Pick<RunCall, 'run' | 'trace'> & { readonly endpoint: string },
    signal: AbortSignal,
  ): Promise<{ readonly document: string } | { readonly error: EffectError }>;
}
