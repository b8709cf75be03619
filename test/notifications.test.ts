// suite: waiting

import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { people } from './support/approvals/approval-caller.ts';
import { assertProblem, post } from './support/callers/calls.ts';
import { askToReload, reloadWith, rewrite } from './support/gateway/reloading.ts';
import { basic, type Gateway, startGateway, startGatewayProcess, testPassword } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';
import { WebhookReceiver } from './support/upstreams/webhook-receiver.ts';

// Events of the gateway as signed webhooks: docs/guides/notifications.md.

const accept = 'application/yang-data+json';
const far = await upstream({ after }, () => jsonReply('{}'));

interface Listed {
  readonly receivers: readonly {
    readonly receiver: string;
    readonly state: string;
    readonly waiting: number;
    readonly events: readonly string[];
  }[];
  readonly list: readonly {
    readonly id: string;
    readonly receiver: string;
    readonly type: string;
    readonly status: string;
    readonly attempts: number;
    readonly lastStatus?: number;
    readonly lastCode?: string;
  }[];
  readonly cursor?: string;
}

async function listed(gateway: Gateway, query = ''): Promise<Listed> {
  const reply = await gateway.send({ target: `/notifications${query}`, role: 'admin' });
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Listed;
}

function settings(receivers: readonly (WebhookReceiver | readonly [WebhookReceiver, readonly string[]])[], more: object = {}) {
  const notifications = receivers.map((one) => {
    const [{ url, secret }, events] = one instanceof WebhookReceiver ? [one, undefined] : one;
    return { url, secret, ...(events && { events }) };
  });
  return {
    users: [...people],
    config: {
      notifications,
      approvals: [{ name: 'changes', when: { routes: ['restAction'] }, approvers: { roles: ['admin'] } }],
      ...more,
    },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
  };
}

/** Waits until every receiver gets what comes from now on. */
async function receiving(gateway: Gateway): Promise<void> {
  await until('every receiver is active', async () => (await listed(gateway)).receivers.every(({ state }) => state === 'active'));
}

const action = { params: { path: 'restconf/data/x/act', accept }, body: {} };

function needsApproval(gateway: Gateway, who: 'ann' | 'bob' = 'ann') {
  return post(gateway, '/orchestrator_manager/restAction/Far', action, { headers: { Authorization: basic(who, testPassword) } });
}

async function faultyRun(gateway: Gateway): Promise<void> {
  const document = { dsl: '1.0.3', namespace: 'lab', name: 'faulty', version: '1.0.0' };
  const error = { type: 'https://example.net/errors/broken', status: 500 };
  await post(gateway, '/automation_catalog/workflows', { document, do: [{ fail: { raise: { error } } }] });
  const made = await post(gateway, '/automation_catalog/automations', { name: 'faulty', data: { workflowId: 'lab.faulty' } });
  const { _id: id } = made.json() as { readonly _id: string };
  const run = await post(gateway, `/automation_catalog/automations/${id}/run`, {});
  assert.equal(run.status, 201, run.text);
}

eachStore((store) => {
  test('a waiting approval and a faulted run reach a receiver, signed, and other events do not', async (t) => {
    const receiver = await WebhookReceiver.start(t);
    const gateway = await startGateway(t, settings([receiver], { store: { url: storeUrl(await store.empty(t)) } }));
    await receiving(gateway);
    assertProblem(await needsApproval(gateway), 403, 'approval-required');
    await faultyRun(gateway);
    const events = await receiver.has(2);
    const [requested, faulted] = events.toSorted((one, other) => (one.type < other.type ? 1 : -1));
    assert.equal(requested?.type, 'orchestration-gateway.approval.requested.v1');
    assert.equal(requested.data['principal'], 'ann');
    assert.equal(faulted?.type, 'io.serverlessworkflow.workflow.faulted.v1');
    await until('both are delivered', async () => (await listed(gateway, '?status=delivered')).list.length === 2);
    assert.equal(receiver.far.requests.length, 2);
    const first = await listed(gateway, '?limit=1');
    assert.equal(first.list.length, 1);
    const second = await listed(gateway, `?limit=1&cursor=${first.cursor}`);
    assert.deepEqual([second.list.length, second.cursor], [1, undefined]);
    assert.deepEqual(
      new Set([...first.list, ...second.list].map(({ id }) => id)),
      new Set(events.map(({ webhookId }) => webhookId)),
    );
  });

  if (store.dialect === 'sqlite') return;
  test('gateways that share a store deliver each event once, also while one of them stops', async (t) => {
    const receiver = await WebhookReceiver.start(t);
    const options = settings([receiver], { store: { url: storeUrl(await store.empty(t)) } });
    const [one, two] = [await startGateway(t, options), await startGateway(t, options)];
    await receiving(one);
    const targets = [one, two];
    for (let count = 0; count < 20; count += 1) {
      const headers = { Authorization: basic('ann', testPassword) };
      const call = { ...action, body: { count } };
      const reply = await post(targets[count % 2] ?? one, '/orchestrator_manager/restAction/Far', call, { headers });
      assertProblem(reply, 403, 'approval-required');
    }
    await two.stop();
    await receiver.has(20);
    await until('all are delivered', async () => (await listed(one, '?status=delivered')).list.length === 20);
    assert.equal(new Set(receiver.attempts.map(({ webhookId }) => webhookId)).size, 20);
    assert.equal(receiver.attempts.length, 20);
  });
});

test('what a receiver did not get before a restart, it gets after it, and a killed gateway loses nothing', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answer = () => httpReply({ status: 503 });
  const gateway = await startGatewayProcess(t, settings([receiver]));
  await receiving(gateway);
  await needsApproval(gateway);
  const [first] = await receiver.has(1);
  await gateway.stop('SIGKILL');
  receiver.answer = () => httpReply({ status: 200 });
  const next = await gateway.restart();
  await until('it is delivered', async () => (await listed(next, '?status=delivered')).list.length === 1);
  assert.equal(new Set(receiver.attempts.map(({ webhookId }) => webhookId)).size, 1);
  assert.equal(receiver.attempts.at(-1)?.id, first?.id);
});

test('a reload takes new receivers, new events and new secrets, and wakes one that was gone', async (t) => {
  const [gone, later] = [await WebhookReceiver.start(t), await WebhookReceiver.start(t, 'another key')];
  gone.answer = () => httpReply({ status: 410 });
  const gateway = await startGateway(t, settings([gone]));
  await receiving(gateway);
  await needsApproval(gateway);
  await until('it is gone', async () => (await listed(gateway)).receivers[0]?.state === 'gone');
  gone.answer = () => httpReply({ status: 200 });
  const result = await reloadWith(gateway, settings([gone, [later, ['orchestration-gateway.approval.*.v1']]]));
  assert.ok(result.settings.includes('notifications'));
  assert.deepEqual(
    (await listed(gateway)).receivers.map(({ receiver, events }) => [receiver, events.length]),
    [
      [gone.far.authority, 4],
      [later.far.authority, 1],
    ],
  );
  await receiving(gateway);
  const before = gone.far.requests.length;
  await needsApproval(gateway, 'bob');
  await later.has(1);
  await until('the one that was gone gets the next one', () => gone.far.requests.length === before + 1);
  await reloadWith(gateway, settings([later]));
  await needsApproval(gateway);
  const { receivers, list } = await listed(gateway);
  assert.equal(receivers.length, 1);
  assert.ok(list.every(({ receiver }) => receiver === later.far.authority));
});

test('an adapter instance that goes down and comes back is an event and a line in the log each time', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  const port = await closedPort();
  const options = settings([[receiver, ['orchestration-gateway.adapter.*.v1']]]);
  const down = { name: 'Down', kind: 'rest', url: `http://127.0.0.1:${port}`, health: { interval: '1s' } };
  const gateway = await startGateway(t, { ...options, adapters: [down] });
  const [first] = await receiver.has(1);
  assert.deepEqual(
    [first?.type, first?.source, first?.data],
    [
      'orchestration-gateway.adapter.down.v1',
      '/adapters/Down',
      { adapter: 'Down', state: 'offline', code: 'upstream-connect-failed' },
    ],
  );
  await reloadWith(gateway, { ...options, adapters: [{ ...down, url: far.url }] });
  const [, second] = await receiver.has(2);
  assert.deepEqual([second?.type, second?.data['state']], ['orchestration-gateway.adapter.up.v1', 'online']);
  const lines = gateway.stderr.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const told = lines.filter(({ msg }) => String(msg).startsWith('an adapter instance is o'));
  assert.deepEqual(
    told.map(({ level, msg, adapter }) => [level, msg, adapter]),
    [
      ['warn', 'an adapter instance is offline', 'Down'],
      ['info', 'an adapter instance is online again', 'Down'],
    ],
  );
});

test('no answer and no log line has the path, the query or the secret of a receiver', async (t) => {
  const receiver = await WebhookReceiver.start(t);
  receiver.answer = (_request, socket) => void socket.destroy();
  const gateway = await startGateway(t, settings([receiver], { server: { logLevel: 'debug' } }));
  await receiving(gateway);
  await needsApproval(gateway);
  await until('an attempt has failed', async () =>
    (await listed(gateway)).list.some(({ lastCode }) => lastCode === 'upstream-closed'),
  );
  await until('the failure is logged', () => gateway.stderr.some((line) => line.includes('a receiver of notifications fails')));
  const shown = [
    JSON.stringify(await listed(gateway)),
    (await gateway.send({ target: '/metrics', role: 'admin' })).text,
    ...gateway.stderr,
    ...gateway.stdout,
  ];
  for (const text of shown) {
    assert.doesNotMatch(text, /hook-path|hook-token|whsec_/u);
    assert.ok(!text.includes(receiver.secret.slice('whsec_'.length)));
  }
  const metrics = (await gateway.send({ target: '/metrics', role: 'admin' })).text;
  assert.match(
    metrics,
    new RegExp(`gateway_notification_attempts_total\\{receiver="${receiver.far.authority}",outcome="failed"\\} [1-9]`, 'u'),
  );
  assert.match(metrics, new RegExp(`gateway_notifications_waiting\\{receiver="${receiver.far.authority}"\\} 1`, 'u'));
});

test('only admins read notifications, and every problem of a query is named', async (t) => {
  const gateway = await startGateway(t, settings([]));
  assert.deepEqual(await listed(gateway), { receivers: [], list: [] });
  assertProblem(await gateway.send({ target: '/notifications', role: 'engineering' }), 403, 'forbidden');
  const problem = assertProblem(
    await gateway.send({ target: '/notifications?limit=0&cursor=x&status=lost&other=1', role: 'admin' }),
    400,
    'invalid-request',
  );
  assert.deepEqual(problem.errors?.map(({ pointer }) => pointer).toSorted(), ['?cursor', '?limit', '?other', '?status']);
});

/** The answer to a reload with these receivers. */
async function refused(t: TestContext, notifications: readonly object[]): Promise<string> {
  const gateway = await startGateway(t, settings([]));
  rewrite(gateway, { config: { notifications } });
  const reply = await askToReload(gateway);
  assertProblem(reply, 409, 'configuration-invalid');
  return reply.text;
}

test('a wrong receiver is refused with the reason, and its secret is not shown', async (t) => {
  const url = 'https://hooks.example.net/x';
  const short = `whsec_${Buffer.from('short').toString('base64')}`;
  const good = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const text = await refused(t, [
    { url, secret: 'no-prefix' },
    { url: 'ftp://x', secret: short },
    { url: 'https://a.example.net', secret: good, events: ['io.serverlessworkflow.workflow.faultd.v1'] },
    { url: 'https://b.example.net', secret: good, events: [] },
    { url, secret: good },
  ]);
  for (const expected of [
    /notifications\[0\]\.secret: is no secret of Standard Webhooks/u,
    /notifications\[1\]\.url: is no http or https URL/u,
    /notifications\[1\]\.secret: has 5 bytes/u,
    /notifications\[2\]\.events\[0\]: .*matches no event/u,
    /notifications\[3\]\.events/u,
    /notifications\[4\]\.url: is the same as notifications\[0\]/u,
  ])
    assert.match(text, expected);
  assert.ok(!text.includes('no-prefix') && !text.includes(short) && !text.includes(good));
});
