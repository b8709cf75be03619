import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '#database/database.ts';
import { isOneOf, jsonRows } from '#database/json-rows.ts';
import type { Tables } from '#database/tables/tables.ts';
import {
  bucketOf,
  type CountedEnds,
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

interface CountedStep extends CountedEnds {
  /** Its index. */
  readonly step: number;
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
  const counted = sql`cast(first + (at - begins) / width as bigint) as step, status, bucket,
    cast(sum(ends) as bigint) as ends, max(longest) as longest`;
  const inStretch = sql`kind = ${kind} and grain = size and at >= begins and at < ends_at`;
  // Each stretch reads its rows by the key. On PostgreSQL a plan that goes through all stretches for each row takes minutes; OFFSET forbids it.
  // On SQLite a stretch that is not materialized parses its JSON again for each row.
  const { rows } = await (dialect === 'postgres'
    ? sql<CountedStep>`select ${counted} from ${given} cross join unnest(${subjects}::text[]) as asked(name)
        cross join lateral (select at, status, bucket, ends, longest from rollup where ${inStretch} and subject = asked.name offset 0) as part
        group by 1, status, bucket`
    : sql<CountedStep>`with stretch as materialized (select * from ${given})
        select ${counted} from stretch cross join rollup where ${inStretch} and ${isOneOf(dialect, 'subject', subjects)}
        group by 1, status, bucket`
  ).execute(read);
  const byStep = Map.groupBy(rows, ({ step }) => step);
  return steps.map((_, index) => summarizeEnds(byStep.get(index) ?? []));
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
  const found = await subjectsWith(read, { kind, grain: grains[0], start, end, condition });
  return found.filter((subject) => subject !== total);
}

interface Sought {
  readonly kind: RollupKind;
  readonly grain: Grain;
  readonly start: number;
  readonly end: number;
  readonly condition?: RawBuilder<SqlBool>;
}

/** The subjects that have rows from `start` up to `end`. The key leads from one subject to the next, so that the rows of each are passed over. */
async function subjectsWith(
  reading: Kysely<Tables>,
  { kind, grain, start, end, condition = sql<SqlBool>`1 = 1` }: Sought,
): Promise<readonly string[]> {
  const asked = sql`r.kind = ${kind} and r.grain = ${grain}`;
  const next = (beyond: RawBuilder<unknown>): RawBuilder<unknown> =>
    sql`(select r.subject from rollup r where ${asked} and ${beyond} order by r.subject limit 1)`;
  const { rows } = await sql<{ readonly subject: string }>`with recursive rollup_subject(subject) as (
    select ${next(sql`1 = 1`)} union all
    select ${next(sql`r.subject > rollup_subject.subject`)} from rollup_subject where rollup_subject.subject is not null)
    select subject from rollup_subject where subject is not null
    and exists (select 1 from rollup r where ${asked} and r.subject = rollup_subject.subject and r.at >= ${start} and r.at < ${end})
    and ${condition}`.execute(reading);
  return rows.map(({ subject }) => subject);
}

/** Deletes what ended before (milliseconds since the epoch). */
export async function forgetRollup(
  { records, dialect }: Pick<Database, 'dialect' | 'records'>,
  kind: RollupKind,
  before: number,
): Promise<void> {
  for (const grain of grains) {
    const end = before - grain;
    const subjects = await subjectsWith(records, { kind, grain, start: 0, end });
    if (subjects.length === 0) continue;
    const old = sql`kind = ${kind} and grain = ${grain} and ${isOneOf(dialect, 'subject', subjects)} and at < ${end}`;
    await sql`delete from rollup where ${old}`.execute(records);
  }
}
