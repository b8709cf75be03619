import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { callersOf, usersOf } from './support/runs/run-people-stage.ts';
import { earlierStore } from './support/stores/earlier-store.ts';
import { eachStore, foundPostgres, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// GET /statistics/runs and GET /statistics/calls: what ended when, and how long it took.

const people = {
  ann: { roles: ['admin'], groups: [] },
  eve: { roles: ['engineering'], groups: [] },
  otto: { roles: ['other'], groups: ['noc'] },
  rita: { roles: ['readonly'], groups: [] },
  apo: { roles: ['apiread'], groups: [] },
  nora: { roles: ['noc-pictures'], groups: ['noc'] },
  nick: { roles: [], groups: ['noc'] },
  zoe: { roles: [], groups: [] },
} as const;
const roles = [{ name: 'noc-pictures', allows: [{ routes: ['readRunStatistics'], workflows: ['lab.quick'] }] }];

interface Step {
  readonly at: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly p50?: number;
  readonly p95?: number;
  readonly max?: number;
}

async function stage(t: TestContext, store: TestStore) {
  const far = await upstream(t);
  const options = {
    config: { store: { url: storeUrl(await store.fresh(t)) }, access: { roles }, outbound: { allow: [far.authority] } },
    adapters: [
      { name: 'Far', kind: 'rest', url: far.url },
      { name: 'Away', kind: 'rest', url: 'http://127.0.0.1:9' },
    ],
    users: usersOf(people),
  };
  const gateway = await startGateway(t, options);
  const as = (who: keyof typeof people, method: string, target: string, body?: object) =>
    gateway.send({
      method,
      target,
      headers: { Authorization: basic(who, testPassword), ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const steps = async (who: keyof typeof people, target: string): Promise<readonly Step[]> => {
    const reply = await as(who, 'GET', target);
    assert.equal(reply.status, 200, reply.text);
    return (reply.json() as { readonly list: readonly Step[] }).list;
  };
  /** Of all steps together. */
  const counts = async (who: keyof typeof people, target: string): Promise<Readonly<Record<string, number>>> => {
    const sums: Record<string, number> = {};
    for (const step of await steps(who, target))
      for (const [status, count] of Object.entries(step.counts)) sums[status] = (sums[status] ?? 0) + count;
    return sums;
  };
  return { far, options, gateway, as, steps, counts, ...callersOf(() => gateway) };
}

const quick = [{ only: { set: { a: 1 } } }];
const fails = [{ no: { raise: { error: { type: 'https://example.net/no', status: 500, title: 'no' } } } }];
const waits = [{ long: { wait: { hours: 1 } } }];

eachStore((store) => {
  test('each caller gets the ended runs of automations that it may see, without those that other runs began', async (t) => {
    const { as, steps, counts, store: put, start, automation, reaches, send } = await stage(t, store);
    const child = { child: { run: { workflow: { namespace: 'lab', name: 'quick', version: '1.0.0' } } } };
    for (const [name, tasks] of Object.entries({ quick, fails, waits, outer: [child] })) await put('ann', name, '1.0.0', tasks);
    const open = await automation('quick', { gbac: {} });
    const noc = await automation('fails', { gbac: { read: ['noc'], write: [] } });
    const written = await automation('waits', { gbac: { read: [], write: ['soc'] } });
    const outer = await automation('outer', { gbac: { read: ['soc'], write: ['soc'] } });
    const gone = await automation('quick', { gbac: {} });
    for (const [id, status] of [
      [open, 'completed'],
      [open, 'completed'],
      [noc, 'faulted'],
      [outer, 'completed'],
      [gone, 'completed'],
    ] as const)
      await reaches((await start('ann', id)).id, status);
    const { id: waiting } = await start('ann', written);
    await reaches(waiting, 'waiting');
    await send('ann', 'POST', `/runs/${waiting}/cancel`);
    await reaches(waiting, 'cancelled');
    await send('ann', 'DELETE', `/automation_catalog/automations/${gone}`);

    const runs = '/statistics/runs';
    const all = { completed: 4, faulted: 1, cancelled: 1 };
    assert.deepEqual(await counts('ann', runs), all, 'an admin sees those of a deleted automation too, and no child');
    assert.deepEqual(await counts('otto', runs), { completed: 2, faulted: 1, cancelled: 1 });
    for (const reader of ['rita', 'apo'] as const) assert.deepEqual(await counts(reader, runs), { completed: 2, cancelled: 1 });
    assert.deepEqual(await counts('eve', runs), { completed: 2 }, 'an engineer sees what it may write');
    assert.deepEqual(await counts('nora', runs), { completed: 2 }, 'a right covers the automations of its workflows');
    for (const who of ['nick', 'zoe'] as const) assert.deepEqual(await counts(who, runs), {}, who);

    const list = await steps('ann', runs);
    assert.ok(list.length === 24 || list.length === 25);
    const {
      at,
      counts: last,
      p50 = -1,
      p95 = -1,
      max = -1,
    } = list.findLast((step) => Object.keys(step.counts).length > 0) ?? list[0] ?? { at: '', counts: {} };
    assert.ok(/T\d\d:00:00\.000Z$/u.test(at) && Object.keys(last).length > 0, at);
    assert.ok(p50 >= 0 && p50 <= p95 && p95 <= max && max < 600_000, `${p50} ${p95} ${max}`);
    assert.ok(
      list.some((step) => JSON.stringify(Object.keys(step)) === '["at","counts"]'),
      'an empty step has no times',
    );
    const since = encodeURIComponent(new Date(Date.now() - 3_600_000).toISOString());
    const quarters = await steps('ann', `${runs}?step=15m&timeZone=Asia/Kolkata&since=${since}`);
    assert.ok(quarters.every((step) => /:(?:00|15|30|45):00\.000\+05:30$/u.test(step.at)));
    assert.deepEqual(await counts('ann', `${runs}?step=15m&timeZone=Asia/Kolkata&since=${since}`), all);
    assert.deepEqual(await counts('ann', `${runs}?step=1d&timeZone=Europe/Berlin`), all);
    assert.deepEqual(await counts('ann', `${runs}?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z`), {});
    for (const [query, pointer] of [
      ['step=7m', '?step'],
      ['step=15m&since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z', '?step'],
      ['since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z', '?since'],
      ['timeZone=Berlin', '?timeZone'],
      ['since=yesterday', '?since'],
      ['adapter=Far', '?adapter'],
    ] as const) {
      const refused = await as('ann', 'GET', `${runs}?${query}`);
      assertProblem(refused, 400, 'invalid-request');
      assert.ok(refused.text.includes(`"${pointer}"`), refused.text);
    }
  });

  test('calls count by their outcome and adapter, for admin, readonly and apiread', async (t) => {
    const { far, as, steps, counts, store: put, start, automation, reaches } = await stage(t, store);
    far.answer(async ({ target }) => {
      if (target.startsWith('/slow')) await lapse(300, 'the upstream is slow');
      return jsonReply('{}');
    });
    const call = (who: keyof typeof people, adapter: string, path: string, operation = 'restQuery') =>
      as(who, 'POST', `/orchestrator_manager/${operation}/${adapter}`, {
        params: { path, accept: 'application/json' },
        ...(operation === 'restAction' && { body: {} }),
      });
    for (const path of ['/a', '/a', '/slow']) assert.equal((await call('ann', 'Far', path)).status, 200);
    assert.equal((await call('ann', 'Far', '/act', 'restAction')).status, 200);
    assert.equal((await call('ann', 'Away', '/a')).status, 502);
    assertProblem(await call('eve', 'Far', '/a'), 403, 'forbidden');
    await put('ann', 'calls', '1.0.0', [
      { ask: { call: 'orchestratorQuery', with: { adapter: 'Far', params: { path: '/a', accept: 'application/json' } } } },
      {
        act: {
          call: 'orchestratorAction',
          with: { adapter: 'Far', params: { path: '/act', accept: 'application/json' }, body: {} },
        },
      },
    ]);
    await reaches((await start('ann', await automation('calls'))).id, 'completed');
    const target = '/statistics/calls';
    const all = { ok: 6, failed: 1, refused: 1 };
    await until(
      'all are counted',
      async () => JSON.stringify(await counts('ann', target)) !== '{}' && (await counts('ann', target))['ok'] === 6,
    );
    for (const who of ['ann', 'rita', 'apo'] as const) assert.deepEqual(await counts(who, target), all, who);
    for (const who of ['eve', 'otto', 'nora', 'zoe'] as const) assertProblem(await as(who, 'GET', target), 403, 'forbidden');
    assert.deepEqual(await counts('rita', `${target}?adapter=Far`), { ok: 6 });
    assert.deepEqual(await counts('rita', `${target}?adapter=Away`), { failed: 1 });
    assert.deepEqual(await counts('rita', `${target}?adapter=None`), {});
    const { max = 0 } = (await steps('rita', `${target}?adapter=Far`)).findLast((step) => step.max !== undefined) ?? {};
    assert.ok(max >= 300 && max < 60_000, `${max}`);
    assertProblem(await as('zoe', 'GET', '/statistics/none'), 404, 'not-found');
  });

  test('a store of an earlier gateway has no statistics of its past, and counts from then on', async (t) => {
    const options = await earlierStore(t, store);
    const gateway = await startGateway(t, {
      config: { store: { url: storeUrl(options) } },
      users: [{ username: 'ann', passwordHash: testPasswordHash, roles: ['admin'], groups: [] }],
    });
    const read = async (): Promise<readonly Step[]> => {
      const reply = await gateway.send({ target: '/statistics/runs', role: 'admin' });
      assert.equal(reply.status, 200, reply.text);
      return (reply.json() as { readonly list: readonly Step[] }).list;
    };
    assert.ok((await read()).every(({ counts }) => Object.keys(counts).length === 0));
    const calls = await gateway.send({ target: '/statistics/calls?step=1d', role: 'admin' });
    assert.equal(calls.status, 200, calls.text);
    const caller = runCaller(() => gateway, gateway.basicFor('admin'));
    await caller.reaches((await caller.start(await caller.automation('fresh', [{ only: { set: { a: 1 } } }]))).id, 'completed');
    assert.deepEqual(
      (await read()).flatMap(({ counts }) => (Object.keys(counts).length === 0 ? [] : [counts])),
      [{ completed: 1 }],
    );
  });
});

test('two gateways on one store count each run once, and both show all of them', {
  skip: foundPostgres === undefined && process.env['CI'] !== 'true' ? 'no PostgreSQL answers' : false,
}, async (t) => {
  assert.ok(foundPostgres !== undefined, 'with CI=true this test must run');
  const { options, gateway, counts, store: put, start, automation, reaches } = await stage(t, foundPostgres);
  const other = await startGateway(t, options);
  await put('ann', 'quick', '1.0.0', quick);
  const id = await automation('quick', { gbac: {} });
  const started = await Promise.all(Array.from({ length: 40 }, () => start('ann', id)));
  for (const { id: run } of started) await reaches(run, 'completed');
  assert.deepEqual(await counts('ann', '/statistics/runs'), { completed: 40 });
  const target = '/statistics/runs?step=1d';
  const seen = await Promise.all([gateway, other].map((each) => each.send({ target, role: 'admin' })));
  assert.deepEqual(seen[0]?.json(), seen[1]?.json());
});
