import { type Kysely, sql, type Transaction } from 'kysely';
import { GatewayError } from '#base/gateway-error.ts';
import type { Migration } from './migration.ts';
import type { Tables } from './tables.ts';

interface MigrateOptions {
  readonly query: Kysely<Tables>;
  readonly dialect: 'sqlite' | 'postgres';
  readonly migrations: readonly Migration[];
}

/**
 * Brings the schema up to the last of `migrations`. Gateways that start at once take turns; each step is a transaction, so a
 * step that fails leaves nothing behind. Refuses a store that a newer gateway has already moved on.
 */
export async function migrate(options: MigrateOptions): Promise<void> {
  while (await options.query.transaction().execute((transaction) => takeOneStep(transaction, options))) {
    // one transaction a step
  }
}

/** True where a step was taken and the next may follow. */
async function takeOneStep(transaction: Transaction<Tables>, { dialect, migrations }: MigrateOptions): Promise<boolean> {
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
  const next = migrations.find(({ number }) => !applied.has(number));
  if (next === undefined) return false;
  await next.up(transaction, dialect);
  await transaction
    .insertInto('schema_migration')
    .values({ number: next.number, name: next.name, applied_at: Date.now() })
    .execute();
  return true;
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
