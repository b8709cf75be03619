import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import { type AnsweredRow, sumsOf } from './packed-ends.ts';
import {
  bucketOf,
  type EndedWork,
  type Grain,
  grains,
  microseconds,
  type RollupKind,
  type StepSummary,
  summarizeEnds,
} from './rollup.ts';
import { type CountedSpan, spansOf, type TimeStep } from './time-steps.ts';

type Dialect = Database['dialect'];

const columns = {
  kind: 'text',
  grain: 'bigint',
  at: 'bigint',
  status: 'text',
  bucket: 'bigint',
  subject: 'text',
  gateway: 'text',
  ends: 'bigint',
  longest: 'bigint',
} as const satisfies Readonly<Record<keyof Tables['rollup'], 'bigint' | 'text'>>;

const key = ['kind', 'grain', 'subject', 'at', 'status', 'bucket', 'gateway'] as const;

/** The rows of all subjects together. */
const total = '';

/**
 * The statement that counts what ended. `gateway`: of the process. Each has rows of its own, so that no
 * two wait for each other.
 */
export function endsCounted(
  dialect: Dialect,
  ends: readonly EndedWork[],
  { gateway }: { readonly gateway: string },
): RawBuilder<unknown> {
  // One row twice in a statement is an error on PostgreSQL.
  const rows = new Map<string, { readonly of: readonly (string | number)[]; ends: number; longest: number }>();
  for (const end of ends) {
    const length = microseconds(end);
    for (const grain of grains)
      for (const subject of new Set([total, end.subject])) {
        const of = [end.kind, grain, end.at - (end.at % grain), end.status, bucketOf(length), subject, gateway];
        const text = JSON.stringify(of);
        const row = rows.get(text) ?? { of, ends: 0, longest: 0 };
        row.ends += end.count ?? 1;
        row.longest = Math.max(row.longest, length);
        rows.set(text, row);
      }
  }
  const given = jsonRows(
    dialect,
    columns,
    [...rows.values()].map((row) => [...row.of, row.ends, row.longest]),
  );
  const names = sql.join(Object.keys(columns).map((name) => sql.ref(name)));
  return sql`insert into rollup (${names}) select ${names} from ${given} where true
    on conflict (${sql.join(key.map((name) => sql.ref(name)))}) do update set ends = rollup.ends + excluded.ends,
      longest = case when excluded.longest > rollup.longest then excluded.longest else rollup.longest end`;
}

export interface RollupQuestion {
  readonly kind: RollupKind;
  /** At least one. */
  readonly steps: readonly TimeStep[];
  /** Absent: all together. */
  readonly subjects?: readonly string[] | undefined;
}

/** One summary for each step. */
export async function summariesOf(
  { read, dialect }: Pick<Database, 'dialect' | 'read'>,
  { kind, steps, subjects = [total] }: RollupQuestion,
): Promise<readonly StepSummary[]> {
  const given = jsonRows(
    dialect,
    { first: 'bigint', size: 'bigint', begins: 'bigint', ends_at: 'bigint', width: 'bigint' },
    stretchesOf(steps).map(({ step, grain, start, end, width }) => [step, grain, start, end, width]),
  );
  const step = sql`cast(first + (at - begins) / width as bigint) as step`;
  const counted = sql`${step}, status, bucket, cast(sum(ends) as bigint) as ends, max(longest) as longest, cast(null as text) as packed`;
  // One text for each time, so that the answer has few rows.
  const texts = dialect === 'postgres' ? sql`string_agg(packed, ',')` : sql`group_concat(packed, ',')`;
  const packed = sql`${step}, null, null, null, null, '[' || ${texts} || ']'`;
  const inStretch = sql`kind = ${kind} and grain = size and at >= begins and at < ends_at`;
  // Each stretch reads its rows by the key. On PostgreSQL a plan that goes through all stretches for each row takes minutes; OFFSET forbids it.
  // On SQLite a stretch that is not materialized parses its JSON again for each row.
  // One statement, so that no row is seen on its way into the packed ones, twice or not at all.
  const { rows } = await (dialect === 'postgres'
    ? sql<AnsweredRow>`select ${counted} from ${given} cross join unnest(${subjects}::text[]) as asked(name)
        cross join lateral (select at, status, bucket, ends, longest from rollup where ${inStretch} and subject = asked.name offset 0) as part
        group by 1, status, bucket
        union all select ${packed} from ${given} cross join unnest(${subjects}::text[]) as asked(name)
        cross join lateral (select at, ends as packed from rollup_packed where ${inStretch} and subject = asked.name offset 0) as part
        group by 1, at`
    : sql<AnsweredRow>`with stretch as materialized (select * from ${given})
        select ${counted} from stretch cross join rollup where ${inStretch} and ${isOneOf(dialect, 'subject', subjects)}
        group by 1, status, bucket
        union all select ${packed} from (select first, begins, width, at, ends as packed from stretch cross join rollup_packed
          where ${inStretch} and ${isOneOf(dialect, 'subject', subjects)}) group by 1, at`
  ).execute(read);
  return (await sumsOf(rows, steps.length)).map((sums) => summarizeEnds([...sums.all()]));
}

/** Rows of one grain that follow each other, from those of one step to those of another. `width`: milliseconds of one step. */
interface Stretch extends CountedSpan {
  readonly width: number;
}

/** One where each step is one span, as long as the others. */
function stretchesOf(steps: readonly TimeStep[]): readonly Stretch[] {
  const spans = spansOf(steps);
  const [first] = spans;
  const widthOf = ({ start, end }: CountedSpan): number => end - start;
  const isEven =
    spans.length === steps.length && spans.every((span) => span.grain === first?.grain && widthOf(span) === widthOf(first));
  if (first === undefined || !isEven) return spans.map((span) => ({ ...span, width: widthOf(span) }));
  return [{ ...first, end: spans.at(-1)?.end ?? first.end, width: widthOf(first) }];
}

/** The subjects that have an end in the time of the steps, and fulfil a condition on `rollup_subject.subject`. */
export async function subjectsOf(
  { read }: Pick<Database, 'read'>,
  { kind, steps, condition }: Omit<RollupQuestion, 'subjects'> & { readonly condition: RawBuilder<SqlBool> },
): Promise<readonly string[]> {
  const [start, end] = [steps[0]?.start ?? 0, steps.at(-1)?.end ?? 0];
  const sought = { kind, grain: grains[0], start, end, condition };
  // In this order, a row that is being packed is seen.
  const loose = await subjectsWith(read, sought);
  const packed = await subjectsWith(read, { ...sought, table: 'rollup_packed' });
  return [...new Set([...loose, ...packed])].filter((subject) => subject !== total);
}

interface Sought {
  readonly kind: RollupKind;
  readonly grain: Grain;
  readonly start: number;
  readonly end: number;
  readonly condition?: RawBuilder<SqlBool>;
  /** Default: `rollup`. */
  readonly table?: 'rollup' | 'rollup_packed';
}

/** The subjects that have rows from `start` up to `end`. The key leads from one subject to the next, so that the rows of each are passed over. */
export async function subjectsWith(
  reading: Kysely<Tables>,
  { kind, grain, start, end, condition = sql<SqlBool>`1 = 1`, table = 'rollup' }: Sought,
): Promise<readonly string[]> {
  const asked = sql`r.kind = ${kind} and r.grain = ${grain}`;
  const next = (beyond: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`(select r.subject from ${sql.table(table)} r where ${asked} and ${beyond} order by r.subject limit 1)`;
  const { rows } = await sql<{ readonly subject: string }>`with recursive rollup_subject(subject) as (
    select ${next(sql`1 = 1`)} union all
    select ${next(sql`r.subject > rollup_subject.subject`)} from rollup_subject where rollup_subject.subject is not null)
    select subject from rollup_subject where subject is not null
    and exists (select 1 from ${sql.table(table)} r where ${asked} and r.subject = rollup_subject.subject and r.at >= ${start} and r.at < ${end})
    and ${condition}`.execute(reading);
  return rows.map(({ subject }) => subject);
}

/** Deletes what ended before (milliseconds since the epoch). */
export async function forgetRollup(
  { records, dialect }: Pick<Database, 'dialect' | 'records'>,
  kind: RollupKind,
  before: number,
): Promise<void> {
  for (const grain of grains)
    for (const table of ['rollup', 'rollup_packed'] as const) {
      const end = before - grain;
      const subjects = await subjectsWith(records, { kind, grain, start: 0, end, table });
      if (subjects.length === 0) continue;
      const old = sql`kind = ${kind} and grain = ${grain} and ${isOneOf(dialect, 'subject', subjects)} and at < ${end}`;
      await sql`delete from ${sql.table(table)} where ${old}`.execute(records);
    }
}
