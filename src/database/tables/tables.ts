import type { Generated } from 'kysely';
import type { AgentTables } from './agent-tables.ts';
import type { ApprovalTables } from './approval-tables.ts';
import type { NotificationTables } from './notification-tables.ts';
import type { RollupTables } from './rollup-tables.ts';
import type { RunTables } from './run-tables.ts';

/**
 * The rows as Kysely sees them. Times are milliseconds since the epoch (`bigint` columns, read as numbers). Flags are 0 or 1, and
 * lists are JSON text. Both dialects store these types in the same way. A folder with a new table adds it here, and a migration in
 * `migrations/`.
 */
export interface Tables extends RollupTables, RunTables, ApprovalTables, AgentTables, NotificationTables {
  readonly schema_migration: SchemaMigrationTable;
  readonly signing_key: SigningKeyTable;
  readonly revoked_token: RevokedTokenTable;
  readonly login_failure: LoginFailureTable;
  readonly known_person: KnownPersonTable;
  readonly automation: AutomationTable;
  readonly automation_text: AutomationTextTable;
  readonly automation_group: AutomationGroupTable;
  readonly automation_person: AutomationPersonTable;
  readonly automation_history: AutomationHistoryTable;
  readonly workflow: WorkflowTable;
  readonly workflow_tombstone: WorkflowTombstoneTable;
  readonly form: FormTable;
  readonly audit_key: AuditKeyTable;
  readonly audit_chain: AuditChainTable;
  readonly audit_entry: AuditEntryTable;
  readonly audit_term: AuditTermTable;
  /** The intents of calls whose outcome is not on record. */
  readonly audit_open: Omit<AuditTermTable, 'term'>;
  readonly audit_body: AuditBodyTable;
  readonly idempotency_key: IdempotencyKeyTable;
  readonly occurrence: OccurrenceTable;
  readonly scheduled_run: ScheduledRunTable;
  readonly store_restore: StoreRestoreTable;
}

interface StoreRestoreTable {
  readonly at: number;
}

interface SchemaMigrationTable {
  readonly number: number;
  readonly name: string;
  readonly applied_at: number;
  /** The lowest version that works on a store with this migration. Null: that of migrations before version 0.2. */
  readonly lowest: string | null;
}

interface SigningKeyTable {
  /** RFC 7638 thumbprint of the public key. */
  readonly kid: string;
  readonly private_jwk: string;
  readonly public_jwk: string;
  readonly created_at: number;
  /** Null while the key may still sign. */
  readonly retired_at: number | null;
}

interface RevokedTokenTable {
  readonly jti: string;
  readonly expires_at: number;
}

interface LoginFailureTable {
  /** Hash of the account or the address whose failures are counted. */
  readonly subject: string;
  /** JSON list of the times of the failures that still count. */
  readonly failures: string;
  readonly waits: number;
  readonly blocked_until: number;
  readonly expires_at: number;
}

interface KnownPersonTable {
  /** `Principal.id`. */
  readonly id: string;
  /** When the last token was issued. */
  readonly seen_at: number;
  /** JSON text: `RememberedClaims`. */
  readonly claims: string;
}

/** What a listing filters and sorts by. Texts that are compared are UTF-8 bytes: their order is that of code points under any collation. */
interface AutomationTable {
  readonly number: number;
  readonly id: Uint8Array;
  /** Exact, and unique. */
  readonly name: Uint8Array;
  /** The columns `…_key` have the folded fields, for sorting and searching; null where the document has no such field. */
  readonly name_key: Uint8Array;
  /** 1: only the groups in `automation_group` may see it. */
  readonly restricted: number;
  readonly id_key: Uint8Array;
  readonly last_modified_by_key: Uint8Array | null;
  /** `lastRunAt` and `nextRunAt`, as the owner wrote them last or the schedule since then. */
  readonly last_run_at_key: Uint8Array | null;
  readonly next_run_at_key: Uint8Array | null;
  /** `nextRunAt` as the owner wrote it last. */
  readonly next_run_given_key: Uint8Array | null;
  /** `data.scheduleFrom`. */
  readonly schedule_from: string | null;
  readonly repeat_interval_key: Uint8Array | null;
  /** The beginning of the key: a PostgreSQL index row has at most 2,704 bytes. */
  readonly description_start: Uint8Array | null;
  /** The whole key, only where it is longer than the beginning. */
  readonly description_key: Uint8Array | null;
  readonly workflow_id_key: Uint8Array | null;
  readonly form_id_key: Uint8Array | null;
  readonly last_updated_key: Uint8Array | null;
  /** 1: it is not due, because no person that may do so answers for it. */
  readonly held: number;
  /** JSON text: `LastSkip`. */
  readonly last_skip: string | null;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

interface AutomationTextTable {
  /** As `automation.number`. */
  readonly number: number;
  /** The document as JSON text: what its ETag covers. The other members are columns of `automation`. */
  readonly document: string;
  /** JSON text: `AutomationPeople`; null: an earlier gateway wrote it, and nothing is known. */
  readonly people: string | null;
}

/** A group that may see an automation. */
interface AutomationGroupTable {
  readonly number: number;
  readonly group_name: Uint8Array;
}

/** A person of an automation, for the filters of a listing. It is there once by its id, and once by its name where that is another. */
interface AutomationPersonTable {
  readonly number: number;
  readonly kind: 'author' | 'owner' | 'scheduler';
  /** `Principal.id`, or `Principal.username`. */
  readonly name: Uint8Array;
}

/** A change of an automation by a person. */
interface AutomationHistoryTable {
  /** Increases with time. */
  readonly number: Generated<number>;
  /** As `automation.id`. */
  readonly automation_id: Uint8Array;
  readonly at: number;
  readonly change: 'created' | 'changed' | 'deleted' | 'imported' | 'taken';
  /** `Principal.username`; empty: a command on the store changed it. */
  readonly principal: string;
  /** SHA-256 of the principal's id, hexadecimal; empty as `principal`. */
  readonly principal_digest: string;
  /** JSON text: the document after the change, or before its deletion. */
  readonly document: string;
  /** Of `document`. */
  readonly bytes: number;
}

/** One version of a workflow. Ids and versions are UTF-8 bytes. */
interface WorkflowTable {
  readonly id: Uint8Array;
  readonly version: Uint8Array;
  /** Compared byte by byte it has the precedence of semantic versions. */
  readonly version_key: Uint8Array;
  /** The document, byte for byte as it was written. */
  readonly document: Uint8Array;
  readonly media_type: 'application/json' | 'application/yaml';
  /** The document as JSON text. */
  readonly definition: string;
  /** JSON text: its title, and the functions and workflows that it calls. */
  readonly facts: string;
  readonly created_at: number;
  readonly created_by: string;
  /** SHA-256 of the document, hexadecimal. */
  readonly digest: string;
  /** JSON list of who stored it. Null: a row of an earlier gateway, and no gateway has looked for them yet. */
  readonly storers: string | null;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

/** A version that was deleted: other bytes cannot take its place. */
interface WorkflowTombstoneTable {
  readonly id: Uint8Array;
  readonly version: Uint8Array;
  readonly digest: string;
  readonly storers: string | null;
}

/** The form of automations. The id is UTF-8 bytes. */
interface FormTable {
  readonly id: Uint8Array;
  /** The document, byte for byte as it was written. */
  readonly document: Uint8Array;
  /** JSON text: its title, and who changed it last. */
  readonly facts: string;
  readonly changed_at: number;
  /** The lowest version that may act on it (row-version.ts). */
  readonly lowest: number;
}

/** One row, number 1. */
interface AuditKeyTable {
  readonly id: number;
  /** 32 bytes, base64url. */
  readonly mac_key: string;
  /** Ed25519, PKCS #8 and SubjectPublicKeyInfo, base64url. */
  readonly private_key: string;
  readonly public_key: string;
  readonly created_at: number;
}

/** The audit entries of one gateway process. */
interface AuditChainTable {
  readonly chain: string;
  readonly started_at: number;
  /** The process runs at least until then, unless it was killed. */
  readonly alive_until: number;
  /** The time of the last entry, which records the end of the chain; null: the process runs, or was killed. */
  readonly ended_at: number | null;
  /** The last entry that the first entry of another chain names. */
  readonly linked_seq: number;
  /** The last pruned entry (0: none), its total and MAC, the time before which entries were pruned, and the signature of these values. */
  readonly pruned_seq: number;
  readonly pruned_total: number;
  readonly pruned_mac: string;
  readonly pruned_before: number;
  readonly anchor: string;
}

/** What finds an entry (audit-terms.ts). */
interface AuditTermTable {
  readonly term: string;
  /** As in `audit_entry`. For the outcome of a call, the place of its intent. */
  readonly at: number;
  readonly chain: string;
  readonly seq: number;
}

/** What the change of an intent sent, as readers may see it. */
interface AuditBodyTable {
  /** Of the intent. */
  readonly chain: string;
  readonly seq: number;
  readonly at: number;
  /** The person or client that made the change: one has a tenth of the space at most. */
  readonly owner: string;
  /** Bytes in the store. */
  readonly size: number;
  /** 1: the text was longer. */
  readonly is_cut: number;
  readonly body: string;
}

interface AuditEntryTable {
  readonly chain: string;
  /** From 1, without a gap. */
  readonly seq: number;
  readonly kind: string;
  /** The number of the call that the entry belongs to, within its chain. */
  readonly call: number;
  /** Never earlier than that of the entry before. */
  readonly at: number;
  /** Characters of `facts` from the beginning of the chain up to here. */
  readonly total: number;
  /** As in `facts`, for filters. */
  readonly principal: string | null;
  readonly adapter: string | null;
  /** Of a proof of an approval. */
  readonly approval: string | null;
  /** JSON text. */
  readonly facts: string;
  /** HMAC-SHA-256 over the entry and the MAC of the one before it, base64url. */
  readonly mac: string;
}

/** A caller's idempotency key. `id` and `fingerprint` are hashes: only a request that repeats the key and the call matches (see IdempotentRequest). */
interface IdempotencyKeyTable {
  readonly id: string;
  readonly fingerprint: string;
  /** The call of the first request with the key, in the audit log. */
  readonly chain: string;
  readonly call: number;
  /** Milliseconds since the epoch. */
  readonly taken_at: number;
  /** The outcome of the call: `done` or `unknown`; null while the call runs. */
  readonly state: string | null;
  /** Encrypted; null also where the reply was too long to be stored. */
  readonly reply: string | null;
}

/** A due time of an automation that was decided. */
interface OccurrenceTable {
  /** As `automation.id`. */
  readonly automation_id: Uint8Array;
  readonly due: number;
  /** Null: it was skipped. */
  readonly run_id: string | null;
  readonly decided_at: number;
}

/** The run that the schedule of an automation began last. A transaction that decides about the automation locks this row first. */
interface ScheduledRunTable {
  readonly automation_id: Uint8Array;
  readonly run_id: string | null;
}
