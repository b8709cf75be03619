import type { RunStatus } from '../../interpreter/state/run-state.ts';
import type { BatchItem, ParentCall, TaskTurn } from '../run-parent.ts';

/** A status of an item: that of its run, or one of these two. */
export type ItemStatus = RunStatus | 'unknown' | 'notStarted';

/** What became of the items of a batch. `open`: begun, and neither ended nor unknown. */
export interface ItemCounts {
  readonly total: number;
  readonly open: number;
  readonly completed: number;
  readonly failed: number;
  readonly unknown: number;
  readonly cancelled: number;
  readonly notStarted: number;
}

/** What became of the items of all batches of a run. `parallel`: of the batch that is under way, else of the widest. */
export interface ItemSums extends Omit<ItemCounts, 'open'> {
  readonly parallel: number;
}

/** By what the document says of a batch. `parallel`: in force. */
interface BatchRules {
  readonly parallel: number;
  readonly canary: number;
  readonly stopAfter: number | undefined;
  readonly failures: 'fault' | 'count';
}

/** A batch when it begins. */
export interface NewBatch extends ParentCall, BatchRules {
  readonly reference: string;
  readonly turn: TaskTurn;
  readonly workflow: string;
  readonly version: string;
  readonly digest: string | undefined;
  /** In the order in which they begin. */
  readonly items: readonly { readonly index: number; readonly value: string }[];
}

/** `stopping`: no other item begins. The last three: it has ended. */
export type BatchState = 'running' | 'stopping' | 'completed' | 'faulted' | 'cancelled';

/** A batch as it is in the store. Times are milliseconds since the epoch. */
export interface StoredBatch extends Omit<NewBatch, 'items'>, ItemCounts {
  readonly state: BatchState;
  /** The last item that began; -1: none. */
  readonly lastItem: number;
  readonly beganAt: number;
  /** When the gateway told people that it waits for them alone. */
  readonly undecidedAt: number | undefined;
  readonly endedAt: number | undefined;
}

/** An item as it is in the store. Values, outputs and errors are JSON texts. */
export interface StoredItem {
  readonly index: number;
  /** As the expression gave it: not masked. */
  readonly value: string;
  readonly status: ItemStatus;
  /** Its run. */
  readonly run: string | undefined;
  readonly output: string | undefined;
  readonly error: string | undefined;
  /** Output or error is a JSON string with its beginning. */
  readonly isCut: boolean;
}

/** What a write of a run says of the item that it is for, or is inside of. */
export interface ItemReport extends BatchItem {
  /** The run waits for a decision about a call. */
  readonly isUndecided: boolean;
  /** Of the run of the item alone. */
  readonly runStatus?: RunStatus;
  /** JSON texts. */
  readonly output?: string;
  readonly error?: string;
  /** One of the two is a JSON string with its beginning. */
  readonly isCut?: boolean;
}

/** What a step of a run changes of one of its batches. */
export interface BatchWrite extends ParentCall {
  readonly begins?: NewBatch | undefined;
  /** Items that begin, with their runs. */
  readonly starts?: readonly { readonly index: number; readonly child: string }[];
  /** In force from now on. */
  readonly parallel?: number;
  readonly state?: BatchState;
  readonly undecidedAt?: number;
  readonly endedAt?: number;
}
