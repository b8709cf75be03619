import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { eachStoreWith, type TestStore } from '../../../test/support/stores/stores.ts';
import { until } from '../../../test/support/until.ts';
import { runWorld } from './run-engine.test-support.ts';

const act = (name: string): string =>
  `do: [{ act: { call: ${name}, with: { adapter: a, params: { path: /x, accept: json } } } }]\n`;

const query = 'orchestratorQuery';

/** A world whose gateway notes the exceptions that it tells its watchers of. */
async function faultyWorld(t: TestContext, store: TestStore, changed?: (own: object) => object) {
  const world = await runWorld(t, store);
  const faults: unknown[] = [];
  const start = () =>
    world.gateway({
      tasks: 4,
      lease: 400,
      watchers: [{ failedInside: (thrown) => void faults.push(thrown) }],
      ...(changed && { changed }),
    });
  return { ...world, faults, start };
}

eachStoreWith({ concurrency: 4 }, (store) => {
  test('a task on which the gateway itself fails three times is an error of the run, and other runs go on', async (t) => {
    const world = await faultyWorld(t, store);
    await world.workflow('query', act(query));
    await world.workflow('plain', 'do: [{ one: { set: { a: 1 } } }]\n');
    world.answer(() => {
      throw new TypeError('URI malformed');
    });
    await world.start();
    const ids = await Promise.all(Array.from({ length: 8 }, () => world.begin('query')));
    for (const id of ids) {
      const { error } = await world.reaches(id, 'faulted', 'completed');
      assert.deepEqual([error?.type.replace(/.*\//u, ''), error?.status, error?.title], ['runtime', 500, 'The gateway failed']);
    }
    assert.equal(world.calls.length, 3 * ids.length);
    assert.equal(world.faults.length, 3 * ids.length, 'the gateway tells each exception');
    await world.reaches(await world.begin('plain'), 'completed');
  });

  test('a change on which the gateway fails after it may have left is made once, and its outcome is unknown', async (t) => {
    const world = await faultyWorld(t, store);
    await world.workflow('change', act('orchestratorAction'));
    world.answer(({ leaving }) => {
      leaving?.();
      throw new RangeError('Maximum call stack size exceeded');
    });
    await world.start();
    const id = await world.begin('change');
    assert.equal((await world.reaches(id, 'suspended', 'faulted')).suspendedBy, 'unknown-outcome');
    assert.match((await world.tasks(id))[0]?.error?.detail ?? '', /^outcome-unknown: The gateway failed/u);
    assert.deepEqual([world.calls.length, world.faults.length], [1, 1]);
  });

  test('what the store, the load or a rate limit refuses is waited for, and is no fault of the gateway', async (t) => {
    const world = await faultyWorld(t, store);
    await world.workflow('query', act(query));
    const codes = [
      'store-unavailable',
      'audit-unavailable',
      'overloaded',
      'too-many-requests',
      'idempotency-key-in-use',
    ] as const;
    world.answer(() => {
      const code = codes[world.calls.length - 1];
      if (code !== undefined) throw new GatewayError(code, 'later');
      return { kind: 'ok', output: '1' };
    });
    await world.start();
    await world.reaches(await world.begin('query'), 'completed', 'faulted');
    assert.deepEqual([world.calls.length, world.faults.length], [codes.length + 1, 0]);
  });

  test('a refusal that does not pass is no reason to wait', async (t) => {
    const world = await faultyWorld(t, store);
    await world.workflow('query', act(query));
    world.answer(() => {
      throw new GatewayError('invalid-request', 'no');
    });
    await world.start();
    assert.equal((await world.reaches(await world.begin('query'), 'faulted', 'completed')).error?.status, 500);
  });

  test('a run whose steps the store refuses as they are ends, and does not begin for ever', async (t) => {
    let refused = 0;
    const world = await faultyWorld(t, store, (own) => ({
      ...own,
      async save(write: { readonly output?: string }) {
        if (write.output === undefined) return await (own as { save: (given: unknown) => Promise<unknown> }).save(write);
        refused += 1;
        throw new Error('a value that no row can hold');
      },
    }));
    await world.workflow('plain', 'do: [{ one: { set: { a: 1 } } }]\n');
    await world.start();
    const { error } = await world.reaches(await world.begin('plain'), 'faulted', 'completed');
    assert.equal(error?.title, 'The gateway failed');
    await until('the gateway tells the refusals', () => world.faults.length === 3);
    assert.equal(refused, 3);
  });
});
