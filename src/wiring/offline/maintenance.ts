/** What the command line does with the store and the machine of a gateway (`Maintenance` of the command line). */
import { systemClock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { noLog } from '#base/log.ts';
import { packageVersion } from '#base/package-version.ts';
import type { StoredConfig } from '#config/load-config.ts';
import { type BackedUp, backUpStore } from '#database/backup/store-backup.ts';
import { leaveRestoreMark, type Restored, restoreStore } from '#database/backup/store-restore.ts';
import { openDatabase } from '#database/database.ts';

export { examine, examineProgram } from './examination.ts';
export { checkHealth } from './health.ts';

export async function backUp({ store }: StoredConfig, target: string): Promise<BackedUp> {
  if (store.kind === 'postgres') throw ofSqliteAlone('back up the store with pg_dump');
  return await backUpStore({ store: store.file, target, version: await packageVersion() });
}

export async function restore({ store }: StoredConfig, backupFile: string): Promise<Restored> {
  if (store.kind === 'postgres') throw ofSqliteAlone('restore the store with pg_restore, then use mark-restored');
  return await restoreStore({ store: store.file, backupFile, now: systemClock.now() });
}

export async function markRestored({ store }: StoredConfig): Promise<void> {
  if (store.kind === 'sqlite')
    throw new GatewayError('store-unavailable', 'The command restore has marked a SQLite store already.');
  const database = await openDatabase({ store, log: noLog, asItIs: true });
  try {
    await leaveRestoreMark(database.records, systemClock.now());
  } finally {
    await database.close();
  }
}

function ofSqliteAlone(advice: string): GatewayError {
  return new GatewayError('store-unavailable', `The store is on PostgreSQL, and this command is for SQLite: ${advice}.`);
}
