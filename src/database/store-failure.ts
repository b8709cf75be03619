import { GatewayError } from '#base/gateway-error.ts';
import { systemCode } from '#base/system-code.ts';

/** Why a store did not run a statement: `unavailable` is a state of the store, the others are faults of the statement. */
type FailureKind = 'unavailable' | 'unique' | 'other';

/**
 * The store refused a statement. The message has only the code of the database: the text of the driver may
 * quote values (PostgreSQL: `Key (name)=(…) already exists`).
 */
export class StatementRefused extends Error {
  readonly kind: Exclude<FailureKind, 'unavailable'>;
  /** SQLSTATE, or SQLite's extended result code. */
  readonly code: string;

  constructor(kind: Exclude<FailureKind, 'unavailable'>, code: string) {
    super(`The store refused a statement (${code}).`);
    this.name = 'StatementRefused';
    this.kind = kind;
    this.code = code;
  }
}

/** The 503 for a store that cannot be reached, is full, locked, read-only or damaged. `reason` is an error code, never data. */
export function storeUnavailable(reason: string, message = adviceFor(reason)): GatewayError {
  return new GatewayError('store-unavailable', message, {
    cause: new Error(`store: ${reason}`),
    headers: { 'Retry-After': '1' },
  });
}

/** For the log: the code of the database or of the system. */
export function reasonOfFailure(error: unknown): string | undefined {
  return error instanceof GatewayError && error.cause instanceof Error ? error.cause.message : systemCode(error);
}

/** True where the store refuses writes, because of a full disk or missing rights, and can still be read. */
export function isWriteRefusal(error: unknown): boolean {
  if (!(error instanceof GatewayError && error.cause instanceof Error)) return false;
  const reason = error.cause.message.replace(/^store: /u, '');
  return writeRefusals.some(({ reasons }) => reasons.test(reason));
}

/** What the caller, or the operator that the caller informs, can do. The log has the reason. */
function adviceFor(reason: string): string {
  const known = writeRefusals.find(({ reasons }) => reasons.test(reason));
  if (known !== undefined) return `${known.advice}; reading goes on.`;
  if (reason === '53300') {
    return 'The database server has no connection left. Its operator should raise max_connections, or run fewer gateways.';
  }
  return 'The store cannot take the call now; try again later.';
}

/** SQLite's extended result codes hold the primary one in their low byte: 778 and 1034 are IOERR_WRITE and IOERR_FSYNC. */
const writeRefusals: readonly { readonly reasons: RegExp; readonly advice: string }[] = [
  {
    reasons: /^(?:SQLite 13|53100|ENOSPC|EDQUOT)$/u,
    advice: 'The disk of the store is full. Nothing can be written until its operator makes room',
  },
  {
    reasons: /^25006$/u,
    advice:
      'The database server takes no writes at present, as during a failover. Try again, and tell its operator if that lasts',
  },
  {
    reasons: /^(?:SQLite (?:8|264|520|776|1032|1288|1544)|42501|EACCES|EPERM|EROFS)$/u,
    advice: 'The store can only be read. Nothing can be written until its operator makes it writable',
  },
  {
    reasons: /^(?:SQLite (?:778|1034)|58030)$/u,
    advice: 'The disk refuses what the store writes. Its operator should look at its room, quota and health',
  },
];

/** The error to throw for a failure of the driver whose kind is known. */
export function storeFailure(kind: FailureKind, code: string): Error {
  return kind === 'unavailable' ? storeUnavailable(code) : new StatementRefused(kind, code);
}

/** Primary result codes (sqlite.org/rescode.html) for faults of the file, the disk or a lock. */
const sqliteUnavailable: ReadonlySet<number> = new Set([
  5, // BUSY
  6, // LOCKED
  7, // NOMEM
  8, // READONLY
  10, // IOERR
  11, // CORRUPT
  13, // FULL
  14, // CANTOPEN
  15, // PROTOCOL
  26, // NOTADB
]);

const sqliteUnique: ReadonlySet<number> = new Set([1555 /* PRIMARYKEY */, 2067 /* UNIQUE */]);

export function sqliteFailureKind(resultCode: number): FailureKind {
  if (sqliteUnavailable.has(resultCode & 0xff)) return 'unavailable';
  return sqliteUnique.has(resultCode) ? 'unique' : 'other';
}

/**
 * SQLSTATE classes and codes under which the store is unavailable. Classes: connection (08), authorisation (28), transaction rollback (40),
 * resources (53), operator intervention (57), system error (58), internal error (XX). Codes: database does not exist (3D000), standby
 * (25006), idle transaction (25P03), lock not available (55P03), revoked rights (42501), missing schema (3F000).
 */
const postgresUnavailable = /^(?:08|28|40|53|57|58|3D000|25006|25P03|55P03|42501|3F000|XX)/u;

/** A failure without a five-character SQLSTATE comes from the socket or the pool, and not from the server. */
export function postgresFailureKind(code: string): FailureKind {
  if (!/^[0-9A-Z]{5}$/u.test(code) || postgresUnavailable.test(code)) return 'unavailable';
  return code === '23505' ? 'unique' : 'other';
}

/** Whether the store cannot take a statement now. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'store-unavailable';
}
