// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { runCaller, type SeenTask } from './support/runs/run-caller.ts';
import { eachStoreWith, storeUrl } from './support/stores/stores.ts';

// How much the gateway keeps of what the tasks of one run got and gave.

const turns = 1_040;
const mebibyte = 1024 ** 2;

interface Data {
  readonly input?: string;
  readonly output?: string;
  readonly truncated?: readonly string[];
  readonly noData?: string;
}

eachStoreWith({ concurrency: 1 }, (store) => {
  test('a run keeps 64 MiB of data, its later tasks have none and say so, and the run goes on', {
    timeout: 300_000,
  }, async (t) => {
    const gateway = await startGateway(t, {
      config: { store: { url: storeUrl(await store.empty(t)) } },
      users: [{ username: 'eva', passwordHash: testPasswordHash, roles: ['readonly'], groups: [] }],
    });
    const runs = runCaller(() => gateway, gateway.basicFor('admin'));
    const turn = { turn: { set: '${ "x" * 70000 }' } };
    const automation = await runs.automation('much', [
      { first: { set: { a: 1 } } },
      { many: { for: { in: `\${ [range(${turns})] }` }, do: [turn] } },
      { last: { set: { b: 2 } } },
    ]);
    const { id } = await runs.start(automation);
    assert.deepEqual((await runs.reaches(id, 'completed', 'faulted')).output, { b: 2 });
    const all = (await runs.tasks(id)) as readonly (SeenTask & { readonly noData?: string })[];
    assert.equal(all.length, turns + 3);
    const without = all.filter(({ noData }) => noData !== undefined);
    assert.ok(without.every(({ noData }) => noData === 'limit'));
    const data = async (task: SeenTask | undefined): Promise<Data> =>
      (await gateway.send({ target: `/runs/${id}/tasks/${task?.id}/data`, role: 'admin' })).json() as Data;
    assert.deepEqual(await data(all[0]), { input: '{}', output: '{"a":1}' });
    const first = await data(all.find(({ name }) => name === 'turn'));
    assert.deepEqual([first.truncated, Buffer.byteLength(first.output ?? '')], [['output'], 65_536]);
    assert.deepEqual(await data(all.find(({ name }) => name === 'last')), { noData: 'limit' });
    const { text } = await gateway.send({ target: '/metrics', role: 'admin' });
    assert.ok(Number(/^gateway_limit_reached_total\{limit="task-data"\} (\d+)$/mu.exec(text)?.[1]) > 0);
    const kept = all.length - without.length;
    assert.ok(kept * 65_536 <= 64 * mebibyte && kept > 400, String(kept));
    const headers = { Authorization: basic('eva', testPassword) };
    assertProblem(await gateway.send({ target: `/runs/${id}/tasks/1/data`, headers }), 403, 'forbidden');
  });
});
