import assert from 'node:assert/strict';
import { argon2, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createNodeBreaker } from '../src/adapters/node-breaker.ts';
import { systemClock } from '../src/base/clock.ts';
import { GatewayError } from '../src/base/gateway-error.ts';
import { CallScope } from '../src/outbound/call-scope.ts';
import { createResolver } from '../src/outbound/resolver.ts';
import { assertProblem, post, relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { farSide, jsonReply } from './support/far-sides/far-side.ts';
import { accessConfig, openAccess } from './support/gateway/access.ts';
import { command } from './support/gateway/command.ts';
import { configurationOf, type Gateway, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { sqliteStore } from './support/stores/stores.ts';

// Rows 8, 74 to 76, 78, 79 and 97 of docs/security.md: the process, its store, its clock and its environment.

const far = await farSide({ after });

function started(t: TestContext): Promise<Gateway> {
  return startGateway(t, {
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'rest', kind: 'rest', url: far.url, auth: { type: 'none' }, concurrency: 300 }],
  });
}

const login = (on: Gateway): Promise<Reply> => post(on, '/login', { username: 'admin-user', password: testPassword });
const call = { uri: far.url, verb: 'GET', responseHeaders: false };

test('R8: fifty names that resolve slowly leave threads for passwords and files', async (t) => {
  const asked: (() => void)[] = [];
  const resolve = createResolver({
    concurrency: 2,
    lookup: (_, done) => void asked.push(() => done(null, [{ address: '192.0.2.1', family: 4 }])),
  });
  const slow = Array.from({ length: 50 }, (_, at) => resolve(`slow-${at}.example`, { timeout: 60_000 }));
  // libuv has four threads; the look-ups hold two of them at most, however many wait.
  assert.equal(asked.length, 2);
  const nonce = randomBytes(16);
  await Promise.all([
    readFile(new URL(import.meta.url)),
    new Promise<void>((done, fail) =>
      argon2('argon2id', { message: 'x', nonce, parallelism: 1, tagLength: 32, memory: 1024, passes: 1 }, (error) =>
        error === null ? done() : fail(error),
      ),
    ),
  ]);
  t.diagnostic(`${asked.length} look-ups under way`);
  for (let at = 0; at < asked.length; at += 1) asked[at]?.();
  assert.equal((await Promise.all(slow)).length, 50);
});

test('R74: a store that another process has locked is 503 after a bounded wait, and works again afterwards', {
  timeout: 90_000,
}, async (t) => {
  const gateway = await started(t);
  const token = await gateway.tokenFor('admin');
  const database = new DatabaseSync(join(gateway.directory, 'gateway.db'));
  t.after(() => database.close());
  database.exec('begin immediate');
  const reply = await login(gateway);
  assertProblem(reply, 503, 'store-unavailable');
  assert.match(reply.header('retry-after') ?? '', /^\d+$/);
  far.answer(() => jsonReply('{}'));
  const headers = { Authorization: `Bearer ${token}` };
  assert.equal((await restCall(gateway, call, { headers })).status, 200);
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  database.exec('rollback');
  assert.equal((await login(gateway)).status, 200);
});

/** Each way to damage a store that was in use; the answer is what a start on it wrote to standard error. */
async function startOnDamaged(
  t: TestContext,
  damage: (file: string, whole: Buffer) => Promise<void>,
  name = 'gateway.db',
): Promise<string> {
  const gateway = await started(t);
  assert.equal((await login(gateway)).status, 200);
  await gateway.stop();
  const file = join(gateway.directory, name);
  await damage(file, await readFile(file));
  const damaged = await readFile(file);
  const { code, stdout, stderr } = await command(['serve', '--config', gateway.configFile]);
  assert.equal(code, 1, stderr);
  assert.equal(stdout, '');
  assert.ok((await readFile(file)).equals(damaged), 'the damaged file was changed');
  return stderr;
}

test('R75: a store that is no database stops the start with a clear message and stays as it is', async (t) => {
  const told = await startOnDamaged(t, (file) => writeFile(file, 'no database at all. '.repeat(500)));
  assert.match(told, /gateway\.db is no SQLite database, or a damaged one/);
});

test('R75: a store whose tail is torn off stops the start with a clear message and stays as it is', async (t) => {
  const told = await startOnDamaged(t, (file, whole) => truncate(file, Math.floor(whole.length / 2) + 100));
  assert.match(told, /gateway\.db/);
});

test('R75: a store whose pages are overwritten stops the start with a clear message and stays as it is', async (t) => {
  const told = await startOnDamaged(t, (file, whole) =>
    writeFile(file, Buffer.concat([whole.subarray(0, 4096), randomBytes(whole.length - 4096)])),
  );
  assert.match(told, /gateway\.db/);
});

test('R75: an audit file that is damaged stops the start with a clear message and stays as it is', async (t) => {
  const told = await startOnDamaged(t, (file) => writeFile(file, 'no database at all. '.repeat(500)), 'gateway.audit.db');
  assert.match(told, /gateway\.audit\.db is no SQLite database, or a damaged one/);
});

test('R75: a file of the store that cannot be made stops the start with a clear message, whichever it is', {
  timeout: 60_000,
}, async (t) => {
  for (const name of ['gateway.db', 'gateway.audit.db']) {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-no-file-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    await writeFile(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({})));
    await mkdir(join(directory, name));
    const { code, stderr } = await command(['serve'], { directory });
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(`^orchestration-gateway: it did not start: .*/${name} cannot be made or written \\(EISDIR\\)`, 'mu'),
    );
  }
});

test('R76: SIGTERM under 200 calls in flight loses none of them', { timeout: 90_000 }, async (t) => {
  const gateway = await started(t);
  const token = await gateway.tokenFor('admin');
  const release: (() => void)[] = [];
  far.answer(async () => {
    await new Promise<void>((resolve) => release.push(resolve));
    return jsonReply('{}');
  });
  const headers = { Authorization: `Bearer ${token}` };
  const query = { params: { path: 'x', accept: '*/*' } };
  const calls = Array.from({ length: 200 }, (_, at) =>
    at % 2 === 0 ? restCall(gateway, call, { headers }) : relay(gateway, 'restQuery', 'rest', query, { headers }),
  );
  const deadline = performance.now() + 60_000;
  while (release.length < 200) {
    assert.ok(performance.now() < deadline, `${release.length} calls arrived`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const stopped = gateway.stop();
  await new Promise((resolve) => setTimeout(resolve, 200));
  for (const one of release) one();
  for (const reply of await Promise.all(calls)) assert.equal(reply.status, 200);
  assert.equal(await stopped, 0);
});

/** The log comes by another way than the reply: it is waited for. */
async function loggedLine(
  gateway: Gateway,
  isIt: (line: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown> | undefined> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const found = gateway.stderr.map((line) => JSON.parse(line) as Record<string, unknown>).find(isIt);
    if (found !== undefined || performance.now() > deadline) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('R78: what nobody expected is a 500 that tells nothing, and its log line says where it happened', async (t) => {
  const gateway = await started(t);
  const database = new DatabaseSync(join(gateway.directory, 'gateway.db'));
  database.exec('drop table login_failure');
  database.close();
  const reply = await post(
    gateway,
    '/login',
    { username: 'admin-user', password: testPassword },
    { headers: { 'X-Request-Id': 'lost-table' } },
  );
  const problem = assertProblem(reply, 500, 'internal-error');
  assert.equal(problem.requestId, 'lost-table');
  assert.doesNotMatch(reply.text, /sql|login_failure|\.ts|node:| at \w+ \(/i);
  const logged = await loggedLine(gateway, (line) => line['requestId'] === 'lost-table' && line['level'] === 'error');
  assert.match(String(logged?.['stack']), /^\s+at /);
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
});

test('R79: a wall clock that jumps moves no time limit, and no token outlives its time by more than a minute', async (t) => {
  let jump = 0;
  const clock = { now: () => Date.now() + jump, monotonic: () => performance.now() };
  const scope = new CallScope({ total: 60_000, clock });
  const { access } = await openAccess(t, { database: await sqliteStore.open(t), clock, config: accessConfig() });
  const { token } = await access.login({ username: 'admin', password: 'right', sourceAddress: '192.0.2.1' });
  const known = async (): Promise<boolean> => {
    try {
      await access.authenticate({ authorization: `Bearer ${token}`, sourceAddress: '192.0.2.1' });
      return true;
    } catch {
      return false;
    }
  };
  for (const hours of [1, -1, 0]) {
    jump = hours * 3_600_000;
    const left = scope.remaining();
    assert.ok(left > 30_000 && left <= 60_000, `${left} ms are left after a jump of ${hours} h`);
    assert.equal(scope.aborted, undefined);
  }
  assert.equal(await known(), true);
  // The lifetime of these tokens is an hour.
  jump = 3_600_000 + 61_000;
  assert.equal(await known(), false);
  scope.end();
});

test('R79: a wall clock that is set back keeps no breaker open', async (t) => {
  const breaker = createNodeBreaker({
    name: 'A',
    url: 'http://192.0.2.1',
    failures: 1,
    openFor: 200,
    total: 30_000,
    clock: systemClock,
  });
  await assert.rejects(breaker.run(() => Promise.reject(new GatewayError('upstream-connect-failed', 'none'))));
  assert.throws(() => breaker.refuse());
  const { now } = Date;
  t.mock.method(Date, 'now', () => now() - 3_600_000);
  assert.ok(breaker.wait() <= 200, `${breaker.wait()} ms`);
  await sleep(250);
  const reply = { status: 200, headers: {}, head: Buffer.alloc(0), rest: undefined, discard: () => undefined };
  assert.equal(await breaker.run(() => Promise.resolve(reply)), reply);
  assert.equal(breaker.state, 'closed');
});

/** A configuration that serves, in a directory of its own. */
async function writtenConfiguration(t: TestContext, config: object): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'gateway.yaml');
  await writeFile(file, JSON.stringify(configurationOf({ config: { ...config } })));
  return file;
}

// With an address that is not this machine's, a start that is not refused for its environment ends by itself.
const elsewhere = { server: { host: '192.0.2.1' } };

test('R97: a start under variables that undo TLS or reroute calls is refused', async (t) => {
  const file = await writtenConfiguration(t, elsewhere);
  for (const environment of [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, { NODE_USE_ENV_PROXY: '1' }]) {
    const { code, stdout, stderr } = await command(['serve', '--config', file], { environment });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, new RegExp(Object.keys(environment).join()));
  }
});

test('R97: a start under Node options that undo TLS or the strict HTTP parser is refused', async (t) => {
  const file = await writtenConfiguration(t, elsewhere);
  for (const option of ['--insecure-http-parser', '--tls-min-v1.0', '--tls-keylog=/dev/null', '--use-env-proxy']) {
    const { code, stderr } = await command(['serve', '--config', file], { environment: { NODE_OPTIONS: option } });
    assert.equal(code, 1);
    assert.ok(stderr.includes(option.split('=')[0] ?? ''), `${option} was accepted: ${stderr}`);
  }
});
