import { createAuditReader } from '#audit/audit-reader.ts';
import { verifyAudit } from '#audit/audit-verification.ts';
import { systemClock } from '#base/clock.ts';
import { noLog } from '#base/log.ts';
import type { StoredAudit } from '#cli/command.ts';
import type { StoredConfig } from '#config/stored-config.ts';
import { openDatabase } from '#database/database.ts';
import { longestCallOf } from './longest-call.ts';

/** Opens the audit log in the configured store until `work` has ended. A gateway may use the same store at the same time. */
export async function withStoredAudit<T>(config: StoredConfig, work: (audit: StoredAudit) => Promise<T>): Promise<T> {
  const database = await openDatabase({ store: config.store, part: 'audit', log: noLog, asItIs: true });
  try {
    const reader = createAuditReader({ database, clock: systemClock, longestCall: () => longestCallOf(config) });
    return await work({ ...reader, verify: (checkpoints) => verifyAudit(database, checkpoints) });
  } finally {
    await database.close();
  }
}
