/** The tables of runs and events: part `records` of the store. */
export interface RunTables {
  readonly run: RunTable;
  readonly run_claim: RunClaimTable;
  readonly run_text: RunTextTable;
  readonly run_state: RunStateTable;
  readonly run_value: RunValueTable;
  readonly run_task: RunTaskTable;
  readonly run_command: RunCommandTable;
  readonly run_person: RunPersonTable;
  readonly event_log: EventLogTable;
  readonly store_loss: StoreLossTable;
  readonly run_batch: RunBatchTable;
  readonly run_batch_item: RunBatchItemTable;
  readonly run_repeated_place: RunRepeatedPlaceTable;
  readonly run_repeated_item: RunRepeatedItemTable;
}

/** Entries of a chain of the audit log that the store lost, as a gateway noticed. */
interface StoreLossTable {
  readonly chain: string;
  readonly to_seq: number;
  readonly records: number;
  readonly at: number;
  /** The highest number of an event at that time. */
  readonly last_event: number;
  /** 1: runs that were under way then are held. */
  readonly holds: number;
  /** When people released the runs; null: they have not said so yet. */
  readonly released_at: number | null;
}

interface RunTable {
  readonly id: string;
  /** `_id` of the automation. */
  readonly automation: string | null;
  readonly workflow: string;
  readonly version: string;
  /** SHA-256 of the principal's id and of its username, hexadecimal. */
  readonly principal_digest: string;
  readonly username_digest: string;
  /** The run that waits for it. */
  readonly parent: string | null;
  readonly status: string;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  /** JSON text: what else is known since its creation (`RunFacts` in run-row.ts). */
  readonly facts: string;
  /** JSON text. */
  readonly error: string | null;
  /** Why it is suspended; null where it is not. */
  readonly suspended_by: string | null;
  /** JSON text: how many tasks and events its timeline has left out; null where none. */
  readonly not_stored: string | null;
  /** Of all that the store has of it, but for its state. */
  readonly bytes: number;
  /** The data of its tasks, which is part of `bytes`. */
  readonly data_bytes: number;
  /** 1: it is old, and nothing but this row, its texts and its people are kept. */
  readonly is_stripped: number;
  /** The run whose batch it is an item of, or is inside an item of. Lists and statistics leave such runs out. */
  readonly in_batch: string | null;
  /** The run that runs whole what had not begun of its batches, in a repetition of its items. */
  readonly rest_taken_by: string | null;
  /** 1: it is in a batch, and waits for a decision about a call. */
  readonly is_undecided: number;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

/**
 * Who works on a run. It has a row until the run ends. A transaction that changes what belongs to a run locks this row first. It locks
 * several rows in the order of `run`.
 */
interface RunClaimTable {
  readonly run: string;
  /** Null: no one holds the run. */
  readonly owner: string | null;
  readonly fence: number;
  /** When the run can be claimed: its wake-up, or while it is held the end of the lease. Null: it waits for a command or an event. */
  readonly due_at: number | null;
  /** 1: a message event wakes it. A run that is held has 0. */
  readonly listens: number;
  /** The number of the last message that each `listen` of the run has looked at. */
  readonly scanned: number;
  readonly deaths: number;
  /** 1: the store lost commits while the run was under way, and people have not released it. 2: they have, or it is not held. 0: otherwise. */
  readonly loss: number;
  /** SHA-256 of the id of the principal, hexadecimal: persons take turns. */
  readonly person: string;
  /** 1: it is in a batch, and comes after what its person began by hand. */
  readonly in_batch: number;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

/** JSON texts. */
interface RunTextTable {
  readonly run: string;
  readonly input: string;
  readonly output: string | null;
}

interface RunStateTable {
  readonly run: string;
  readonly state: string;
  readonly saved_at: number;
}

/** The long values that the state names. */
interface RunValueTable {
  readonly run: string;
  readonly id: string;
  readonly value: string;
}

interface RunTaskTable {
  readonly run: string;
  readonly activity: number;
  /** JSON text: a `TaskRecord`. */
  readonly facts: string;
  /** Each after a comma: a `TaskDecision` as JSON text. Null: none. */
  readonly decisions: string | null;
  /** JSON texts, masked and cut (task-data.ts). Null: not kept. */
  readonly input: string | null;
  readonly arguments: string | null;
  readonly output: string | null;
}

interface RunCommandTable {
  readonly number: number;
  readonly run: string;
  readonly key: string | null;
  /** JSON text. */
  readonly command: string;
  /** 1: its holder has done it. Only commands with a key stay then. */
  readonly consumed: number;
}

/** Who had a hand in a run after its creation: who sent an event that it took, and who decided about a call. */
interface RunPersonTable {
  readonly run: string;
  /** SHA-256 of the id of the principal, hexadecimal. */
  readonly principal_digest: string;
  readonly involvement: string;
  /** JSON text: id and name. */
  readonly facts: string;
}

interface EventLogTable {
  /** Of the last event in the row. */
  readonly number: number;
  readonly at: number;
  readonly run: string | null;
  readonly automation: string | null;
  readonly kind: 'lifecycle' | 'message';
  /** SHA-256 of the kind, the source, the id and the sender of a message, base64url: no two rows have the same. Of facts, the first id. */
  readonly identity: string | null;
  /** JSON text: a CloudEvent, or the facts of several lifecycle events (packed-events.ts). */
  readonly event: string;
  /** JSON list of the people who sent a message: its caller, or everybody involved in the run that emitted it. */
  readonly senders: string | null;
  /** SHA-256 of the id of the caller that sent a message, hexadecimal; null for all others. */
  readonly sender_digest: string | null;
}

/** A `call: batch` task of a run, in one turn and attempt. Its counts are those of its items, and change with them. */
interface RunBatchTable {
  readonly run: string;
  readonly activity: number;
  readonly attempt: number;
  /** The outermost run. */
  readonly outermost: string;
  /** A digest of the tasks around it from the outermost run on, with their turns: the same in a repetition of that run. */
  readonly place: string;
  /** Of the task in the document. */
  readonly reference: string;
  /** A `TaskTurn` as JSON text (run-parent.ts). */
  readonly turn: string;
  /** What runs for each item. */
  readonly workflow: string;
  readonly version: string;
  /** Null: the run has no pins. */
  readonly digest: string | null;
  /** In force: at most as the document says, and the places of the person at the gateway that works on it. */
  readonly parallel: number;
  readonly canary: number;
  /** Null: never. */
  readonly stop_after: number | null;
  readonly failures: 'fault' | 'count';
  /** `stopping`: no other item begins. The last three: it has ended. */
  readonly state: 'running' | 'stopping' | 'completed' | 'faulted' | 'cancelled';
  readonly total: number;
  /** Begun, and neither ended nor unknown. */
  readonly open: number;
  readonly completed: number;
  readonly failed: number;
  readonly unknown: number;
  readonly cancelled: number;
  readonly not_started: number;
  /** The last item that began; -1: none. */
  readonly last_item: number;
  readonly began_at: number;
  /** When the gateway told people that it waits for them alone. */
  readonly undecided_at: number | null;
  readonly ended_at: number | null;
}

interface RunBatchItemTable {
  readonly run: string;
  readonly activity: number;
  readonly attempt: number;
  /** Its index. */
  readonly item: number;
  /** JSON text, as the expression gave it: not masked. */
  readonly value: string;
  /** `unknown` where a call inside is undecided, else that of its run, or `notStarted`. */
  readonly status: string;
  /** The status of its run alone; null: it has none. */
  readonly run_status: string | null;
  /** How many runs inside, itself included, wait for a decision about a call. */
  readonly undecided: number;
  /** Its run. */
  readonly child: string | null;
  /** JSON texts of at most 4 KiB. A longer one is a JSON string with its beginning, and `is_cut` is 1. */
  readonly output: string | null;
  readonly error: string | null;
  readonly is_cut: number;
  /** The run that repeats it. */
  readonly taken_by: string | null;
}

/** A place of which a run before had a batch: of that batch, a run that repeats items has only those that it took. */
interface RunRepeatedPlaceTable {
  readonly run: string;
  /** As in `RunBatchTable`. */
  readonly place: string;
}

/** An item that a run took, for the batch at this place. */
interface RunRepeatedItemTable extends RunRepeatedPlaceTable {
  readonly item: number;
  readonly value: string;
}
