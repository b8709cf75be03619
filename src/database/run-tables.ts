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
  /** SHA-256 of the id of the principal, hexadecimal: persons take turns. */
  readonly person: string;
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
  readonly number: number;
  readonly at: number;
  readonly run: string | null;
  readonly automation: string | null;
  readonly kind: 'lifecycle' | 'message';
  /** SHA-256 of the kind, the source, the id and the sender of a message, base64url: no two events have the same. */
  readonly identity: string | null;
  /** JSON text. */
  readonly event: string;
  /** JSON list of the people who sent a message: its caller, or everybody involved in the run that emitted it. */
  readonly senders: string | null;
  /** SHA-256 of the id of the caller that sent a message, hexadecimal; null for all others. */
  readonly sender_digest: string | null;
}
