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

/** Something failures are counted for, and how many of them are free. */
export interface ThrottledSubject {
  readonly subject: string;
  readonly free: number;
}

/** What each subject's record became, and when. */
interface CountedAttempt {
  readonly at: number;
  readonly records: ReadonlyMap<string, FailureRecord>;
}

/**
 * The failures of all gateways on this store. Counting locks the rows of the subjects, so attempts that race see each other.
 * rate-limiter-flexible does not fit: its points and block time are fixed, where these waits double, and its SQLite limiter wants
 * a driver that blocks.
 */
export interface LoginThrottleStore {
  /** Milliseconds until all of the subjects may try; writes nothing, so that whoever has to wait cannot fill the store. */
  wait(subjects: readonly ThrottledSubject[], now: number): Promise<number>;
  /** Counts a failure for every subject, unless one of them has to wait: then it answers how many milliseconds. */
  count(subjects: readonly ThrottledSubject[], now: number): Promise<CountedAttempt | { readonly wait: number }>;
  /** Takes back what `count` counted. */
  giveBack(subjects: readonly string[], counted: CountedAttempt): Promise<void>;
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

    giveBack: (subjects, { at, records }) =>
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

/** Two attempts that share two subjects would wait for each other for ever if they locked them in different orders. */
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

/** A row is made where there is none: PostgreSQL can lock only what exists. */
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
