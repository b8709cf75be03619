import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGateway, type GatewayError, type RunCall } from '../client/src/gateway.ts';
import { startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { secretConfig } from './support/runs/sealed-secret.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// GET /runs/:id/calls: what is on record of the calls of a run, for those who may see the run.

const workflow = `
document: { dsl: '1.0.3', namespace: calls, name: all, version: '1.0.0' }
use: { secrets: [key] }
do:
  - each:
      for: { each: name, in: '\${ ["a", "b"] }' }
      do:
        - ask: { call: orchestratorQuery, with: { adapter: Far, params: { path: '\${ "data/" + $name + "?key=1" }', accept: application/json } } }
  - safe:
      try:
        - push: { call: orchestratorAction, with: { adapter: Far, params: { path: '\${ "push/" + $secrets.key }', accept: application/json }, body: { n: 1 } } }
      catch: { retry: { delay: { milliseconds: 1 }, limit: { attempt: { count: 2 } } } }
  - slow: { call: orchestratorAction, with: { adapter: Far, params: { path: slow, accept: application/json }, body: {} } }
`;

const shape = ({ verb, address, adapter, outcome, upstreamStatus }: RunCall): string =>
  [verb, adapter, address, outcome, upstreamStatus].join(' ');

eachStore((store) => {
  test('readers of a run see each call of its tasks: the attempts, the one in flight, no secret, and nothing of other runs', async (t) => {
    const far = await upstream(t);
    const gateway = await startGateway(t, {
      config: {
        store: { url: storeUrl(await store.empty(t)) },
        automations: { secrets: { key: secretConfig('hidden-value', { adapters: ['Far'], places: ['path'] }) } },
      },
      adapters: [{ name: 'Far', kind: 'rest', url: far.url, auth: { type: 'none' } }],
    });
    const clientOf = (username: string) => createGateway({ baseUrl: gateway.url, username, password: testPassword });
    const [admin, reader] = [clientOf('admin-user'), clientOf('readonly-user')];
    await admin.createWorkflow({ rawBody: workflow, contentType: 'application/yaml' });
    const data = { workflowId: 'calls.all' };
    const [open, closed] = [
      (await admin.createAutomation({ body: { name: 'open', data } })).value._id,
      (await admin.createAutomation({ body: { name: 'closed', data: { ...data, gbac: { read: ['noc'], write: [] } } } })).value
        ._id,
    ];
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    let pushes = 0;
    far.answer(async ({ target }) => {
      if (target.startsWith('/push/')) return (pushes += 1) % 2 === 1 ? httpReply({ status: 503 }) : jsonReply('{}');
      if (target === '/slow') await finished;
      return jsonReply('{"n":1}');
    });
    const { id } = (await admin.runAutomation({ path: { id: open }, body: {} })).value;
    const path = { id };
    const calls = async (query = {}) => (await reader.listRunCalls({ path, query })).value.list;
    await until('the slow call is in flight', async () => (await calls()).some(({ address }) => address === 'slow'));
    await until('the queries are on record', async () => (await calls()).length === 5);
    assert.deepEqual((await calls()).map(shape).toSorted(), [
      'GET Far data/a?key=*** ok 200',
      'GET Far data/b?key=*** ok 200',
      'POST Far push/*** failed 503',
      'POST Far push/*** ok 200',
      'POST Far slow  ',
    ]);
    finish();
    const hidden = (await admin.runAutomation({ path: { id: closed }, body: {} })).value.id;
    const ofHidden = async () => (await admin.listRunCalls({ path: { id: hidden } })).value.list;
    await until('the other run is on record', async () => (await ofHidden()).length === 5);
    await until('the run is over', async () => (await reader.readRun({ path })).value.status === 'completed');
    const { list: tasks } = (await reader.listRunTasks({ path })).value;
    const found = await Promise.all(
      tasks.map(async ({ id: task, name, requestId }) => ({ name, requestId, list: await calls({ task }) })),
    );
    assert.deepEqual(
      found.filter(({ list }) => list.length > 0).map(({ name, list }) => [name, ...list.map(shape)]),
      [
        ['ask', 'GET Far data/a?key=*** ok 200'],
        ['ask', 'GET Far data/b?key=*** ok 200'],
        ['push', 'POST Far push/*** failed 503'],
        ['push', 'POST Far push/*** ok 200'],
        ['slow', 'POST Far slow ok 200'],
      ],
    );
    for (const { requestId, list } of found)
      assert.deepEqual(
        list.map((one) => one.requestId),
        requestId ? [requestId] : [],
      );
    const [push] = found.filter(({ name }) => name === 'push').flatMap(({ list }) => list);
    assert.deepEqual([push?.bytesSent, push?.attempts, push?.route, push?.status], [7, 1, 'run restAction', 502]);
    assert.ok(push !== undefined && push.time <= new Date().toISOString() && (push.durationMs ?? 0) > 0);
    assert.deepEqual(
      Object.keys(push).filter((name) => ['principal', 'roles', 'rule', 'traceId', 'via'].includes(name)),
      [],
    );

    const pages: string[] = [];
    for await (const call of reader.each.listRunCalls({ path, query: { limit: 2 } })) pages.push(call.id);
    assert.deepEqual(
      pages,
      (await calls()).map((call) => call.id),
    );
    assert.deepEqual(await calls({ task: '9999' }), []);
    const refusal = async (asked: Promise<unknown>) => (await asked.catch((error: GatewayError) => error)) as GatewayError;
    assert.equal((await refusal(calls({ task: 'x' }))).code, 'invalid-request');
    assert.equal((await refusal(reader.listRunCalls({ path: { id: hidden } }))).code, 'run-not-found');
  });
});
