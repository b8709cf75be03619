import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import type { Database } from './database.ts';
import { type StoreLock, takeStoreLock } from './sqlite-lock.ts';
import { storeUnavailable } from './store-failure.ts';

interface StartWait {
  /** Milliseconds. */
  readonly limit: number;
  readonly log: Log;
  readonly clock: Clock;
}

/** Milliseconds between two attempts, and between two lines of the log. */
const attemptGap = 250;
const lineGap = 15_000;

/** Why another gateway keeps a start from its SQLite file. */
const fileTaken = 'another gateway has the file';

/**
 * Opens what a start needs of its store. Tries again for `limit` milliseconds where the fault may pass, and says so in the log. Rejects with the
 * last error.
 */
export async function openInTime<T>(open: () => Promise<T>, { limit, log, clock }: StartWait): Promise<T> {
  const end = clock.monotonic() + limit;
  let tellAt = -Infinity;
  for (;;) {
    try {
      const opened = await open();
      if (tellAt > -Infinity) log.info('the gateway can use the store, and goes on with its start');
      return opened;
    } catch (error) {
      const now = clock.monotonic();
      if (!(error instanceof GatewayError && mayPass(error)) || now >= end) throw error;
      if (now >= tellAt) {
        log.warn('the gateway cannot use the store yet, and waits for it', { reason: error.message });
        tellAt = now + lineGap;
      }
      await sleep(Math.min(attemptGap, end - now));
    }
  }
}

/** Rejects with `store-unavailable` where another gateway has the file. */
export async function requireStoreLock(file: string): Promise<StoreLock> {
  const lock = await takeStoreLock(file);
  if (lock !== undefined) return lock;
  const message = `Another gateway has the SQLite file ${file}: stop that one, or set another store.url. Several gateways share a store on PostgreSQL alone.`;
  throw storeUnavailable(fileTaken, message);
}

/**
 * Faults of a server that starts, stops, recovers or is replaced, and of the way to it. A wrong password, name or URL does not pass. SQLSTATE:
 * connection (08), a standby (25006), no connection left (53300), shutdown and start (57P).
 */
const passing =
  /^(?:08\w{3}|25006|53300|57P\w\d|E(?:CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|AI_AGAIN)|read-only|no answer in time|the connection ended)$/u;

function mayPass({ code, cause }: GatewayError): boolean {
  if (code !== 'store-unavailable' || !(cause instanceof Error)) return false;
  // Of several hosts one may pass.
  const reasons = cause.message.replace(/^store: /u, '').split(', ');
  return reasons.some((reason) => reason === fileTaken || passing.test(reason));
}

/**
 * Frees what gateways hold that have ended: for a store that no other gateway can use. Their runs are due, which counts as the end of a lease
 * does. Their chains of the audit log count as dead, so that no call of theirs is in progress. `now`: milliseconds since the epoch.
 */
export async function freeEarlierHolders({ records }: Database, now: number): Promise<void> {
  await records.transaction().execute(async (transaction) => {
    await sql`update run_claim set due_at = ${now} where owner is not null and due_at > ${now}`.execute(transaction);
    await sql`update audit_chain set alive_until = ${now - 1} where ended_at is null and alive_until >= ${now}`.execute(
      transaction,
    );
    // Under way for the first time. A later attempt has the outcome of the one before, and its lease looks like a delay: it ends by itself.
    await sql`update notification set due_at = ${now} where status = 'waiting' and due_at > ${now} and attempts = 1
      and last_status is null and last_code is null`.execute(transaction);
  });
}
