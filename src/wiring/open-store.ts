import type { ProofKey } from '#approvals/approval-proof.ts';
import { createApprovalVerification } from '#approvals/approval-verification.ts';
import { createVerifiedApprovals } from '#approvals/approval-verification-store.ts';
import { type ApprovalProofs, createApprovalProofs } from '#audit/approval-proofs.ts';
import { type AuditLog, createAuditLog } from '#audit/audit-log.ts';
import { type AuditReader, createAuditReader } from '#audit/audit-reader.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import { type Database, openDatabase } from '#database/database.ts';
import { type FreeSpace, watchFreeSpace } from '#database/free-space.ts';
import type { StoreWatcher } from '#database/watch-time.ts';
import { findAuthors } from './find-authors.ts';
import { findStorers } from './find-storers.ts';
import { createLongestCall, type LongestCall } from './longest-call.ts';
import { openProofKey } from './proof-key.ts';

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
  readonly proofs: ApprovalProofs;
  readonly proofKey: ProofKey;
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
  const proofs = createApprovalProofs(database);
  const proofKey = await openProofKey(config, { database, log });
  const verifyApprovals = createApprovalVerification(createVerifiedApprovals(database, proofs), proofKey);
  const auditReader = createAuditReader({ database, clock, longestCall, verifyApprovals });
  await settlePeople({ database, auditReader, log });
  return { database, audit, auditReader, proofs, proofKey, freeSpace, longestCall };
}

/** Who stored, wrote and scheduled what an earlier gateway kept by names. A store that can only be read is settled at a later start. */
async function settlePeople(needs: Parameters<typeof findAuthors>[0]): Promise<void> {
  try {
    await findStorers(needs);
    await findAuthors(needs);
  } catch (error) {
    if (!(error instanceof GatewayError && error.code === 'store-unavailable')) throw error;
    needs.log.warn('the people of an earlier store could not be settled; the next start tries again');
  }
}
