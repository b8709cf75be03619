import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Automation } from '../src/automations/automation.ts';
import { visibleTo } from '../src/automations/store/automation-list-store.ts';
import { createAutomationStore } from '../src/automations/store/automation-store.ts';
import { systemClock } from '../src/base/clock.ts';
import type { RunFilter } from '../src/runs/journal/run-queries.ts';
import { eventNamed, newRun, stepOf } from '../src/runs/journal/run-records.test-support.ts';
import { createRunStore, type RunStore } from '../src/runs/journal/run-store.ts';
import { eachStore, type TestStore } from './support/stores/stores.ts';

const automations: readonly Automation[] = [
  { _id: 'open', name: 'open' },
  { _id: 'noc', name: 'noc', data: { gbac: { read: ['noc'] } } },
  { _id: 'core', name: 'core', data: { gbac: { read: ['core', 'ops'] } } },
];

const owners: Readonly<Record<string, string>> = { open: 'ada', noc: 'ada', core: 'bob', gone: 'bob', none: 'ada' };

/** A run of each automation, of one that was deleted, and of none. */
async function openWith(t: TestContext, store: TestStore): Promise<RunStore> {
  const database = await store.open(t);
  await createAutomationStore(database).change((writer) => writer.insert(automations));
  const runs = createRunStore({ database, clock: systemClock, visible: visibleTo });
  t.after(() => runs.close());
  for (const [id, owner] of Object.entries(owners)) {
    const principal = { id: owner, username: `${owner}!`, roles: ['other' as const], groups: [] };
    const automation = id === 'none' ? undefined : { id, name: id };
    await runs.create([newRun({ id: `run-${id}`, automation, principal, workflow: `w.${owner}` })]);
  }
  return runs;
}

async function listed(runs: RunStore, filter: RunFilter): Promise<readonly string[]> {
  return (await runs.list(filter, { limit: 99 })).map(({ id }) => id.slice('run-'.length)).toSorted();
}

eachStore((store) => {
  test('a run is visible to those who see its automation, and to its own principal', async (t) => {
    const runs = await openWith(t, store);
    const seen = (principal: string, ...groups: string[]) => listed(runs, { visibleTo: { principal, groups } });
    assert.deepEqual(await listed(runs, {}), ['core', 'gone', 'noc', 'none', 'open']);
    assert.deepEqual(await seen('eve'), ['open']);
    assert.deepEqual(await seen('eve', 'noc', 'other'), ['noc', 'open']);
    assert.deepEqual(await seen('eve', 'ops'), ['core', 'open']);
    assert.deepEqual(await seen('ada', 'core'), ['core', 'noc', 'none', 'open']);
    assert.deepEqual(await seen('bob'), ['core', 'gone', 'open']);
  });

  test('the events of a run are visible as the run is, and those that no run emitted are not', async (t) => {
    const runs = await openWith(t, store);
    await runs.publish([eventNamed('sent')]);
    for (const run of await runs.claim({ owner: 'one', limit: 9, lease: 60_000 }))
      await runs.save(stepOf(run, { events: [eventNamed(run.id, 'lifecycle')] }));
    const seen = async (principal: string, ...groups: string[]) =>
      (await runs.events({ after: 0, filter: { visibleTo: { principal, groups } }, limit: 99 }))
        .map(({ event }) => String(JSON.parse(event).id))
        .toSorted();
    assert.equal((await runs.events({ after: 0, limit: 99 })).length, 6);
    assert.deepEqual(await seen('eve', 'noc'), ['run-noc', 'run-open']);
    assert.deepEqual(await seen('bob'), ['run-core', 'run-gone', 'run-open']);
  });

  test('a list of runs is filtered, newest first, and goes on after the last run of a page', async (t) => {
    const runs = await openWith(t, store);
    assert.deepEqual(await listed(runs, { automation: 'noc' }), ['noc']);
    assert.deepEqual(await listed(runs, { username: 'bob!' }), ['core', 'gone']);
    assert.deepEqual(await listed(runs, { workflow: 'w.ada', status: 'pending' }), ['noc', 'none', 'open']);
    assert.deepEqual(await listed(runs, { status: 'running' }), []);
    await runs.create([newRun({ id: 'run-child', parent: { run: 'run-noc', activity: 1, attempt: 1 } })]);
    assert.deepEqual(await listed(runs, { parent: 'run-noc' }), ['child']);
    const all = await runs.list({}, { limit: 99 });
    const newest = all.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
    assert.deepEqual(all, newest);
    const pages: string[] = [];
    for (let after = all[0]; after !== undefined; ) {
      pages.push(after.id);
      [after] = await runs.list({}, { limit: 1, after });
    }
    assert.deepEqual(
      pages,
      all.map(({ id }) => id),
    );
    const middle = all[2]?.createdAt ?? 0;
    const since = await runs.list({ since: middle }, { limit: 99 });
    const until = await runs.list({ until: middle }, { limit: 99 });
    assert.deepEqual([...since, ...until], all);
    const counted = await runs.counts();
    assert.deepEqual([...counted.byStatus], [['pending', 6]]);
    assert.ok(counted.lateness >= 0);
  });
});
