/** The tables of approvals: part `records` of the store. */
export interface ApprovalTables {
  readonly approval: ApprovalTable;
  readonly approval_key: ApprovalKeyTable;
  readonly approval_waiter: ApprovalWaiterTable;
  readonly approval_use: ApprovalUseTable;
}

interface ApprovalTable {
  readonly id: string;
  /** What is approved: a keyed hash of a call, the run, activity and attempt of a task, or a batch with one of its tasks. */
  readonly subject: string;
  /** SHA-256 of the rules. While it is open there is one approval for a subject and its rules. */
  readonly rules: string;
  readonly run: string | null;
  readonly status: 'waiting' | 'granted' | 'rejected' | 'expired' | 'used';
  readonly created_at: number;
  readonly expires_at: number;
  /** When the status changed last. */
  readonly changed_at: number;
  /** SHA-256 of the id of the principal that asked, hexadecimal. */
  readonly caller_digest: string;
  /** JSON text: `ApprovalFacts`. */
  readonly facts: string;
  /** The body of the call as it would leave, without the values of secrets. */
  readonly body: Uint8Array | null;
  /** JSON text. */
  readonly preview: string | null;
  /** The id of its use, and of a call after a space the id of its audit record. */
  readonly used_by: string | null;
  /** 1: its use is not in the event log yet. */
  readonly unannounced: number;
  /** How often it changed since the audit log has all of its proofs. */
  readonly unrecorded: number;
  /** For a batch, whose run is in `run`: activity and attempt of its task. Null: for one call. */
  readonly batch: string | null;
  /** For a batch, after its first use: in place of `expires_at`. */
  readonly holds_until: number | null;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

/** A task that waits for the approval of a batch. */
interface ApprovalWaiterTable {
  readonly approval: string;
  readonly run: string;
  readonly activity: number;
}

/** A use of the approval of a batch. */
interface ApprovalUseTable {
  readonly approval: string;
  /** The index of the item. */
  readonly item: number;
  /** A digest of the task and its turn. */
  readonly place: string;
  /** The id of the use, and of a call after a space the id of its audit record. */
  readonly use: string;
}

/** One row: the key of the hashes in `approval.subject`. */
interface ApprovalKeyTable {
  readonly id: number;
  readonly secret: Uint8Array;
}
