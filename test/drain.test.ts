// suite: long

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, type TestContext, test } from 'node:test';
import { instancesOf, relay, responseOf, restCall, resultOf } from './support/callers/calls.ts';
import { type Connection, openConnection, type Reply, requestBytes } from './support/callers/http-client.ts';
import { spawnCommand } from './support/gateway/command.ts';
import { logLines } from './support/gateway/reloading.ts';
import { configurationOf, type GatewayProcess, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { accepts } from './support/listen.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// SIGTERM and SIGINT: no new connections, calls in flight end, exit code 0 (docs/reference/command-line.md).

const far = await upstream({ after });
const large = Buffer.alloc(300 * 1024, 'x');
const accept = '*/*';

function started(t: TestContext, drain = '30s'): Promise<GatewayProcess> {
  return startGatewayProcess(t, {
    config: { server: { drain }, outbound: { allow: [far.authority] } },
    adapters: [{ name: 'a', kind: 'rest', url: far.url, auth: { type: 'none' }, concurrency: 300 }],
  });
}

interface Kind {
  readonly target: string;
  readonly body: object;
  readonly answered: (reply: Reply) => string | undefined;
}

/** Calls by each route; the reply to `large` is so long that it streams. */
const kinds: readonly Kind[] = ['small', 'large'].flatMap((path) => [
  { target: '/tools/restCall', body: { uri: `${far.url}/${path}`, verb: 'POST', responseHeaders: false }, answered: responseOf },
  { target: '/orchestrator_manager/restAction/a', body: { params: { path, accept }, body: {} }, answered: resultOf },
  {
    target: '/orchestrator_manager/restQuery/a',
    body: { params: { path, accept } },
    answered: (reply) => instancesOf(reply)[0]?.[path === 'large' ? 'content' : 'text'],
  },
]);

const expected = (kind: Kind): string => {
  if (JSON.stringify(kind.body).includes('large')) return large.toString();
  return kind.target.includes('restQuery') ? 'small' : '{"text":"small"}';
};

/** Holds replies back until the result is called. Half of the large ones send their first 128 KiB before. */
function holdBack(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  far.answer(async ({ target }, socket) => {
    count += 1;
    const begins = target === '/large' && count % 2 === 0;
    const whole =
      target === '/large' ? httpReply({ headers: { 'Content-Type': 'text/plain' }, body: large }) : jsonReply('{"text":"small"}');
    const early = begins ? 128 * 1024 : 0;
    if (begins) socket.write(whole.subarray(0, early));
    await promise;
    return whole.subarray(early);
  });
  return resolve;
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`R76: ${signal} under 400 calls loses none of them, and refuses new connections`, { timeout: 120_000 }, async (t) => {
    const gateway = await started(t);
    const authorization = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
    const headers = { ...authorization, 'Content-Type': 'application/json', Connection: 'keep-alive' };
    const release = holdBack();
    const connections: Connection[] = [];
    const replies: Promise<Reply | undefined>[] = [];
    for (let at = 0; at < 200; at += 1) {
      const connection = await openConnection(gateway.port);
      t.after(() => connection.socket.destroy());
      connections.push(connection);
      const { target, body } = kinds[at % kinds.length] as Kind;
      connection.write(requestBytes(gateway.port, { method: 'POST', target, headers, body: JSON.stringify(body) }));
      replies.push(connection.reply());
    }
    const call = { uri: `${far.url}/small`, verb: 'GET', responseHeaders: false };
    const query = { params: { path: 'small', accept } };
    const others = Array.from({ length: 100 }, () => [
      restCall(gateway, call, { headers: authorization }).then(responseOf),
      relay(gateway, 'restQuery', 'a', query, { headers: authorization }).then((reply) => instancesOf(reply)[0]?.['text']),
    ]).flat();
    await until('400 calls have arrived', () => far.requests.length === 400);
    const idle = await openConnection(gateway.port);
    t.after(() => idle.socket.destroy());
    const stopped = gateway.stop(signal);
    await until('the drain is in the log', () => logLines(gateway).some(({ msg }) => msg.startsWith('draining')));
    await until('the port is closed', async () => !(await accepts(gateway.port)));
    release();
    for (const [at, reply] of (await Promise.all(replies)).entries()) {
      const kind = kinds[at % kinds.length] as Kind;
      assert.ok(reply?.complete, `${at}: ${kind.target} was cut off`);
      assert.equal(kind.answered(reply), expected(kind), `${at}: ${kind.target}`);
      // Without it the caller would send its next request on a connection that is about to end.
      if (!JSON.stringify(kind.body).includes('large')) assert.equal(reply.header('connection'), 'close');
    }
    for (const [at, answer] of (await Promise.all(others)).entries())
      assert.equal(answer, at % 2 === 0 ? '{"text":"small"}' : 'small');
    assert.equal(await stopped, 0);
    for (const connection of [...connections, idle]) assert.equal(await connection.reply(), undefined);
    assert.equal(far.requests.length, 400);
  });
}

test('calls that do not end within server.drain are aborted and on record with their outcomes, and the audit log has its last entry', {
  timeout: 90_000,
}, async (t) => {
  const gateway = await started(t, '2s');
  const asked = Promise.withResolvers<void>();
  far.answer(({ target }, socket) => {
    if (target === '/kept-action') asked.resolve();
    if (target === '/a-long-query') socket.write(httpReply({ body: large }).subarray(0, 128 * 1024));
    return undefined;
  });
  const call = (route: string, path: string, more: object = {}, key = {}): Promise<unknown> =>
    gateway
      .send({
        role: 'admin',
        method: 'POST',
        target: `/orchestrator_manager/${route}/a`,
        headers: { 'Content-Type': 'application/json', ...key },
        body: JSON.stringify({ params: { path, accept }, ...more }),
      })
      .catch(() => undefined);
  void call('restQuery', 'a-query');
  void call('restAction', 'an-action', { body: {} });
  const reader = await openConnection(gateway.port);
  t.after(() => reader.socket.destroy());
  reader.write(
    requestBytes(gateway.port, {
      method: 'POST',
      target: '/orchestrator_manager/restQuery/a',
      headers: { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json' },
      body: JSON.stringify({ params: { path: 'a-long-query', accept } }),
    }),
  );
  await once(reader.socket, 'data');
  const brokeOff = once(reader.socket, 'error');
  // A call with a key continues after its caller has left, but not after the gateway has stopped.
  void call('restAction', 'kept-action', { body: {} }, { 'Idempotency-Key': 'kept' });
  await asked.promise;
  const begin = performance.now();
  assert.equal(await gateway.stop(), 0);
  const took = performance.now() - begin;
  assert.ok(took >= 1_900 && took < 15_000, `the gateway took ${took} ms to stop`);
  assert.ok(logLines(gateway).some(({ msg }) => msg === 'draining: no new connections; calls in flight have 2 seconds to end'));
  // The end of the stream would be the end of the reply for an HTTP/1.0 reader.
  assert.equal(((await brokeOff) as readonly NodeJS.ErrnoException[])[0]?.code, 'ECONNRESET');
  const restarted = await gateway.restart();
  const { list } = JSON.parse((await restarted.send({ role: 'admin', target: '/audit' })).text) as {
    readonly list: readonly { readonly event: string; readonly address?: string; readonly outcome?: string }[];
  };
  assert.equal(list.find(({ address }) => address === 'a-query')?.outcome, 'failed');
  assert.equal(list.find(({ address }) => address === 'an-action')?.outcome, 'unknown');
  assert.equal(list.find(({ address }) => address === 'kept-action')?.outcome, 'unknown');
  assert.equal(list.filter(({ event }) => event === 'end').length, 1);
});

test('SIGTERM ends a start that waits for the store, before it listens', { timeout: 30_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-starting-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({})));
  // Another process holds the store, as a migration does.
  const held = new DatabaseSync(join(directory, 'gateway.db'));
  t.after(() => held.close());
  held.exec('pragma journal_mode = wal; begin immediate');
  const child = spawnCommand(['serve'], { directory });
  const exited = once(child, 'exit');
  t.after(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout?.on('data', (text: Buffer) => (said += text.toString()));
  await until('the store is open', () => existsSync(join(directory, 'gateway.audit.db')));
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  assert.equal(said, '');
});

test('calls that idle connections send at the moment of SIGTERM are answered, and the connections end', {
  timeout: 60_000,
}, async (t) => {
  const gateway = await started(t);
  const headers = {
    Authorization: `Bearer ${await gateway.tokenFor('admin')}`,
    'Content-Type': 'application/json',
    Connection: 'keep-alive',
  };
  const query = requestBytes(gateway.port, {
    method: 'POST',
    target: '/orchestrator_manager/restQuery/a',
    headers,
    body: JSON.stringify({ params: { path: 'small', accept } }),
  });
  far.answer(() => jsonReply('{"text":"small"}'));
  const connections = await Promise.all(Array.from({ length: 50 }, () => openConnection(gateway.port)));
  t.after(() => connections.forEach(({ socket }) => socket.destroy()));
  for (const connection of connections) {
    connection.write(query);
    assert.equal((await connection.reply())?.status, 200);
  }
  const stopped = gateway.stop();
  const replies = await Promise.all(
    connections.map((connection) => {
      connection.write(query);
      return connection.reply();
    }),
  );
  for (const reply of replies) {
    assert.ok(reply?.complete);
    assert.deepEqual(instancesOf(reply), [{ text: 'small' }]);
  }
  assert.equal(await stopped, 0);
  for (const connection of connections) assert.equal(await connection.reply(), undefined);
});
