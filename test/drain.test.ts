import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, type TestContext, test } from 'node:test';
import { instancesOf, responseOf, resultOf } from './support/callers/calls.ts';
import { type Connection, openConnection, type Reply, requestBytes } from './support/callers/http-client.ts';
import { farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { spawnCommand } from './support/gateway/command.ts';
import { logLines } from './support/gateway/reloading.ts';
import { configurationOf, type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';

// Contract 8: SIGTERM and SIGINT drain. No new connections, calls in flight finish, exit code 0.

const far = await farSide({ after });
const large = Buffer.alloc(300 * 1024, 'x');
const accept = '*/*';

function started(t: TestContext): Promise<Gateway> {
  return startGateway(t, {
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'a', kind: 'rest', url: far.url, auth: { type: 'none' }, concurrency: 300 }],
  });
}

interface Kind {
  readonly target: string;
  readonly body: object;
  readonly answered: (reply: Reply) => string | undefined;
}

/** What is called, by which route; `large` is answered with so much that it streams. */
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

/** Half of the calls have not a byte of their reply when the drain begins, half of the large ones have its beginning. */
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
  test(`${signal} under 200 calls on connections that are kept alive loses none, and takes no new ones`, {
    timeout: 120_000,
  }, async (t) => {
    const gateway = await started(t);
    const headers = {
      Authorization: `Bearer ${await gateway.tokenFor('admin')}`,
      'Content-Type': 'application/json',
      Connection: 'keep-alive',
    };
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
    await until('200 calls have arrived', () => far.requests.length === 200);
    const idle = await openConnection(gateway.port);
    const stopped = gateway.stop(signal);
    await until('it drains', () => logLines(gateway).some(({ msg }) => msg.startsWith('draining')));
    await until('the port is closed', async () => !(await accepts(gateway.port)));
    release();
    for (const [at, reply] of (await Promise.all(replies)).entries()) {
      const kind = kinds[at % kinds.length] as Kind;
      assert.ok(reply?.complete, `${at}: ${kind.target} was cut off`);
      assert.equal(kind.answered(reply), expected(kind), `${at}: ${kind.target}`);
      // Else its caller would send the next request on a connection that is about to end.
      if (!JSON.stringify(kind.body).includes('large')) assert.equal(reply.header('connection'), 'close');
    }
    assert.equal(await stopped, 0);
    await Promise.all([...connections, idle].map((connection) => connection.closed()));
    assert.equal(far.requests.length, 200);
  });
}

test('calls that do not finish in time are broken off, on record with what came of them, and the log ends as it should', {
  timeout: 90_000,
}, async (t) => {
  const gateway = await started(t);
  const asked = Promise.withResolvers<void>();
  far.answer(({ target }) => {
    if (target === '/kept-action') asked.resolve();
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
  // It goes on without its caller, but not without the gateway.
  void call('restAction', 'kept-action', { body: {} }, { 'Idempotency-Key': 'kept' });
  await asked.promise;
  assert.equal(await gateway.stop(), 0);
  const restarted = await gateway.restart();
  const { list } = JSON.parse((await restarted.send({ role: 'admin', target: '/audit' })).text) as {
    readonly list: readonly { readonly event: string; readonly address?: string; readonly outcome?: string }[];
  };
  assert.equal(list.find(({ address }) => address === 'a-query')?.outcome, 'failed');
  assert.equal(list.find(({ address }) => address === 'an-action')?.outcome, 'unknown');
  assert.equal(list.find(({ address }) => address === 'kept-action')?.outcome, 'unknown');
  assert.equal(list.filter(({ event }) => event === 'end').length, 1);
});

test('SIGTERM ends a start that waits, which serves nobody then', { timeout: 30_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-starting-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({})));
  // Another process is at the store, as while it is brought up to date.
  const held = new DatabaseSync(join(directory, 'gateway.db'));
  t.after(() => held.close());
  held.exec('pragma journal_mode = wal; begin immediate');
  const child = spawnCommand(['serve'], { directory });
  const exited = once(child, 'exit');
  t.after(() => void child.kill('SIGKILL'));
  let said = '';
  child.stdout?.on('data', (text: Buffer) => (said += text.toString()));
  await until('it opens the store', () => existsSync(join(directory, 'gateway.audit.db')));
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  assert.equal(said, '');
});

/** Whether a connection is made; one that was made by the system alone is closed without a reply. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

test('calls that are on their way over idle connections when the signal comes are answered, and their connections closed', {
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
  await Promise.all(connections.map((connection) => connection.closed()));
});
