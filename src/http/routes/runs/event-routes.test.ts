import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertProblem, pointersOf } from '../../../../test/support/callers/calls.ts';
import { readStream } from '../../../../test/support/runs/read-stream.ts';
import { lastStep, lifecycle, type RunServer, runServer } from '../../../../test/support/runs/run-server.ts';
import { eachStore } from '../../../../test/support/stores/stores.ts';
import { until } from '../../../../test/support/until.ts';

const cloudEvents = { 'Content-Type': 'application/cloudevents+json' };
const batch = { 'Content-Type': 'application/cloudevents-batch+json' };

function cloudEvent(id: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ specversion: '1.0', id, source: 'urn:tests', type: 'test.happened', ...more });
}

async function sendEvent(gateway: RunServer, id: string): Promise<void> {
  const reply = await gateway.post('ada', '/events', cloudEvent(id), cloudEvents);
  assert.equal(reply.status, 204, reply.text);
}

const typesOf = (events: readonly { readonly type: string }[]): readonly string[] =>
  events.map(({ type }) => type.replace(/^io\.serverlessworkflow\.(.*)\.v1$/u, '$1'));

eachStore((kind) => {
  test('the stream of a run begins with its first event, goes on as events happen, and ends after the last', async (t) => {
    const gateway = await runServer(t, { kind });
    const id = await gateway.start(await gateway.automation());
    const other = await gateway.start(await gateway.automation());
    const claimed = await gateway.store.claim({ owner: 'engine', limit: 2, lease: 600_000 });
    const [run, another] = [claimed.find((one) => one.id === id), claimed.find((one) => one.id === other)];
    assert.ok(run !== undefined && another !== undefined);
    await gateway.step(run, { events: [lifecycle(id, 'workflow.started')] });
    const stream = await readStream(t, gateway, { as: 'ada', target: `/runs/${id}/events` });
    assert.equal(stream.response.headers['content-type'], 'text/event-stream');
    assert.equal(stream.response.headers['cache-control'], 'no-store');
    assert.equal(stream.response.headers['x-accel-buffering'], 'no');
    await stream.has(1);
    await gateway.step(another, { events: [lifecycle(other, 'workflow.started')] });
    await gateway.step(run, { events: [lifecycle(id, 'task.created'), lifecycle(id, 'task.started')] });
    await stream.has(3);
    await gateway.step(run, lastStep(id, { events: [lifecycle(id, 'workflow.completed'), lifecycle(id, 'late')] }));
    await stream.end();
    assert.equal(stream.ended, true);
    const types = ['workflow.started', 'task.created', 'task.started', 'workflow.completed', 'late'];
    assert.deepEqual(typesOf(stream.events), types);
    const numbers = stream.events.map((event) => Number(event.id));
    assert.deepEqual(
      numbers,
      numbers.toSorted((one, two) => one - two),
    );
    assert.equal(stream.events[0]?.data, lifecycle(id, 'workflow.started').event);
    const again = await readStream(t, gateway, { as: 'ada', target: `/runs/${id}/events`, after: String(numbers[1]) });
    await again.end();
    assert.deepEqual(typesOf(again.events), types.slice(2));
    const nothing = await readStream(t, gateway, { as: 'ada', target: `/runs/${id}/events`, after: String(numbers[4]) });
    assert.equal(nothing.response.statusCode, 204);
  });

  test('a stream of all events begins now, or after the event that its caller has', async (t) => {
    const gateway = await runServer(t, { kind });
    await sendEvent(gateway, 'before');
    const stream = await readStream(t, gateway, { as: 'ada', target: '/events' });
    await sendEvent(gateway, 'after');
    await stream.has(1);
    assert.equal(stream.events[0]?.data, cloudEvent('after', { sender: 'ada' }));
    const all = await readStream(t, gateway, { as: 'ada', target: '/events', after: '0' });
    await all.has(2);
    await sendEvent(gateway, 'last');
    await Promise.all([all.has(3), stream.has(2)]);
    assert.deepEqual(
      all.events.map(({ data }) => data),
      ['before', 'after', 'last'].map((id) => cloudEvent(id, { sender: 'ada' })),
    );
  });
});

test('a long history comes in order, with what happens meanwhile, and without repetition', async (t) => {
  const gateway = await runServer(t);
  const id = await gateway.start(await gateway.automation());
  const run = await gateway.claim(id);
  const eventsOf = (from: number): ReturnType<typeof lifecycle>[] =>
    Array.from({ length: 130 }, (_, at) => lifecycle(id, 'task.started', String(from + at)));
  await gateway.step(run, { events: eventsOf(0) });
  const streams = await Promise.all(
    ['/events', `/runs/${id}/events`].map((target) => readStream(t, gateway, { as: 'ada', target, after: '0' })),
  );
  await gateway.step(run, { events: eventsOf(130) });
  await gateway.step(run, lastStep(id));
  for (const stream of streams) {
    await stream.has(261);
    assert.equal(stream.events.length, 261);
    const ids = stream.events.map(({ data }) => (JSON.parse(data) as { readonly id: string }).id);
    assert.deepEqual(
      ids.slice(0, 260),
      Array.from({ length: 260 }, (_, at) => `${id} ${at}`),
    );
  }
});

test('a caller gets the events of runs that it may see, and those of callers where it may send such', async (t) => {
  const gateway = await runServer(t);
  const open = await gateway.automation();
  const guarded = await gateway.automation({ data: { workflowId: 'lab.sync', gbac: { write: ['noc'], read: ['noc'] } } });
  const names = ['ada', 'eve', 'otto', 'nora', 'zoe'] as const;
  const opened = await Promise.all(names.map((as) => readStream(t, gateway, { as, target: '/events' })));
  for (const automation of [open, guarded]) {
    const id = await gateway.start(automation);
    const message = { at: 1, kind: 'message' as const, event: cloudEvent(`of ${id}`) };
    await gateway.step(await gateway.claim(id), lastStep(id, { events: [lifecycle(id, 'workflow.started'), message] }));
  }
  await sendEvent(gateway, 'sent');
  const [ada, eve, otto, nora, zoe] = opened.map((stream) => stream.events);
  await until('all events have come', () => ada?.length === 5 && eve?.length === 3 && otto?.length === 2 && nora?.length === 2);
  const ofRun = ['workflow.started', 'test.happened'];
  assert.deepEqual(typesOf(ada ?? []), [...ofRun, ...ofRun, 'test.happened']);
  assert.deepEqual(eve, [...(ada ?? []).slice(0, 2), ...(ada ?? []).slice(4)]);
  assert.deepEqual(otto, ada?.slice(0, 2));
  assert.deepEqual(nora, ada?.slice(2, 4));
  assert.deepEqual(zoe, []);
  for (const [at, as] of names.entries()) {
    const history = await readStream(t, gateway, { as, target: '/events', after: '0' });
    await history.has(opened[at]?.events.length ?? 0);
    assert.deepEqual(history.events, opened[at]?.events, as);
  }
  assertProblem(await gateway.send('otto', { target: `/runs/${await gateway.start(guarded)}/events` }), 404, 'run-not-found');
});

test('a Last-Event-ID that no event can have is 400', async (t) => {
  const gateway = await runServer(t);
  for (const value of ['x', '-1', '1.5', '99999999999999999999', '9999999999999999']) {
    const reply = await gateway.send('ada', { target: '/events', headers: { 'Last-Event-ID': value } });
    assertProblem(reply, 400, 'malformed-request');
  }
});

test('HEAD gets the head of a stream alone', async (t) => {
  const gateway = await runServer(t);
  const reply = await gateway.send('ada', { method: 'HEAD', target: '/events' });
  assert.deepEqual([reply.status, reply.header('content-type'), reply.text], [200, 'text/event-stream', '']);
});

test('a stream ends with a complete reply when the gateway begins to stop', async (t) => {
  const gateway = await runServer(t);
  const id = await gateway.start(await gateway.automation());
  const streams = await Promise.all(
    ['/events', `/runs/${id}/events`].map((target) => readStream(t, gateway, { as: 'ada', target })),
  );
  await gateway.server.close();
  for (const stream of streams) {
    await stream.end();
    assert.equal(stream.ended, true);
  }
});

test('a stream of a caller that has left keeps no listener and no place', async (t) => {
  const gateway = await runServer(t, { limit: { ofOne: 2, ofAll: 3 } });
  for (let round = 0; round < 3; round += 1) {
    const own = [
      await readStream(t, gateway, { as: 'ada', target: '/events' }),
      await readStream(t, gateway, { as: 'ada', target: '/events' }),
    ];
    assert.equal(gateway.listeners(), 1);
    const refused = await gateway.send('ada', { target: '/events' });
    assertProblem(refused, 503, 'overloaded');
    assert.equal(refused.header('retry-after'), '1');
    const other = await readStream(t, gateway, { as: 'eve', target: '/events' });
    assertProblem(await gateway.send('otto', { target: '/events' }), 503, 'overloaded');
    for (const stream of [...own, other]) stream.response.destroy();
    await until('the gateway has noticed', () => gateway.listeners() === 0);
  }
});

describe('sending events', () => {
  test('an event is kept byte for byte but for white space, and once for its source and id', async (t) => {
    const gateway = await runServer(t);
    const stream = await readStream(t, gateway, { as: 'ada', target: '/events' });
    const event =
      '{ "specversion": "1.0", "id": "1", "source": "urn:tests", "type": "test.happened",\n "size": 7, "data": {"n": 18446744073709551615, "n": 1.0, "t": "\\u00e9 "} }';
    const from = (sender: string, text: string): string => `${text.slice(0, -1)},"sender":"${sender}"}`;
    for (let times = 0; times < 2; times += 1)
      assert.equal((await gateway.post('eve', '/events', event, cloudEvents)).status, 204);
    const two = `[${cloudEvent('2', { data: [1] })} , ${cloudEvent('3', { data_base64: 'AAEC', time: '2026-01-01T00:00:00Z' })}]`;
    assert.equal((await gateway.post('ada', '/events', two, batch)).status, 204);
    assert.equal((await gateway.post('ada', '/events', '[]', batch)).status, 204);
    await stream.has(3);
    assert.deepEqual(
      stream.events.map(({ data }) => data),
      [
        from(
          'eve',
          '{"specversion":"1.0","id":"1","source":"urn:tests","type":"test.happened","size":7,"data":{"n":18446744073709551615,"n":1.0,"t":"\\u00e9 "}}',
        ),
        from('ada', cloudEvent('2', { data: [1] })),
        from('ada', cloudEvent('3', { data_base64: 'AAEC', time: '2026-01-01T00:00:00Z' })),
      ],
    );
    assert.equal((await gateway.store.messages({ after: 0, limit: 10 })).length, 3);
    assertProblem(await gateway.post('otto', '/events', event, cloudEvents), 403, 'forbidden');
    await until('all are on record', () => gateway.recorded.length === 5);
    assert.deepEqual(
      gateway.recorded.map(({ route }) => route),
      Array.from({ length: 5 }, () => 'POST /events'),
    );
  });

  test("an event that only the gateway may send is 400, and another caller's source and id hold up no genuine one", async (t) => {
    const gateway = await runServer(t);
    for (const [more, pointer] of [
      [{ type: 'orchestration-gateway.approval.granted.v1' }, '/type'],
      [{ type: 'io.serverlessworkflow.workflow.completed.v1' }, '/type'],
      [{ source: '/runs/1' }, '/source'],
      [{ source: '//gateway.example/runs/1' }, '/source'],
      [{ sender: 'ada' }, '/sender'],
      [{ sender: null }, '/sender'],
      [{ workflow: 'noc.deploy' }, '/workflow'],
    ] as const) {
      const reply = await gateway.post('ada', '/events', cloudEvent('1', more), cloudEvents);
      assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), [pointer]);
    }
    for (const caller of ['eve', 'ada', 'ada'] as const)
      assert.equal((await gateway.post(caller, '/events', cloudEvent('change 1'), cloudEvents)).status, 204);
    const kept = await gateway.store.messages({ after: 0, limit: 10 });
    assert.deepEqual(
      kept.map(({ event }) => (JSON.parse(event) as { readonly sender: string }).sender),
      ['eve', 'ada'],
    );
  });

  test('an event that is none gets 400 with every problem', async (t) => {
    const gateway = await runServer(t);
    const wrong: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[]])[] = [
      ['[]', cloudEvents, ['']],
      ['{}', batch, ['']],
      ['{}', cloudEvents, ['/id', '/source', '/specversion', '/type']],
      [
        JSON.stringify({
          specversion: '0.3',
          id: '',
          source: 'a b',
          type: 'a\nb',
          subject: 1,
          time: 'now',
          dataschema: 'x',
          datacontenttype: 'json',
          Large: 1,
          ratio: 1.5,
          list: [],
          data: 1,
          data_base64: '!',
        }),
        cloudEvents,
        [
          '/Large',
          '/data_base64',
          '/datacontenttype',
          '/dataschema',
          '/id',
          '/list',
          '/ratio',
          '/source',
          '/specversion',
          '/subject',
          '/time',
          '/type',
        ],
      ],
      [`[${cloudEvent('1')},1,{"specversion":"1.0","id":"2","source":"urn:a"}]`, batch, ['/1', '/2/type']],
      [`[${Array.from({ length: 101 }, (_, at) => cloudEvent(String(at))).join(',')}]`, batch, ['']],
    ];
    for (const [body, headers, pointers] of wrong) {
      const reply = await gateway.post('ada', '/events', body, headers);
      assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), pointers);
    }
    const twice = '{"specversion":"1.0","specversion":"1.0","id":"1","source":"urn:a"}';
    assert.deepEqual(pointersOf(assertProblem(await gateway.post('ada', '/events', twice, cloudEvents), 400, 'invalid-json')), [
      '/specversion',
      '/type',
    ]);
    assertProblem(await gateway.post('ada', '/events', cloudEvent('1')), 415, 'unsupported-media-type');
    const large = cloudEvent('1', { data: 'x'.repeat(300_000) });
    assertProblem(await gateway.post('ada', '/events', large, cloudEvents), 413, 'body-too-large');
    assert.deepEqual(await gateway.store.messages({ after: 0, limit: 10 }), []);
  });
});
