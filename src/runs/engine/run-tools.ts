import type { Clock } from '#base/clock.ts';
import type { LimitReached } from '#base/limits.ts';
import type { ExpressionPool } from '#workflows/jq/expression-pool.ts';
import type { Workflow } from '#workflows/workflow.ts';
import type { ItemPage } from '../journal/batches/batch-read-store.ts';
import type { StoredBatch, StoredItem } from '../journal/batches/batch-records.ts';
import type { MessageStart } from '../journal/events/event-store.ts';
import type { ParentCall } from '../journal/run-parent.ts';
import type { ClaimedRun, EventRecord, QueuedCommand, RunCommand, RunWrite } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';
import type { RunPeople } from '../people/run-people.ts';
import type { SecretValues } from '../secrets/secret-values.ts';
import type { ApprovalTasks } from '../tasks/approval-task.ts';
import type { CallTasks } from '../tasks/call-tasks.ts';

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
  /** What readers see of the data of tasks. `keeps`: false where the configuration says that nothing is kept. */
  readonly taskData: { readonly keeps: () => boolean; readonly passwordsOf: (run: ClaimedRun) => Promise<readonly string[]> };
  /** Whether one of the calls of the run, or of a run that it began, may have changed something. */
  mayHaveCalled(run: ClaimedRun): Promise<boolean>;
  /** Ids of the runs that the run began and that have not ended. */
  openChildren(run: string): Promise<readonly string[]>;
  /** A batch of a run; undefined where the store does not have it. */
  batch(call: ParentCall): Promise<StoredBatch | undefined>;
  items(call: ParentCall, page: ItemPage): Promise<readonly StoredItem[]>;
  /** Whether people are asked once for calls of a batch of this workflow: its first item then runs alone. */
  asksOnce(workflow: { readonly id: string; readonly version: string }): Promise<boolean>;
  /** In a repetition: see `repeatedItemsOf`. */
  readonly repeatedItems: RunStore['repeatedItems'];
  /** Ids of the runs of items that have not ended. */
  openItems(call: ParentCall): Promise<readonly string[]>;
  /** Batches of a run that have not ended. */
  openBatches(run: string): Promise<readonly ParentCall[]>;
  /** Places that one person may have at this gateway. */
  readonly placesOfPerson: number;
  /** The highest number of an event, message or not. */
  lastEvent(): Promise<number>;
  /** Messages in the order of their numbers. */
  messages(
    start: MessageStart & { readonly limit: number },
  ): Promise<readonly Pick<EventRecord, 'number' | 'event' | 'senders'>[]>;
}

/** The part of the store that the holder of a run uses. */
export interface RunJournal {
  /** `lost`: another holder has the run, and nothing was written. */
  save(write: RunWrite): Promise<'saved' | 'lost'>;
  /** To the holder that the run has now, or gets. A second one with the key is dropped. */
  command(run: string, command: RunCommand, key: string): Promise<boolean>;
  commandsOf(runs: readonly string[]): Promise<readonly QueuedCommand[]>;
}
