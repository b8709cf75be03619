// suite: long, waiting

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { agent } from './support/callers/agent.ts';
import { assertProblem } from './support/callers/calls.ts';
import { smallDisk } from './support/faults/small-disk.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { actionTask, runCaller } from './support/runs/run-caller.ts';
import { runStage } from './support/runs/run-stage.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// What one person may take of the store, and what is left of a disk that is nearly full.

const cloudEvents = { 'Content-Type': 'application/cloudevents+json' };

eachStore((store) => {
  test('a person whose runs take too much of the store starts no other one, and others do', async (t) => {
    const gateway = await startGateway(t, {
      config: { store: { url: storeUrl(await store.empty(t)) }, automations: { storePerPerson: '1MiB' } },
    });
    const admin = runCaller(() => gateway, gateway.basicFor('admin'));
    const other = runCaller(() => gateway, gateway.basicFor('engineering'));
    const automation = await admin.automation('much', [{ much: { set: { out: '${ "x" * 400000 }' } } }]);
    const start = (role: 'admin' | 'engineering') =>
      gateway.send({
        method: 'POST',
        target: `/automation_catalog/automations/${automation}/run`,
        role,
        headers: { 'Content-Type': 'application/json' },
        body: '{}',
      });
    let reply = await start('engineering');
    await until('the share is used up', async () => (reply = await start('engineering')).status === 429);
    const problem = assertProblem(reply, 429, 'quota-reached');
    assert.match(problem.detail, /1 MiB of the store/u);
    assert.equal(reply.header('retry-after'), '60');
    const event = { specversion: '1.0', id: '1', source: 'urn:a', type: 'a' };
    const sent = await gateway.send({
      method: 'POST',
      target: '/events',
      role: 'engineering',
      headers: cloudEvents,
      body: JSON.stringify(event),
    });
    assertProblem(sent, 429, 'quota-reached');
    assert.ok((await other.list()).length > 0, 'reading goes on');
    assert.equal((await start('admin')).status, 201);
    const metrics = await gateway.send({ target: '/metrics', role: 'readonly' });
    assert.match(metrics.text, /gateway_limit_reached_total\{limit="store-per-person"\} [1-9]/u);
  });

  test('waiting calls of agents count in the share of their person, which may then have no other one', async (t) => {
    const gateway = await startGateway(t, {
      adapters: [{ name: 'Local NSO', kind: 'restconf', url: 'http://127.0.0.1:9', auth: { type: 'none' }, health: 'off' }],
      config: {
        store: { url: storeUrl(await store.empty(t)) },
        automations: { storePerPerson: '1MiB' },
        mcp: { enabled: true, readOnly: false },
        approvals: [{ name: 'agents', when: { via: ['mcp'] }, approvers: { groups: ['leads'] } }],
      },
    });
    const tools = agent(() => gateway, { authorization: gateway.basicFor('admin'), tasks: true });
    const call = (number: number) =>
      tools.post(
        'tools/call',
        `"name":"orchestrator_action","arguments":${JSON.stringify({ adapter: 'Local NSO', path: 'a', body: { number, x: 'x'.repeat(300_000) } })}`,
        'orchestrator_action',
      );
    const first = await call(0);
    assert.match(first.text, /"resultType":"task"/u);
    let last = first;
    await until('the share is used up', async () => (last = await call(1)).text.includes('quota-reached'));
    for (const number of [2, 3]) assert.match((await call(number)).text, /Error quota-reached/u);
    assert.match(last.text, /Error quota-reached/u);
  });

  test('a schedule of a person whose share is used up skips with the code', async (t) => {
    const gateway = await startGateway(t, {
      config: { store: { url: storeUrl(await store.empty(t)) }, automations: { storePerPerson: '1KiB' } },
    });
    const admin = runCaller(() => gateway, gateway.basicFor('admin'));
    const automation = await admin.automation('little', [{ little: { set: { out: 1 } } }]);
    await admin.reaches((await admin.start(automation)).id, 'completed');
    const changed = await gateway.send({
      method: 'PATCH',
      target: `/automation_catalog/automations/${automation}`,
      role: 'admin',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: JSON.stringify({ nextRunAt: new Date(Date.now() + 6_000).toISOString() }),
    });
    assert.equal(changed.status, 200, changed.text);
    await until('the due time is skipped', async () => {
      const { text } = await gateway.send({ target: '/audit?limit=50', role: 'admin' });
      return text.includes('"event":"skipped"') && text.includes('"code":"quota-reached"');
    });
  });
});

test('on a disk that is nearly full, runs, events and approvals wait, and calls and logins go on', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.skip('this user may not mount a small disk');
    return;
  }
  const { far, gateway, caller } = await runStage(t, { url: `sqlite:${join(disk.directory, 'gateway.db')}` });
  const automation = await caller.automation('acts', [
    actionTask('act', '"a"'),
    { pause: { wait: { seconds: 1 } } },
    actionTask('late', '"b"'),
  ]);
  const { id } = await caller.start(automation);
  await until('the first action is made', () => far.arrived.has('a'));
  disk.fill(3_500_000);
  const ready = async () =>
    (await gateway.send({ target: '/readyz' })).json() as { readonly store: { readonly reserve: boolean } };
  await until('the reserve is in use', async () => (await ready()).store.reserve);
  assert.equal((await gateway.send({ target: '/readyz' })).status, 200);
  const start = await gateway.send({
    method: 'POST',
    target: `/automation_catalog/automations/${automation}/run`,
    role: 'admin',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  });
  assertProblem(start, 503, 'store-unavailable');
  assert.equal(start.header('retry-after'), '60');
  const body = JSON.stringify({ specversion: '1.0', id: '1', source: 'urn:a', type: 'a' });
  assertProblem(
    await gateway.send({ method: 'POST', target: '/events', role: 'admin', headers: cloudEvents, body }),
    503,
    'store-unavailable',
  );
  const action = { params: { path: 'act/x', accept: 'application/json' }, body: {} };
  const called = await gateway.send({
    method: 'POST',
    target: '/orchestrator_manager/restAction/Far',
    role: 'admin',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(action),
  });
  assert.equal(called.status, 200, called.text);
  assert.equal(
    (await gateway.send({ method: 'POST', target: '/login', headers: { authorization: basic('admin-user', testPassword) } }))
      .status < 500,
    true,
  );
  const { text } = await gateway.send({ target: '/metrics', role: 'readonly' });
  assert.match(text, /gateway_store_below_reserve 1/u);
  disk.makeRoom();
  assert.equal((await caller.reaches(id, 'completed', 'faulted')).status, 'completed');
});
