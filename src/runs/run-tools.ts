import type { Clock } from '#base/clock.ts';
import type { LimitReached } from '#base/limits.ts';
import type { ExpressionPool } from '#workflows/expression-pool.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { MessageStart } from './event-store.ts';
import type { RunPeople } from './run-people.ts';
import type { ClaimedRun, EventRecord } from './run-records.ts';
import type { ApprovalTasks } from './tasks/approval-task.ts';
import type { CallTasks } from './tasks/call-tasks.ts';
import type { SecretValues } from './tasks/secret-values.ts';

/** What a run needs of the parts around it. Each waits where the store is away; none rejects for what a workflow does. */
export interface RunTools {
  readonly clock: Clock;
  readonly limitReached: LimitReached;
  /** `$runtime`. */
  readonly runtime: { readonly name: string; readonly version: string };
  readonly expressions: Pick<ExpressionPool, 'evaluate'>;
  readonly secrets: SecretValues;
  readonly calls: CallTasks;
  readonly approvals: Pick<ApprovalTasks, 'isUnused' | 'withdraw'>;
  /** The problems of a value, or why the schema cannot be used. JSON texts. */
  checkSchema(check: {
    readonly schema: string;
    readonly value: string;
    readonly person?: string | undefined;
  }): Promise<readonly string[]>;
  /** A version of a workflow, `latest` for the newest; undefined where it does not exist, or has other bytes than those of the digest. */
  loadWorkflow(wanted: {
    readonly id: string;
    readonly version: string;
    readonly digest: string | undefined;
  }): Promise<{ readonly workflow: Workflow; readonly digest: string } | undefined>;
  readonly people: Pick<RunPeople, 'involved' | 'whyGone'>;
  /** Whether one of the calls of the run, or of a run that it began, may have changed something. */
  mayHaveCalled(run: ClaimedRun): Promise<boolean>;
  /** Ids of the runs that the run began and that have not ended. */
  openChildren(run: string): Promise<readonly string[]>;
  /** The highest number of an event, message or not. */
  lastEvent(): Promise<number>;
  /** Messages in the order of their numbers. */
  messages(
    start: MessageStart & { readonly limit: number },
  ): Promise<readonly Pick<EventRecord, 'number' | 'event' | 'senders'>[]>;
}
