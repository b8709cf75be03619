import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachStore } from '../../test/support/stores/stores.ts';
import type { FunctionName } from './workflow.ts';
import { createWorkflowStore, type StoredWorkflow } from './workflow-store.ts';

function workflow(version: string, { functions = [], writtenAs = 'engineering' }: Partial<StoredWorkflow> = {}): StoredWorkflow {
  const facts = { id: 'lab.sync', version, definition: '{}', functions, workflows: [] };
  return { ...facts, text: `version ${version}`, mediaType: 'application/yaml', createdAt: 1, createdBy: 'u', writtenAs };
}

eachStore((store) => {
  test('a workflow keeps the role of its writer', async (t) => {
    const workflows = createWorkflowStore(await store.open(t), () => Promise.resolve(false));
    await workflows.add(workflow('1.0.0', { writtenAs: 'admin' }));
    await workflows.add(workflow('2.0.0'));
    // The version exists.
    const again = await workflows.add(workflow('1.0.0'));
    assert.equal(again.writtenAs, 'admin');
    assert.deepEqual(await workflows.read({ id: 'lab.sync', version: '2.0.0' }), workflow('2.0.0'));
  });

  test('a workflow of an earlier version of the gateway was written by the role that its calls need', async (t) => {
    const database = await store.open(t);
    const workflows = createWorkflowStore(database, () => Promise.resolve(false));
    const cases: readonly (readonly [version: string, functions: readonly FunctionName[]])[] = [
      ['1.0.0', ['restCall', 'orchestratorAction']],
      ['2.0.0', ['restCall', 'http']],
    ];
    for (const [version, functions] of cases) {
      await workflows.add(workflow(version, { functions, writtenAs: 'admin' }));
      await database.query
        .updateTable('workflow')
        .set({ facts: JSON.stringify({ functions, workflows: [] }) })
        .where('version', '=', new TextEncoder().encode(version))
        .execute();
    }
    assert.equal((await workflows.read({ id: 'lab.sync', version: '1.0.0' }))?.writtenAs, 'admin');
    assert.equal((await workflows.read({ id: 'lab.sync', version: '2.0.0' }))?.writtenAs, 'engineering');
  });

  test('the calls of all versions are listed, the newest first', async (t) => {
    const workflows = createWorkflowStore(await store.open(t), () => Promise.resolve(false));
    for (const version of ['1.9.0', '1.10.0']) await workflows.add(workflow(version, { functions: ['http'] }));
    assert.deepEqual(await workflows.versions('lab.sync'), [
      { id: 'lab.sync', version: '1.10.0', functions: ['http'], workflows: [] },
      { id: 'lab.sync', version: '1.9.0', functions: ['http'], workflows: [] },
    ]);
    assert.deepEqual(await workflows.versions('lab.none'), []);
  });
});
