import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachStore } from '../../../test/support/stores/stores.ts';
import type { RunChange } from '../journal/run-changes.ts';
import { ending, eventNamed, newRun, released, stepOf } from '../journal/run-records.test-support.ts';
import type { RunCommand } from '../journal/run-records.ts';
import { claimOne, lease, openRunStore } from '../journal/run-store.test-support.ts';

const cancel: RunCommand = { kind: 'cancel' };
const decide: RunCommand = { kind: 'decide', activity: 1, as: 'done', reason: 'seen', principal: 'ada' };

eachStore((store) => {
  test('a command wakes a run that no one holds, and one that comes before the release too', async (t) => {
    const { runs } = await openRunStore(t, store);
    await runs.create([newRun({ id: 'r' })]);
    let run = await claimOne(runs);
    await runs.save(stepOf(run, released()));
    assert.equal(await runs.nextWake(), undefined);
    assert.equal(await runs.command('r', cancel), true);
    run = await claimOne(runs);
    const [queued] = await runs.commandsOf(['r', 'none']);
    assert.deepEqual(queued, { number: queued?.number, run: 'r', command: cancel });
    await runs.save(stepOf(run, { consumed: [queued?.number ?? 0], ...released() }));
    assert.deepEqual([await runs.nextWake(), await runs.commandsOf(['r'])], [undefined, []]);
    assert.equal(await runs.command('r', cancel), true);
    run = await claimOne(runs);
    assert.equal(await runs.command('r', { kind: 'suspend' }), true);
    const kinds = (await runs.commandsOf(['r'])).map(({ command }) => command.kind);
    assert.deepEqual(kinds, ['cancel', 'suspend']);
    await runs.save(stepOf(run, released()));
    run = await claimOne(runs);
    assert.deepEqual((await runs.renew({ owner: 'one', lease, runs: ['r'] })).waiting, new Set(['r']));
    await runs.save(stepOf(run, ending));
    assert.equal(await runs.command('r', cancel), false);
    assert.equal(await runs.command('none', cancel), false);
  });

  test('a command with a key is accepted once, also after it was consumed', async (t) => {
    const { runs } = await openRunStore(t, store);
    await runs.create([newRun({ id: 'r' }), newRun({ id: 's' })]);
    const all = await Promise.all([1, 2, 3].map(() => runs.command('r', decide, 'decide:1')));
    assert.equal(all.filter((accepted) => accepted).length, 1);
    assert.equal(await runs.command('s', decide, 'decide:1'), true);
    const run = (await runs.claim({ owner: 'one', limit: 2, lease })).find(({ id }) => id === 'r');
    assert.ok(run !== undefined);
    const consumed = (await runs.commandsOf(['r'])).map(({ number }) => number);
    await runs.save(stepOf(run, { consumed, ...released() }));
    assert.deepEqual(await runs.commandsOf(['r']), []);
    assert.equal(await runs.command('r', decide, 'decide:1'), false);
    assert.equal(await runs.command('r', decide, 'decide:2'), true);
  });

  test('no command is without effect where it meets the release of its run', async (t) => {
    const { runs, another } = await openRunStore(t, store);
    const other = await another();
    for (let round = 0; round < 30; round += 1) {
      const id = `r${round}`;
      await runs.create([newRun({ id })]);
      const run = await claimOne(runs);
      const [accepted]: readonly unknown[] = await Promise.all([
        other.command(id, cancel),
        runs.save(stepOf(run, round % 3 === 0 ? ending : released())),
      ]);
      const claimed = await runs.claim({ owner: 'one', limit: 9, lease });
      assert.equal(claimed.length, round % 3 !== 0 ? 1 : 0);
      assert.ok(accepted === true || round % 3 === 0);
      for (const again of claimed) await runs.save(stepOf(again, ending));
    }
  });

  test('a message wakes the runs that listen, also one that met the release; one that was seen before does not', async (t) => {
    const { runs, another } = await openRunStore(t, store);
    const other = await another();
    await runs.publish([eventNamed('first')]);
    await runs.create([newRun({ id: 'r' })]);
    for (let round = 0; round < 30; round += 1) {
      const run = await claimOne(runs);
      const listening = stepOf(run, released({ scanned: await runs.lastEvent() }));
      if (round % 3 === 0) {
        await runs.save(listening);
        assert.equal(await runs.nextWake(), undefined);
        await other.publish([eventNamed(`e${round}`)]);
      } else await Promise.all([runs.save(listening), other.publish([eventNamed(`e${round}`)])]);
    }
    const run = await claimOne(runs);
    await runs.save(stepOf(run, released()));
    await runs.publish([eventNamed('last')]);
    assert.equal(await runs.nextWake(), undefined);
  });

  test('a step begins children, and its commands reach the runs that have not ended', async (t) => {
    const { runs, clock } = await openRunStore(t, store);
    await runs.create([newRun({ id: 'parent' })]);
    const parent = await claimOne(runs);
    const begun = (id: string) => newRun({ id, parent: { run: 'parent', activity: 1, attempt: 1 } });
    await runs.save(stepOf(parent, { children: [begun('c1'), begun('c2'), begun('c1')], ...released() }));
    assert.deepEqual((await runs.children('parent')).toSorted(), ['c1', 'c2']);
    const [one, two] = (await runs.claim({ owner: 'one', limit: 9, lease })).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    assert.ok(one !== undefined && two !== undefined);
    const done: RunCommand = { kind: 'child-ended', activity: 1, attempt: 1, result: { kind: 'ok', output: '1' } };
    const tellParent = { commands: [{ run: 'parent', command: done }] };
    clock.pass(5);
    // Both in one group: the second child ends while the first one commands it.
    await Promise.all([
      runs.save(
        stepOf(one, {
          ...ending,
          commands: [...tellParent.commands, { run: 'c2', command: cancel }, { run: 'no', command: cancel }],
        }),
      ),
      runs.save(stepOf(two, { ...ending, ...tellParent })),
    ]);
    assert.deepEqual(await runs.children('parent'), []);
    assert.equal((await claimOne(runs)).id, 'parent');
    const queued = await runs.commandsOf(['parent', 'c2', 'no']);
    assert.deepEqual(
      queued.map(({ run, command }) => [run, command]),
      [
        ['parent', done],
        ['parent', done],
      ],
    );
  });

  test('a lease is renewed for the runs that the owner names and holds', async (t) => {
    const { runs, clock, another } = await openRunStore(t, store);
    const other = await another();
    await runs.create(['a', 'b', 'c', 'd'].map((id) => newRun({ id })));
    const fences = new Map((await runs.claim({ owner: 'one', limit: 4, lease })).map(({ id, fence }) => [id, fence]));
    clock.pass(lease);
    await other.claim({ owner: 'two', limit: 1, lease });
    const held = (await other.renew({ owner: 'two', lease, runs: ['a', 'b', 'c', 'd'] })).held;
    assert.equal(held.size, 1);
    const [taken = ''] = held.keys();
    const mine = ['a', 'b', 'c', 'd'].filter((id) => id !== taken);
    const renewed = await runs.renew({ owner: 'one', lease, runs: [taken, ...mine.slice(1), 'none'] });
    assert.deepEqual(renewed.held, new Map(mine.slice(1).map((id) => [id, fences.get(id)])));
    clock.pass(lease - 1);
    // Its claim may have been answered to no one.
    assert.equal((await claimOne(other, 'two')).id, mine[0]);
  });

  test('listeners in every gateway learn of each change', async (t) => {
    const { runs, another } = await openRunStore(t, store);
    // SQLite belongs to one process: others are on PostgreSQL alone.
    const remote = store.dialect === 'postgres' ? await another() : runs;
    const seen: RunChange[] = [];
    const waiting: (() => void)[] = [];
    const silence = remote.onChange((change) => {
      seen.push(change);
      for (const wake of waiting.splice(0)) wake();
    });
    const until = async (isSeen: (change: RunChange) => boolean): Promise<void> => {
      while (!seen.some(isSeen)) await new Promise<void>((resolve) => waiting.push(resolve));
      seen.length = 0;
    };
    if (store.dialect === 'postgres') await until(({ kind }) => kind === 'all');
    const isRun = (change: RunChange): boolean => change.kind === 'run' && change.id === 'r';
    await runs.create([newRun({ id: 'r' })]);
    await until(isRun);
    await runs.publish([eventNamed('e')]);
    await until(({ kind }) => kind === 'events');
    await runs.command('r', cancel);
    await until(isRun);
    const run = await claimOne(runs);
    await runs.save(stepOf(run, { ...released(), events: [eventNamed('l', 'lifecycle')] }));
    await until(isRun);
    silence();
  });
});
