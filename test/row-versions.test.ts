// suite: long, waiting

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { keyOfTime } from '../src/automations/store/automation-row.ts';
import { exactKey } from '../src/automations/store/sort-key.ts';
import { newerRows } from '../src/database/newer-rows.ts';
import { minorNumber, type VersionedTable } from '../src/database/row-version.ts';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import { agent } from './support/callers/agent.ts';
import { assertProblem } from './support/callers/calls.ts';
import { command } from './support/gateway/command.ts';
import { nextMinorVersion } from './support/gateway/other-version.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { eachStoreWith, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';
import { WebhookReceiver } from './support/upstreams/webhook-receiver.ts';

// Rows that name a newer version as the lowest that may act on them: docs/guides/upgrading.md. A newer gateway is played by the column.

const newer = minorNumber(nextMinorVersion());
const code = 'newer-version-needed';

async function started(t: TestContext, store: TestStore) {
  const far = await upstream(t, () => jsonReply('{"done":true}'));
  const receiver = await WebhookReceiver.start(t);
  const options = await store.empty(t);
  const gateway = await startGateway(t, {
    users: [...people],
    config: {
      store: { url: storeUrl(options) },
      mcp: { enabled: true, readOnly: false },
      approvals: [{ name: 'changes', when: { paths: ['**/asked'] }, approvers: { groups: ['noc-leads'] } }],
      notifications: [{ url: receiver.url, secret: receiver.secret, events: ['orchestration-gateway.approval.requested.v1'] }],
    },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
  });
  const database = await store.open(t, options);
  const send = approvalCaller(() => gateway);
  return {
    far,
    receiver,
    gateway,
    options,
    database,
    ...send,
    runs: runCaller(() => gateway, basic('ann', testPassword)),
    arrived: (path: string): number => far.requests.filter(({ target }) => target === path).length,
    /** Asks for an action that needs an approval, and answers what the gateway says. */
    act: (headers = {}) =>
      send.send(
        'ann',
        'POST',
        '/orchestrator_manager/restAction/Far',
        { params: { path: '/asked', accept: '*/*' }, body: {} },
        headers,
      ),
    /** Every row of the tables needs this version from now on. */
    need: async (lowest: number, ...tables: readonly VersionedTable[]): Promise<void> => {
      for (const table of tables) {
        const part = ['automation', 'form', 'workflow'].includes(table) ? database.query : database.records;
        await sql`update ${sql.table(table)} set lowest = ${lowest}`.execute(part);
      }
    },
  };
}

const form = { type: 'object', properties: { n: { type: 'integer' } } };

function suiteOf(store: TestStore): void {
  test('a run that needs a newer version is claimed by no older gateway, answers readers, and goes on once it may', async (t) => {
    const { runs, send, need, arrived } = await started(t, store);
    const listen = { to: { one: { with: { type: 'net.example.go' } } } };
    const act = { call: 'orchestratorAction', with: { adapter: 'Far', params: { path: '/run', accept: '*/*' }, body: {} } };
    const automation = await runs.automation('waits', [{ wait: { listen } }, { act }]);
    const left = await runs.start(automation);
    await runs.reaches(left.id, 'waiting');
    await need(newer, 'run', 'run_claim');
    const other = await runs.start(automation);
    await runs.reaches(other.id, 'waiting');
    const event = { specversion: '1.0', id: 'go', source: 'urn:test', type: 'net.example.go' };
    const type = { 'Content-Type': 'application/cloudevents+json' };
    assert.equal((await send('ann', 'POST', '/events', JSON.stringify(event), type)).status, 204);
    await runs.reaches(other.id, 'completed');
    await lapse(500, 'the gateway must not take the run');
    assert.equal((await runs.read(left.id)).status, 'waiting');
    assert.equal((await send('ann', 'GET', `/runs/${left.id}/tasks`)).status, 200);
    for (const change of ['cancel', 'suspend', 'resume', 'rerun']) assertProblem(await runs.change(left.id, change), 409, code);
    const decision = { task: '1', as: 'done', reason: 'looked' };
    const { detail } = assertProblem(await runs.change(left.id, 'decide', decision), 409, code);
    assert.match(detail, /^The run needs version \d+\.\d+ of the gateway, and this one has version .*Ask a gateway of version/u);
    assert.equal(arrived('/run'), 1);
    await need(0, 'run', 'run_claim');
    await runs.reaches(left.id, 'completed');
    assert.equal(arrived('/run'), 2);
  });

  test('a run whose approval needs a newer version is left to a newer gateway', async (t) => {
    const { runs, need, list, grant, database, arrived } = await started(t, store);
    const act = { call: 'orchestratorAction', with: { adapter: 'Far', params: { path: '/asked', accept: '*/*' }, body: {} } };
    const { id } = await runs.start(await runs.automation('asks', [{ act }]));
    const approval = await until('it asks', async () => (await list('lea'))[0]?.id);
    await runs.reaches(id, 'waiting');
    await need(newer, 'approval');
    await sql`update run_claim set due_at = 1`.execute(database.records);
    await lapse(1_500, 'the gateway must not take the run');
    const claim = await database.read.selectFrom('run_claim').select(['owner', 'due_at']).executeTakeFirst();
    assert.deepEqual([claim?.owner, claim?.due_at, (await runs.read(id)).status], [null, 1, 'waiting']);
    await need(0, 'approval');
    await grant('lea', approval);
    await runs.reaches(id, 'completed');
    assert.equal(arrived('/asked'), 1);
  });

  test('the schedule of an automation that needs a newer version begins no run, and no caller changes it', async (t) => {
    const { runs, send, need, database } = await started(t, store);
    const [left, other] = [
      await runs.automation('left', [{ a: { set: { x: 1 } } }]),
      await runs.automation('other', [{ a: { set: { x: 1 } } }]),
    ];
    const target = (id: string): string => `/automation_catalog/automations/${id}`;
    const [now, later] = [new Date().toISOString(), '2099-01-01T00:00:00.000Z'];
    assert.equal((await send('ann', 'PATCH', target(left), { nextRunAt: later })).status, 200);
    const due = { lowest: newer, next_run_at_key: keyOfTime(now) };
    await database.query.updateTable('automation').set(due).where('id', '=', exactKey(left)).execute();
    assert.equal((await send('ann', 'PATCH', target(other), { nextRunAt: now })).status, 200);
    const runsOf = async (id: string) => (await runs.list()).filter((run) => (run as { automation?: string }).automation === id);
    await until('the other one ran', async () => (await runsOf(other)).length === 1);
    await lapse(500, 'the gateway must not begin a run');
    assert.deepEqual(await runsOf(left), []);
    const read = await send('ann', 'GET', target(left));
    assert.equal(read.status, 200);
    const line = JSON.stringify({ ...(read.json() as object), name: 'imported' });
    const ndjson = { 'Content-Type': 'application/x-ndjson' };
    for (const changed of [
      await send('ann', 'PATCH', target(left), { data: { description: 'x' } }),
      await send('ann', 'PATCH', target(left), { nextRunAt: null }),
      await send('ann', 'PUT', target(left), { name: 'left', data: { workflowId: 'crash.left' } }),
      await send('ann', 'POST', `${target(left)}/take`),
      await send('ann', 'POST', `${target(left)}/run`, {}),
      await send('ann', 'DELETE', target(left)),
      await send('ann', 'POST', '/automation_catalog/import', `${line}\n`, ndjson),
    ])
      assertProblem(changed, 409, code);
    assert.deepEqual((await send('ann', 'GET', target(left))).json(), read.json());
    await need(0, 'automation');
    // The scheduler looks at the store after a change.
    await send('ann', 'PATCH', target(other), { data: { description: 'x' } });
    await until('its run began', async () => (await runsOf(left)).length === 1);
  });

  test('a workflow or a form that needs a newer version begins no run, by hand or by a schedule, and stays as it is', async (t) => {
    const { runs, send, need, gateway } = await started(t, store);
    const automation = await runs.automation('plain', [{ a: { set: { x: 1 } } }]);
    const target = `/automation_catalog/automations/${automation}`;
    const begin = () => send('ann', 'POST', `${target}/run`, {});
    assert.equal((await send('ann', 'PUT', '/automation_catalog/forms/f', form)).status, 201);
    assert.equal((await send('ann', 'PATCH', target, { data: { formId: 'f' } })).status, 200);
    await need(newer, 'form');
    assertProblem(await begin(), 409, code);
    assertProblem(await send('ann', 'PUT', '/automation_catalog/forms/f', { ...form, title: 'x' }), 409, code);
    assert.equal((await send('ann', 'GET', '/automation_catalog/forms/f')).status, 200);
    await need(0, 'form');
    await need(newer, 'workflow');
    assertProblem(await begin(), 409, code);
    assertProblem(await send('ann', 'DELETE', '/automation_catalog/workflows/crash.plain'), 409);
    assertProblem(await send('ann', 'POST', '/automation_catalog/workflows/crash.plain/take'), 409, code);
    assert.equal((await send('ann', 'GET', '/automation_catalog/workflows/crash.plain')).status, 200);
    assert.equal((await send('ann', 'PATCH', target, { nextRunAt: new Date().toISOString() })).status, 200);
    await lapse(1_500, 'the gateway must not begin or skip the due time');
    assert.deepEqual(await runs.list(), []);
    assert.equal('lastSkip' in ((await send('ann', 'GET', target)).json() as object), false, 'a newer gateway begins its run');
    assert.deepEqual(
      gateway.stderr.filter((line) => line.includes('a scheduled run could not be created')),
      [],
    );
  });

  test('an approval that needs a newer version is neither decided nor used nor ended by an older gateway', async (t) => {
    const { send, need, needed, read, list, decide, grant, act, arrived, database } = await started(t, store);
    const id = needed(await act());
    await need(newer, 'approval');
    const seen = await read('lea', id);
    assert.deepEqual([seen.status, seen.mayDecide, seen.whyNot?.code], ['waiting', false, 'newer-version']);
    assert.equal((await list('lea')).find((one) => one.id === id)?.mayDecide, false);
    for (const as of ['grant', 'reject'] as const) assertProblem(await decide('lea', id, as), 409, code);
    assertProblem(await send('lea', 'POST', `/approvals/${id}/preview`), 409, code);
    assertProblem(await act({ Approval: id }), 409, code);
    await need(0, 'approval');
    await grant('lea', id);
    await need(newer, 'approval');
    assertProblem(await act({ Approval: id }), 409, code);
    const gone = Date.now() - 1;
    await sql`update approval set expires_at = ${gone}`.execute(database.records);
    await lapse(2_500, 'the upkeep must not end it');
    const [row] = await database.read.selectFrom('approval').select('status').where('id', '=', id).execute();
    assert.equal(row?.status, 'granted');
    assert.equal(arrived('/asked'), 0);
  });

  test('a notification that needs a newer version is not sent, and is sent once it may', async (t) => {
    const { act, need, receiver, gateway } = await started(t, store);
    await until('the receiver is active', async () => {
      const { receivers } = (await gateway.send({ target: '/notifications', role: 'admin' })).json() as {
        receivers: { state: string }[];
      };
      return receivers.every(({ state }) => state === 'active');
    });
    receiver.answer = () => httpReply({ status: 503 });
    await act();
    await receiver.has(1);
    await need(newer, 'notification');
    receiver.answer = () => httpReply({ status: 204 });
    const before = receiver.attempts.length;
    await lapse(2_500, 'the next attempt must not come');
    assert.ok(receiver.attempts.length <= before + 1);
    const waiting = async () => {
      const { list } = (await gateway.send({ target: '/notifications?status=waiting', role: 'admin' })).json() as {
        list: object[];
      };
      return list.length;
    };
    assert.equal(await waiting(), 1);
    await need(0, 'notification');
    await until('it is delivered', async () => (await waiting()) === 0);
  });

  test('the call of an agent that needs a newer version waits, and its caller cannot cancel it here', async (t) => {
    const { gateway, need, grant, arrived } = await started(t, store);
    const ann = agent(() => gateway, { authorization: basic('ann', testPassword), tasks: true });
    const task = await ann.toolTask('orchestrator_action', { adapter: 'Far', path: '/asked', body: '{}' });
    await need(newer, 'agent_task');
    await grant('lea', task.taskId);
    await lapse(2_500, 'the call must not leave');
    assert.equal((await ann.task(task.taskId)).status, 'working');
    assert.match(
      (await ann.post('tasks/cancel', `"taskId":"${task.taskId}"`, task.taskId)).text,
      /newer-version-needed|needs version/u,
    );
    assert.equal(arrived('/asked'), 0);
    await need(0, 'agent_task');
    await until('the call leaves', async () => (await ann.task(task.taskId)).status === 'completed');
    assert.equal(arrived('/asked'), 1);
  });

  test('the log and doctor say how many rows wait for a newer gateway', async (t) => {
    const { act, need, needed, database, options, gateway } = await started(t, store);
    needed(await act());
    assert.equal(await newerRows(database.read), undefined);
    await need(newer, 'approval');
    assert.equal(await newerRows(database.read), 'approvals: 1');
    await gateway.stop();
    const again = await startGateway(t, { config: { store: { url: storeUrl(options) } } });
    const line = 'rows of the store wait for a newer version of the gateway';
    assert.ok(
      again.stderr.some((one) => one.includes(line) && one.includes('approvals: 1')),
      again.stderr.join('\n'),
    );
    const { stdout } = await command(['doctor', '--json', '--config', again.configFile]);
    const found = stdout
      .trimEnd()
      .split('\n')
      .map((one) => JSON.parse(one) as { subject: string; verdict: string; detail: string });
    const rows = found.find(({ subject }) => subject === 'rows');
    assert.equal(rows?.verdict, 'warning', stdout);
    assert.match(rows.detail, /approvals: 1/u);
  });
}

eachStoreWith({ concurrency: 4 }, suiteOf);
