import type { Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables.ts';
import {
  addFailure,
  type FailureRecord,
  forgetAt,
  noFailures,
  takeBack,
  throttleWindow,
  waitFor,
} from './login-throttle-rule.ts';

/** An account or address whose failures are counted, and how many failures are free. */
export interface ThrottledSubject {
  readonly subject: string;
  readonly free: number;
}

/** The new record of each subject, and when the attempt was counted. */
interface CountedAttempt {
  readonly at: number;
  readonly records: ReadonlyMap<string, FailureRecord>;
}

/**
 * The login failures of all gateways that share this store. Counting locks the rows of the subjects, so that concurrent attempts
 * see each other. The package rate-limiter-flexible does not fit: its points and block time are fixed, but these waits double.
 * Its SQLite limiter also needs a synchronous driver.
 */
export interface LoginThrottleStore {
  /** Milliseconds until every subject is admitted. Writes nothing, so that an attempt that has to wait cannot fill the store. */
  wait(subjects: readonly ThrottledSubject[], now: number): Promise<number>;
  /**
   * Counts a failure for every subject. If one of them has to wait, counts nothing and resolves with the milliseconds to wait.
   */
  count(subjects: readonly ThrottledSubject[], now: number): Promise<CountedAttempt | { readonly wait: number }>;
  /** Reverses what `count` counted. */
  uncount(subjects: readonly string[], counted: CountedAttempt): Promise<void>;
  forget(subject: string): Promise<void>;
  purge(now: number): Promise<void>;
}

export function createLoginThrottleStore(database: Database): LoginThrottleStore {
  const { query } = database;
  const locked = (transaction: Transaction<Tables>, subject: string, now: number): Promise<FailureRecord> =>
    lockRecord(transaction, { subject, now, forUpdate: database.dialect === 'postgres' });

  return {
    async wait(subjects, now) {
      const rows = await database.read
        .selectFrom('login_failure')
        .select('blocked_until')
        .where(
          'subject',
          'in',
          subjects.map(({ subject }) => subject),
        )
        .execute();
      return Math.max(0, ...rows.map(({ blocked_until }) => waitFor({ blockedUntil: blocked_until }, now)));
    },

    count: (subjects, now) =>
      query.transaction().execute(async (transaction) => {
        const records = new Map<string, FailureRecord>();
        let wait = 0;
        for (const { subject, free } of inLockOrder(subjects)) {
          const record = await locked(transaction, subject, now);
          wait = Math.max(wait, waitFor(record, now));
          records.set(subject, addFailure(record, now, free));
        }
        if (wait > 0) return { wait };
        for (const [subject, record] of records) await writeRecord(transaction, subject, record);
        return { at: now, records };
      }),

    uncount: (subjects, { at, records }) =>
      query.transaction().execute(async (transaction) => {
        for (const subject of subjects.toSorted(byCodeUnit)) {
          const counted = records.get(subject);
          if (counted === undefined) continue;
          const record = await locked(transaction, subject, at);
          await writeRecord(transaction, subject, takeBack(record, counted, at));
        }
      }),

    forget: async (subject) => {
      await query.deleteFrom('login_failure').where('subject', '=', subject).execute();
    },

    purge: async (now) => {
      await query.deleteFrom('login_failure').where('expires_at', '<', now).execute();
    },
  };
}

/** Two attempts that share two subjects would deadlock if they locked them in different orders. */
function inLockOrder(subjects: readonly ThrottledSubject[]): readonly ThrottledSubject[] {
  return subjects.toSorted((a, b) => byCodeUnit(a.subject, b.subject));
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

interface LockOptions {
  readonly subject: string;
  readonly now: number;
  readonly forUpdate: boolean;
}

/** Inserts the row if there is none, because PostgreSQL can lock only rows that exist. */
async function lockRecord(transaction: Transaction<Tables>, { subject, now, forUpdate }: LockOptions): Promise<FailureRecord> {
  await transaction
    .insertInto('login_failure')
    .values({ subject, failures: '[]', waits: 0, blocked_until: 0, expires_at: now + throttleWindow })
    .onConflict((conflict) => conflict.column('subject').doNothing())
    .execute();
  const row = await transaction
    .selectFrom('login_failure')
    .select(['failures', 'waits', 'blocked_until'])
    .where('subject', '=', subject)
    .$if(forUpdate, (select) => select.forUpdate())
    .executeTakeFirst();
  if (row === undefined) return noFailures;
  return { failures: JSON.parse(row.failures) as readonly number[], waits: row.waits, blockedUntil: row.blocked_until };
}

async function writeRecord(transaction: Transaction<Tables>, subject: string, record: FailureRecord): Promise<void> {
  await transaction
    .updateTable('login_failure')
    .set({
      failures: JSON.stringify(record.failures),
      waits: record.waits,
      blocked_until: record.blockedUntil,
      expires_at: forgetAt(record),
    })
    .where('subject', '=', subject)
    .execute();
}
