import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { auditLine } from '../src/cli/commands/records/audit-commands.ts';
import { post, relay, restCall } from './support/callers/calls.ts';
import { askToReload, hangUp, rewrite } from './support/gateway/reloading.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

/** A record as the command line gets it. */
type Shown = Parameters<typeof auditLine>[0];

// What a record says of a change: which automation, which settings, which rule. The outcomes are in audit-outcomes.test.ts.

const json = 'application/json';
const far = await upstream({ after });
const configuration = {
  config: { outbound: { allow: [far.authority], deny: ['192.0.2.0/24'] } },
  adapters: [{ name: 'NSO', kind: 'rest', url: far.url, denyPaths: { actions: ['secret/**'], queries: [] } }],
};
const gateway = await startGateway({ after }, configuration);

async function recordsWith(matches: (record: AuditRecord) => boolean, count: number): Promise<readonly AuditRecord[]> {
  let found: readonly AuditRecord[] = [];
  await until(`${count} records`, async () => {
    const reply = await gateway.send({ target: '/audit?limit=1000', role: 'admin' });
    found = (reply.json() as { readonly list: readonly AuditRecord[] }).list.filter(matches);
    return found.length >= count;
  });
  return found.toReversed();
}

const recordsOf = (requestId: string, count: number): Promise<readonly AuditRecord[]> =>
  recordsWith((record) => record.requestId?.startsWith(requestId) === true, count);

test('the record of a created, changed or deleted automation has its _id and name', async () => {
  const route = '/automation_catalog/automations';
  let count = 0;
  const headers = (mediaType = json): Readonly<Record<string, string>> => ({
    'Content-Type': mediaType,
    'X-Request-Id': `automation-${(count += 1)}`,
  });
  const created = await post(gateway, route, { name: 'first' }, { role: 'engineering', headers: headers() });
  const { _id } = created.json() as { readonly _id: string };
  const change = (method: string, body: string, mediaType?: string) =>
    gateway.send({ method, target: `${route}/${_id}`, role: 'admin', headers: headers(mediaType), body });
  assert.equal((await change('PUT', '{"name":"second"}')).status, 200);
  assert.equal((await change('PATCH', '{"name":"third"}', 'application/merge-patch+json')).status, 200);
  assert.equal(
    (await gateway.send({ method: 'DELETE', target: `${route}/${_id}`, role: 'admin', headers: headers() })).status,
    204,
  );
  assert.equal((await change('PUT', '{"name":"fourth"}')).status, 404);
  const found = await recordsOf('automation-', 5);
  assert.deepEqual(
    found.map(({ automation }) => automation),
    [{ _id, name: 'first' }, { _id, name: 'second' }, { _id, name: 'third' }, { _id, name: 'third' }, undefined],
  );
});

test('the record of a refusal has the rule in rule, and the sentence of the reply in detail', async () => {
  let count = 0;
  const headers = (): Readonly<Record<string, string>> => ({ 'X-Request-Id': `rule-${(count += 1)}` });
  const call = (uri: string) => restCall(gateway, { uri, verb: 'GET', responseHeaders: false }, { headers: headers() });
  const replies = [
    await relay(gateway, 'restAction', 'NSO', { params: { path: 'secret/x', accept: json }, body: {} }, { headers: headers() }),
    await call('http://192.0.2.1/'),
    await call('http://127.0.0.1:1/'),
    await restCall(gateway, {}, { role: 'readonly', headers: headers() }),
    await gateway.send({ target: '/audit', headers: headers() }),
  ];
  const found = await recordsOf('rule-', 5);
  assert.deepEqual(
    found.map(({ rule }) => rule),
    [
      'denyPaths.actions has "secret/**"',
      'outbound.deny has "192.0.2.0/24"',
      'no entry of outbound.allow admits it',
      undefined,
      undefined,
    ],
  );
  for (const [index, reply] of replies.entries())
    assert.equal(found[index]?.detail, (reply.json() as { readonly detail: string }).detail);
});

test('the record of a reload has the changed settings and who asked for it', async () => {
  const changed = (logLevel: string) => ({ ...configuration, config: { ...configuration.config, server: { logLevel } } });
  rewrite(gateway, changed('debug'));
  assert.equal((await askToReload(gateway, { 'X-Request-Id': 'reload-1' })).status, 200);
  rewrite(gateway, { ...changed('info'), adapters: [] });
  await hangUp(gateway);
  rewrite(gateway, configuration);
  await hangUp(gateway);
  const [byCaller, bySignal] = await recordsWith(({ event }) => event === 'configuration', 3);
  assert.deepEqual([byCaller?.principal, byCaller?.requestId], ['admin-user', 'reload-1']);
  assert.match(
    byCaller?.detail ?? '',
    /^taken in again, as "admin-user" asked: .*1 unchanged; settings: changed server\.logLevel$/,
  );
  assert.equal(bySignal?.principal, undefined);
  assert.match(bySignal?.detail ?? '', /as SIGHUP asked: adapter instances: removed "NSO"; .*server\.logLevel$/);
});

test('a line of audit list says that a reply was replayed, and of which request', async () => {
  far.answer(() => jsonReply('{}'));
  const act = (requestId: string) =>
    relay(
      gateway,
      'restAction',
      'NSO',
      { params: { path: 'x', accept: json }, body: {} },
      { headers: { 'Idempotency-Key': 'k', 'X-Request-Id': requestId } },
    );
  assert.equal((await act('replay-1')).status, 200);
  assert.equal((await act('replay-2')).header('idempotency-replayed'), 'true');
  const [made, replayed] = await recordsOf('replay-', 2);
  assert.ok(made !== undefined && replayed !== undefined);
  assert.doesNotMatch(auditLine(made as Shown), /replay/);
  assert.match(auditLine(replayed as Shown), / {2}replayed +admin-user .*\(the reply to replay-1, answered 200, /);
});
