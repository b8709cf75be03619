import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { listening, peopleStage } from './support/runs/run-people-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Versions of workflows: what a run keeps of them, what of them can be deleted, and what is left of a deleted one.

const workflows = '/automation_catalog/workflows';
const answering = (text: string): object => ({ only: { set: { text } } });
const child = (version: string): object => ({ inner: { run: { workflow: { namespace: 'lab', name: 'child', version } } } });

eachStore((store) => {
  test('a run keeps the documents that it began with, and they cannot be deleted before its end', async (t) => {
    const { send, store: put, automation, start, reaches, goOn } = await peopleStage(t, store);
    await put('ann', 'child', '1.0.0', [answering('first')]);
    await put('ann', 'parent', '1.0.0', [listening, child('latest')]);
    const id = await automation('parent');
    const run = await start('otto', id);
    await reaches(run.id, 'waiting');
    await put('ann', 'child', '1.1.0', [answering('second')]);
    const remove = (query: string) => send('ann', 'DELETE', `${workflows}/${query}`);
    assert.match(
      assertProblem(await remove('lab.child?version=1.0.0'), 409, 'workflow-in-use').detail,
      /A run that has not ended/u,
    );
    assert.match(assertProblem(await remove('lab.child'), 409, 'workflow-in-use').detail, /lab\.parent 1\.0\.0 runs it/u);
    await goOn('ann');
    assert.deepEqual((await reaches(run.id, 'completed')).output, { text: 'first' });
    const later = await start('otto', id);
    await until('the later run listens', async () => (await reaches(later.id, 'waiting')).status === 'waiting');
    await goOn('ann');
    assert.deepEqual((await reaches(later.id, 'completed')).output, { text: 'second' });
    assert.equal((await remove('lab.child?version=1.0.0')).status, 204);
  });

  test('a version that was deleted takes the same bytes again, and others once an admin removed its tombstone', async (t) => {
    const { send, store: put } = await peopleStage(t, store);
    const remove = (as: 'ann' | 'eve', query: string) => send(as, 'DELETE', `${workflows}/lab.one?${query}`);
    await put('eve', 'one', '1.0.0', [answering('first')]);
    assert.equal((await remove('eve', 'version=1.0.0')).status, 204);
    assert.match(
      assertProblem(await put('ann', 'one', '1.0.0', [answering('other')]), 409, 'workflow-exists').detail,
      /was deleted, and had other content/u,
    );
    assert.equal((await put('ann', 'one', '1.0.0', [answering('first')])).status, 201);
    assert.equal((await remove('ann', 'version=1.0.0')).status, 204);
    assertProblem(await remove('eve', 'version=1.0.0&tombstone=true'), 403, 'forbidden');
    assertProblem(await remove('ann', 'tombstone=true'), 400, 'invalid-request');
    assertProblem(await remove('ann', 'version=1.0.0&tombstone=no'), 400, 'invalid-request');
    assert.equal((await remove('ann', 'version=1.0.0&tombstone=true')).status, 204);
    assertProblem(await remove('ann', 'version=1.0.0&tombstone=true'), 404, 'workflow-not-found');
    assert.equal((await put('eve', 'one', '1.0.0', [answering('other')])).status, 201);
    await until('the removal is on record', async () =>
      (await send('ann', 'GET', '/audit?limit=100')).text.includes(
        '"workflow":{"_id":"lab.one","name":"lab.one","version":"1.0.0","tombstone":true}',
      ),
    );
  });

  test('a task runs only the version that its run found at its beginning', async (t) => {
    const { send, store: put, automation, start, reaches, goOn } = await peopleStage(t, store);
    await put('ann', 'parent', '1.0.0', [listening, child('1.0.0')]);
    const run = await start('ann', await automation('parent'));
    await reaches(run.id, 'waiting');
    await put('ann', 'child', '1.0.0', [answering('late')]);
    await goOn('ann');
    const { error } = await reaches(run.id, 'faulted');
    assert.match(error?.detail ?? '', /There is no workflow lab\.child with the version 1\.0\.0/u);
    assert.equal((await send('ann', 'DELETE', `${workflows}/lab.child`)).status, 409, 'the parent names it');
  });
});
