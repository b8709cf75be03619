import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { type ProofKey, proofKeyOf } from '#approvals/approval-proof.ts';
import { createApprovalVerification } from '#approvals/approval-verification.ts';
import { createVerifiedApprovals } from '#approvals/approval-verification-store.ts';
import { type ApprovalProofs, createApprovalProofs } from '#audit/approval-proofs.ts';
import { type AuditLog, createAuditLog } from '#audit/audit-log.ts';
import { type AuditReader, createAuditReader } from '#audit/audit-reader.ts';
import { storedAuditKey } from '#audit/audit-store.ts';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { StoreSteadiness } from '#base/store-steadiness.ts';
import { systemCode } from '#base/system-code.ts';
import { randomHex } from '#base/text/random-hex.ts';
import type { Config } from '#config/config.ts';
import type { StoredConfig } from '#config/load-config.ts';
import { type Database, openDatabase } from '#database/database.ts';
import { watchNewerRows } from '#database/newer-rows.ts';
import { type FreeSpace, watchFreeSpace } from '#database/sqlite/free-space.ts';
import { freeEarlierHolders, openInTime, requireStoreLock } from '#database/start-wait.ts';
import { isStoreAway } from '#database/store-failure.ts';
import { keyFileOf } from '#database/store-part.ts';
import type { StoreWatcher } from '#database/watch-time.ts';
import { findAuthors, findStorers } from '../upgrade/find-people.ts';
import { createStoreLosses, type StoreLosses } from './store-losses.ts';

/**
 * Opens the store and the audit log in it; `started` closes the log, then the store. Waits for a store that is not there yet. Rejects with
 * `store-unavailable`.
 */
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
  /** Whether a gateway whose lease has ended, has ended itself. */
  readonly steady: StoreSteadiness;
  readonly proofs: ApprovalProofs;
  readonly proofKey: ProofKey;
  readonly freeSpace: FreeSpace;
  /** Its `follow` is to be called with each new configuration. */
  readonly maxCallDuration: MaxCallDuration;
  readonly losses: StoreLosses;
}> {
  const { config, log, clock, version } = options;
  const database = await openDatabaseAlone(started, options);
  const freeSpace = started.adopt(await watchFreeSpace(config.store, log), (watched) => watched.close());
  // Starts the reading thread while the audit log starts. A failure is ignored here: the next read reports it.
  database.ping().catch(() => {});
  started.adopt(await watchNewerRows(database.read, log), (watched) => watched.stop());
  const maxCallDuration = createMaxCallDuration(config);
  const steady = new StoreSteadiness(clock, database);
  const losses = createStoreLosses({ config, database, clock, log });
  const audit = started.adopt(
    await createAuditLog({
      database,
      clock,
      log,
      version,
      config: config.audit,
      maxCallDuration,
      isShort: () => freeSpace.isShort(),
      steady,
      lost: (found) => losses.lost(found),
    }),
    (opened) => opened.close(),
  );
  const proofs = createApprovalProofs(database);
  const proofKey = await openProofKey(config, { database, log });
  const verifyApprovals = createApprovalVerification(createVerifiedApprovals(database, proofs), proofKey);
  const auditReader = createAuditReader({ database, clock, maxCallDuration, verifyApprovals, isSteady: () => steady.isSteady });
  await settlePeople({ database, auditReader, log });
  return { database, audit, auditReader, proofs, proofKey, freeSpace, maxCallDuration, losses, steady };
}

/** On SQLite this gateway is the only one, and holds the lock of the file until the database is closed. */
async function openDatabaseAlone(
  started: AsyncDisposableStack,
  { config: { store }, log, clock, watcher }: Parameters<typeof openStore>[1],
): Promise<Database> {
  const wait = { limit: store.startTimeout, log, clock };
  if (store.kind === 'sqlite')
    started.adopt(await openInTime(() => requireStoreLock(store.file), wait), async (lock) => lock.release());
  const database = started.adopt(await openInTime(() => openDatabase({ store, log, watcher }), wait), (opened) => opened.close());
  const notFreed = 'what earlier gateways held could not be freed: runs that they held go on within 15 seconds';
  if (store.kind === 'sqlite')
    await unlessAway(
      () => freeEarlierHolders(database, clock.now()),
      () => log.warn(notFreed),
    );
  return database;
}

/** Who stored, wrote and scheduled what an earlier gateway kept by names. A store that can only be read is settled at a later start. */
async function settlePeople(needs: Parameters<typeof findAuthors>[0]): Promise<void> {
  const settle = async (): Promise<void> => {
    await findStorers(needs);
    await findAuthors(needs);
  };
  const notSettled = 'the people of an earlier store could not be settled; the next start tries again';
  await unlessAway(settle, () => needs.log.warn(notSettled));
}

/** A gateway also starts on a store that can only be read. */
async function unlessAway(work: () => Promise<void>, away: () => void): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    away();
  }
}

type Limits = Pick<StoredConfig, 'adapters' | 'outbound'>;

/** No call in flight takes longer than these milliseconds. */
interface MaxCallDuration {
  (): number;
  /** To be called with each new configuration. The value never decreases, since calls of an earlier configuration may be in flight. */
  follow(next: Limits): void;
}

function createMaxCallDuration(config: Limits): MaxCallDuration {
  let longest = maxCallDurationOf(config);
  return Object.assign(() => longest, {
    follow(next: Limits) {
      longest = Math.max(longest, maxCallDurationOf(next));
    },
  });
}

/** Milliseconds: the longest total time limit in a configuration. */
export function maxCallDurationOf({ outbound, adapters }: Limits): number {
  return Math.max(outbound.timeouts.total, ...adapters.map(({ timeouts }) => timeouts.total));
}

/**
 * The key of the proofs of approvals. Where none is configured, a file next to a SQLite store has it, or on PostgreSQL the audit log. Rejects with `store-unavailable` where the file is there and holds no key.
 */
async function openProofKey(
  { store, audit }: Pick<Config, 'store' | 'audit'>,
  { database, log }: { readonly database: Pick<Database, 'query' | 'read'>; readonly log: Log },
): Promise<ProofKey> {
  if (audit.key !== undefined) return proofKeyOf(audit.key.reveal());
  if (store.kind === 'sqlite') return proofKeyOf(await keyInFile(keyFileOf(store.file), log));
  log.warn('a writer of the database can forge approvals; set audit.key to a secret that the database does not hold');
  const stored = await storedAuditKey(database.read);
  return proofKeyOf(stored?.macKey ?? newKey());
}

function newKey(): string {
  return randomBytes(32).toString('base64url');
}

/** The first gateway that needs the key makes it. */
async function keyInFile(file: string, log: Log): Promise<string> {
  const there = await readKey(file);
  if (there !== undefined) return there;
  const made = newKey();
  // A link is made at once, with all that the file has. So no other gateway reads half a key.
  const draft = `${file}.${randomHex(8)}`;
  try {
    await writeFile(draft, `${made}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await link(draft, file).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error;
    });
    return (await readKey(file)) ?? made;
  } catch (error) {
    const reason = systemCode(error) ?? 'unknown';
    log.warn('the key of approvals cannot be kept: those of this process end with it', { file, reason });
    return made;
  } finally {
    await rm(draft, { force: true }).catch(() => {});
  }
}

/** Undefined: there is no such file. */
async function readKey(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const code = systemCode(error) ?? 'unknown';
    if (code === 'ENOENT') return undefined;
    throw unusable(file, `cannot be read (${code})`);
  }
  if (/^[\w-]{43}\s*$/u.test(text)) return text.trim();
  throw unusable(file, 'holds no key');
}

function unusable(file: string, fault: string): GatewayError {
  const advice = 'Restore it from a back-up; or delete it, and each open approval has to be asked for again.';
  return new GatewayError('store-unavailable', `The key of approvals in ${file} ${fault}. ${advice}`);
}
