import { createApprovalVerification } from '#approvals/approval-verification.ts';
import { createVerifiedApprovals } from '#approvals/approval-verification-store.ts';
import { createApprovalProofs } from '#audit/approval-proofs.ts';
import { type AuditReader, createAuditReader } from '#audit/audit-reader.ts';
import { systemClock } from '#base/clock.ts';
import { noLog } from '#base/log.ts';
import type { StoredConfig } from '#config/load-config.ts';
import { openDatabase } from '#database/database.ts';
import { maxCallDurationOf } from '../store/open-store.ts';

/** Opens the audit log in the configured store until `work` has ended. A gateway may use the same store at the same time. */
export async function withStoredAudit<T>(config: StoredConfig, work: (audit: AuditReader) => Promise<T>): Promise<T> {
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await openDatabase({ store: config.store, log: noLog, asItIs: true }), (stored) =>
    stored.close(),
  );
  const verifyApprovals = createApprovalVerification(createVerifiedApprovals(database, createApprovalProofs(database)));
  return await work(
    createAuditReader({ database, clock: systemClock, maxCallDuration: () => maxCallDurationOf(config), verifyApprovals }),
  );
}
