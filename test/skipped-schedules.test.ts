import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { readStream } from './support/runs/read-stream.ts';
import { actionTask } from './support/runs/run-caller.ts';
import { callersOf, listening, stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { eachStoreWith, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { WebhookReceiver } from './support/upstreams/webhook-receiver.ts';

// Schedules that cannot run: what storing one answers, and what its due times leave behind.

const automations = '/automation_catalog/automations';
const skippedType = 'orchestration-gateway.occurrence.skipped.v1';
const people = { ...stagePeople, nia: { roles: ['other'], groups: ['secret'] } };

interface Written {
  readonly _id: string;
  readonly lastRunAt?: string;
  readonly lastSkip?: { readonly due: string; readonly code: string; readonly reason: string };
  readonly warnings?: readonly { readonly pointer: string; readonly detail: string }[];
}

async function stage(t: TestContext, store: TestStore) {
  const receiver = await WebhookReceiver.start(t);
  const notifications = [{ url: receiver.url, secret: receiver.secret, events: ['orchestration-gateway.occurrence.*.v1'] }];
  const configured = (users: Parameters<typeof usersOf>[0]) => ({
    config: { store: { url }, notifications },
    adapters: [{ name: 'Far', kind: 'rest', url: 'http://127.0.0.1:9' }],
    users: usersOf(users),
  });
  const url = storeUrl(await store.empty(t));
  const gateway = await startGateway(t, configured(people));
  const { send, ...callers } = callersOf(() => gateway);
  const write = async (method: string, target: string, body: object): Promise<Written & { readonly tag: string | undefined }> => {
    const reply = await send('ann', method, target, body);
    assert.ok(reply.status === 200 || reply.status === 201, reply.text);
    return { ...(reply.json() as Written), tag: reply.header('etag') };
  };
  return {
    ...callers,
    gateway,
    receiver,
    configured,
    send,
    write,
    create: (name: string, body: object) => write('POST', automations, { name, ...body }),
    readOne: async (id: string): Promise<Written & { readonly tag: string | undefined }> => {
      const reply = await send('ann', 'GET', `${automations}/${id}`);
      return { ...(reply.json() as Written), tag: reply.header('etag') };
    },
    storeWithInput: async () => {
      const reply = await send('ann', 'POST', '/automation_catalog/workflows', {
        document: { dsl: '1.0.3', namespace: 'lab', name: 'asks', version: '1.0.0' },
        input: { schema: { document: { type: 'object', required: ['device'], properties: { device: { type: 'string' } } } } },
        do: [{ only: { set: { a: 1 } } }],
      });
      assert.equal(reply.status, 201, reply.text);
    },
  };
}

const soon = (): string => new Date(Date.now() + 300).toISOString();

eachStoreWith({ concurrency: 3 }, (store) => {
  test('a skipped due time is in the automation, the log, the metrics, the events and the notifications', async (t) => {
    const { gateway, receiver, send, readOne, create, store: put } = await stage(t, store);
    await put('ann', 'one', '1.0.0', [{ only: { set: { a: 1 } } }]);
    const gbac = { read: ['noc'], write: [] };
    const nextRunAt = soon();
    const { _id: id, tag } = await create('pinned', {
      nextRunAt,
      repeatInterval: '1 hour',
      data: { workflowId: 'lab.one', workflowVersion: '9.0.0', gbac },
    });
    await until('the due time is skipped', async () => (await readOne(id)).lastSkip !== undefined);
    const { lastSkip, tag: later } = await readOne(id);
    const reason = 'Its workflow does not exist, or has no such version or no release.';
    assert.deepEqual([lastSkip, later], [{ due: nextRunAt, code: 'workflow-missing', reason }, tag]);
    const line = gateway.stderr.map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>);
    const told = line.filter(({ msg }) => msg === 'a due time of an automation was skipped');
    assert.deepEqual(
      told.map(({ level, automation, due, code, reason: why }) => [level, automation, due, code, why]),
      [['warn', id, nextRunAt, 'workflow-missing', reason]],
    );
    const metrics = (await gateway.send({ target: '/metrics', role: 'admin' })).text;
    assert.match(metrics, /^gateway_schedule_skips_total\{code="workflow-missing"\} 1$/mu);
    assert.match(metrics, /^gateway_schedule_skips_total\{code="quota-reached"\} 0$/mu);
    for (const person of ['ann', 'otto'] as const) {
      const stream = await readStream(t, gateway, { as: basic(person, testPassword), target: '/events', after: '0' });
      await until('the event has come', () => stream.events.some(({ type }) => type === skippedType));
      const [event] = stream.events.filter(({ type }) => type === skippedType);
      const { data, subject } = JSON.parse(event?.data ?? '') as Readonly<Record<string, unknown>>;
      const automation = { _id: id, name: 'pinned' };
      const expected = { automation, workflow: 'lab.one', due: nextRunAt, code: 'workflow-missing', reason };
      assert.deepEqual([subject, data], [id, expected], person);
    }
    const [notified] = await receiver.has(1);
    assert.deepEqual([notified?.type, notified?.id, notified?.data['code']], [skippedType, nextRunAt, 'workflow-missing']);
    // A later event that nia may see shows that the stream went past the skip.
    const hidden = await readStream(t, gateway, { as: basic('nia', testPassword), target: '/events', after: '0' });
    const shown = await create('shown', {
      nextRunAt: soon(),
      data: { workflowId: 'lab.one', workflowVersion: '9.0.0', gbac: { read: ['secret'], write: [] } },
    });
    await hidden.has(1);
    assert.deepEqual(
      hidden.events.map(({ data }) => (JSON.parse(data) as { readonly subject: string }).subject),
      [shown._id],
    );
    assert.doesNotMatch((await send('ann', 'GET', '/automation_catalog/export')).text, /lastSkip/u);
  });

  test('lastSkip stays over a pause and a description, and goes when what runs or when changes, or a person takes it', async (t) => {
    const { gateway, send, readOne, create, write, store: put } = await stage(t, store);
    await put('ann', 'one', '1.0.0', [{ only: { set: { a: 1 } } }]);
    const data = { workflowId: 'lab.one', workflowVersion: '9.0.0' };
    const repeating = { repeatInterval: '1 hour', data };
    const skipped = async (name: string): Promise<string> => {
      const { _id } = await create(name, { ...repeating, nextRunAt: soon() });
      await until('the due time is skipped', async () => (await readOne(_id)).lastSkip?.code === 'workflow-missing');
      return `${automations}/${_id}`;
    };
    const isSkipped = async (target: string) => (await readOne(target.slice(automations.length + 1))).lastSkip !== undefined;
    const target = await skipped('a');
    for (const patch of [{ nextRunAt: null }, { nextRunAt: 'next' }, { data: { description: 'd' } }, { lastSkip: null }]) {
      await write('PATCH', target, patch);
      assert.equal(await isSkipped(target), true, JSON.stringify(patch));
    }
    const { text: body } = await send('ann', 'GET', target);
    const headers = { Authorization: basic('ann', testPassword), 'Content-Type': 'application/x-ndjson' };
    assert.equal((await gateway.send({ method: 'POST', target: '/automation_catalog/import', headers, body })).status, 200);
    assert.equal(await isSkipped(target), true, 'the same line again');
    await write('PATCH', target, { data: { workflowVersion: '1.0.0' } });
    assert.equal(await isSkipped(target), false);
    const other = await skipped('b');
    assert.equal((await send('bob', 'POST', `${other}/take`)).status, 200);
    assert.equal(await isSkipped(other), false);
  });

  test('storing a schedule answers with every reason for which it cannot run, and a document without one gets no warnings', async (t) => {
    const { gateway, configured, send, create, write, storeWithInput, store: put } = await stage(t, store);
    await storeWithInput();
    const schedule = { nextRunAt: '2999-01-01T00:00:00Z' };
    const missing = await create('missing', { ...schedule, data: { workflowId: 'lab.none' } });
    assert.deepEqual(
      missing.warnings?.map(({ pointer }) => pointer),
      ['/data/workflowId'],
    );
    const pinned = await create('pinned', { ...schedule, data: { workflowId: 'lab.asks', workflowVersion: '2.0.0' } });
    assert.deepEqual(
      pinned.warnings?.map(({ pointer }) => pointer),
      ['/data/workflowVersion'],
    );
    const data = { workflowId: 'lab.asks', input: { device: 7 } };
    const unfit = await create('unfit', { data: { ...data, cron: '0 5 * * *' } });
    assert.deepEqual(unfit.warnings, [{ pointer: '/data/input/device', detail: 'must be a string' }]);
    const patched = await write('PATCH', `${automations}/${unfit._id}`, { data: { input: { device: 'ce0' } } });
    assert.equal(patched.warnings, undefined);
    const replaced = await write('PUT', `${automations}/${unfit._id}`, {
      name: 'unfit',
      ...schedule,
      data: { workflowId: 'lab.asks' },
    });
    assert.deepEqual(replaced.warnings, [{ pointer: '/data/input/device', detail: 'is required' }]);
    assert.equal((await create('by hand', { data })).warnings, undefined);
    await put('ann', 'acts', '1.0.0', [actionTask('act', '"one"')]);
    const made = await send('bob', 'POST', automations, { name: 'delegated', ...schedule, data: { workflowId: 'lab.acts' } });
    assert.doesNotMatch(made.text, /warnings/u);
    await reloadWith(gateway, configured({ ...people, bob: { roles: ['engineering'], groups: [] } }));
    const target = `${automations}/${(made.json() as Written)._id}`;
    const described = await write('PATCH', target, { data: { description: 'd' } });
    assert.deepEqual(described.warnings, [
      { pointer: '/data/workflowId', detail: 'bob answers for lab.acts 1.0.0, and may not call orchestratorAction.' },
    ]);
    assert.doesNotMatch((await send('ann', 'GET', target)).text, /warnings/u);
  });

  test('a due time is skipped as suspended while the run before is suspended', async (t) => {
    const { create, readOne, send, store: put, reaches } = await stage(t, store);
    await put('ann', 'waits', '1.0.0', [listening]);
    const { _id: id } = await create('waits', {
      nextRunAt: soon(),
      repeatInterval: '1 second',
      data: { workflowId: 'lab.waits' },
    });
    await until('it is skipped while the run waits', async () => (await readOne(id)).lastSkip?.code === 'running');
    const { list } = (await send('ann', 'GET', `/runs?automation=${id}`)).json() as {
      readonly list: readonly { readonly id: string }[];
    };
    assert.equal((await send('ann', 'POST', `/runs/${list[0]?.id}/suspend`)).status, 200);
    await reaches(list[0]?.id ?? '', 'suspended');
    await until('it is skipped as suspended', async () => (await readOne(id)).lastSkip?.code === 'suspended');
  });
});
