import { type AuditLog, createAuditLog } from '#audit/audit-log.ts';
import { type AuditReader, createAuditReader } from '#audit/audit-reader.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import { type Database, openDatabase } from '#database/database.ts';
import type { StoreWatcher } from '#database/watch-time.ts';
import { longestCallOf } from './longest-call.ts';

/** Opens the store and begins the audit log on it; `started` closes them, the log first. Rejects with `store-unavailable`. */
export async function openStore(
  started: AsyncDisposableStack,
  options: {
    readonly config: Config;
    readonly log: Log;
    readonly clock: Clock;
    readonly version: string;
    readonly watcher: StoreWatcher;
  },
): Promise<{ readonly database: Database; readonly audit: AuditLog; readonly auditReader: AuditReader }> {
  const { config, log, clock, version, watcher } = options;
  const database = started.adopt(await openDatabase({ store: config.store, log, watcher }), (opened) => opened.close());
  const longestCall = longestCallOf(config);
  const audit = started.adopt(
    await createAuditLog({ database, clock, log, version, config: config.audit, longestCall }),
    (opened) => opened.close(),
  );
  return { database, audit, auditReader: createAuditReader({ database, clock, longestCall }) };
}
