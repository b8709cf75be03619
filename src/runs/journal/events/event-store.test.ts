import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { createRollups } from '#statistics/rollups.ts';
import { eachStore } from '../../../../test/support/stores/stores.ts';
import { createRunChanges } from '../run-changes.ts';
import { ending, eventNamed, newRun, seesNothing, stepOf } from '../run-records.test-support.ts';
import { lease, openRunStore } from '../run-store.test-support.ts';
import { storeTime } from '../run-store-context.ts';
import { appendEvents } from './event-store.ts';
import { type EventFacts, packedEvents } from './packed-events.ts';

eachStore((store) => {
  test('an event with the source and id of an earlier one is not stored again', async (t) => {
    const { runs } = await openRunStore(t, store);
    await runs.publish([eventNamed('a'), eventNamed('b'), eventNamed('a')]);
    await runs.publish([eventNamed('b', 'message', 7)]);
    await runs.create([newRun({ id: 'r', automation: { id: 'a1', name: 'one' } })]);
    const [run] = await runs.claim({ owner: 'one', limit: 1, lease });
    assert.ok(run !== undefined);
    const step = stepOf(run, { events: [eventNamed('b'), eventNamed('c'), eventNamed('c', 'lifecycle')] });
    await runs.save(step);
    await runs.save(step);
    const events = await runs.events({ after: 0, limit: 99 });
    assert.deepEqual(
      events.map(({ kind, run: ofRun, automation, event }) => [kind, ofRun, automation, JSON.parse(event).id]),
      [
        ['message', undefined, undefined, 'a'],
        ['message', undefined, undefined, 'b'],
        ['message', 'r', 'a1', 'c'],
        ['lifecycle', 'r', 'a1', 'c'],
      ],
    );
  });

  test('messages are read after a number or from a time on, and events by run, kind and automation', async (t) => {
    const { runs } = await openRunStore(t, store);
    assert.equal(await runs.lastEvent(), 0);
    await runs.publish([eventNamed('a', 'message', 10), eventNamed('b', 'message', 20), eventNamed('c', 'message', 15)]);
    await runs.create([newRun({ id: 'r', automation: { id: 'a1', name: 'one' } }), newRun({ id: 's' })]);
    for (const run of await runs.claim({ owner: 'one', limit: 2, lease }))
      await runs.save(stepOf(run, { events: [eventNamed(`of ${run.id}`, 'lifecycle', 30)] }));
    const idsOf = (events: readonly { readonly event: string }[]) => events.map(({ event }) => JSON.parse(event).id);
    const all = await runs.events({ after: 0, limit: 99 });
    const [first] = all;
    assert.deepEqual(idsOf(await runs.messages({ since: 15, limit: 9 })), ['b', 'c']);
    assert.deepEqual(idsOf(await runs.messages({ after: first?.number ?? 0, limit: 1 })), ['b']);
    assert.deepEqual(idsOf(await runs.messages({ after: 0, since: 15, limit: 9 })), ['b', 'c']);
    assert.deepEqual(idsOf(await runs.events({ after: 0, run: 's', limit: 9 })), ['of s']);
    assert.deepEqual(idsOf(await runs.events({ after: 0, filter: { automation: 'a1' }, limit: 9 })), ['of r']);
    assert.equal((await runs.events({ after: 0, filter: { kind: 'lifecycle' }, limit: 9 })).length, 2);
    assert.deepEqual(await runs.events({ after: await runs.lastEvent(), limit: 9 }), []);
    assert.equal(await runs.lastEvent(), all.at(-1)?.number);
  });

  test('events that share a row have numbers of their own, and a page may end between them', async (t) => {
    const { runs } = await openRunStore(t, store);
    await runs.create([newRun({ id: 'r' })]);
    const [run] = await runs.claim({ owner: 'one', limit: 1, lease });
    assert.ok(run !== undefined);
    const facts = Array.from({ length: 20 }, (_, index): EventFacts => ['created', index, ['/do/0/a', index, 1]]);
    const events = packedEvents(facts, { id: 'a.b', name: 'b', namespace: 'a', version: '1.0.0' });
    await runs.publish([eventNamed('before')]);
    const step = stepOf(run, { events: [...events, eventNamed('message')] });
    await runs.save(step);
    await runs.save(step);
    await runs.publish([eventNamed('after')]);
    const all = await runs.events({ after: 0, limit: 99 });
    const numbers = all.map(({ number }) => number);
    assert.equal(all.length, 23);
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].toSorted((one, other) => one - other),
    );
    assert.deepEqual(
      all.slice(1, 21).map(({ at, event, run: of }) => [at, JSON.parse(event).data.id, of]),
      facts.map((_, index) => [index, String(index), 'r']),
    );
    const paged = [];
    for (let after = 0; ; after = paged.at(-1)?.number ?? 0) {
      const page = await runs.events({ after, limit: 3 });
      paged.push(...page);
      if (page.length < 3) break;
    }
    assert.deepEqual(paged, all);
    assert.equal(await runs.lastEvent(), numbers.at(-1));
  });

  test('a reader that goes on after the last number it saw misses no event of writers at the same time', async (t) => {
    const { runs, another } = await openRunStore(t, store);
    const writers = [runs, await another(), await another()];
    const reader = store.dialect === 'postgres' ? await another() : runs;
    let writing = true;
    const written = Promise.all(
      writers.map(async (writer, index) => {
        for (let round = 0; round < 12; round += 1) {
          await Promise.all([
            writer.publish([eventNamed(`p${index}-${round}`), eventNamed(`q${index}-${round}`)]),
            writer.create([newRun({ id: `r${index}-${round}` })]),
          ]);
          const claimed = await writer.claim({ owner: `o${index}`, limit: 5, lease });
          await Promise.all(
            claimed.map((run) =>
              writer.save(stepOf(run, { ...ending, events: [eventNamed(run.id, 'lifecycle'), eventNamed(run.id)] })),
            ),
          );
        }
      }),
    ).finally(() => {
      writing = false;
    });
    const seen: number[] = [];
    let isLast = false;
    while (!isLast) {
      isLast = !writing;
      for (const { number } of await reader.events({ after: seen.at(-1) ?? 0, limit: 1000 })) seen.push(number);
    }
    await written;
    const all = await runs.events({ after: 0, limit: 10_000 });
    assert.ok(all.length >= 3 * 12 * 2);
    assert.deepEqual(
      seen,
      all.map(({ number }) => number),
    );
  });

  // SQLite has one writer.
  if (store.dialect === 'postgres')
    test('a transaction with a later event waits for one that appended an earlier event', async (t) => {
      const { runs, database, clock } = await openRunStore(t, store);
      await runs.create([newRun({ id: 'r' })]);
      const [run] = await runs.claim({ owner: 'one', limit: 1, lease });
      assert.ok(run !== undefined);
      const changes = createRunChanges(database);
      const now = storeTime(database, clock, 'process');
      const statistics = { rollups: createRollups(database), gateway: '' };
      const context = { ...statistics, database, clock, changes, visible: seesNothing, now, personOf: (id: string) => id };
      const outcome = { isSaved: false };
      let saving: Promise<unknown> | undefined;
      await database.records.transaction().execute(async (transaction) => {
        await appendEvents(context, transaction, [{ run: null, automation: null, event: eventNamed('first', 'lifecycle') }]);
        saving = runs.save(stepOf(run, { events: [eventNamed('second', 'lifecycle')] })).finally(() => {
          outcome.isSaved = true;
        });
        const waits = async (): Promise<boolean> => {
          const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and not granted
          and objid::bigint = hashtext(current_schema())::bigint & 4294967295`.execute(database.read);
          return rows.length > 0;
        };
        while (!outcome.isSaved && !(await waits()));
        assert.deepEqual([outcome.isSaved, await runs.events({ after: 0, limit: 9 })], [false, []]);
      });
      await saving;
      const events = await runs.events({ after: 0, limit: 9 });
      assert.deepEqual(
        events.map(({ event }) => String(JSON.parse(event).id)),
        ['first', 'second'],
      );
    });

  test('what is old is deleted in batches: ended runs with their events, and messages by their own age', async (t) => {
    const { runs, database } = await openRunStore(t, store);
    await runs.create(Array.from({ length: 7 }, (_, index) => newRun({ id: `r${index}` })));
    const claimed = await runs.claim({ owner: 'one', limit: 7, lease });
    for (const [index, run] of claimed.entries()) {
      await runs.command(run.id, { kind: 'cancel' }, 'key');
      const events = [eventNamed(run.id, 'lifecycle', 1), eventNamed(run.id, 'message', index)];
      await runs.save(stepOf(run, { ...(index < 6 ? { ...ending, endedAt: 10 * index } : {}), events }));
    }
    const forget = () => runs.forget({ before: 50, eventsBefore: 50, messagesBefore: 3, limit: 2 });
    assert.deepEqual([await forget(), await forget(), await forget(), await forget()], [4, 3, 1, 0]);
    assert.deepEqual((await runs.list({}, { limit: 9 })).length, 2);
    assert.deepEqual(
      (await runs.messages({ since: 0, limit: 9 })).map(({ at }) => at),
      [3, 4, 5, 6],
    );
    assert.equal((await runs.events({ after: 0, filter: { kind: 'lifecycle' }, limit: 9 })).length, 2);
    for (const table of ['run_text', 'run_command'] as const)
      assert.equal((await database.read.selectFrom(table).select('run').execute()).length, 2, table);
    const { byStatus } = await runs.counts();
    assert.deepEqual([...byStatus], [['running', 1]]);
  });

  test('an old run that changed something keeps its row, input and output as long as the audit log has the change', async (t) => {
    const { runs, database } = await openRunStore(t, store);
    await runs.create(['r0', 'r1'].map((id) => newRun({ id })));
    for (const run of await runs.claim({ owner: 'one', limit: 2, lease }))
      await runs.save(stepOf(run, { ...ending, endedAt: 10, events: [eventNamed(run.id, 'lifecycle', 1)] }));
    await database.records.insertInto('audit_term').values({ term: 'c:r1', at: 1, chain: 'chain', seq: 1 }).execute();
    const whole = await runs.read('r1');
    const forget = () => runs.forget({ before: 50, eventsBefore: 50, messagesBefore: 3, limit: 1 });
    assert.deepEqual([await forget(), await forget(), await forget()], [1, 1, 0]);
    assert.equal(await runs.read('r0'), undefined);
    assert.deepEqual(await runs.read('r1'), whole);
    assert.deepEqual(await runs.events({ after: 0, filter: { kind: 'lifecycle' }, limit: 9 }), []);
    await database.records.deleteFrom('audit_term').execute();
    assert.deepEqual([await forget(), await forget()], [1, 0]);
    assert.equal(await runs.read('r1'), undefined);
  });
});
