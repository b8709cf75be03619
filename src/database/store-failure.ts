import { GatewayError } from '#base/gateway-error.ts';

/** Why a store did not carry a statement out: `unavailable` is the store's state, the others are about the statement. */
type FailureKind = 'unavailable' | 'unique' | 'other';

/**
 * A statement that the store understood and refused. Its message names the dialect's code alone: the driver's own text may
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

/** True where the store refused to be written, for want of room or rights, and what is in it can still be read. */
export function isWriteRefusal(error: unknown): boolean {
  if (!(error instanceof GatewayError && error.cause instanceof Error)) return false;
  const reason = error.cause.message.replace(/^store: /u, '');
  return writeRefusals.some(({ reasons }) => reasons.test(reason));
}

/** What a caller can make of it, or whom it has to tell; the operator finds the reason in the log. */
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
    reasons: /^(?:SQLite (?:8|264|520|776|1032|1288|1544)|25006|42501|EACCES|EPERM|EROFS)$/u,
    advice: 'The store can only be read. Nothing can be written until its operator makes it writable',
  },
  {
    reasons: /^(?:SQLite (?:778|1034)|58030)$/u,
    advice: 'The disk refuses what the store writes. Its operator should look at its room, quota and health',
  },
];

/** The error to throw for a driver's failure, already judged. */
export function storeFailure(kind: FailureKind, code: string): Error {
  return kind === 'unavailable' ? storeUnavailable(code) : new StatementRefused(kind, code);
}

/** Primary result codes (sqlite.org/rescode.html) that speak of the file, the disk or a lock. */
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
 * SQLSTATE classes that say "not now": authorisation, transaction rollback, connection, resources, intervention, system error,
 * a database that does not exist, a standby that only reads, a lock or statement that took too long; rights or a schema that are not there
 * (a grant that was taken away), and damage.
 */
const postgresUnavailable = /^(?:08|28|40|53|57|58|3D000|25006|25P03|55P03|42501|3F000|XX)/u;

/** A failure without a five-character SQLSTATE comes from the socket or the pool, not from a server that judged the statement. */
export function postgresFailureKind(code: string): FailureKind {
  if (!/^[0-9A-Z]{5}$/u.test(code) || postgresUnavailable.test(code)) return 'unavailable';
  return code === '23505' ? 'unique' : 'other';
}
