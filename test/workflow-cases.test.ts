import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { runCaller, type SeenRun, type TaskDocument } from './support/runs/run-caller.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Small workflows that once meant something else than their writers thought: docs/reference/workflows.md.

const far = await upstream({ after });
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'far', kind: 'rest', url: far.url, health: 'off' }],
  },
);
const authorization = gateway.basicFor('admin');
const caller = runCaller(() => gateway, authorization);
let count = 0;

async function started(tasks: readonly TaskDocument[]): Promise<string> {
  count += 1;
  return (await caller.start(await caller.automation(`case${count}`, tasks))).id;
}

async function endOf(tasks: readonly TaskDocument[]): Promise<SeenRun> {
  return await caller.reaches(await started(tasks), 'completed', 'faulted', 'suspended');
}

async function send(type: string, data: unknown): Promise<void> {
  const event = { specversion: '1.0', id: randomUUID(), source: 'urn:case', type, data };
  const headers = { authorization, 'content-type': 'application/cloudevents+json' };
  const reply = await gateway.send({ method: 'POST', target: '/events', headers, body: JSON.stringify(event) });
  assert.equal(reply.status, 204, reply.text);
}

const attempt = (task: TaskDocument, handling: object): TaskDocument => ({ attempt: { try: [task], catch: handling } });
const hear = (type: string) => ({ listen: { to: { one: { with: { type } } } } });
const conflict = { type: 'https://noc.example/errors/conflict', status: 409, title: 'Conflict' };
const push: TaskDocument = {
  push: {
    call: 'orchestratorAction',
    with: { adapter: 'far', params: { path: 'restconf/operations/push', accept: 'application/yang-data+json' }, body: {} },
  },
};

test('exceptWhen of a catch sees the error, so that the error passes', async () => {
  const raise: TaskDocument = { conflict: { raise: { error: conflict } } };
  const ignored = [{ ignored: { set: { ignored: true } } }];
  const passed = await endOf([attempt(raise, { exceptWhen: '.status == 409', do: ignored })]);
  assert.deepEqual([passed.status, passed.error?.status], ['faulted', 409]);
  const caught = await endOf([attempt(raise, { when: '.title == "Conflict"', exceptWhen: '.status == 404', do: ignored })]);
  assert.deepEqual([caught.status, caught.output], ['completed', { ignored: true }]);
});

test('when of a retry sees the error, so that a call is made again', async () => {
  far.answer(() => (far.requests.length < 3 ? httpReply({ status: 503 }) : jsonReply('{"devices":2}')));
  const get: TaskDocument = { get: { call: 'http', with: { method: 'get', endpoint: `${far.url}/inventory` } } };
  const retry = { when: '.status == 503', delay: 'PT0.1S', limit: { attempt: { count: 5 } } };
  const { status, output } = await endOf([attempt(get, { retry })]);
  assert.deepEqual([status, output, far.requests.length], ['completed', { devices: 2 }, 3]);
});

test('a loop that collects three votes waits for three events', async () => {
  const id = await started([
    {
      votes: {
        for: { in: '${ ["a", "b", "c"] }', each: 'seat' },
        do: [
          { wait: hear('noc.vote.v1') },
          { count: { set: { vote: '${ .[0] }' }, export: { as: '${ { votes: (($context.votes // []) + [.vote]) } }' } } },
        ],
      },
    },
    { result: { set: '${ $context }' } },
  ]);
  for (const [index, vote] of ['yes', 'no', 'yes again'].entries()) {
    await caller.reaches(id, 'waiting');
    await send('noc.vote.v1', vote);
    await until(`vote ${index + 1} is counted`, async () => {
      const counted = (await caller.tasks(id)).filter(({ name, status }) => name === 'count' && status === 'completed');
      return counted.length === index + 1;
    });
  }
  assert.deepEqual((await caller.reaches(id, 'completed')).output, { votes: ['yes', 'no', 'yes again'] });
});

test('a run does not take an event from before its creation', async () => {
  await send('noc.go.v1', 'early');
  await lapse(5, 'the run begins in a later millisecond than the event');
  const id = await started([{ go: hear('noc.go.v1') }]);
  await caller.reaches(id, 'waiting');
  await send('noc.go.v1', 'late');
  assert.deepEqual((await caller.reaches(id, 'completed')).output, ['late']);
});

test('a document is accepted whose task no way leads to, or has the name of a directive or of another task', async () => {
  // oxlint-disable-next-line unicorn/no-thenable -- the directive of a task is no promise
  const cut = await endOf([{ first: { set: { a: 1 }, then: 'end' } }, { later: { set: { b: 2 } } }]);
  assert.deepEqual([cut.status, cut.output], ['completed', { a: 1 }]);
  const named = await endOf([{ begin: { set: { a: 1 } } }, { end: { set: { b: 2 } } }]);
  assert.deepEqual([named.status, named.output], ['completed', { b: 2 }]);
  const twice = await endOf([{ step: { set: { a: 1 } } }, { step: { set: { b: '${ .a }' } } }]);
  assert.deepEqual([twice.status, twice.output], ['completed', { b: 1 }]);
});

test('an unknown outcome in a try whose catch has no filter is left to people', async () => {
  far.answer((_request, socket) => void socket.destroy());
  const noted = { do: [{ note: { set: { failed: true } } }] };
  const id = await started([attempt(push, noted)]);
  assert.equal((await caller.reaches(id, 'suspended')).suspendedBy, 'unknown-outcome');
  const [unknown] = (await caller.tasks(id)).filter(({ status }) => status === 'suspended');
  assert.equal(unknown?.reference, '/do/0/attempt/try/0/push');
  const type = 'urn:orchestration-gateway:errors:outcome-unknown';
  const named = await endOf([attempt(push, { errors: { with: { type } }, ...noted })]);
  assert.deepEqual([named.status, named.output], ['completed', { failed: true }]);
});

test('cancel reaches a run that is not awaited, and suspend and resume do', async () => {
  far.answer(() => jsonReply('{}'));
  const tick = { tick: { call: 'restCall', with: { uri: `${far.url}/tick`, verb: 'GET' } } };
  const turns = { for: { in: '${ [range(4000)] }', each: 'n' }, do: [{ pause: { wait: { milliseconds: 20 } } }, tick] };
  assert.equal((await caller.store('ticking', [{ turns }])).status, 201);
  const apart = { run: { workflow: { namespace: 'crash', name: 'ticking', version: '1.0.0', input: {} }, await: false } };
  const id = await started([{ apart }, { stay: { wait: { hours: 1 } } }]);
  const child = async (): Promise<SeenRun | undefined> => (await caller.list()).find((run) => run.id.startsWith(`${id}.`));
  const ticks = (): Promise<unknown> => {
    const before = far.requests.length;
    return until('the child calls', () => far.requests.length > before);
  };
  await ticks();
  for (const [change, status] of [
    ['suspend', 'suspended'],
    ['resume', undefined],
    ['cancel', 'cancelled'],
  ] as const) {
    assert.equal((await caller.change(id, change)).status, 200);
    if (status === undefined) await ticks();
    else await until(`the child is ${status}`, async () => (await child())?.status === status);
  }
});

test('JSON with a byte order mark is an object, and broken JSON is an error', async () => {
  const get: TaskDocument = { get: { call: 'http', with: { method: 'get', endpoint: far.url } } };
  far.answer(() => jsonReply('\u{feff}{"id":1}'));
  assert.deepEqual((await endOf([get])).output, { id: 1 });
  far.answer(() => jsonReply('{"id":1'));
  const { status, error } = await endOf([get]);
  assert.equal(status, 'faulted');
  assert.match(error?.detail ?? '', /line 1, column 8/u);
});
