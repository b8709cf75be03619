import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import { steppingClock } from './support/faults/stepping-clock.ts';
import { type GatewayProcess, startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { eachStoreWith, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// How long the records, approvals and runs are there that answer who changed something, and what says that they went early.

const hour = 3_600_000;
const day = 24 * hour;
const shortIntervals = new URL('support/faults/short-intervals.ts', import.meta.url).href;

eachStoreWith({ concurrency: 2 }, (store) => {
  test('an approval and a run that changed something live as long as their records, and other runs for automations.retention', async (t) => {
    const far = await upstream(t, () => jsonReply('{"done":true}'));
    const clock = steppingClock(t);
    const { NODE_OPTIONS } = clock.environment;
    let gateway: GatewayProcess = await startGatewayProcess(t, {
      users: [...people],
      config: {
        store: { url: storeUrl(await store.empty(t)) },
        automations: { retention: '1h' },
        audit: { retention: '10d' },
        approvals: [{ name: 'runs', when: { paths: ['**/act'], roles: ['other'] }, approvers: { groups: ['noc-leads'] } }],
      },
      adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
      environment: { ...clock.environment, NODE_OPTIONS: `${NODE_OPTIONS} --import=${shortIntervals}` },
    });
    const runs = runCaller(() => gateway, gateway.basicFor('admin'));
    const approvals = approvalCaller(() => gateway);
    const params = { path: 'act', accept: 'application/json' };
    const act = { act: { call: 'orchestratorAction', with: { adapter: 'Far', params, body: { n: 1 } } } };
    const changing = await runs.start(await runs.automation('changing', [act]), { input: { device: 'R7' } });
    await until('people are asked', async () => (await approvals.list('lea')).length === 1);
    const [asked] = await approvals.list('lea');
    assert.ok(asked !== undefined);
    await approvals.grant('lea', asked.id);
    await runs.reaches(changing.id, 'completed');
    const plain = await runs.start(await runs.automation('plain', [{ only: { set: { a: 1 } } }]));
    await runs.reaches(plain.id, 'completed');
    const quiet = { call: 'orchestratorAction', with: { adapter: 'Far', params: { ...params, path: 'quiet' }, body: {} } };
    await runs.store('inner', [{ act: quiet }]);
    const inner = { namespace: 'crash', name: 'inner', version: '1.0.0' };
    const outer = await runs.start(await runs.automation('outer', [{ inside: { run: { workflow: inner } } }]));
    const batch = { call: 'batch', with: { items: '${ ["one"] }', workflow: { ...inner, name: 'outer' } } };
    const root = await runs.start(await runs.automation('root', [{ all: batch }]));
    for (const { id } of [outer, root]) await runs.reaches(id, 'completed');
    const around = [outer.id, root.id];
    const status = async (target: string): Promise<number> => (await approvals.send('ann', 'GET', target)).status;
    const isGone = async (target: string): Promise<boolean> => (await status(target)) === 404;
    const inside = async (parent: string): Promise<readonly object[]> =>
      ((await approvals.send('ann', 'GET', `/runs?parent=${parent}`)).json() as { readonly list: readonly object[] }).list;
    const recorded = async (): Promise<number> => {
      const reply = await approvals.send('ann', 'GET', `/audit?object=${changing.id}`);
      return (reply.json() as { readonly list: readonly object[] }).list.length;
    };
    const before = await runs.read(changing.id);
    assert.ok((await runs.tasks(changing.id)).length > 0 && (await recorded()) > 0);

    clock.stepTo(2 * hour);
    await until('the run without a change is gone', () => isGone(`/runs/${plain.id}`));
    await until('the details of the other one are gone', async () => (await runs.tasks(changing.id)).length === 0);
    assert.deepEqual(await runs.read(changing.id), before);
    assert.deepEqual(before.input, { device: 'R7' });
    for (const id of around) assert.equal(await status(`/runs/${id}`), 200, 'a run around one with a change');
    assert.equal((await inside(root.id)).length, 1, 'an item with a change inside');
    const kept = await approvals.read('ann', asked.id);
    assert.deepEqual([kept.status, kept.decisions.length, kept.run], ['used', 1, changing.id]);
    assert.ok((await recorded()) > 0);

    clock.stepTo(11 * day);
    gateway = await gateway.restart();
    for (const id of [changing.id, ...around]) await until('the run is gone', () => isGone(`/runs/${id}`));
    await until('the approval is gone', () => isGone(`/approvals/${asked.id}`));
    assert.equal(await recorded(), 0);
    const verdict = (await approvals.send('ann', 'POST', '/audit/verify', {})).json() as { readonly problems: readonly string[] };
    assert.deepEqual(verdict.problems, []);
  });

  test('records that audit.maxSize deletes before audit.retention are counted, and one line of the log warns of them', async (t) => {
    const far = await upstream(t, () => jsonReply('{}'));
    const gateway = await startGateway(t, {
      users: [...people],
      config: { store: { url: storeUrl(await store.empty(t)) }, audit: { maxSize: '64KiB' } },
      adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
    });
    const { send } = approvalCaller(() => gateway);
    const params = { path: 'act', accept: 'application/json' };
    const deleted = async (): Promise<number> => {
      const { text } = await gateway.send({ target: '/metrics', role: 'admin' });
      return Number(/^gateway_audit_entries_deleted_early_total (\d+)$/mu.exec(text)?.[1]);
    };
    const warned = (): number => gateway.stderr.filter((line) => line.includes('larger than audit.maxSize')).length;
    assert.deepEqual([await deleted(), warned()], [0, 0]);
    const first = await send('ann', 'POST', '/orchestrator_manager/restAction/Far', { params, body: {} });
    assert.equal(first.status, 200, first.text);
    await until('the log has deleted some', async () => {
      await Promise.all(
        Array.from({ length: 40 }, () => send('ann', 'POST', '/orchestrator_manager/restAction/Far', { params, body: {} })),
      );
      return (await deleted()) > 100;
    });
    assert.equal(warned(), 1);
    const line = gateway.stderr.find((each) => each.includes('larger than audit.maxSize'));
    assert.match(line ?? '', /"level":"warn"/u);
  });
});
