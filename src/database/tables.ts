/**
 * The rows as Kysely sees them. Times are milliseconds since the epoch (`bigint` columns, handed out as numbers), flags 0 or 1,
 * lists JSON text: that much both dialects store alike. A folder that keeps something adds its tables here and a migration
 * beside `migrations/0001-access.ts`.
 */
export interface Tables {
  readonly schema_migration: SchemaMigrationTable;
  readonly signing_key: SigningKeyTable;
  readonly revoked_token: RevokedTokenTable;
  readonly login_failure: LoginFailureTable;
  readonly automation: AutomationTable;
  readonly automation_audience: AutomationAudienceTable;
  readonly automation_audience_group: AutomationAudienceGroupTable;
  readonly automation_block: AutomationBlockTable;
  readonly run_fact: RunFactTable;
  readonly audit_key: AuditKeyTable;
  readonly audit_chain: AuditChainTable;
  readonly audit_entry: AuditEntryTable;
  readonly idempotency_key: IdempotencyKeyTable;
}

interface SchemaMigrationTable {
  readonly number: number;
  readonly name: string;
  readonly applied_at: number;
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
  /** Hash of the account or the address that is counted. */
  readonly subject: string;
  /** JSON list of the times of the failures that still count. */
  readonly failures: string;
  readonly waits: number;
  readonly blocked_until: number;
  readonly expires_at: number;
}

/** Texts that are compared are UTF-8 bytes: their order is that of code points, whatever the collation of the database. */
interface AutomationTable {
  readonly id: Uint8Array;
  /** Exact, and unique. */
  readonly name: Uint8Array;
  /** Keys: the fields folded, as they are sorted and searched; null where the document has no such field. */
  readonly name_key: Uint8Array;
  /** Who may see it: 0 is every role that may list, others are in `automation_audience`. */
  readonly audience: number;
  /** The document as JSON text, without `lastRunAt` and `nextRunAt`: the text that its ETag covers. */
  readonly document: string;
  readonly id_key: Uint8Array;
  readonly last_modified_by_key: Uint8Array | null;
  /** `lastRunAt` and `nextRunAt` as the owner wrote them last; a run may have noted newer ones (`run_fact`). */
  readonly last_run_at_key: Uint8Array | null;
  readonly next_run_at_key: Uint8Array | null;
  /** Change whenever the owner writes the field, and never come back: a note of a run is good for one of them. */
  readonly last_run_revision: number;
  readonly next_run_revision: number;
  readonly repeat_interval_key: Uint8Array | null;
  /** The beginning of the key: a PostgreSQL index takes no more than 2,704 bytes a row. */
  readonly description_start: Uint8Array | null;
  /** The whole key, only where the beginning is not all of it. */
  readonly description_key: Uint8Array | null;
  readonly workflow_id_key: Uint8Array | null;
  readonly form_id_key: Uint8Array | null;
  readonly last_updated_key: Uint8Array | null;
}

/** One distinct set of groups that automations are kept to. */
interface AutomationAudienceTable {
  readonly audience: number;
  /** SHA-256 of the set. */
  readonly digest: Uint8Array;
}

interface AutomationAudienceGroupTable {
  readonly group_name: Uint8Array;
  readonly audience: number;
}

/**
 * The catalogue in alphabetical order, cut into blocks of a few thousand documents: how many of them each audience has in the block
 * that begins at (`name_key`, `name`) and ends where the next one begins. Every block, the first at the empty key, has a row of the
 * audience -1, which counts them all.
 */
interface AutomationBlockTable {
  readonly audience: number;
  readonly name_key: Uint8Array;
  readonly name: Uint8Array;
  readonly documents: number;
}

/** What a run noted of an automation: it takes precedence over what the owner wrote while the automation has this revision. */
interface RunFactTable {
  readonly automation_id: Uint8Array;
  readonly field: 'lastRunAt' | 'nextRunAt';
  readonly revision: number;
  /** As the keys of `automation`; null: the field has no value. */
  readonly at_key: Uint8Array | null;
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
  /** The process is there at least until then, unless it was killed. */
  readonly alive_until: number;
  /** The time of its last entry, which says that it ends; null: it goes on, or was killed. */
  readonly ended_at: number | null;
  /** The last entry that the beginning of another chain names. */
  readonly linked_seq: number;
  /** The last entry that was pruned (0: none), its bytes and MAC, what was pruned with it, and the signature over all of these. */
  readonly pruned_seq: number;
  readonly pruned_total: number;
  readonly pruned_mac: string;
  readonly pruned_before: number;
  readonly anchor: string;
}

interface AuditEntryTable {
  readonly chain: string;
  /** From 1, without a gap. */
  readonly seq: number;
  readonly kind: string;
  /** Brings the entries of one call together, within its chain. */
  readonly call: number;
  /** Never before that of the entry before it. */
  readonly at: number;
  /** Characters of `facts` from the beginning of the chain up to here. */
  readonly total: number;
  /** As in `facts`, to be found by. */
  readonly principal: string | null;
  readonly adapter: string | null;
  /** JSON text. */
  readonly facts: string;
  /** HMAC-SHA-256 over the entry and the MAC of the one before it, base64url. */
  readonly mac: string;
}

/** A caller's idempotency key. What it is and what it protects can only be told by whoever sends it again (see IdempotentRequest). */
interface IdempotencyKeyTable {
  readonly id: string;
  readonly fingerprint: string;
  /** The call that it came with, in the audit log. */
  readonly chain: string;
  readonly call: number;
  /** Milliseconds since the epoch. */
  readonly taken_at: number;
  /** What came of the call: `done`, `unknown`; null while it is under way. */
  readonly state: string | null;
  /** Sealed; null also where it was too long to be kept. */
  readonly reply: string | null;
}
