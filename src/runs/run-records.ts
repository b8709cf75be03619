import type { InvolvedPrincipal, NamedPrincipal } from '#access/people.ts';
import type { Principal } from '#access/principal.ts';
import type { WorkflowPin } from '#workflows/workflow-pins.ts';
import type { OutsideResult } from './interpreter/run-events.ts';
import type { RunStatus, TimelineCounts } from './interpreter/run-state.ts';
import type { SuspensionReason } from './interpreter/suspension.ts';
import type { TaskError } from './interpreter/task-error.ts';

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
  /** Who had a hand in the run when it was created; `RunPerson` has who joined later. */
  readonly involved: readonly InvolvedPrincipal[];
  readonly startedBy: StartedBy;
  readonly parent: ParentCall | undefined;
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

/** The `run: workflow` task that waits for the run. */
export interface ParentCall {
  readonly run: string;
  readonly activity: number;
  readonly attempt: number;
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
  readonly deaths: number;
  /** As `writeState` wrote it. Absent: the run has not started. */
  readonly state: { readonly text: string; readonly values: ReadonlyMap<string, string> } | undefined;
  /** When its state was written. */
  readonly savedAt: number;
  /** The last message that its holders looked at for each `listen` in the state; 0: none. */
  readonly scanned: number;
}

/** A task of the timeline. `activity` identifies it within its run, in the order of begin. */
export interface TaskRecord {
  readonly activity: number;
  readonly reference: string;
  readonly name: string;
  readonly iteration: number | undefined;
  readonly attempt: number;
  readonly status: 'pending' | 'running' | 'suspended' | 'skipped' | 'cancelled' | 'faulted' | 'completed';
  readonly begin: number;
  readonly end: number | undefined;
  readonly requestId: string | undefined;
  readonly error: TaskError | undefined;
}

/** What other parts ask of a run. Its holder reads commands in order, and consumes each with the write that follows from it. */
export type RunCommand =
  | { readonly kind: 'cancel' }
  /** `inherited`: people suspended or resumed the parent. */
  | { readonly kind: 'suspend' | 'resume'; readonly inherited?: true }
  /** People decided about an approval that the run waits for: its holder looks again. */
  | { readonly kind: 'approval-decided' }
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
export type NewEvent = Pick<EventRecord, 'at' | 'kind' | 'event' | 'senders'>;

export interface RunRelease {
  /** When the run goes on by itself; 0: at once, at another gateway. */
  readonly wakeAt: number | undefined;
  /** Where the run listens: the last message that its holder looked at. A newer message wakes the run at once. */
  readonly scanned: number | undefined;
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
  readonly events: readonly NewEvent[];
  /** Who joined the run with the step. */
  readonly people: readonly RunPerson[];
  /** Numbers of commands that the step consumed. */
  readonly consumed: readonly number[];
  /** Runs to create; one that exists stays as it is. */
  readonly children: readonly NewRun[];
  /** Commands to other runs: `cancel` of a child, `child-ended` to the parent. */
  readonly commands: readonly { readonly run: string; readonly command: RunCommand }[];
  /** Set where the holder lets go of the run. A run that has ended is let go of in any case. */
  readonly release: RunRelease | undefined;
}
