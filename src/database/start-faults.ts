import { GatewayError } from '#base/gateway-error.ts';
import { cannotOpen } from './sqlite/sqlite-connection.ts';
import { storeUnavailable } from './store-failure.ts';

/** What the operator reads at the start: which SQLite file, and why. A file that opens may prove damaged once its schema is read. */
export function nameFile(error: unknown, file: string): unknown {
  const cause = error instanceof GatewayError && error.cause instanceof Error ? error.cause.message : '';
  const resultCode = /SQLite (\d+)$/u.exec(cause)?.[1];
  if (resultCode !== undefined) return cannotOpen(file, Number(resultCode));
  const code = /^store: (E[A-Z]+)$/u.exec(cause)?.[1];
  if (code === undefined) return error;
  return storeUnavailable(
    code,
    `The SQLite file ${file} cannot be made or written (${code}): check the path, the rights and the room on the disk.`,
  );
}

const onlyReads =
  'it can only be read (a standby, or default_transaction_read_only); name the primary in store.url, or every host';

/** Why PostgreSQL cannot be used at the start: its SQLSTATE (appendix A of its documentation), or the system's error for its address. */
const startFaults = [
  { reason: '3D000', advice: 'the database that store.url names does not exist; create it, or correct store.url' },
  { reason: '28000', advice: 'the server does not let the user of store.url in; create the role, or allow it in pg_hba.conf' },
  { reason: '28P01', advice: 'the password of store.url is wrong' },
  {
    reason: '42501',
    advice:
      'its user has no right to create or use the tables; make it the owner of the database (alter database … owner to …), or grant it create and usage on the schema',
  },
  {
    reason: '3F000',
    advice:
      'no schema of the search_path is there for its user; create one, grant usage and create on it, or correct search_path',
  },
  { reason: '25006', advice: onlyReads },
  { reason: 'read-only', advice: onlyReads },
  {
    reason: 'unsupported startup parameter',
    advice:
      'a pooler refuses a parameter of store.url, such as options; take it out of the URL, and set it by alter role … set … in the database',
  },
  { reason: '08P01', advice: 'a pooler (PgBouncer) refuses the connection, or does not reach the server; its log says why' },
  {
    reason: '53300',
    advice: 'it has no connection left; raise max_connections or the limit of the role or database, or run fewer gateways',
  },
  { reason: 'ECONNREFUSED', advice: 'nothing listens at its address; check store.url, and that the server runs' },
  { reason: 'no TLS', advice: 'store.url asks for TLS (sslmode), which the server does not offer' },
  { reason: 'ENOENT', advice: 'a file that store.url names (sslrootcert, sslcert or sslkey) is not there' },
  { reason: 'ENOTFOUND', advice: 'its host cannot be looked up; check store.url' },
] as const;

/** Of several hosts, each failed for another reason. */
const ofHosts = { advice: 'no host of store.url is a primary that answers; check the hosts, and which of them is the primary' };

/** What to do about a PostgreSQL that cannot be used. */
export function explainFault(error: unknown): unknown {
  if (!(error instanceof GatewayError && error.cause instanceof Error) || error.cause.message === 'store: schema') return error;
  const { message } = error.cause;
  const known = message.includes(', ') ? ofHosts : startFaults.find(({ reason }) => message === `store: ${reason}`);
  return new GatewayError(
    'store-unavailable',
    `PostgreSQL cannot be used (${message}): ${known?.advice ?? 'check store.url, the rights of its user, and that the server answers'}.`,
    { cause: error.cause },
  );
}
