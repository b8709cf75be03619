/** The tables of approvals: part `records` of the store. */
export interface ApprovalTables {
  readonly approval: ApprovalTable;
  readonly approval_key: ApprovalKeyTable;
}

interface ApprovalTable {
  readonly id: string;
  /** What is approved: a keyed hash of a call, or the run, activity and attempt of a task. */
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
  /** The id of its use, a space, and the id of the request that used it. */
  readonly used_by: string | null;
  /** 1: its use is not in the event log yet. */
  readonly unannounced: number;
}

/** One row: the key of the hashes in `approval.subject`. */
interface ApprovalKeyTable {
  readonly id: number;
  readonly secret: Uint8Array;
}
