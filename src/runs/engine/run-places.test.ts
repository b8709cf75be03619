import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { eachStoreWith } from '../../../test/support/stores/stores.ts';
import { until } from '../../../test/support/until.ts';
import { createStoppedClock, newRun, seesNothing } from '../journal/run-records.test-support.ts';
import { createRunStore } from '../journal/run-store.ts';
import { runWorld } from './run-engine.test-support.ts';

// Places of one person at one gateway, and whose run is next.

const principal = (id: string): Principal => ({ id, username: id, roles: ['admin'], groups: [] });

const [eve, ann] = [principal('eve'), principal('ann')];

const action = '{ call: restCall, with: { uri: "http://far.side/x", verb: POST } }';
const call = `do: [{ act: ${action} }]\n`;

eachStoreWith({ concurrency: 4 }, (store) => {
  test('one person never holds all places of a gateway, and the run of another one begins at once', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('calls', call);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.answer(async ({ run }) => {
      if (run.principal.id === 'eve') await promise;
      return { kind: 'ok', output: '1' };
    });
    const engine = await world.gateway({ tasks: 4 });
    const ids = await Promise.all(Array.from({ length: 20 }, () => world.begin('calls', { principal: eve })));
    await until('the places of the person are taken', () => engine.held() === 3);
    for (let count = 0; count < 3; count += 1) await world.reaches(await world.begin('calls', { principal: ann }), 'completed');
    assert.equal(engine.held(), 3);
    resolve();
    for (const id of ids) await world.reaches(id, 'completed');
  });

  test('a call that a limit delays gives the place of its run back, and is begun later as a new one', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('calls', call);
    let isFull = true;
    world.answer(() => {
      if (!isFull) return { kind: 'ok', output: '1' };
      throw new GatewayError('too-many-requests', 'no room', { headers: { 'Retry-After': '3' } });
    });
    const engine = await world.gateway({ tasks: 1 });
    const ids = [await world.begin('calls'), await world.begin('calls'), await world.begin('calls')];
    for (const id of ids) await world.reaches(id, 'waiting');
    await until('each has asked, and no place is held', () => world.calls.length === 3 && engine.held() === 0);
    isFull = false;
    for (const id of ids) await world.reaches(id, 'completed');
    assert.deepEqual(
      world.calls.map(({ begunAt }) => begunAt),
      Array.from({ length: 6 }, () => undefined),
      'no call may have been made before',
    );
  });

  test('a time limit ends the wait for a limit, and a cancel too, with no doubt about the call', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('late', `do: [{ all: { timeout: { after: PT4S }, do: [{ act: ${action} }] } }]\n`);
    world.answer(() => {
      throw new GatewayError('too-many-requests', 'no room', { headers: { 'Retry-After': '60' } });
    });
    const engine = await world.gateway();
    const [late, cancelled] = [await world.begin('late'), await world.begin('late')];
    await until('no place is held', () => world.calls.length === 2 && engine.held() === 0);
    await world.store.command(cancelled, { kind: 'cancel' });
    assert.equal((await world.reaches(cancelled, 'cancelled', 'suspended')).status, 'cancelled');
    assert.equal((await world.reaches(late, 'faulted', 'suspended')).error?.status, 408);
  });

  test('claims go round the persons, and take the longest due run of each', async (t) => {
    const world = await runWorld(t, store);
    const { store: runs } = world;
    const order: string[] = [];
    for (const [id, owner] of [
      ['e1', eve],
      ['e2', eve],
      ['e3', eve],
      ['a1', ann],
      ['a2', ann],
    ] as const)
      await world.begin('calls', { id, principal: owner });
    for (let count = 0; count < 2; count += 1) {
      const held = new Map<string, number>();
      const claimed = await runs.claim({ owner: 'one', limit: 2, lease: 60_000, places: { most: 24, held } });
      order.push(...claimed.map(({ principal: { id } }) => id).toSorted());
    }
    assert.deepEqual(order, ['ann', 'eve', 'ann', 'eve']);
  });

  test('two principals of one person have the places of one', async (t) => {
    const database = await store.open(t);
    const personOf = (id: string): string => (id === 'eve-at-idp' ? 'eve' : id);
    const runs = createRunStore({ database, clock: createStoppedClock(), visible: seesNothing, time: 'process', personOf });
    t.after(() => runs.close());
    const given = ['eve', 'eve-at-idp', 'ann'].map((id) => newRun({ id: `run of ${id}`, principal: principal(id) }));
    await runs.create(given);
    const claimed = await runs.claim({ owner: 'one', limit: 3, lease: 60_000, places: { most: 1, held: new Map() } });
    assert.equal(claimed.length, 2);
    assert.ok(claimed.some(({ principal: { id } }) => id === 'ann'));
  });

  test('runs that wait in a loop, and runs that compute without end, give their places back to others', async (t) => {
    const world = await runWorld(t, store);
    const forever = (task: string) => `do: [{ each: { for: { each: n, in: '\${ [range(100000)] }' }, do: [{ a: ${task} }] } }]\n`;
    await world.workflow('waits', forever('{ wait: { milliseconds: 400 } }'));
    await world.workflow('computes', forever('{ set: { n: "${ $n }" } }'));
    await world.workflow('short', 'do: [{ a: { set: { b: 1 } } }]\n');
    await world.gateway({ tasks: 2 });
    await world.begin('waits', { principal: eve });
    await world.begin('waits', { principal: eve });
    await world.begin('computes', { principal: eve });
    await world.begin('computes', { principal: ann });
    for (let count = 0; count < 2; count += 1) {
      await world.reaches(await world.begin('short', { principal: principal(`other ${count}`) }), 'completed');
      await world.reaches(await world.begin('short', { principal: eve }), 'completed');
    }
  });
});
