import { type Kysely, sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import type { Migration } from './migration.ts';
import type { StorePart } from './store-part.ts';
import type { Tables } from './tables.ts';

interface MigrateOptions {
  readonly query: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  /** All migrations of this version of the gateway. */
  readonly migrations: readonly Migration[];
  /** On SQLite: what the file is for. */
  readonly part: StorePart;
}

/**
 * Brings the schema up to the last of `migrations`, or on SQLite to the last of those of `part`. Gateways that start at the same time
 * migrate one after the other. Each migration is a transaction, so that one that fails leaves nothing behind. Refuses a store that a
 * newer gateway has migrated, and a file that is another part of a store.
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
  const applied = await appliedNumbers(transaction);
  const last = migrations.at(-1)?.number ?? 0;
  const newest = Math.max(0, ...applied);
  if (newest > last) {
    throw new GatewayError(
      'store-unavailable',
      `The store is at schema ${newest}, this gateway knows it up to ${last}: start the newer gateway, or restore a back-up.`,
    );
  }
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
    .values({ number: next.number, name: next.name, applied_at: Date.now() })
    .execute();
  return true;
}

/** The migrations of this database or file. */
export function migrationsOf({ dialect, migrations, part }: Omit<MigrateOptions, 'query'>): readonly Migration[] {
  return dialect === 'postgres' ? migrations : migrations.filter((migration) => migration.part === part);
}

async function appliedNumbers(transaction: Transaction<Tables>): Promise<ReadonlySet<number>> {
  await transaction.schema
    .createTable('schema_migration')
    .ifNotExists()
    .addColumn('number', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .execute();
  const rows = await transaction.selectFrom('schema_migration').select('number').execute();
  return new Set(rows.map(({ number }) => number));
}
