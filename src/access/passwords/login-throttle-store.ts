import type { Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import type { Tables } from '#database/tables/tables.ts';
import {
  addFailure,
  type FailureRecord,
  forgetAt,
  noFailures,
  takeBack,
  throttleWindow,
  waitFor,
} from './login-throttle-rule.ts';

/** `free`: failures without a wait. */
export interface ThrottledSubject {
  readonly subject: string;
  readonly free: number;
}

interface CountedAttempt {
  readonly at: number;
  readonly records: ReadonlyMap<string, FailureRecord>;
}

export type LoginThrottleStore = ReturnType<typeof createLoginThrottleStore>;

/**
 * Of all gateways on this store. Counting locks the rows of the subjects, so concurrent attempts see each other. The package
 * rate-limiter-flexible does not fit: its block time is fixed, but these waits double. Its SQLite limiter needs a synchronous
 * driver.
 */
export function createLoginThrottleStore({ query, read, dialect }: Database) {
  /** PostgreSQL can lock only rows that exist. */
  const lockRecord = async (transaction: Transaction<Tables>, subject: string, now: number): Promise<FailureRecord> => {
    await transaction
      .insertInto('login_failure')
      .values({ subject, failures: '[]', waits: 0, blocked_until: 0, expires_at: now + throttleWindow })
      .onConflict((conflict) => conflict.column('subject').doNothing())
      .execute();
    const row = await transaction
      .selectFrom('login_failure')
      .select(['failures', 'waits', 'blocked_until'])
      .where('subject', '=', subject)
      .$if(dialect === 'postgres', (select) => select.forUpdate())
      .executeTakeFirst();
    if (row === undefined) return noFailures;
    return { failures: JSON.parse(row.failures) as readonly number[], waits: row.waits, blockedUntil: row.blocked_until };
  };

  return {
    /** Milliseconds until every subject is admitted. Writes nothing, so a refused attempt cannot fill the store. */
    async wait(subjects: readonly ThrottledSubject[], now: number): Promise<number> {
      const names = subjects.map(({ subject }) => subject);
      const rows = await read.selectFrom('login_failure').select('blocked_until').where('subject', 'in', names).execute();
      return Math.max(0, ...rows.map(({ blocked_until: blockedUntil }) => waitFor({ blockedUntil }, now)));
    },

    /** Counts a failure for every subject, or nothing if one has to wait (milliseconds). */
    count: (subjects: readonly ThrottledSubject[], now: number): Promise<CountedAttempt | { readonly wait: number }> =>
      query.transaction().execute(async (transaction) => {
        const records = new Map<string, FailureRecord>();
        let wait = 0;
        for (const { subject, free } of subjects.toSorted((a, b) => compareInLockOrder(a.subject, b.subject))) {
          const record = await lockRecord(transaction, subject, now);
          wait = Math.max(wait, waitFor(record, now));
          records.set(subject, addFailure(record, now, free));
        }
        if (wait > 0) return { wait };
        for (const [subject, record] of records) await writeRecord(transaction, subject, record);
        return { at: now, records };
      }),

    uncount: (subjects: readonly string[], { at, records }: CountedAttempt): Promise<void> =>
      query.transaction().execute(async (transaction) => {
        for (const subject of subjects.toSorted(compareInLockOrder)) {
          const counted = records.get(subject);
          if (counted === undefined) continue;
          const record = await lockRecord(transaction, subject, at);
          await writeRecord(transaction, subject, takeBack(record, counted, at));
        }
      }),

    async forget(subject: string) {
      await query.deleteFrom('login_failure').where('subject', '=', subject).execute();
    },

    async purge(now: number) {
      await query.deleteFrom('login_failure').where('expires_at', '<', now).execute();
    },
  };
}

/** Different orders would deadlock. */
function compareInLockOrder(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

async function writeRecord(transaction: Transaction<Tables>, subject: string, record: FailureRecord): Promise<void> {
  const { failures, waits, blockedUntil } = record;
  await transaction
    .updateTable('login_failure')
    .set({ failures: JSON.stringify(failures), waits, blocked_until: blockedUntil, expires_at: forgetAt(record) })
    .where('subject', '=', subject)
    .execute();
}
