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
  readonly automation_group: AutomationGroupTable;
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
  readonly name: Uint8Array;
  /** 1 where only the groups in `automation_group` may see it. */
  readonly restricted: number;
  /** The document as JSON text. */
  readonly document: string;
  /** Keys: the fields folded, as they are sorted and searched; null where the document has no such field. */
  readonly id_key: Uint8Array;
  readonly name_key: Uint8Array;
  readonly last_modified_by_key: Uint8Array | null;
  readonly last_run_at_key: Uint8Array | null;
  readonly next_run_at_key: Uint8Array | null;
  readonly repeat_interval_key: Uint8Array | null;
  readonly description_key: Uint8Array | null;
  readonly workflow_id_key: Uint8Array | null;
  readonly form_id_key: Uint8Array | null;
  readonly last_updated_key: Uint8Array | null;
}

/** The groups, reading or writing, that may see a restricted automation. */
interface AutomationGroupTable {
  readonly group_name: Uint8Array;
  readonly automation_id: Uint8Array;
}
