// suite: long, waiting

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import { assertProblem } from './support/callers/calls.ts';
import { type Gateway, type GatewayProcess, startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import type { Owner } from './support/owner.ts';
import { runCaller, type SeenRun, type TaskDocument } from './support/runs/run-caller.ts';
import { eachStoreWith, foundPostgres, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// `notBefore` of a run: queries, previews and approvals happen at once, and no change leaves before that time.

const params = { accept: 'application/json' };
const action = (name: string, path = '/act'): TaskDocument => ({
  [name]: { call: 'orchestratorAction', with: { adapter: 'Far', params: { ...params, path }, body: { name } } },
});
const query: TaskDocument = {
  look: { call: 'orchestratorQuery', with: { adapter: 'Far', params: { ...params, path: '/look' } } },
};
const rules = [{ name: 'guarded', when: { paths: ['**/guarded'] }, approvers: { groups: ['noc-leads'] }, expires: '1h' }];
const automations = '/automation_catalog/automations';
const json = { 'Content-Type': 'application/json' };

interface Timed extends SeenRun {
  readonly notBefore?: string;
}

async function stage(owner: Owner, store: TestStore, { kills = false } = {}) {
  const far = await upstream(owner);
  const arrivals: { readonly request: string; readonly at: number }[] = [];
  far.answer(({ method, target }) => {
    arrivals.push({ request: `${method} ${target}`, at: Date.now() });
    return jsonReply('{"done":true}');
  });
  const options = {
    users: [...people],
    config: { approvals: rules, store: { url: storeUrl(await store.empty(owner)) } },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url, readActions: ['**/check-sync'] }],
  };
  let gateway: Gateway | GatewayProcess = await (kills ? startGatewayProcess : startGateway)(owner, options);
  const post = (target: string, body: object, headers: object = {}) =>
    gateway.send({ role: 'admin', method: 'POST', target, headers: { ...json, ...headers }, body: JSON.stringify(body) });
  const put = async (name: string, tasks: readonly TaskDocument[]): Promise<string> => {
    const document = { dsl: '1.0.3', namespace: 'lab', name, version: '1.0.0' };
    const stored = await post('/automation_catalog/workflows', { document, do: tasks });
    assert.equal(stored.status, 201, stored.text);
    const made = await post(automations, { name, data: { workflowId: `lab.${name}` } });
    return (made.json() as { readonly _id: string })._id;
  };
  const startIn = async (id: string, milliseconds: number) => {
    const notBefore = Date.now() + milliseconds;
    const reply = await post(`${automations}/${id}/run`, { notBefore: new Date(notBefore).toISOString() });
    assert.equal(reply.status, 201, reply.text);
    return { run: reply.json() as Timed, notBefore };
  };
  return {
    far,
    arrivals,
    options,
    post,
    put,
    startIn,
    gateway: () => gateway,
    runs: runCaller(() => gateway, gateway.basicFor('admin')),
    ...approvalCaller(() => gateway),
    killAndRestart: async (): Promise<void> => {
      assert.ok('pid' in gateway);
      await gateway.stop('SIGKILL');
      gateway = await gateway.restart();
    },
  };
}

eachStoreWith({ concurrency: 4 }, (store) => {
  test('queries and read actions of a run leave at once, and its changes and those of its children at notBefore', async (t) => {
    const { arrivals, put, startIn, runs, gateway } = await stage(t, store);
    await put('inner', [action('inside')]);
    const child = { child: { run: { workflow: { namespace: 'lab', name: 'inner', version: '1.0.0' } } } };
    const id = await put('outer', [query, action('check', '/check-sync'), child, action('change')]);
    const { run, notBefore } = await startIn(id, 4_000);
    assert.equal(run.notBefore, new Date(notBefore).toISOString());
    const reads = ['GET /look', 'POST /check-sync'];
    await until('the reads are there', () => arrivals.length === 2);
    assert.deepEqual(
      arrivals.map(({ request }) => request),
      reads,
    );
    await until('the child waits', async () => (await runs.list()).length === 2);
    const listed: readonly Timed[] = await runs.list();
    assert.deepEqual(
      listed.map((each) => each.notBefore),
      [run.notBefore, run.notBefore],
      'a child has the time of its parent',
    );
    await runs.reaches(run.id, 'completed');
    assert.deepEqual(
      arrivals.map(({ request }) => request),
      [...reads, 'POST /act', 'POST /act'],
    );
    for (const { at } of arrivals.slice(2)) assert.ok(at >= notBefore, `left ${notBefore - at} ms too early`);
    const audit = await gateway().send({ target: '/audit?limit=1000', role: 'admin' });
    assert.doesNotMatch(audit.text, /too-many-requests/u, 'a call that waits for its time is not on record as refused');
  });

  test('a run asks for its approvals at once, and they expire their time after notBefore', async (t) => {
    const { arrivals, put, startIn, runs, list, read, grant } = await stage(t, store);
    const ask = { ask: { call: 'approval', with: { message: 'Go?', approvers: { groups: ['noc-leads'] }, expires: '2h' } } };
    const { run: question, notBefore: asks } = await startIn(await put('asks', [ask]), 60_000);
    const { run, notBefore } = await startIn(await put('guarded', [action('guarded', '/guarded')]), 5_000);
    const openOf = async (id: string): Promise<string> => {
      await until('the approval is asked for', async () => (await list('lea', `?status=waiting&run=${id}`)).length === 1);
      return (await list('lea', `?status=waiting&run=${id}`))[0]?.id ?? '';
    };
    const asked = await read('lea', await openOf(question.id));
    assert.equal(Date.parse(asked.expires), asks + 7_200_000);
    await grant('lea', asked.id);
    await runs.reaches(question.id, 'completed');
    const approval = await read('lea', await openOf(run.id));
    assert.equal(Date.parse(approval.expires), notBefore + 3_600_000);
    assert.ok(approval.preview !== undefined, 'its preview is taken at once');
    await grant('lea', approval.id);
    await lapse(1_000, 'a granted call must not leave before its time');
    assert.deepEqual([arrivals, (await read('lea', approval.id)).status], [[], 'granted']);
    await runs.reaches(run.id, 'completed');
    assert.deepEqual(
      arrivals.map(({ request }) => request),
      ['POST /guarded'],
    );
    assert.ok((arrivals[0]?.at ?? 0) >= notBefore);
    assert.equal((await read('lea', approval.id)).status, 'used');
  });

  test('a run whose change waits for notBefore outlives its gateway, and makes the change once', async (t) => {
    const { arrivals, put, startIn, runs, killAndRestart } = await stage(t, store, { kills: true });
    const { run, notBefore } = await startIn(await put('kept', [query, action('change')]), 8_000);
    await until('the query has left', () => arrivals.length === 1);
    await killAndRestart();
    await runs.reaches(run.id, 'completed');
    assert.deepEqual(arrivals.filter(({ request }) => request === 'POST /act').length, 1);
    assert.ok((arrivals.at(-1)?.at ?? 0) >= notBefore);
  });

  test('people cancel a run that waits for notBefore, and nothing of it leaves', async (t) => {
    const { arrivals, put, startIn, runs } = await stage(t, store);
    const { run } = await startIn(await put('cancelled', [query, action('change')]), 3_000);
    await until('the query has left', () => arrivals.length === 1);
    const cancelled = await runs.change(run.id, 'cancel');
    assert.equal((cancelled.json() as SeenRun).status, 'cancelled');
    await lapse(3_500, 'a cancelled run must make no call');
    assert.deepEqual(
      arrivals.map(({ request }) => request),
      ['GET /look'],
    );
  });

  test('notBefore is a time of at most 7 days ahead, and one that is past holds nothing', async (t) => {
    const { put, startIn, runs, post } = await stage(t, store);
    const id = await put('judged', [action('change')]);
    const far = new Date(Date.now() + 8 * 86_400_000).toISOString();
    for (const notBefore of ['tomorrow', '2026-02-30T10:00:00Z', far]) {
      const refused = await post(`${automations}/${id}/run`, { notBefore });
      assertProblem(refused, 400, 'invalid-request');
      assert.match(refused.text, /"\/notBefore"/u, notBefore);
    }
    const { run } = await startIn(id, -60_000);
    await runs.reaches(run.id, 'completed');
    const notBefore = new Date(Date.now() + 60_000).toISOString();
    const key = { 'Idempotency-Key': 'tonight' };
    const first = await post(`${automations}/${id}/run`, { notBefore }, key);
    const again = await post(`${automations}/${id}/run`, { notBefore }, key);
    assert.deepEqual([first.status, again.status, again.header('idempotency-replayed')], [201, 201, 'true']);
    assertProblem(await post(`${automations}/${id}/run`, {}, key), 422, 'idempotency-key-reused');
  });
});

test('of two gateways on one store, one makes the change of a run at its notBefore', {
  skip: foundPostgres === undefined && process.env['CI'] !== 'true' ? 'no PostgreSQL answers' : false,
}, async (t) => {
  assert.ok(foundPostgres !== undefined, 'with CI=true this test must run');
  const { arrivals, options, put, startIn, runs } = await stage(t, foundPostgres);
  await startGateway(t, options);
  const { run, notBefore } = await startIn(await put('shared', [query, action('change')]), 4_000);
  await runs.reaches(run.id, 'completed');
  assert.deepEqual(
    arrivals.map(({ request }) => request),
    ['GET /look', 'POST /act'],
  );
  assert.ok((arrivals[1]?.at ?? 0) >= notBefore);
});
