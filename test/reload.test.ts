import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import { assertProblem, instancesOf, relay, responseOf, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { askToReload, hangUp, logCaughtUp, logLines, type Reloaded, reloadWith, rewrite } from './support/gateway/reloading.ts';
import { type Gateway, startGateway, testPasswordHash } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { createAuthority } from './support/upstreams/certificate.ts';
import { httpReply, jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// SIGHUP and POST /adapters/reload read the configuration again; calls in flight keep the one with which they began
// (docs/reference/configuration.md, Reloading).

const [old, young] = [await upstream({ after }), await upstream({ after })];
const patience = { timeout: 60_000 };
const params = { path: 'x', accept: 'application/json' };

function adapterAt(far: Upstream, more: object = {}): Readonly<Record<string, unknown>> {
  return { name: 'a', kind: 'rest', url: far.url, auth: { type: 'none' }, ...more };
}

const reloadAdapters = (gateway: Gateway, ...adapters: readonly Readonly<Record<string, unknown>>[]): Promise<Reloaded> =>
  reloadWith(gateway, { adapters, config: { outbound: { allow: [old.authority, young.authority] } } });

const shared = await startGateway({ after });

/** The shared gateway with the configuration that a test begins with. No connection of an earlier test is left. */
async function started(...adapters: readonly Readonly<Record<string, unknown>>[]): Promise<Gateway> {
  await reloadAdapters(shared);
  await reloadAdapters(shared, ...adapters);
  await logCaughtUp(shared);
  return shared;
}

const query = (gateway: Gateway, adapter = 'a'): Promise<Reply> => relay(gateway, 'restQuery', adapter, { params });

/** Makes the upstream hold its answers back; the result sends all of them. */
function holdBack(far: Upstream): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  far.answer(async () => {
    await promise;
    return jsonReply('{"from":"old"}');
  });
  return resolve;
}

test('a call in flight gets its reply from the old address, and new calls go to the new one', patience, async () => {
  const gateway = await started(adapterAt(old));
  const release = holdBack(old);
  young.answer(() => jsonReply('{"from":"young"}'));
  const before = query(gateway);
  await until('the call has arrived', () => old.requests.length === 1);
  const { adapters, restartNeeded } = await reloadAdapters(gateway, adapterAt(young));
  assert.deepEqual(adapters, { added: [], removed: [], changed: ['a'], unchanged: [] });
  assert.deepEqual(restartNeeded, []);
  assert.deepEqual(instancesOf(await query(gateway)), [{ from: 'young' }]);
  release();
  assert.deepEqual(instancesOf(await before), [{ from: 'old' }]);
});

test('a reply that streams is complete although its adapter instance was removed meanwhile', patience, async () => {
  const gateway = await started(adapterAt(old));
  const half = Buffer.alloc(512 * 1024, 'x');
  const { promise, resolve } = Promise.withResolvers<void>();
  old.answer(async (_request, socket) => {
    socket.write(`HTTP/1.1 200 X\r\nContent-Type: text/plain\r\nContent-Length: ${2 * half.length}\r\n\r\n`);
    socket.write(half);
    await promise;
    return half;
  });
  const before = query(gateway);
  await until('the call has arrived', () => old.requests.length === 1);
  const { adapters } = await reloadAdapters(gateway);
  assert.deepEqual(adapters.removed, ['a']);
  assertProblem(await query(gateway), 404, 'adapter-not-found');
  resolve();
  const reply = await before;
  assert.ok(reply.complete);
  assert.equal(instancesOf(reply)[0]?.['content']?.length, 2 * half.length);
});

test('calls that wait for a slot of a replaced adapter instance go to the old address', patience, async () => {
  const gateway = await started(adapterAt(old, { concurrency: 1 }));
  const release = holdBack(old);
  const waiting = [query(gateway), query(gateway), query(gateway)];
  await until('one call has arrived', () => old.requests.length === 1);
  // The other two are in the queue once the gateway has answered a later request.
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  await lapse(200, 'the other two reach the queue');
  await reloadAdapters(gateway);
  release();
  for (const reply of await Promise.all(waiting)) assert.deepEqual(instancesOf(reply), [{ from: 'old' }]);
});

test('a query between two attempts makes the second although its adapter instance was removed', patience, async () => {
  const gateway = await started(adapterAt(old));
  old.answer(() =>
    old.requests.length === 1
      ? httpReply({ status: 503, headers: { 'Retry-After': '2' }, body: 'not now' })
      : jsonReply('{"from":"old"}'),
  );
  const before = query(gateway);
  await until('the first attempt has arrived', () => old.requests.length === 1);
  await reloadAdapters(gateway);
  assert.deepEqual(instancesOf(await before), [{ from: 'old' }]);
});

test('an action whose intent waits for the store while its adapter instance is replaced goes to the old address', {
  timeout: 60_000,
}, async (t) => {
  const gateway = await started(adapterAt(old));
  old.answer(() => jsonReply('{"from":"old"}'));
  const store = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'));
  t.after(() => store.close());
  store.exec('begin immediate');
  const action = relay(gateway, 'restAction', 'a', { params, body: {} });
  await lapse(300, 'the intent waits for the store');
  await reloadAdapters(gateway, adapterAt(young));
  store.exec('rollback');
  assert.deepEqual((await action).json(), [{ result: '{"from":"old"}' }]);
});

test('an adapter instance with an unchanged configuration keeps its connection when another is added', patience, async (t) => {
  const password = temporaryFile(t, 'password', 'one');
  const auth = { type: 'basic', username: 'u', password: { file: password } };
  const gateway = await started(adapterAt(old, { auth }));
  old.answer(() => jsonReply('{}'));
  await query(gateway);
  const { adapters } = await reloadAdapters(gateway, adapterAt(young, { name: 'b' }), adapterAt(old, { auth }));
  assert.deepEqual(adapters, { added: ['b'], removed: [], changed: [], unchanged: ['a'] });
  await query(gateway);
  assert.equal(old.connections, 1);
  assert.equal(old.requests.length, 2);
});

test('an adapter instance stays when the file of its secret has a new value, and sends the new value', patience, async (t) => {
  const token = temporaryFile(t, 'token', 'first-token');
  const auth = { type: 'bearer', token: { file: token } };
  const gateway = await started(adapterAt(old, { auth }));
  writeFileSync(token, 'second-token\n');
  const { adapters } = await reloadAdapters(gateway, adapterAt(old, { auth }));
  assert.deepEqual(adapters.unchanged, ['a']);
  old.answer(() => jsonReply('{}'));
  await query(gateway);
  assert.equal(old.request.header('authorization'), 'Bearer second-token');
});

test('SIGHUP reloads as well, and the log says what changed', patience, async () => {
  const gateway = await started(adapterAt(old));
  rewrite(gateway, {
    adapters: [
      adapterAt(young),
      { name: 'insecure', kind: 'rest', url: 'https://127.0.0.1:9', auth: { type: 'none' }, tls: { verify: false } },
    ],
    config: { server: { port: 1, openMetrics: true } },
  });
  const lines = await hangUp(gateway);
  const done = lines.find(({ msg }) => msg === 'the configuration was taken in again');
  assert.equal(done?.reason, 'adapter instances: added "insecure"; changed "a"; 0 unchanged; settings: changed outbound.allow');
  const restart = lines.find(({ msg }) => msg.includes('restart'));
  assert.deepEqual([restart?.level, restart?.reason], ['warn', 'server.port, server.openMetrics']);
  assert.ok(
    lines.some(({ level, reason }) => level === 'warn' && reason?.startsWith('adapters[1].tls.verify')),
    JSON.stringify(lines),
  );
  young.answer(() => jsonReply('{"from":"young"}'));
  assert.deepEqual(instancesOf(await query(gateway)), [{ from: 'young' }]);
});

test('a reload names every key that it changed, and separately each key that needs a restart', patience, async () => {
  const gateway = await started(adapterAt(old));
  const adapters = [adapterAt(old)];
  const outbound = { allow: [old.authority], redirects: 2 };
  const automations = { tasks: 1, retention: '1d' };
  const changed = await reloadWith(gateway, {
    adapters,
    config: { server: { port: 1, logLevel: 'warn' }, outbound, automations },
  });
  assert.deepEqual(changed.settings, ['server.logLevel', 'outbound.allow', 'outbound.redirects']);
  assert.deepEqual(changed.restartNeeded, ['server.port', 'automations.tasks', 'automations.retention']);
  const users = [{ username: 'ada', passwordHash: testPasswordHash, roles: ['readonly'], groups: [] }];
  rewrite(gateway, { adapters, config: { server: { port: 1 }, outbound }, users });
  const done = (await hangUp(gateway)).find(({ msg }) => msg === 'the configuration was taken in again');
  assert.equal(done?.reason, 'adapter instances: 1 unchanged; settings: changed server.logLevel, access.users');
  rewrite(gateway, { adapters, config: { server: { port: 1 }, outbound }, users });
  const again = (await hangUp(gateway)).find(({ msg }) => msg === 'the configuration was taken in again');
  assert.equal(again?.reason, 'adapter instances: 1 unchanged');
});

test('R11: a destination that a reload denies is denied for the next call, even over an open connection', patience, async () => {
  const gateway = await started();
  const uri = `${old.url}/x`;
  const call = { uri, verb: 'GET', responseHeaders: false };
  old.answer(() => jsonReply('{"a":1}'));
  assert.equal(responseOf(await restCall(gateway, call)), '{"a":1}');
  await reloadWith(gateway, { config: { outbound: { allow: [old.authority], deny: [old.authority] } } });
  assertProblem(await restCall(gateway, call), 403, 'destination-denied');
  assert.equal(old.requests.length, 1);
  await reloadWith(gateway, { config: { outbound: { allow: [old.authority], responseLimit: '1KiB' } } });
  old.answer(() => jsonReply(JSON.stringify('x'.repeat(2_000))));
  assertProblem(await restCall(gateway, call), 502, 'response-too-large');
});

test('a call that is redirected after a reload follows the policy with which it began', patience, async () => {
  const gateway = await started();
  const { promise, resolve } = Promise.withResolvers<void>();
  old.answer(async ({ target }) => {
    if (target === '/end') return jsonReply('"end"');
    await promise;
    return httpReply({ status: 302, headers: { Location: '/end' } });
  });
  const before = restCall(gateway, { uri: `${old.url}/begin`, verb: 'GET', responseHeaders: false });
  await until('the call has arrived', () => old.requests.length === 1);
  await reloadWith(gateway, { config: { outbound: { allow: [young.authority] } } });
  resolve();
  assert.equal(responseOf(await before), '"end"');
});

test('a reload changes the rate limit and the log level', patience, async () => {
  const gateway = await started(adapterAt(old));
  old.answer(() => jsonReply('{}'));
  const adapters = [adapterAt(old)];
  rewrite(gateway, { adapters, config: { server: { rateLimit: { calls: 1, per: '1h' }, logLevel: 'error' } } });
  const silent = [await askToReload(gateway), await query(gateway), await query(gateway)] as const;
  assert.deepEqual([silent[0].status, silent[1].status], [200, 200]);
  assertProblem(silent[2], 429, 'too-many-requests');
  // A reload does not give a caller new calls.
  await reloadWith(gateway, { adapters, config: { server: { rateLimit: { calls: 1, per: '1h' } } } });
  const still = await query(gateway);
  assertProblem(still, 429, 'too-many-requests');
  await reloadWith(gateway, { adapters });
  const unlimited = await query(gateway);
  assert.equal(unlimited.status, 200);
  const isLogged = (reply: Reply): boolean =>
    logLines(gateway).some(({ msg, requestId }) => msg === 'request' && requestId === reply.header('x-request-id'));
  await until('requests are logged again', () => isLogged(still) && isLogged(unlimited));
  assert.deepEqual(silent.map(isLogged), [false, false, false]);
});

test('the listener shows a replaced certificate to the next connection', patience, async (t) => {
  const authority = createAuthority();
  const identities = [authority.issue({ names: ['127.0.0.1'] }), authority.issue({ names: ['127.0.0.1'] })] as const;
  const files = identities.map(({ cert, key }) => ({
    certFile: temporaryFile(t, 'cert.pem', cert),
    keyFile: temporaryFile(t, 'key.pem', key),
  }));
  const gateway = await startGateway(t, { config: { server: { tls: files[0] } } });
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: gateway.port, host: '127.0.0.1', ca: authority.cert }, () => {
        resolve(socket.getPeerX509Certificate()?.toString() ?? '');
        socket.destroy();
      }).on('error', reject);
    });
  assert.equal(await shown(), identities[0].cert);
  rewrite(gateway, { config: { server: { tls: files[1] } } });
  await hangUp(gateway);
  assert.equal(await shown(), identities[1].cert);
  rewrite(gateway, {});
  const lines = await hangUp(gateway);
  assert.equal(lines.find(({ msg }) => msg.includes('restart'))?.reason, 'server.tls');
  assert.equal(await shown(), identities[1].cert);
  rewrite(gateway, { config: { server: { tls: files[0] } } });
  assert.ok((await hangUp(gateway)).some(({ reason }) => reason?.endsWith('; settings: changed server.tls')));
  assert.equal(await shown(), identities[0].cert);
});

test('a reload does not report a certificate as changed while HTTPS itself needs a restart', patience, async (t) => {
  const authority = createAuthority();
  const gateway = await started();
  for (let count = 0; count < 2; count += 1) {
    const { cert, key } = authority.issue({ names: ['127.0.0.1'] });
    const tls = { certFile: temporaryFile(t, 'cert.pem', cert), keyFile: temporaryFile(t, 'key.pem', key) };
    const { settings, restartNeeded } = await reloadWith(gateway, { config: { server: { tls } } });
    assert.deepEqual([settings.includes('server.tls'), restartNeeded], [false, ['server.tls']]);
  }
});
