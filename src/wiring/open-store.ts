import type { ProofKey } from '#approvals/approval-proof.ts';
import { createApprovalVerification } from '#approvals/approval-verification.ts';
import { createVerifiedApprovals } from '#approvals/approval-verification-store.ts';
import { type ApprovalProofs, createApprovalProofs } from '#audit/approval-proofs.ts';
import { type AuditLog, createAuditLog } from '#audit/audit-log.ts';
import { type AuditReader, createAuditReader } from '#audit/audit-reader.ts';
import type { Clock } from '#base/clock.ts';
import type { Log } from '#base/log.ts';
import type { Config } from '#config/config.ts';
import { type Database, openDatabase } from '#database/database.ts';
import { type FreeSpace, watchFreeSpace } from '#database/free-space.ts';
import type { StorePart } from '#database/store-part.ts';
import { type StoreFigures, sumOf } from '#database/store-session.ts';
import type { StoreWatcher } from '#database/watch-time.ts';
import { createLongestCall, type LongestCall } from './longest-call.ts';
import { openProofKey } from './proof-key.ts';

/** The main part and the audit part of the store; PostgreSQL has one database for both. */
interface Store {
  /** Resolves if every part answers within a second. Otherwise rejects with `store-unavailable`. */
  ping(): Promise<void>;
  /** The connections of all parts. */
  figures(): StoreFigures;
}

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
  /** The store without the audit log. */
  readonly database: Database;
  readonly store: Store;
  readonly audit: AuditLog;
  readonly auditReader: AuditReader;
  readonly proofs: ApprovalProofs;
  readonly proofKey: ProofKey;
  readonly freeSpace: FreeSpace;
  /** Its `follow` is to be called with each new configuration. */
  readonly longestCall: LongestCall;
}> {
  const { config, log, clock, version, watcher } = options;
  const open = async (part: StorePart): Promise<Database> =>
    started.adopt(await openDatabase({ store: config.store, part, log, watcher }), (opened) => opened.close());
  // Both SQLite files open at the same time, since each thread needs 0.1 s to start. If one fails, the other still has to be closed.
  const openingMain = open('main');
  const openingAudit = config.store.kind === 'postgres' ? openingMain : open('audit');
  await Promise.allSettled([openingMain, openingAudit]);
  const [main, auditDatabase] = [await openingMain, await openingAudit];
  const freeSpace = started.adopt(await watchFreeSpace(config.store, log), (watched) => watched.close());
  // Starts the reading thread while the audit log starts. A failure is ignored here: the next read reports it.
  main.ping().catch(() => {});
  const longestCall = createLongestCall(config);
  const audit = started.adopt(
    await createAuditLog({
      database: auditDatabase,
      clock,
      log,
      version,
      config: config.audit,
      longestCall,
      isShort: () => freeSpace.isShort(),
    }),
    (opened) => opened.close(),
  );
  const proofs = createApprovalProofs(auditDatabase);
  const proofKey = await openProofKey(config, { database: auditDatabase, log });
  const verifyApprovals = createApprovalVerification(createVerifiedApprovals(main, proofs), proofKey);
  const auditReader = createAuditReader({ database: auditDatabase, clock, longestCall, verifyApprovals });
  return {
    database: main,
    store: storeOf([...new Set([main, auditDatabase])]),
    audit,
    auditReader,
    proofs,
    proofKey,
    freeSpace,
    longestCall,
  };
}

function storeOf(parts: readonly Database[]): Store {
  return {
    ping: async () => void (await Promise.all(parts.map((part) => part.ping()))),
    figures: () => sumOf(parts),
  };
}
