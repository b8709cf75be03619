import { type AuditReader, createAuditReader } from '#audit/audit-reader.ts';
import { systemClock } from '#base/clock.ts';
import { noLog } from '#base/log.ts';
import type { StoredConfig } from '#config/stored-config.ts';
import { openDatabase } from '#database/database.ts';
import { longestCallOf } from './longest-call.ts';

/** Opens the audit log in the configured store until `work` has ended. A gateway may use the same store at the same time. */
export async function withStoredAudit<T>(config: StoredConfig, work: (audit: AuditReader) => Promise<T>): Promise<T> {
  const database = await openDatabase({ store: config.store, log: noLog, asItIs: true });
  try {
    return await work(createAuditReader({ database, clock: systemClock, longestCall: () => longestCallOf(config) }));
  } finally {
    await database.close();
  }
}
