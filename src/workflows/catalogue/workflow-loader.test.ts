import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createReadingThreads, type ReadingThreads } from '../reading-threads.ts';
import { createWorkflowLoader, type WorkflowLoader } from './workflow-loader.ts';
import { documentDigest } from './workflow-row.ts';
import type { StoredWorkflow, WorkflowName } from './workflow-store.ts';

const threads = createReadingThreads();
after(() => threads.close());

function textOf(version: string, task = 'set: { a: "${ .b }" }'): string {
  return `document: { dsl: 1.0.3, namespace: lab, name: sync, version: ${version} }\ndo:\n  - only: { ${task} }\n`;
}

function storedAs(version: string, text = textOf(version)): StoredWorkflow {
  const facts = { id: 'lab.sync', version, definition: '{}', functions: [], workflows: [] };
  const storers = [{ id: 'eve', username: 'eve', lends: true }];
  return { ...facts, text, digest: documentDigest(text), storers, mediaType: 'application/yaml', createdAt: 0, createdBy: 'eve' };
}

/** A loader over these versions, the newest first, which counts its readings. */
function loaderOver(given: readonly StoredWorkflow[], remembered?: number) {
  const versions = [...given];
  let readings = 0;
  const reading: Pick<ReadingThreads, 'load'> = {
    load(text) {
      readings += 1;
      return threads.load(text);
    },
  };
  const store = {
    read: (name: WorkflowName) =>
      Promise.resolve(versions.find(({ id, version }) => id === name.id && (name.version ?? version) === version)),
  };
  const options = remembered === undefined ? {} : { remembered };
  const loader: WorkflowLoader = createWorkflowLoader({ store, reading, ...options });
  return { loader, versions, readings: () => readings };
}

const id = 'lab.sync';

describe('the workflow loader', () => {
  test('answers a version, or the newest release, with who stored it', async () => {
    const { loader } = loaderOver([storedAs('2.0.0'), storedAs('1.0.0')]);
    const first = await loader.load({ id, version: '1.0.0' });
    assert.deepEqual([first?.workflow.version, first?.storers], ['1.0.0', storedAs('1.0.0').storers]);
    assert.deepEqual(
      first?.workflow.tasks.map(({ kind, name, reference }) => ({ kind, name, reference })),
      [{ kind: 'set', name: 'only', reference: '/do/0/only' }],
    );
    for (const version of [undefined, 'latest']) {
      const newest = await loader.load({ id, version });
      assert.equal(newest?.workflow.version, '2.0.0');
    }
    assert.equal(await loader.load({ id, version: '3.0.0' }), undefined);
    assert.equal(await loader.load({ id: 'lab.other' }), undefined);
  });

  test('answers a document by its digest alone, of the bytes themselves', async () => {
    const { loader, versions } = loaderOver([storedAs('1.0.0')]);
    const { digest } = storedAs('1.0.0');
    assert.equal((await loader.load({ id, version: '1.0.0', digest }))?.digest, digest);
    // A writer of the database may leave the digest next to the bytes as it was.
    versions[0] = { ...storedAs('1.0.0', textOf('1.0.0', 'wait: PT1S')), digest };
    assert.equal(await loader.load({ id, version: '1.0.0', digest }), undefined);
  });

  test('takes a pre-release only where it is named', async () => {
    const { loader } = loaderOver([storedAs('1.0.0-rc.1')]);
    assert.equal(await loader.load({ id }), undefined);
    assert.equal((await loader.load({ id, version: '1.0.0-rc.1' }))?.workflow.version, '1.0.0-rc.1');
  });

  test('answers the same workflow as the one that was judged, also in loose mode', async () => {
    const loose = `evaluate: { mode: loose }\n${textOf('1.0.0', 'set: { a: .b, c: some text }')}`;
    const { loader } = loaderOver([storedAs('1.0.0', loose)]);
    const loaded = await loader.load({ id });
    assert.match(JSON.stringify(loaded?.workflow.tasks), /some text/u);
    const [task] = loaded?.workflow.tasks ?? [];
    assert.ok(task?.kind === 'set' && /\.b/u.test(task.value.jq) && task.value.constant === undefined, JSON.stringify(task));
  });

  test('reads a document once, however many ask for it', async () => {
    const { loader, readings } = loaderOver([storedAs('1.0.0')]);
    const all = await Promise.all(Array.from({ length: 5 }, () => loader.load({ id })));
    const again = await loader.load({ id, version: '1.0.0' });
    for (const loaded of all) assert.equal(loaded?.workflow, again?.workflow);
    assert.equal(readings(), 1);
  });

  test('reads a version again that was deleted and stored with other content', async () => {
    const { loader, versions } = loaderOver([storedAs('1.0.0')]);
    await loader.load({ id });
    versions[0] = storedAs('1.0.0', textOf('1.0.0', 'wait: PT1S'));
    assert.equal((await loader.load({ id }))?.workflow.tasks[0]?.kind, 'wait');
    versions.length = 0;
    assert.equal(await loader.load({ id }), undefined);
  });

  test('forgets what was used least recently', async () => {
    const versions = ['1.0.0', '2.0.0', '3.0.0'];
    const { loader, readings } = loaderOver(
      versions.map((version) => storedAs(version)),
      2 * textOf('1.0.0').length,
    );
    const load = (version: string) => loader.load({ id, version });
    for (const version of ['1.0.0', '2.0.0', '1.0.0', '3.0.0', '1.0.0']) await load(version);
    assert.equal(readings(), 3);
    await load('2.0.0');
    assert.equal(readings(), 4);
  });

  test('says what is wrong with a document that cannot be read any more, and tries it again', async () => {
    const { loader, readings } = loaderOver([storedAs('1.0.0', textOf('1.0.0', 'sett: {}'))]);
    for (const expected of [1, 2]) {
      await assert.rejects(loader.load({ id }), { code: 'workflow-invalid', message: /\/do\/0\/only/u });
      assert.equal(readings(), expected);
    }
  });
});
