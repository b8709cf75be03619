import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachStore } from '../../../test/support/stores/stores.ts';
import { documentDigest } from './workflow-row.ts';
import { createWorkflowStore, type StoredWorkflow, type WorkflowStore } from './workflow-store.ts';

const eve = { id: 'eve', username: 'eve' };
const ann = { id: 'ann', username: 'ann' };
const lending = { lends: true };
const before = { lends: false };

function workflow(version: string, given: Partial<StoredWorkflow> = {}): StoredWorkflow {
  const text = given.text ?? `version ${version}`;
  const facts = { id: 'lab.sync', version, definition: '{}', functions: [], workflows: [] };
  const stored = { text, digest: documentDigest(text), storers: [{ ...eve, ...lending }] };
  return { ...facts, ...stored, mediaType: 'application/yaml', createdAt: 1, createdBy: 'u', ...given };
}

async function refuseNothing(): Promise<void> {}

async function added(workflows: WorkflowStore, given: StoredWorkflow): Promise<StoredWorkflow> {
  const outcome = await workflows.add(given);
  assert.ok(outcome !== 'deleted');
  return outcome.stored;
}

eachStore((store) => {
  const opened = async (t: Parameters<typeof store.open>[0]): Promise<WorkflowStore> =>
    createWorkflowStore(await store.open(t), () => Promise.resolve(false));

  test('a version keeps its bytes, their digest and who stored it first', async (t) => {
    const workflows = await opened(t);
    await added(workflows, workflow('1.0.0'));
    const again = await added(workflows, workflow('1.0.0', { storers: [{ ...ann, ...lending }] }));
    assert.deepEqual(again.storers, [{ ...eve, ...lending }]);
    assert.deepEqual(await workflows.read({ id: 'lab.sync', version: '1.0.0' }), workflow('1.0.0'));
    const { digest } = workflow('1.0.0');
    assert.deepEqual(await workflows.storers([digest, 'none']), new Map([[digest, again.storers]]));
  });

  test('all versions are listed, the newest first, with what they call', async (t) => {
    const workflows = await opened(t);
    for (const version of ['1.9.0', '1.10.0']) await added(workflows, workflow(version, { functions: ['http'] }));
    const listed = await workflows.versions('lab.sync');
    assert.deepEqual(
      listed.map(({ version, functions }) => [version, functions]),
      [
        ['1.10.0', ['http']],
        ['1.9.0', ['http']],
      ],
    );
    assert.deepEqual(await workflows.versions('lab.none'), []);
  });

  test('the newest version is the highest release, and a pre-release is none', async (t) => {
    const workflows = await opened(t);
    await added(workflows, workflow('2.0.0-rc.1'));
    assert.equal(await workflows.find({ id: 'lab.sync' }), undefined);
    assert.equal((await workflows.read({ id: 'lab.sync' }))?.version, '2.0.0-rc.1', 'people can read it');
    for (const version of ['1.9.0', '1.10.0', '1.10.0+build-7']) await added(workflows, workflow(version));
    assert.equal((await workflows.find({ id: 'lab.sync' }))?.version, '1.10.0+build-7');
    assert.equal((await workflows.read({ id: 'lab.sync' }))?.version, '1.10.0+build-7');
    assert.equal((await workflows.find({ id: 'lab.sync', version: '2.0.0-rc.1' }))?.version, '2.0.0-rc.1');
    const { list } = await workflows.list({ limit: 10, skip: 0 });
    assert.deepEqual(
      list.map(({ version, versions }) => [version, versions]),
      [['1.10.0+build-7', ['2.0.0-rc.1', '1.10.0+build-7', '1.10.0', '1.9.0']]],
    );
  });

  test('a deleted version takes the same bytes again, with who stored them before, and no others', async (t) => {
    const workflows = await opened(t);
    await added(workflows, workflow('1.0.0'));
    await workflows.remove({ id: 'lab.sync', version: '1.0.0' }, refuseNothing);
    assert.equal(await workflows.add(workflow('1.0.0', { text: 'other' })), 'deleted');
    const again = await added(workflows, workflow('1.0.0', { storers: [{ ...ann, ...lending }] }));
    assert.deepEqual(again.storers, [
      { ...ann, ...lending },
      { ...eve, ...before },
    ]);
    await workflows.remove({ id: 'lab.sync' }, refuseNothing);
    assert.equal(await workflows.add(workflow('1.0.0', { text: 'other' })), 'deleted');
    const name = { id: 'lab.sync', version: '1.0.0' };
    assert.deepEqual([await workflows.removeTombstone(name), await workflows.removeTombstone(name)], [true, false]);
    assert.equal((await added(workflows, workflow('1.0.0', { text: 'other' }))).text, 'other');
  });

  test('who takes a version lends its rights alone, and who stored it stays on record', async (t) => {
    const workflows = await opened(t);
    for (const version of ['1.0.0', '2.0.0']) await added(workflows, workflow(version));
    const storersOf = async (version: string) => (await workflows.find({ id: 'lab.sync', version }))?.storers;
    assert.deepEqual(await workflows.take({ id: 'lab.sync', version: '1.0.0', taker: ann }, refuseNothing), ['1.0.0']);
    assert.deepEqual(await storersOf('2.0.0'), [{ ...eve, ...lending }]);
    assert.deepEqual(await workflows.take({ id: 'lab.sync', taker: ann }, refuseNothing), ['2.0.0', '1.0.0']);
    for (const version of ['1.0.0', '2.0.0']) {
      assert.deepEqual(await storersOf(version), [
        { ...ann, ...lending },
        { ...eve, ...before },
      ]);
    }
    await assert.rejects(workflows.take({ id: 'lab.sync', taker: eve }, () => Promise.reject(new Error('no'))));
    assert.deepEqual((await storersOf('1.0.0'))?.[0], { ...ann, ...lending });
  });

  test('a version that another workflow runs is named by it, and by latest where it is the last release', async (t) => {
    const workflows = await opened(t);
    for (const version of ['1.0.0', '2.0.0', '3.0.0-rc.1']) await added(workflows, workflow(version));
    const runs = (name: string, version: string) =>
      added(workflows, workflow('1.0.0', { id: `lab.${name}`, text: name, workflows: [{ id: 'lab.sync', version }] }));
    const namerOf = async (version?: string) => {
      let namer: string | undefined = 'not asked';
      const stop = new Error('stop');
      const judged = workflows.remove({ id: 'lab.sync', version }, async (_found, { byWorkflow }) => {
        namer = byWorkflow;
        throw stop;
      });
      await assert.rejects(judged, stop);
      return namer;
    };
    await runs('exact', '1.0.0');
    assert.deepEqual(await Promise.all(['1.0.0', '2.0.0', '3.0.0-rc.1'].map(namerOf)), ['lab.exact 1.0.0', undefined, undefined]);
    await workflows.remove({ id: 'lab.exact' }, refuseNothing);
    await runs('newest', 'latest');
    assert.deepEqual(await Promise.all(['1.0.0', '2.0.0', '3.0.0-rc.1'].map(namerOf)), [undefined, undefined, undefined]);
    assert.equal(await namerOf(), 'lab.newest 1.0.0');
    await workflows.remove({ id: 'lab.sync', version: '1.0.0' }, refuseNothing);
    assert.equal(await namerOf('2.0.0'), 'lab.newest 1.0.0');
  });
});
