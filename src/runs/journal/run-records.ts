import type { InvolvedPrincipal, NamedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { WorkflowPin } from '#workflows/catalogue/workflow-pins.ts';
import type { OutsideResult, SuspensionReason } from '../interpreter/state/run-events.ts';
import type { RunStatus, TimelineCounts } from '../interpreter/state/run-state.ts';
import type { TaskError } from '../interpreter/task-error.ts';
import type { BatchWrite, ItemReport } from './batches/batch-records.ts';
import type { BatchItem, ParentCall, TaskTurn } from './run-parent.ts';

/** What a run is made of when it begins. Times are milliseconds since the epoch; inputs and outputs are JSON texts. */
export interface NewRun {
  /** Increases with time (UUID version 7), except for the run of a `run: workflow` task: see `childRunId`. */
  readonly id: string;
  /** The automation that was run, also for runs that other runs began. */
  readonly automation: RunAutomation | undefined;
  /** `namespace.name`. */
  readonly workflow: string;
  readonly version: string;
  readonly input: string;
  /** Random: ids of events and jitter come from it. */
  readonly seed: string;
  /** The run belongs to it: calls are made in this name. */
  readonly principal: Principal;
  /** SHA-256 of its document, hexadecimal: it runs these bytes alone. Undefined: an earlier version of the gateway began it. */
  readonly workflowDigest: string | undefined;
  /** The documents that it and its children may use, as they were when the outermost run began. */
  readonly pins: readonly WorkflowPin[] | undefined;
  /** The digests of the documents above it, from that of the outermost run on: who stored them answers for its calls too. */
  readonly above: readonly string[];
  /** The authors of the automation at its start: they answer for its calls too. Undefined: the store did not keep them. */
  readonly authors: readonly NamedPrincipal[] | undefined;
  /** Of the automation at its start. Absent: not known. */
  readonly owner?: NamedPrincipal | undefined;
  /** Who had a hand in the run when it was created; `RunPerson` has who joined later. */
  readonly involved: readonly InvolvedPrincipal[];
  readonly startedBy: StartedBy;
  readonly parent: ParentCall | undefined;
  /** The item of a batch that it is for, or is inside of. */
  readonly item?: BatchItem | undefined;
  /** Of a run that a `run: workflow` task began: where the task is, with its reference. Absent: an earlier gateway began it, or no task. */
  readonly around?: TaskTurn | undefined;
  /** Names of fields of the automation's form that readers of task data may not see. Absent: none. */
  readonly passwordFields?: readonly string[] | undefined;
  /** No call that may change something leaves before: milliseconds since the epoch. */
  readonly notBefore?: number | undefined;
  readonly repeats?: ItemRepetition | undefined;
  /** By which entrance the outermost run was started. Absent: over HTTP, by a schedule, or unknown. */
  readonly entrance?: 'mcp' | undefined;
}

/** Of a run that repeats items of batches of another one, and of the runs inside it. */
export interface ItemRepetition {
  /** The repeated run. */
  readonly run: string;
  /** A batch that had not begun there runs whole. Otherwise another repetition runs it. */
  readonly hasRest: boolean;
}

/** `id`: `_id` of the automation. `name`: at the start of the run. */
export interface RunAutomation {
  readonly id: string;
  readonly name: string;
}

/** `schedule`: the interval or the cron expression, or `once`. `due`: milliseconds since the epoch. */
export type StartedBy = { readonly principal: string } | { readonly schedule: string; readonly due: number };

/** Who joined a run after its creation: the sender of an event that it took, or who decided about one of its calls. */
export interface RunPerson extends NamedPrincipal {
  readonly as: 'event' | 'decision';
}

/** A run as it is in the store. */
export interface StoredRun extends NewRun {
  readonly status: RunStatus;
  /** Why it is suspended. */
  readonly suspendedBy: SuspensionReason | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly output: string | undefined;
  readonly error: TaskError | undefined;
  readonly notStored?: NotStored | undefined;
  /** The lowest version that may act on it (row-version.ts). Absent: every version. */
  readonly lowest?: number | undefined;
}

/** Tasks of a run beyond the limit of its timeline, and their events. */
export type NotStored = Pick<TimelineCounts, 'tasks' | 'events'>;

/** A run that this gateway holds: no other one works on it until the lease ends. */
export interface ClaimedRun extends StoredRun {
  /** Whose turn it is: a digest, the same for all principals of a person. */
  readonly person: string;
  /** Increases with each claim. A write with an older one is refused. */
  readonly fence: number;
  /** How many gateways in a row died, or lost the lease, at the position where the run is. */
  readonly abandonedClaims: number;
  /**
   * The store lost commits while the run was under way. `held` until people release it, then `doubtful` until they say of a call that it did
   * not happen.
   */
  readonly loss: 'held' | 'doubtful' | undefined;
  /** As `writeState` wrote it. Absent: the run has not started. */
  readonly state: { readonly text: string; readonly values: ReadonlyMap<string, string> } | undefined;
  /** When its state was written. */
  readonly savedAt: number;
  /** The last message that its holders looked at for each `listen` in the state; 0: none. */
  readonly scanned: number;
}

export const taskStatuses = ['pending', 'running', 'suspended', 'skipped', 'cancelled', 'faulted', 'completed'] as const;

/** A task of the timeline. `activity` identifies it within its run, in the order of begin. */
export interface TaskRecord {
  readonly activity: number;
  readonly reference: string;
  readonly name: string;
  readonly iteration: number | undefined;
  readonly attempt: number;
  readonly status: (typeof taskStatuses)[number];
  readonly begin: number;
  readonly end: number | undefined;
  readonly requestId: string | undefined;
  /** The item of the innermost iteration, as text of at most 80 characters. */
  readonly label?: string | undefined;
  /** Why nothing, or not all, of its data is kept: `off` by the document or the configuration, `limit` of the run. */
  readonly noData?: 'off' | 'limit' | undefined;
  readonly error: TaskError | undefined;
}

/** A task of the timeline with what people decided about it. */
export interface StoredTask extends TaskRecord {
  /** The oldest first. */
  readonly decisions: readonly TaskDecision[];
  /** The store has its data. */
  readonly hasData: boolean;
}

/** JSON texts, masked and cut, of what a task got and gave. `arguments`: of its call. */
export interface TaskParts {
  readonly input?: string;
  readonly arguments?: string;
  readonly output?: string;
}

/** Parts of a task of which the row is in the same write. A part that is absent stays as it is. */
export interface NewTaskData extends TaskParts {
  readonly activity: number;
}

/** What a person decided about a task: about its call, about its approval, or that its suspended run goes on. */
export interface TaskDecision {
  readonly as: 'done' | 'failed' | 'again' | 'granted' | 'rejected' | 'resumed';
  /** The name. */
  readonly principal: string;
  readonly at: number;
  readonly reason: string;
}

/** What other parts ask of a run. Its holder reads commands in order, and consumes each with the write that follows from it. */
export type RunCommand =
  | { readonly kind: 'cancel' }
  /** `inherited`: people suspended or resumed the parent. */
  | { readonly kind: 'suspend'; readonly inherited?: true }
  | { readonly kind: 'resume'; readonly inherited?: true; readonly decision?: TaskDecision }
  /** People decided about an approval that the run waits for: its holder looks again. Without `decision` its time is over. */
  | { readonly kind: 'approval-decided'; readonly activity?: number; readonly decision?: TaskDecision }
  /** The one in whose name the run calls may be gone: its holder looks. */
  | { readonly kind: 'people-changed' }
  | {
      readonly kind: 'decide';
      readonly activity: number;
      readonly as: 'done' | 'failed' | 'again';
      readonly output?: string;
      readonly reason: string;
      /** Who decided: the name, and the id, which commands of earlier versions lack. */
      readonly principal: string;
      readonly principalId?: string;
      /** Other calls of the run are undecided as well. */
      readonly ofSeveral?: true;
    }
  /** A call ended at a gateway that had lost the run meanwhile: what a task with this key waits for, or people. */
  | { readonly kind: 'call-ended'; readonly key: string; readonly result: OutsideResult; readonly requestId?: string }
  /** Items of a batch of the run ended, or are unknown or decided: its holder looks. */
  | { readonly kind: 'items-changed' }
  | { readonly kind: 'child-ended'; readonly activity: number; readonly attempt: number; readonly result: OutsideResult };

export interface QueuedCommand {
  readonly number: number;
  readonly run: string;
  readonly command: RunCommand;
}

/** An entry of the event log. Its number increases over all runs in the order of commits. */
export interface EventRecord {
  readonly number: number;
  readonly at: number;
  /** The run that it is about, or that emitted it; undefined for an event that a caller sent. */
  readonly run: string | undefined;
  readonly automation: string | undefined;
  /** `message`: sent or emitted; a `listen` may wait for it. `lifecycle`: of a run or task. */
  readonly kind: 'lifecycle' | 'message';
  /** A CloudEvent 1.0 as JSON text. */
  readonly event: string;
  /** Of a message: its caller, or everybody involved in the run that emitted it. Undefined: not known. */
  readonly senders?: readonly NamedPrincipal[] | undefined;
}

/** A CloudEvent has a `source` and an `id`. The log does not store a second one of the same kind and `sender` with the same two. */
export interface NewEvent extends Pick<EventRecord, 'at' | 'kind' | 'event' | 'senders'> {
  /** Set where `event` has the facts of so many events (packed-events.ts). `identity`: the id of the first one. */
  readonly packed?: { readonly identity: string; readonly count: number };
}

export interface RunRelease {
  /** When the run goes on by itself; 0: at once, at another gateway. */
  readonly wakeAt: number | undefined;
  /** Where the run listens: the last message that its holder looked at. A newer message wakes the run at once. */
  readonly scanned: number | undefined;
  /** See RunState. */
  readonly unbegun?: readonly string[] | undefined;
}

/** One durable step of a run, written in one transaction. */
export interface RunWrite {
  readonly run: string;
  readonly fence: number;
  /** What `writeState` wrote; undefined once the run has ended. `values` are all long values that the text names. */
  readonly state: { readonly text: string; readonly values: ReadonlyMap<string, string> } | undefined;
  readonly status: RunStatus;
  readonly suspendedBy?: SuspensionReason | undefined;
  /** Set where the write has left out tasks: how many the run has left out so far. */
  readonly notStored?: NotStored | undefined;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly output: string | undefined;
  readonly error: TaskError | undefined;
  /** Inserted, or updated by `activity`. */
  readonly tasks: readonly TaskRecord[];
  readonly data?: readonly NewTaskData[];
  /** Of tasks that the store has after the write. */
  readonly decisions?: readonly { readonly activity: number; readonly decision: TaskDecision }[];
  readonly events: readonly NewEvent[];
  /** Who joined the run with the step. */
  readonly people: readonly RunPerson[];
  /** Numbers of commands that the step consumed. */
  readonly consumed: readonly number[];
  /** Runs to create; one that exists stays as it is. */
  readonly children: readonly NewRun[];
  /** What it changes of its own batches, and of the item that it is for, or is inside of. */
  readonly batches?: readonly BatchWrite[];
  readonly item?: ItemReport | undefined;
  /** Commands to other runs: `cancel` of a child, `child-ended` to the parent. */
  readonly commands: readonly { readonly run: string; readonly command: RunCommand }[];
  /** People found out up to where the run went before the store lost commits. */
  readonly isSettled?: true | undefined;
  /** Set where the holder lets go of the run. A run that has ended is let go of in any case. */
  readonly release: RunRelease | undefined;
}
