import { type AuditLog, createAuditLog } from '#audit/audit-log.ts';
import { type AuditReader, createAuditReader } from '#audit/audit-reader.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import { type Database, openDatabase } from '#database/database.ts';
import { type FreeSpace, watchFreeSpace } from '#database/free-space.ts';
import type { StoreWatcher } from '#database/watch-time.ts';
import { createLongestCall, type LongestCall } from './longest-call.ts';

/** Opens the store and the audit log in it; `started` closes the log, then the store. Rejects with `store-unavailable`. */
export async function openStore(
  started: AsyncDisposableStack,
  options: {
    readonly config: Config;
    readonly log: Log;
    readonly clock: Clock;
    readonly version: string;
    readonly watcher: StoreWatcher;
  },
): Promise<{
  readonly database: Database;
  readonly audit: AuditLog;
  readonly auditReader: AuditReader;
  readonly freeSpace: FreeSpace;
  /** Its `follow` is to be called with each new configuration. */
  readonly longestCall: LongestCall;
}> {
  const { config, log, clock, version, watcher } = options;
  const database = started.adopt(await openDatabase({ store: config.store, log, watcher }), (opened) => opened.close());
  const freeSpace = started.adopt(await watchFreeSpace(config.store, log), (watched) => watched.close());
  // Starts the reading thread while the audit log starts. A failure is ignored here: the next read reports it.
  database.ping().catch(() => {});
  const longestCall = createLongestCall(config);
  const audit = started.adopt(
    await createAuditLog({
      database,
      clock,
      log,
      version,
      config: config.audit,
      longestCall,
      isShort: () => freeSpace.isShort(),
    }),
    (opened) => opened.close(),
  );
  const auditReader = createAuditReader({ database, clock, longestCall });
  return { database, audit, auditReader, freeSpace, longestCall };
}
