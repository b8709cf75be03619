import { type Kysely, sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import { packageVersion } from '#base/package-version.ts';
import type { Migration } from './migration.ts';
import type { StorePart } from './store-part.ts';
import type { Tables } from './tables/tables.ts';

interface MigrateOptions {
  readonly query: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  /** All migrations of this version of the gateway. */
  readonly migrations: readonly Migration[];
  /** On SQLite: what the file is for. */
  readonly part: StorePart;
  /** Of this gateway. Default: that of its package. */
  readonly version?: string;
}

/**
 * Brings the schema up to the last of `migrations`, or on SQLite to the last of those of `part`. Gateways that start at the same time
 * migrate one after the other. Each migration is a transaction, so that one that fails leaves nothing behind. Refuses a store that a
 * gateway of more than the next minor version has migrated, and a file that is another part of a store.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  while (await options.query.transaction().execute((transaction) => runNextMigration(transaction, options))) {
    // one transaction a migration
  }
}

/** True where a migration ran, and another one may be missing. */
async function runNextMigration(transaction: Transaction<Tables>, options: MigrateOptions): Promise<boolean> {
  const { dialect, migrations, part } = options;
  // SQLite's transactions begin with the write lock. Two stores in two schemas of one PostgreSQL need not wait for each other.
  if (dialect === 'postgres') {
    await sql`select pg_advisory_xact_lock(hashtext('orchestration-gateway schema'), hashtext(current_schema()))`.execute(
      transaction,
    );
  }
  const applied = await appliedMigrations(transaction, dialect);
  const last = migrations.at(-1)?.number ?? 0;
  refuseNewer(applied, { last, version: options.version ?? (await packageVersion()) });
  const wanted = migrationsOf(options);
  if (applied.size > 0 && !wanted.some(({ number }) => applied.has(number))) {
    throw new GatewayError(
      'store-unavailable',
      `A SQLite file that was to be the ${part} file of the store is another part of one: two gateways may be configured so that the store of one is the audit file of the other. Give store.url another file name.`,
    );
  }
  const next = wanted.find(({ number }) => !applied.has(number));
  if (next === undefined) return false;
  await next.up(transaction, dialect);
  await transaction
    .insertInto('schema_migration')
    .values({ number: next.number, name: next.name, applied_at: Date.now(), lowest: next.lowest ?? null })
    .execute();
  return true;
}

/** The migrations of this database or file. */
export function migrationsOf({ dialect, migrations, part }: Omit<MigrateOptions, 'query' | 'version'>): readonly Migration[] {
  return dialect === 'postgres' ? migrations : migrations.filter((migration) => migration.part === part);
}

/**
 * A gateway also works on the store of the next minor version, whose migrations say so. Any other newer store is refused: the gateway would not
 * know what its rows mean.
 */
export function refuseNewer(applied: Applied, { last, version }: { readonly last: number; readonly version: string }): void {
  const unknown = [...applied].filter(([number]) => number > last);
  const refusing = unknown.find(([, lowest]) => lowest === null || isOlder(version, lowest));
  if (refusing === undefined) return;
  const [number, lowest] = refusing;
  const needed = lowest === null ? 'a newer version' : `version ${lowest} or later`;
  throw new GatewayError(
    'store-unavailable',
    `The store is at schema ${number}, and needs ${needed} of the gateway; this is ${version}: start the newer gateway, or restore a back-up.`,
  );
}

function isOlder(version: string, other: string): boolean {
  const [one, two] = [version, other].map((text) => text.split(/[.+-]/u).slice(0, 3).map(Number));
  const at = [0, 1, 2].find((index) => one?.[index] !== two?.[index]);
  return at !== undefined && (one?.[at] ?? 0) < (two?.[at] ?? 0);
}

/** Migrations that ran, by number, each with the lowest version that works with it. */
type Applied = ReadonlyMap<number, string | null>;

async function appliedMigrations(transaction: Transaction<Tables>, dialect: MigrateOptions['dialect']): Promise<Applied> {
  await transaction.schema
    .createTable('schema_migration')
    .ifNotExists()
    .addColumn('number', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .addColumn('lowest', 'text')
    .execute();
  // Version 0.1 made the table without that column.
  const { rows: found } = await (dialect === 'sqlite'
    ? sql`select 1 from pragma_table_info('schema_migration') where name = 'lowest'`
    : sql`select 1 from pg_attribute where attrelid = 'schema_migration'::regclass and attname = 'lowest'`
  ).execute(transaction);
  if (found.length === 0) await sql`alter table schema_migration add column lowest text`.execute(transaction);
  const rows = await transaction.selectFrom('schema_migration').select(['number', 'lowest']).execute();
  return new Map(rows.map(({ number, lowest }) => [number, lowest]));
}
