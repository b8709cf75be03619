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
  /** The document as JSON text. */
  readonly document: string;
  readonly id_key: Uint8Array;
  readonly last_modified_by_key: Uint8Array | null;
  readonly last_run_at_key: Uint8Array | null;
  readonly next_run_at_key: Uint8Array | null;
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
