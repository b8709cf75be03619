import { sql, type Transaction } from 'kysely';
import type { Database } from '#database/database.ts';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import { addPacked, EndSums, packEnds } from './packed-ends.ts';
import { type CountedEnds, type Grain, grains, type RollupKind } from './rollup.ts';
import { subjectsWith } from './rollup-store.ts';

/** Milliseconds after a time is over. What is counted later is packed again. */
const settledAfter = 3_600_000;
/** Subjects, and times of each, of one transaction: it takes some thousand rows. */
const subjectsAtOnce = 10;
const timesAtOnce: Readonly<Record<Grain, number>> = { 900_000: 96, 3_600_000: 24, 21_600_000: 8 };

interface OldRows {
  readonly kind: RollupKind;
  readonly grain: Grain;
  readonly subjects: readonly string[];
  /** Rows of times that begin before: milliseconds since the epoch. */
  readonly end: number;
}

/**
 * Packs the rows of times that are over: one row has all ends of one subject and time. At most so many transactions. Answers how many it took; fewer than
 * `limit`: nothing is left to pack.
 */
export async function packRollups(
  database: Pick<Database, 'dialect' | 'exclusively' | 'records'>,
  { now, limit }: { readonly now: number; readonly limit: number },
): Promise<number> {
  let rounds = 0;
  for (const kind of ['run', 'call'] as const)
    for (const grain of grains) {
      const end = now - settledAfter - grain;
      const subjects = await subjectsWith(database.records, { kind, grain, start: 0, end });
      for (let first = 0; first < subjects.length; first += subjectsAtOnce) {
        const rows = { kind, grain, end, subjects: subjects.slice(first, first + subjectsAtOnce) };
        for (let moved = true; moved; ) {
          if (rounds === limit) return rounds;
          moved = await database.exclusively(
            'rollup_packed',
            (transaction) => packSome(transaction, rows, database.dialect),
            'records',
          );
          if (moved) rounds += 1;
        }
      }
    }
  return rounds;
}

interface MovedRow extends CountedEnds {
  readonly subject: string;
  readonly at: number;
}

/** False where nothing is left. A gateway that counts in the same moment waits for no more than its own row, or gets a new one. */
async function packSome(transaction: Transaction<Tables>, rows: OldRows, dialect: Database['dialect']): Promise<boolean> {
  const { kind, grain, subjects, end } = rows;
  const asked = sql`kind = ${kind} and grain = ${grain} and ${isOneOf(dialect, 'subject', subjects)}`;
  const { rows: found } = await sql<{ readonly oldest: number | null }>`select min(at) as oldest from rollup
    where ${asked} and at < ${end}`.execute(transaction);
  const oldest = found[0]?.oldest ?? undefined;
  if (oldest === undefined) return false;
  const until = Math.min(end, oldest + timesAtOnce[grain] * grain);
  const { rows: moved } = await sql<MovedRow>`delete from rollup where ${asked} and at < ${until}
    returning subject, at, status, bucket, ends, longest`.execute(transaction);
  const { rows: before } = await sql<{
    readonly subject: string;
    readonly at: number;
    readonly ends: string;
  }>`select subject, at, ends
    from rollup_packed where ${asked} and at >= ${oldest} and at < ${until}`.execute(transaction);
  const times = new Map<string, { readonly subject: string; readonly at: number; readonly sums: EndSums }>();
  const timeOf = (subject: string, at: number): EndSums => {
    const name = JSON.stringify([subject, at]);
    const time = times.get(name) ?? { subject, at, sums: new EndSums() };
    times.set(name, time);
    return time.sums;
  };
  for (const { subject, at, ...counted } of moved) timeOf(subject, at).add(counted);
  for (const { subject, at, ends } of before) addPacked(timeOf(subject, at), `[${ends}]`);
  const columns = { kind: 'text', grain: 'bigint', subject: 'text', at: 'bigint', ends: 'text' } as const;
  const given = jsonRows(
    dialect,
    columns,
    [...times.values()].map(({ subject, at, sums }) => [kind, grain, subject, at, packEnds(sums.all())]),
  );
  await sql`insert into rollup_packed (kind, grain, subject, at, ends) select kind, grain, subject, at, ends from ${given} where true
    on conflict (kind, grain, subject, at) do update set ends = excluded.ends`.execute(transaction);
  return true;
}
