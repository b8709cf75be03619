import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { eachStore, type TestStore } from '../../test/support/stores/stores.ts';
import type { EndedWork } from './rollup.ts';
import { createRollups } from './rollups.ts';
import { localTime, timeSteps } from './time-steps.ts';

const berlin = 'Europe/Berlin';

function ended(at: string | number, more: Partial<EndedWork> = {}): EndedWork {
  return {
    kind: 'run',
    subject: 'a',
    status: 'completed',
    at: typeof at === 'number' ? at : Date.parse(at),
    duration: 1_000,
    ...more,
  };
}

async function stage(t: TestContext, store: TestStore) {
  const database = await store.open(t);
  const rollups = createRollups(database);
  const count = (ends: readonly EndedWork[], gateway = 'one') => rollups.counted(ends, { gateway }).execute(database.records);
  const ask = async (since: string, until: string, width: { days: number } | { minutes: number }, more: object = {}) => {
    const steps = timeSteps({ since: Date.parse(since), until: Date.parse(until), width, timeZone: berlin });
    assert.ok(!('problem' in steps));
    const summaries = await rollups.summaries({ kind: 'run', steps, ...more });
    return summaries.map((summary, index) => ({ at: localTime(steps[index]?.start ?? 0, berlin), ...summary }));
  };
  return { database, rollups, count, ask };
}

eachStore((store) => {
  test('an end counts for the local day and hour on which it was, also where the clock changes', async (t) => {
    const { count, ask } = await stage(t, store);
    await count([
      ended('2026-03-28T22:59:59.999Z'),
      ended('2026-03-28T23:00:00Z', { status: 'faulted' }),
      ended('2026-03-29T21:59:59.999Z', { duration: 5_000 }),
      ended('2026-03-29T22:00:00Z'),
      // 02:30 comes twice.
      ended('2026-10-25T00:30:00Z', { duration: 7 }),
      ended('2026-10-25T01:30:00Z', { duration: 9 }),
    ]);
    const [sunday, ...others] = await ask('2026-03-29T10:00:00Z', '2026-03-29T12:00:00Z', { days: 1 });
    assert.deepEqual([sunday?.at, sunday?.counts, others], ['2026-03-29T00:00:00.000+01:00', { completed: 1, faulted: 1 }, []]);
    const { p50 = 0, p95 = 0, max } = sunday ?? {};
    assert.ok(p50 >= 900 && p50 <= 1_100 && p95 >= 4_500 && p95 <= 5_000 && max === 5_000, `${p50} ${p95} ${max}`);
    const hours = await ask('2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', { minutes: 60 });
    assert.equal(hours.length, 25);
    assert.deepEqual(
      hours.filter(({ counts }) => Object.keys(counts).length > 0).map(({ at, max }) => [at, max]),
      [
        ['2026-10-25T02:00:00.000+02:00', 7],
        ['2026-10-25T02:00:00.000+01:00', 9],
      ],
    );
    const quarters = await ask('2026-10-25T01:00:00Z', '2026-10-25T02:00:00Z', { minutes: 15 });
    assert.deepEqual(
      quarters.map(({ counts }) => counts),
      [{}, {}, { completed: 1 }, {}],
    );
  });

  test('gateways that count at the same time lose nothing, and neither waits for the other', async (t) => {
    const { database, count, ask } = await stage(t, store);
    const at = Date.parse('2026-05-01T10:00:00Z');
    const batch = (duration: number): readonly EndedWork[] =>
      Array.from({ length: 50 }, (_, index) => ended(at + index, { subject: `${index % 5}`, duration }));
    await Promise.all(
      Array.from({ length: 40 }, (_, round) => count(batch(round), ['one', 'two', 'three', 'four'][round % 4] ?? 'one')),
    );
    const [hour] = await ask('2026-05-01T10:00:00Z', '2026-05-01T11:00:00Z', { minutes: 60 });
    assert.deepEqual([hour?.counts, hour?.max], [{ completed: 2_000 }, 39]);
    if (database.dialect === 'sqlite') return;
    // A transaction of one gateway that has not ended holds back no other one.
    await database.records.transaction().execute(async (transaction) => {
      await createRollups(database).counted(batch(1), { gateway: 'one' }).execute(transaction);
      await count(batch(1), 'two');
    });
    assert.deepEqual((await ask('2026-05-01T10:00:00Z', '2026-05-01T11:00:00Z', { minutes: 60 }))[0]?.counts, {
      completed: 2_100,
    });
  });

  test('an end that is taken back leaves no trace in the counts', async (t) => {
    const { count, ask } = await stage(t, store);
    const end = ended('2026-05-01T10:00:00Z');
    await count([end]);
    await count([
      { ...end, count: -1 },
      { ...end, status: 'faulted', duration: 2_000 },
    ]);
    const [hour] = await ask('2026-05-01T10:00:00Z', '2026-05-01T11:00:00Z', { minutes: 60 });
    assert.deepEqual([hour?.counts, hour?.max], [{ faulted: 1 }, 2_000]);
  });

  test('old ends are forgotten, those of runs and of calls apart', async (t) => {
    const { database, rollups, count, ask } = await stage(t, store);
    await count(
      ['2026-05-01T10:10:00Z', '2026-05-02T10:10:00Z'].flatMap((at) => [ended(at), ended(at, { kind: 'call', status: 'ok' })]),
    );
    await rollups.forget('run', Date.parse('2026-05-02T00:00:00Z'));
    const days = await ask('2026-05-01T00:00:00Z', '2026-05-03T00:00:00Z', { minutes: 1_440 });
    assert.deepEqual(
      days.map(({ counts }) => counts),
      [{}, { completed: 1 }, {}],
    );
    const calls = await ask('2026-05-01T00:00:00Z', '2026-05-03T00:00:00Z', { minutes: 1_440 }, { kind: 'call' });
    assert.deepEqual(
      calls.map(({ counts }) => counts),
      [{ ok: 1 }, { ok: 1 }, {}],
    );
    const { count: rows } = await database.read
      .selectFrom('rollup')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    assert.equal(rows, 18, 'one of each grain, for the subject and for all together');
  });

  test('packed rows count as before, alone for those who are asked about, and take what is counted later', async (t) => {
    const { database, rollups, count, ask } = await stage(t, store);
    const begin = Date.parse('2026-06-01T00:00:00Z');
    const hours = 96;
    for (const gateway of ['one', 'two'])
      await count(
        Array.from({ length: 600 }, (_, index) =>
          ended(begin + ((index * 7_919) % hours) * 3_600_000, {
            subject: ['a', 'b', 'c'][index % 3] ?? '',
            status: index % 5 === 0 ? 'faulted' : 'completed',
            duration: 1 + ((index * 31) % 900),
          }),
        ),
        gateway,
      );
    const now = begin + 80 * 3_600_000;
    const all = (subjects?: readonly string[]) =>
      ask('2026-05-31T22:00:00Z', '2026-06-05T22:00:00Z', { days: 1 }, subjects === undefined ? {} : { subjects });
    const each = async () => await Promise.all([all(), all(['a']), all(['b', 'c']), all(['none'])]);
    const subjects = () => rollups.subjects({ kind: 'run', steps: [{ start: begin, end: now }], condition: sql`1 = 1` });
    const before = await each();
    const left = async (table: 'rollup' | 'rollup_packed') =>
      await database.read
        .selectFrom(table)
        .select(({ fn }) => fn.countAll<number>().as('rows'))
        .where('at', '<', now - 7 * 3_600_000)
        .executeTakeFirstOrThrow();
    assert.equal(await rollups.pack({ now, limit: 1 }), 1, 'a part at a time');
    assert.deepEqual(await each(), before);
    assert.ok((await rollups.pack({ now, limit: 1_000 })) < 1_000);
    assert.deepEqual([await each(), (await left('rollup')).rows], [before, 0]);
    assert.ok((await left('rollup_packed')).rows > 0);
    await count([ended(begin, { subject: 'b', duration: 5_000 })]);
    const later = await each();
    assert.equal(later[2]?.[0]?.max, 5_000);
    assert.deepEqual((await subjects()).toSorted(), ['a', 'b', 'c']);
    assert.deepEqual([later[1], later[2]?.slice(1)], [before[1], before[2]?.slice(1)]);
    await rollups.pack({ now, limit: 1_000 });
    assert.deepEqual([await each(), (await left('rollup')).rows], [later, 0]);
    await rollups.forget('run', now + 100 * 3_600_000);
    assert.deepEqual([(await left('rollup_packed')).rows, (await left('rollup')).rows], [0, 0]);
  });
});
