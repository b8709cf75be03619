// suite: long, waiting

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { type Log, noLog } from '#base/log.ts';
import { Secret } from '#base/secret.ts';
import type { Database, StoreOptions } from '#database/database.ts';
import { createSender } from '#outbound/call/sender.ts';
import { createConnector } from '#outbound/dialling/connector.ts';
import { createResolver } from '#outbound/dialling/resolver.ts';
import type { NewEvent } from '#runs/journal/run-records.ts';
import { lapse } from '../../test/support/lapse.ts';
import { eachStore, type TestStore } from '../../test/support/stores/stores.ts';
import { until } from '../../test/support/until.ts';
import { httpReply, upstream } from '../../test/support/upstreams/upstream.ts';
import { WebhookReceiver } from '../../test/support/upstreams/webhook-receiver.ts';
import { announceAdapters } from './adapter-announcer.ts';
import { createAdapterHealthStore } from './adapter-health-store.ts';
import { type Notification, receiversOf } from './notification.ts';
import { createNotificationStore, type NotificationStore } from './notification-store.ts';
import { createNotifier } from './notifier.ts';
import { createWebhooks } from './webhook.ts';

const faulted = 'io.serverlessworkflow.workflow.faulted.v1';

/** Events as rows of the log, without the parts that write them. */
async function told(
  database: Database,
  events: readonly { readonly id: string; readonly type?: string; readonly at?: number }[],
) {
  for (const { id, type = faulted, at = Date.now() } of events) {
    const event = JSON.stringify({ specversion: '1.0', id, source: '/runs/1', type, data: { n: id } });
    const identity = Buffer.from(id.padEnd(32, '.')).toString('base64url');
    await database.records
      .insertInto('event_log')
      .values({ at, run: null, automation: null, kind: 'lifecycle', identity, event } as never)
      .execute();
  }
}

interface Place {
  readonly store: NotificationStore;
  readonly database: Database;
  readonly gaveUp: string[];
  readonly use: (...receivers: readonly WebhookReceiver[]) => void;
  readonly stop: () => Promise<void>;
}

/** One gateway's notifier on the store. */
async function place(
  t: TestContext,
  kind: TestStore,
  options: StoreOptions,
  delays: readonly number[] = [20, 20, 20],
): Promise<Place> {
  const database = await kind.open(t, options);
  const store = createNotificationStore({ database, clock: systemClock });
  const connect = createConnector({ resolve: createResolver({ concurrency: 2 }), timeouts: { dns: 1_000, connect: 1_000 } });
  const sender = createSender({ connect });
  const expressions = { evaluate: () => Promise.reject(new Error('No receiver here has an expression.')) };
  const gaveUp: string[] = [];
  const notifier = createNotifier({
    store,
    send: createWebhooks({ sender, expressions, clock: systemClock, userAgent: 'test' }),
    clock: systemClock,
    log: noLog,
    watcher: { expect() {}, attempted() {}, gaveUp: (receiver) => void gaveUp.push(receiver) },
    onEvents: () => () => {},
    delays,
    poll: 20,
  });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await notifier.stop();
    await sender.close();
  };
  t.after(stop);
  const use = (...receivers: readonly WebhookReceiver[]): void =>
    notifier.use(
      receiversOf(
        receivers.map(({ url, secret }) => ({
          url,
          secret: new Secret(secret),
          events: ['io.serverlessworkflow.workflow.*.v1'],
        })),
      ),
    );
  return { store, database, gaveUp, use, stop };
}

const idOf = (receiver: WebhookReceiver): string =>
  receiversOf([{ url: receiver.url, secret: new Secret(receiver.secret), events: [] }])[0]?.id ?? '';

/** Waits until the receiver is known to the store: from then on it gets every event. */
async function welcomed({ database }: Place, receiver: WebhookReceiver): Promise<void> {
  await until('the receiver is welcome', async () => {
    const rows = await database.read.selectFrom('notification_receiver').selectAll().where('id', '=', idOf(receiver)).execute();
    return rows[0]?.disabled_at === null;
  });
}

async function settled({ store }: Place, receiver: WebhookReceiver, count: number): Promise<readonly Notification[]> {
  let list: readonly Notification[] = [];
  await until(`${count} notifications are over`, async () => {
    list = await store.list({ receivers: [idOf(receiver)] }, { limit: 1_000 });
    return list.filter(({ status }) => status !== 'waiting').length >= count;
  });
  return list;
}

eachStore((kind) => {
  test('an event that a receiver wants is delivered once, in order, and listed', async (t) => {
    const one = await place(t, kind, await kind.fresh(t));
    await told(one.database, [{ id: 'before' }]);
    const receiver = await WebhookReceiver.start(t);
    one.use(receiver);
    await welcomed(one, receiver);
    await told(one.database, [{ id: 'a' }, { id: 'unwanted', type: 'io.serverlessworkflow.task.faulted.v1' }]);
    await told(one.database, [{ id: 'old', at: Date.now() - 25 * 3_600_000 }]);
    await receiver.has(1);
    await told(one.database, [{ id: 'b' }]);
    const events = await receiver.has(2);
    assert.deepEqual(
      events.map(({ id, data }) => [id, data['n']]),
      [
        ['a', 'a'],
        ['b', 'b'],
      ],
    );
    const list = await settled(one, receiver, 2);
    assert.deepEqual(
      list.map(({ status, attempts, lastStatus, dueAt, webhookId }) => [status, attempts, lastStatus, dueAt, webhookId]),
      events.toReversed().map(({ webhookId }) => ['delivered', 1, 204, undefined, webhookId]),
    );
  });

  test('a failed attempt is repeated with the same id until it succeeds or the attempts are used up', async (t) => {
    const one = await place(t, kind, await kind.fresh(t));
    const [flaky, broken] = [await WebhookReceiver.start(t), await WebhookReceiver.start(t)];
    const answers = [
      httpReply({ status: 500 }),
      httpReply({ status: 302, headers: { Location: broken.url } }),
      httpReply({ status: 200 }),
    ];
    flaky.answer = () => answers.shift();
    broken.answer = (_request, socket) => void socket.destroy();
    one.use(flaky, broken);
    await welcomed(one, flaky);
    await welcomed(one, broken);
    await told(one.database, [{ id: 'a' }]);
    const [delivered] = await settled(one, flaky, 1);
    assert.deepEqual([delivered?.status, delivered?.attempts, delivered?.lastStatus], ['delivered', 3, 200]);
    assert.equal(new Set(flaky.attempts.map(({ webhookId }) => webhookId)).size, 1);
    const [failed] = await settled(one, broken, 1);
    assert.deepEqual(
      [failed?.status, failed?.attempts, failed?.lastStatus, failed?.lastCode],
      ['failed', 4, undefined, 'upstream-closed'],
    );
    assert.deepEqual(one.gaveUp, [new URL(broken.url).host]);
  });

  test('Retry-After of a receiver is honoured', async (t) => {
    const one = await place(t, kind, await kind.fresh(t));
    const receiver = await WebhookReceiver.start(t);
    receiver.answer = () => httpReply({ status: 429, headers: { 'Retry-After': '600' } });
    one.use(receiver);
    await welcomed(one, receiver);
    await told(one.database, [{ id: 'a' }]);
    await receiver.has(1);
    await until('the next attempt is late', async () => {
      const [waiting] = await one.store.list({ receivers: [idOf(receiver)] }, { limit: 1 });
      return waiting?.lastStatus === 429 && (waiting.dueAt ?? 0) > Date.now() + 500_000;
    });
  });

  test('a receiver that is gone gets nothing more until it is used again', async (t) => {
    const one = await place(t, kind, await kind.fresh(t));
    const receiver = await WebhookReceiver.start(t);
    receiver.answer = () => httpReply({ status: 410 });
    one.use(receiver);
    await welcomed(one, receiver);
    await told(one.database, [{ id: 'a' }]);
    await until(
      'the receiver is disabled',
      async () => (await one.store.figures([idOf(receiver)])).get(idOf(receiver))?.state === 'gone',
    );
    await told(one.database, [{ id: 'b' }]);
    const { length } = receiver.far.requests;
    receiver.answer = () => httpReply({ status: 204 });
    one.use(receiver);
    await welcomed(one, receiver);
    await told(one.database, [{ id: 'c' }]);
    await until('the next event arrives', () => receiver.attempts.some(({ id }) => id === 'c'));
    assert.equal(length, 1);
    const list = await one.store.list({ receivers: [idOf(receiver)] }, { limit: 10 });
    assert.deepEqual(list.find(({ attempts, lastStatus }) => attempts === 1 && lastStatus === 410)?.status, 'failed');
  });

  test('a receiver that hangs or answers without end holds no other one up', async (t) => {
    const one = await place(t, kind, await kind.fresh(t));
    const [hanging, endless, well] = [
      await WebhookReceiver.start(t),
      await WebhookReceiver.start(t),
      await WebhookReceiver.start(t),
    ];
    hanging.answer = () => undefined;
    endless.answer = (_request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n');
      socket.write(Buffer.alloc(200_000, 'x'));
    };
    one.use(hanging, endless, well);
    for (const receiver of [hanging, endless, well]) await welcomed(one, receiver);
    const many = Array.from({ length: 30 }, (_, index) => ({ id: `n${index}` }));
    await told(one.database, many);
    await well.has(30);
    await settled(one, well, 30);
    await until('the hanging one has all that it may have at once', () => hanging.far.requests.length === 4);
    await one.stop();
    assert.equal(hanging.far.requests.length, 4);
  });

  test('what a stopped gateway did not deliver, the next one does', async (t) => {
    const options = await kind.fresh(t);
    const one = await place(t, kind, options, [60_000]);
    const receiver = await WebhookReceiver.start(t);
    receiver.answer = () => undefined;
    one.use(receiver);
    await welcomed(one, receiver);
    await told(one.database, [{ id: 'a' }]);
    await receiver.has(1);
    await one.stop();
    await told(one.database, [{ id: 'b' }]);
    receiver.answer = () => httpReply({ status: 200 });
    const two = await place(t, kind, options);
    two.use(receiver);
    const list = await settled(two, receiver, 2);
    assert.deepEqual(
      list.map(({ status }) => status),
      ['delivered', 'delivered'],
    );
    const ids = receiver.attempts.map(({ id }) => id);
    assert.deepEqual(ids.toSorted(), ['a', 'a', 'b'], 'at least once, and no more often than needed');
  });

  test('several gateways on a store deliver each of many events once', async (t) => {
    const options = await kind.fresh(t);
    const places = [await place(t, kind, options), ...(kind.dialect === 'postgres' ? [await place(t, kind, options)] : [])];
    const receiver = await WebhookReceiver.start(t);
    for (const one of places) one.use(receiver);
    const [first] = places;
    assert.ok(first !== undefined);
    await welcomed(first, receiver);
    // More than one page.
    await told(
      first.database,
      Array.from({ length: 450 }, (_, index) => ({ id: `n${index}` })),
    );
    await settled(first, receiver, 450);
    const ids = receiver.attempts.map(({ id }) => id);
    assert.equal(ids.length, 450);
    assert.equal(new Set(ids).size, 450);
  });

  test('a notification that is under way at a gateway is not taken, nor settled by one that lost it', async (t) => {
    const database = await kind.open(t);
    const store = createNotificationStore({ database, clock: systemClock });
    await store.welcome('r');
    await told(database, [{ id: 'a' }]);
    assert.equal(await store.scan('r', { wants: () => true, since: 0 }), false);
    const [claimed] = await store.claim('r', { limit: 4, lease: 0 });
    assert.ok(claimed !== undefined);
    const [again] = await store.claim('r', { limit: 4, lease: 60_000 });
    assert.equal(again?.attempts, 2);
    assert.deepEqual(await store.claim('r', { limit: 4, lease: 60_000 }), []);
    await store.settle(claimed, { status: 'delivered', outcome: { kind: 'delivered', status: 200 } });
    assert.equal((await store.list({ receivers: ['r'] }, { limit: 1 }))[0]?.status, 'waiting');
    await store.settle(again, { status: 'delivered', outcome: { kind: 'delivered', status: 200 } });
    assert.equal((await store.list({ receivers: ['r'], status: 'delivered' }, { limit: 1 })).length, 1);
    assert.equal(await store.forget({ before: Date.now() + 60_000, limit: 10 }), 1);
  });

  test('an adapter instance that goes down is one event of all gateways and a line of each, and up again another', async (t) => {
    const options = await kind.fresh(t);
    const events = new Map<string, NewEvent>();
    const lines: string[] = [];
    const log: Log = {
      ...noLog,
      warn: (message, fields) => void lines.push(`${message} ${fields?.adapter} ${fields?.code}`),
      info: (message, fields) => void lines.push(`${message} ${fields?.adapter}`),
    };
    const announcer = async () => {
      const database = await kind.open(t, options);
      const adapter = { name: 'Local NSO', state: 'unknown' as 'unknown' | 'online' | 'degraded' | 'offline' };
      const publish = async (published: readonly NewEvent[]): Promise<void> => {
        for (const event of published) events.set(identityOf(event), event);
      };
      const standing = () => ({ state: adapter.state, lastError: { code: 'upstream-connect-failed' } });
      const adapters = () => [{ name: adapter.name, standing }];
      const announcing = announceAdapters({
        health: createAdapterHealthStore(database),
        adapters,
        publish,
        clock: systemClock,
        log,
        interval: 5,
      });
      t.after(() => announcing.stop());
      return adapter;
    };
    const seen = [await announcer(), ...(kind.dialect === 'postgres' ? [await announcer(), await announcer()] : [])];
    const all = async (state: 'online' | 'degraded' | 'offline', count: number): Promise<void> => {
      for (const adapter of seen) adapter.state = state;
      await until(`${count} events`, () => events.size === count);
      await lapse(50, 'an announcer with an interval of 5 ms would announce again');
      assert.equal(events.size, count);
    };
    await all('online', 0);
    await all('offline', 1);
    await all('degraded', 2);
    await all('offline', 3);
    const written = [...events.values()].map(
      ({ event }) => JSON.parse(event) as { readonly type: string; readonly data: object },
    );
    const down = {
      type: 'orchestration-gateway.adapter.down.v1',
      data: { adapter: 'Local NSO', state: 'offline', code: 'upstream-connect-failed' },
    };
    const up = { type: 'orchestration-gateway.adapter.up.v1', data: { adapter: 'Local NSO', state: 'degraded' } };
    assert.deepEqual(
      written.map(({ type, data }) => ({ type, data })),
      [down, up, down],
    );
    const [offline, online] = [
      'an adapter instance is offline Local NSO upstream-connect-failed',
      'an adapter instance is online again Local NSO',
    ];
    const expected = [offline, online, offline].flatMap((line) => seen.map(() => line));
    assert.deepEqual(lines, expected);
  });
});

function identityOf({ event }: NewEvent): string {
  const { source, id } = JSON.parse(event) as { readonly source: string; readonly id: string };
  return `${source} ${id}`;
}

test('receivers with one host and port get names of their own, without path and query', async (t) => {
  const far = await upstream(t);
  const urls = [`${far.url}/a?key=secret`, `${far.url}/b`, 'https://hooks.example.net/x'];
  const receivers = receiversOf(urls.map((url) => ({ url, events: ['**'], secret: new Secret('whsec_') })));
  assert.deepEqual(
    receivers.map(({ name }) => name),
    [far.authority, `${far.authority} #2`, 'hooks.example.net'],
  );
  assert.equal(new Set(receivers.map(({ id }) => id)).size, 3);
});
