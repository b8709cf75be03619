import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type Problem, post, relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { type Connection, openConnection, requestBytes } from './support/callers/http-client.ts';
import { childEnvironment, executable } from './support/gateway/gateway-process.ts';
import { basic, configurationOf, type GatewayProcess, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { until } from './support/until.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

type Line = Readonly<Record<string, unknown>>;

const owner = { after };
const far = await upstream(owner);
const query = { params: { path: 'data/x', accept: 'application/json' } };
const withQuery = { params: { ...query.params, path: 'data/x?secret=hunter2' } };
const gateway = await startGatewayProcess(owner, {
  config: { outbound: { allow: [far.authority] } },
  adapters: [
    { name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' }, denyPaths: { actions: ['**'] } },
    { name: 'Slow', kind: 'rest', url: far.url, auth: { type: 'none' }, timeouts: { firstByte: '50ms' } },
    { name: 'Down', kind: 'rest', url: `http://127.0.0.1:${await closedPort()}`, auth: { type: 'none' } },
  ],
});

function linesOf(of: GatewayProcess): readonly Line[] {
  return of.stderr.map((text) => JSON.parse(text) as Line);
}

/** The lines of a request, once the log has `count` of them. */
function linesAbout(of: GatewayProcess, requestId: string, count = 1): Promise<readonly Line[]> {
  return until(`${requestId} is in the log`, () => {
    const found = linesOf(of).filter((line) => line['requestId'] === requestId);
    return found.length >= count && found;
  });
}

const page = await readFile(new URL('../docs/reference/logs.md', import.meta.url), 'utf8');
const documented = ['level', 'msg', 'time', ...[...page.matchAll(/^\| `(\w+)` \|/gmu)].map(([, name]) => name ?? '')];

const calls = {
  'that is answered': (headers) => relay(gateway, 'restQuery', 'Local NSO', query, { headers }),
  'that the caller’s role forbids': (headers) => relay(gateway, 'restQuery', 'Local NSO', query, { role: 'readonly', headers }),
  'that path rights deny': (headers) => relay(gateway, 'restAction', 'Local NSO', { ...query, body: {} }, { headers }),
  'to an address that the policy denies': (headers) =>
    restCall(gateway, { uri: 'http://10.0.0.1/', verb: 'GET', responseHeaders: false }, { headers }),
  'to an unknown adapter': (headers) => relay(gateway, 'restQuery', 'Unknown', query, { headers }),
  'to an upstream that is down': (headers) => relay(gateway, 'restAction', 'Down', { ...query, body: {} }, { headers }),
  'with a faulty body': (headers) => relay(gateway, 'restQuery', 'Local NSO', '{', { headers }),
  'without credentials': (headers) => gateway.send({ target: '/whoami', headers }),
  'to an unknown path': (headers) => gateway.send({ target: '/nowhere', headers }),
} satisfies Record<string, (headers: Record<string, string>) => Promise<{ readonly status: number }>>;

for (const [name, call] of Object.entries(calls)) {
  test(`a call ${name} is one line at info`, { timeout: 30_000 }, async () => {
    const requestId = crypto.randomUUID();
    const { status } = await call({ 'X-Request-Id': requestId });
    const [line] = await linesAbout(gateway, requestId);
    // The log is in order: a second line of this request would come before the line of a later one.
    await gateway.send({ target: '/healthz', headers: { 'X-Request-Id': `${requestId}-later` } });
    await linesAbout(gateway, `${requestId}-later`);
    assert.equal((await linesAbout(gateway, requestId)).length, 1);
    assert.equal(line?.['msg'], 'request');
    assert.equal(line?.['level'], 'info');
    assert.equal(line?.['status'], status);
    for (const field of ['traceId', 'sourceAddress', 'method', 'durationMs']) assert.ok(field in (line ?? {}), field);
  });
}

type Headers = Readonly<Record<string, string>>;

/** Calls that end in an error, and what their lines say in addition to `code` and `detail`. */
const failures: Readonly<Record<string, readonly [(headers: Headers) => Promise<Reply>, Line]>> = {
  'that the caller’s role forbids': [
    (headers) => relay(gateway, 'restQuery', 'Local NSO', query, { role: 'readonly', headers }),
    { phase: 'request', path: '/orchestrator_manager/restQuery/Local%20NSO' },
  ],
  'that path rights deny': [
    (headers) => relay(gateway, 'restAction', 'Local NSO', { ...withQuery, body: {} }, { headers }),
    { phase: 'request', path: 'data/x?secret=***' },
  ],
  'to an address that the policy denies': [
    (headers) => restCall(gateway, { uri: 'http://10.0.0.1/a?b=c', verb: 'GET', responseHeaders: false }, { headers }),
    { phase: 'request', destination: 'http://10.0.0.1' },
  ],
  'to a host name without an address': [
    (headers) => restCall(gateway, { uri: 'http://no.invalid/a', verb: 'GET', responseHeaders: false }, { headers }),
    { phase: 'dns', destination: 'http://no.invalid' },
  ],
  'to an unknown adapter': [
    (headers) => relay(gateway, 'restQuery', 'Unknown', query, { headers }),
    { phase: 'request', path: '/orchestrator_manager/restQuery/Unknown' },
  ],
  'to an orchestrator that is down': [
    (headers) => relay(gateway, 'restAction', 'Down', { ...withQuery, body: {} }, { headers }),
    { phase: 'connect', path: 'data/x?secret=***' },
  ],
  'to an orchestrator that does not answer in time': [
    (headers) => {
      far.answer(() => undefined);
      return relay(gateway, 'restQuery', 'Slow', query, { headers });
    },
    { phase: 'firstByte', path: 'data/x' },
  ],
  'of which only a part of the answer came': [
    (headers) => {
      far.answer((_request, socket) => void socket.end('HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nx'));
      return relay(gateway, 'restAction', 'Slow', { ...query, body: {} }, { headers });
    },
    { phase: 'reply', path: 'data/x' },
  ],
  'with a faulty body': [
    (headers) => relay(gateway, 'restQuery', 'Local NSO', '{', { headers }),
    { phase: 'request', path: '/orchestrator_manager/restQuery/Local%20NSO' },
  ],
  'for an automation that does not exist': [
    (headers) => gateway.send({ target: '/automation_catalog/automations/none', role: 'admin', headers }),
    { phase: 'request', path: '/automation_catalog/automations/none' },
  ],
  'without credentials': [(headers) => gateway.send({ target: '/whoami?token=x', headers }), { phase: 'request' }],
  'to an unknown path': [(headers) => gateway.send({ target: '/nowhere', headers }), { phase: 'request' }],
};

for (const [name, [call, expected]] of Object.entries(failures)) {
  test(`the line of a call ${name} says why it failed, where it was to go, and in which phase it failed`, {
    timeout: 30_000,
  }, async () => {
    const requestId = crypto.randomUUID();
    const { code, detail } = (await call({ 'X-Request-Id': requestId })).json() as Problem;
    const [line = {}] = await linesAbout(gateway, requestId);
    const { path, destination, phase } = line;
    assert.deepEqual(
      { code: line['code'], detail: line['detail'], path, destination, phase },
      {
        path: undefined,
        destination: undefined,
        code,
        detail,
        ...expected,
      },
    );
  });
}

test('the line of an error of an orchestrator has its status and error tag, and not its text', { timeout: 30_000 }, async () => {
  for (const [tag, logged] of [
    ['data-missing', 'The orchestrator answered 404 (data-missing).'],
    ['hunter2', 'The orchestrator answered 404.'],
  ] as const) {
    const error = [{ 'error-tag': tag, 'error-message': 'hunter2 is not there' }];
    far.answer(() => jsonReply(JSON.stringify({ 'ietf-restconf:errors': { error } }), { status: 404 }));
    const requestId = crypto.randomUUID();
    const reply = await relay(gateway, 'restQuery', 'Local NSO', query, { headers: { 'X-Request-Id': requestId } });
    assert.match((reply.json() as Problem).detail, /hunter2 is not there/u);
    const [line = {}] = await linesAbout(gateway, requestId);
    assert.deepEqual([line['detail'], line['phase'], line['upstreamStatus']], [logged, 'reply', 404]);
  }
  far.answer(() => jsonReply('{}'));
});

test('the line of a refused token request says why', { timeout: 30_000 }, async () => {
  const requestId = crypto.randomUUID();
  const reply = await gateway.send({
    method: 'POST',
    target: '/oauth/token',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Request-Id': requestId },
    body: 'grant_type=password',
  });
  const [line = {}] = await linesAbout(gateway, requestId);
  assert.equal(line['detail'], (reply.json() as { readonly error_description: string }).error_description);
});

test('the line of a refused name of an automation does not have the name, and a line of a success has no detail', {
  timeout: 30_000,
}, async () => {
  const lines: Line[] = [];
  for (const status of [201, 409]) {
    const requestId = crypto.randomUUID();
    const headers = { 'X-Request-Id': requestId };
    assert.equal((await post(gateway, '/automation_catalog/automations', { name: 'hunter2' }, { headers })).status, status);
    lines.push(...(await linesAbout(gateway, requestId)));
  }
  assert.equal(lines.length, 2);
  for (const line of lines) assert.ok(!JSON.stringify(line).includes('hunter2'), JSON.stringify(line));
  for (const field of ['detail', 'path', 'destination', 'phase']) assert.ok(!(field in (lines[0] ?? {})), field);
  assert.match(String(lines[1]?.['detail']), /^Another automation has this name/u);
});

/** Sends a query on a connection that the test may end before the reply. */
async function leavingCaller(): Promise<{ readonly connection: Connection; readonly requestId: string }> {
  const connection = await openConnection(gateway.port);
  const requestId = crypto.randomUUID();
  connection.write(
    requestBytes(gateway.port, {
      method: 'POST',
      target: '/orchestrator_manager/restQuery/Local%20NSO',
      headers: { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json', 'X-Request-Id': requestId },
      body: JSON.stringify(query),
    }),
  );
  return { connection, requestId };
}

test('a call whose caller leaves is one line with that reason', { timeout: 30_000 }, async () => {
  far.answer(() => undefined);
  const { connection, requestId } = await leavingCaller();
  await until('the call has arrived', () => far.requests.length > 0);
  connection.socket.destroy();
  const [line] = await linesAbout(gateway, requestId);
  assert.equal(line?.['reason'], 'the reply was cut off');
  assert.ok(!('status' in (line ?? {})), 'nothing was answered');
  far.answer(() => jsonReply('{}'));
});

test('a call whose caller resets its connection within a long reply is one line at info, without a code', {
  timeout: 30_000,
}, async () => {
  far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain' }, body: Buffer.alloc(30_000_000, 'a') }));
  for (let round = 0; round < 10; round += 1) {
    const { connection, requestId } = await leavingCaller();
    await once(connection.socket, 'data');
    connection.socket.resetAndDestroy();
    const lines = await linesAbout(gateway, requestId);
    assert.deepEqual(
      lines.map((line) => [line['level'], line['msg'], line['status'], line['code'], line['reason']]),
      [['info', 'request', 200, undefined, 'the reply was cut off']],
    );
  }
  far.answer(() => jsonReply('{}'));
});

test('a failed login is a warning, in addition to the line of its request, with the same request id', {
  timeout: 30_000,
}, async () => {
  const ways = [
    { target: '/whoami', headers: { Authorization: basic('admin-user', 'wrong') } },
    {
      method: 'POST',
      target: '/login',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username: 'admin-user', password: 'wrong too' }),
    },
  ];
  for (const way of ways) {
    const requestId = crypto.randomUUID();
    await gateway.send({ ...way, headers: { ...way.headers, 'X-Request-Id': requestId } });
    const lines = await linesAbout(gateway, requestId, 2);
    assert.deepEqual(
      lines.map((line) => [line['level'], line['msg']]),
      [
        ['warn', 'login failed'],
        ['info', 'request'],
      ],
    );
  }
});

test('SIGUSR2 switches the lines of attempts on, and a second one switches them off', { timeout: 30_000 }, async () => {
  const attempts = async (): Promise<number> => {
    const requestId = crypto.randomUUID();
    await relay(gateway, 'restQuery', 'Local NSO', query, { headers: { 'X-Request-Id': requestId } });
    const messages = await until('the request is in the log', async () => {
      const all = (await linesAbout(gateway, requestId)).map((line) => line['msg']);
      return all.includes('request') && all;
    });
    return messages.filter((message) => message === 'attempt').length;
  };
  const changed = async (reason: string): Promise<void> => {
    gateway.kill('SIGUSR2');
    await until(`the level changes ${reason}`, () => linesOf(gateway).some((line) => line['reason'] === reason));
  };
  far.answer(() => jsonReply('{}'));
  assert.equal(await attempts(), 0);
  await changed('from info to debug');
  assert.equal(await attempts(), 1);
  await changed('from debug to info');
  assert.equal(await attempts(), 0);
});

test('SIGUSR2 returns to the configured level, and logs both changes even at level error', {
  timeout: 30_000,
}, async (t) => {
  const quiet = await startGatewayProcess(t, { config: { server: { logLevel: 'error' } } });
  const reasons = (): readonly unknown[] => linesOf(quiet).flatMap(({ reason }) => reason ?? []);
  for (const count of [1, 2]) {
    quiet.kill('SIGUSR2');
    await until('the level has changed', () => reasons().length >= count);
  }
  await quiet.send({ target: '/healthz' });
  await quiet.stop();
  assert.deepEqual(reasons(), ['from error to debug', 'from debug to error']);
});

test('checkpoints of the audit log are in the log at every level', async (t) => {
  const quiet = await startGatewayProcess(t, { config: { server: { logLevel: 'fatal' } } });
  await quiet.stop();
  const messages = linesOf(quiet).map(({ level, msg }) => `${String(level)} ${String(msg)}`);
  assert.deepEqual(messages, ['info audit checkpoint', 'info audit checkpoint']);
});

test('every field of all these lines is on the page', () => {
  const seen = new Set(linesOf(gateway).flatMap((line) => Object.keys(line)));
  assert.deepEqual(
    [...seen].filter((field) => !documented.includes(field)),
    [],
  );
});

/** A gateway whose standard output or standard error is a full disk. */
function serveIntoFull(t: TestContext, stream: 'stdout' | 'stderr'): ChildProcess {
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const directory = mkdtempSync(join(tmpdir(), 'gateway-full-'));
  t.after(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({})));
  const child = spawn(process.execPath, [executable, 'serve'], {
    cwd: directory,
    env: childEnvironment(),
    stdio: stream === 'stdout' ? ['ignore', full, 'pipe'] : ['ignore', 'pipe', full],
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

const noFullDevice = { skip: !existsSync('/dev/full') };

test('a gateway whose standard output is a full disk serves, and logs a warning', noFullDevice, async (t) => {
  const child = serveIntoFull(t, 'stdout');
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => void (said += String(chunk)));
  await until('it warns', () => /"warn".*was not printed.*standard output cannot be written \(ENOSPC\)/u.test(said));
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('a log on a full disk delays neither the start, nor calls, nor the end', noFullDevice, async (t) => {
  const child = serveIntoFull(t, 'stderr');
  const [ready] = (await once(child.stdout ?? child, 'data')) as readonly Buffer[];
  const url = /listening on (\S+)/u.exec(String(ready))?.[1] ?? '';
  for (let count = 0; count < 5; count += 1) {
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    await lapse(100, 'the log tries to write');
  }
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
