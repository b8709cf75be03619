import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '#database/database.ts';
import { eachStore } from '../../../test/support/stores/stores.ts';
import { ending, eventNamed, newRun, released, stepOf, taskAt } from './run-records.test-support.ts';
import { claimOne, lease, openRunStore } from './run-store.test-support.ts';

/** Rows of all tables of runs and events. */
async function everything({ read }: Database): Promise<unknown> {
  const tables = ['run', 'run_claim', 'run_text', 'run_state', 'run_value', 'run_task', 'run_command', 'event_log'] as const;
  const rows: Record<string, unknown> = {};
  for (const table of tables) {
    const found = await read.selectFrom(table).selectAll().execute();
    rows[table] = found.map((row) => JSON.stringify(row)).sort();
  }
  return rows;
}

eachStore((store) => {
  test('a run is read as it was created, and a second one with its id changes nothing', async (t) => {
    const { runs, clock } = await openRunStore(t, store);
    const run = newRun({
      automation: { id: 'a1', name: 'nightly \u0000 "job"' },
      principal: { id: 'oidc:["\u0000"]', username: 'x\u0000y', roles: ['other'], groups: ['g'], issuer: 'i', subject: 's' },
      startedBy: { schedule: '1 day', due: 5 },
      parent: { run: 'p', activity: 3, attempt: 1 },
    });
    const none = { suspendedBy: undefined, startedAt: undefined, endedAt: undefined, output: undefined, error: undefined };
    const stored = { ...run, status: 'pending', createdAt: clock.now(), ...none };
    assert.deepEqual(await runs.create([run]), [stored]);
    assert.deepEqual(await runs.create([{ ...run, input: '2', workflow: 'tests.two' }]), []);
    assert.deepEqual(await runs.read(run.id), stored);
    assert.equal(await runs.read('none'), undefined);
  });

  test('two owners never claim one run', async (t) => {
    const { runs, another } = await openRunStore(t, store);
    const other = await another();
    const ids = Array.from({ length: 60 }, (_, index) => `run-${index}`);
    await runs.create(ids.map((id) => newRun({ id })));
    const claims = await Promise.all(
      Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? runs : other).claim({ owner: `o${index}`, limit: 3, lease })),
    );
    let claimed = claims.flat().map(({ id }) => id);
    // Claims that meet pass over the rows of each other, so that some find fewer than there are.
    claimed = [...claimed, ...(await runs.claim({ owner: 'last', limit: 60, lease })).map(({ id }) => id)];
    assert.deepEqual(claimed.toSorted(), ids.toSorted());
  });

  test('a takeover after the lease has a higher fence and counts an abandoned claim; a write resets the count', async (t) => {
    const { runs, clock } = await openRunStore(t, store);
    await runs.create([newRun({ id: 'r' })]);
    const first = await claimOne(runs);
    assert.deepEqual([first.abandonedClaims, first.state], [0, undefined]);
    assert.deepEqual(await runs.claim({ owner: 'two', limit: 1, lease }), []);
    assert.equal(await runs.nextWake(), clock.now() + lease);
    clock.pass(lease);
    const except = ['r', 'none'];
    assert.deepEqual(await runs.claim({ owner: 'main', limit: 1, lease, except }), []);
    assert.equal(await runs.nextWake({ except }), undefined);
    const second = await claimOne(runs, 'two');
    clock.pass(lease);
    const third = await claimOne(runs, 'three');
    assert.deepEqual([second.abandonedClaims, third.abandonedClaims], [1, 2]);
    assert.ok(first.fence < second.fence && second.fence < third.fence);
    assert.equal(await runs.save(stepOf(third)), 'saved');
    clock.pass(lease);
    const fourth = await claimOne(runs, 'four');
    assert.equal(fourth.abandonedClaims, 1);
    assert.equal(await runs.save(stepOf(fourth, released({ wakeAt: clock.now() }))), 'saved');
    assert.deepEqual((await claimOne(runs)).abandonedClaims, 0);
  });

  test('a write with the fence of an earlier claim changes nothing, nor does one after a release', async (t) => {
    const { runs, clock, database } = await openRunStore(t, store);
    await runs.create([newRun({ id: 'r' }), newRun({ id: 'parent' })]);
    clock.pass(1);
    const claims = await runs.claim({ owner: 'one', limit: 2, lease });
    const stale = claims.find(({ id }) => id === 'r');
    assert.ok(stale !== undefined);
    clock.pass(lease);
    const current = (await runs.claim({ owner: 'two', limit: 2, lease })).find(({ id }) => id === 'r');
    assert.ok(current !== undefined);
    const much = {
      ...ending,
      tasks: [taskAt(1, 'running')],
      events: [eventNamed('e')],
      children: [newRun({ id: 'child' })],
      commands: [{ run: 'parent', command: { kind: 'cancel' as const } }],
    };
    const before = await everything(database);
    assert.equal(await runs.save(stepOf(stale, much)), 'lost');
    assert.deepEqual(await everything(database), before);
    assert.equal(await runs.save(stepOf(current, released())), 'saved');
    const after = await everything(database);
    assert.equal(await runs.save(stepOf(current, much)), 'lost');
    assert.equal(await runs.save(stepOf({ id: 'none', fence: 1 }, much)), 'lost');
    assert.deepEqual(await everything(database), after);
  });

  test('the writes of a group are saved, apart from those that are lost', async (t) => {
    const { runs } = await openRunStore(t, store);
    await runs.create(Array.from({ length: 20 }, (_, index) => newRun({ id: `r${index}` })));
    const claims = await runs.claim({ owner: 'one', limit: 20, lease });
    const outcomes = await Promise.all(
      claims.map(({ id, fence }, index) => runs.save(stepOf({ id, fence: index % 5 === 0 ? fence - 1 : fence }, ending))),
    );
    assert.deepEqual(
      outcomes,
      claims.map((_, index) => (index % 5 === 0 ? 'lost' : 'saved')),
    );
    for (const [index, { id }] of claims.entries()) {
      assert.equal((await runs.read(id))?.status, index % 5 === 0 ? 'pending' : 'completed');
    }
  });

  test('a step keeps its state, the values that the state names, tasks and outcome', async (t) => {
    const { runs, clock } = await openRunStore(t, store);
    await runs.create([newRun({ id: 'r' })]);
    let run = await claimOne(runs);
    const values = new Map([
      ['1', '"\\u0000 ünï 💡"'],
      ['2', '{"b":2}'],
    ]);
    const plain = (tasks: unknown) => JSON.parse(JSON.stringify(tasks));
    await runs.save(stepOf(run, { state: { text: 'one', values }, tasks: [taskAt(10, 'running'), taskAt(9, 'running')] }));
    assert.deepEqual(await runs.readState('r'), { text: 'one', values });
    values.delete('1');
    values.set('3', '"three"');
    await runs.save(
      stepOf(run, {
        ...released({ wakeAt: clock.now() }),
        state: { text: 'two', values },
        tasks: [taskAt(9, 'running'), taskAt(9, 'completed')],
      }),
    );
    run = await claimOne(runs);
    assert.deepEqual(run.state, { text: 'two', values });
    const bare = { decisions: [], hasData: false };
    const stored = [taskAt(9, 'completed'), taskAt(10, 'running')].map((task) => ({ ...task, ...bare }));
    assert.deepEqual(plain(await runs.tasks('r', { limit: 9 })), plain(stored));
    assert.deepEqual(plain(await runs.tasks('r', { limit: 9, after: 9 })), plain(stored.slice(1)));
    assert.equal((await runs.tasks('r', { limit: 1 })).length, 1);
    const error = { type: 't', status: 500, instance: '/do/0' };
    await runs.save(stepOf(run, { ...ending, status: 'faulted', error }));
    const read = await runs.read('r');
    assert.deepEqual(
      [read?.status, read?.startedAt, read?.endedAt, read?.output, read?.error],
      ['faulted', 1, 2, '"done"', error],
    );
    assert.equal(await runs.readState('r'), undefined);
    assert.deepEqual(await runs.claim({ owner: 'two', limit: 1, lease }), []);
    assert.equal(await runs.nextWake(), undefined);
  });
});
