// suite: long
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { noLog } from '../src/base/log.ts';
import { Secret } from '../src/base/secret.ts';
import { openDatabase } from '../src/database/database.ts';
import { assertProblem, post } from './support/callers/calls.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { noOwnPostgres, ownPostgres, ownStandby } from './support/stores/own-postgres.ts';
import { until } from './support/until.ts';

// A store with a standby, which is promoted; a PostgreSQL that is frozen, and one that takes no writes.

const route = '/automation_catalog/automations';

const created = (gateway: Gateway, name: string) => post(gateway, route, { name });

const isReady = async (gateway: Gateway): Promise<boolean> => (await gateway.send({ target: '/readyz' })).status === 200;

/** The value of a metric without labels, or with these. */
async function metric(gateway: Gateway, series: string): Promise<string | undefined> {
  const { text } = await gateway.send({ target: '/metrics', role: 'readonly' });
  return text
    .split('\n')
    .find((line) => line.startsWith(`${series} `))
    ?.split(' ')[1];
}

test('a gateway with two hosts works on the primary, and on the standby once it is promoted', {
  skip: noOwnPostgres,
}, async (t) => {
  const primary = await ownPostgres(t);
  const standby = await ownStandby(t, primary);
  // The standby is the first host, so each new connection passes it over.
  const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`;
  const url = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
  const [one, two] = await Promise.all([1, 2].map(() => startGateway(t, { config: { store: { url } } })));
  assert.ok(one !== undefined && two !== undefined);
  assert.equal((await created(one, 'before')).status, 201);
  assert.ok(await isReady(one));
  // The old primary stays alive and turns read-only: its open connections are given up, not only new ones.
  await primary.run('alter system set default_transaction_read_only = on', 'select pg_reload_conf()');
  const refused = await until('a change is refused', async () => {
    const reply = await created(one, `late ${performance.now()}`);
    return reply.status === 201 ? undefined : reply;
  });
  const { detail } = assertProblem(refused, 503, 'store-unavailable');
  assert.match(refused.header('retry-after') ?? '', /^\d+$/u);
  assert.doesNotMatch(detail, /operator makes it writable/u);
  assertProblem(await one.send({ target: '/readyz' }), 503, 'store-unavailable');
  const promotedAt = performance.now();
  await standby.run('select pg_promote()');
  await until('both gateways change the new primary', async () => {
    const replies = await Promise.all([created(one, `1 ${performance.now()}`), created(two, `2 ${performance.now()}`)]);
    return replies.every(({ status }) => status === 201);
  });
  await until('both are ready', async () => (await isReady(one)) && (await isReady(two)));
  t.diagnostic(`both gateways are ready ${Math.round(performance.now() - promotedAt)} ms after the promotion began`);
  await primary.stop('immediate');
  for (const gateway of [one, two]) {
    assert.equal((await created(gateway, `${gateway.port}`)).status, 201);
    assert.ok(!gateway.stderr.some((line) => line.includes('no notifications')));
  }
});

test('a gateway with two hosts of which none is a primary does not start, and says why', { skip: noOwnPostgres }, async (t) => {
  const primary = await ownPostgres(t);
  const standby = await ownStandby(t, primary);
  await primary.stop('fast');
  const url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`;
  const store = { kind: 'postgres', url: new Secret(url) } as const;
  await assert.rejects(openDatabase({ store, log: noLog }), /ECONNREFUSED, read-only\): no host of store\.url is a primary/u);
});

test('the metrics of a gateway whose PostgreSQL is frozen come within some two seconds', {
  skip: noOwnPostgres,
}, async (t) => {
  const postgres = await ownPostgres(t);
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const receiver = { url: 'http://127.0.0.1:9/', secret };
  const config = { store: { url: postgres.url }, notifications: [receiver], server: { openMetrics: true } };
  const gateway = await startGateway(t, { config });
  const waiting = 'gateway_notifications_waiting{receiver="127.0.0.1:9"}';
  await until('the gauges have values', async () => (await metric(gateway, waiting)) === '0');
  assert.equal(await metric(gateway, 'gateway_store_up'), '1');
  postgres.freeze();
  await lapse(5_100, 'the figures of the store count for five seconds');
  for (let scrape = 0; scrape < 3; scrape += 1) {
    const startedAt = performance.now();
    const [up, still] = await Promise.all([metric(gateway, 'gateway_store_up'), metric(gateway, waiting)]);
    const took = performance.now() - startedAt;
    t.diagnostic(`/metrics took ${Math.round(took)} ms`);
    assert.ok(took < 2_000, `${took} ms`);
    assert.deepEqual([up, still], ['0', '0']);
  }
  postgres.thaw();
  await until('the store is up', async () => (await metric(gateway, 'gateway_store_up')) === '1');
});

test('a PostgreSQL that refuses writes makes a gateway unready, with one line of the log for each part', {
  skip: noOwnPostgres,
}, async (t) => {
  const postgres = await ownPostgres(t);
  const adapters = [{ name: 'Far', kind: 'rest', url: 'http://127.0.0.1:9' }];
  const gateway = await startGateway(t, { config: { store: { url: postgres.url } }, adapters });
  assert.equal((await created(gateway, 'before')).status, 201);
  // 53100 as of a full disk, in turns with writes that succeed.
  const refusing = (table: string): string =>
    `create trigger full_disk before insert or update on ${table} execute function full_disk()`;
  await postgres.run(
    `create function full_disk() returns trigger language plpgsql as $$ begin raise sqlstate '53100'; end $$`,
    refusing('automation_text'),
  );
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const reply = await created(gateway, `refused ${attempt}`);
    assert.match(assertProblem(reply, 503, 'store-unavailable').detail, /disk of the store is full/u);
    await until('another write succeeds', () => isReady(gateway));
  }
  assert.equal(gateway.stderr.filter((line) => line.includes('the store is unavailable')).length, 1);
  assert.ok(!gateway.stderr.some((line) => line.includes('the store answers again')));
  await postgres.run('drop trigger full_disk on automation_text', refusing('audit_chain'), refusing('audit_entry'));
  const refused = await until('the gateway is not ready', async () => {
    const reply = await gateway.send({ target: '/readyz' });
    return reply.status === 200 ? undefined : reply;
  });
  assertProblem(refused, 503, 'store-unavailable');
  const action = { params: { path: 'x', accept: 'application/json' }, body: {} };
  assertProblem(await post(gateway, '/orchestrator_manager/restAction/Far', action), 503, 'audit-unavailable');
  const unwritten = await until('the log says so', () =>
    gateway.stderr.find((line) => line.includes('audit log cannot be written')),
  );
  assert.match(unwritten, /"reason":"store: 53100"/u);
  await postgres.run('drop trigger full_disk on audit_chain', 'drop trigger full_disk on audit_entry');
  await until('the gateway is ready', () => isReady(gateway));
  await until('the log says so', () => gateway.stderr.some((line) => /the store answers again.*failures/u.test(line)));
});
