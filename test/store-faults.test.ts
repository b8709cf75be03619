// suite: long

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, type TestContext, test } from 'node:test';
import { createNodeBreaker } from '../src/adapters/nodes/node-breaker.ts';
import { GatewayError } from '../src/base/gateway-error.ts';
import { CallScope } from '../src/outbound/call/call-scope.ts';
import { assertProblem, post, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { accessConfig, openAccess } from './support/gateway/access.ts';
import { command, spawnCommand } from './support/gateway/command.ts';
import { collect, readyPort } from './support/gateway/gateway-process.ts';
import { configurationOf, startGatewayProcess, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { noOwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { sqliteStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Rows 74, 75, 78 and 79 of docs/security.md: a store that is locked, damaged or incomplete, and a clock that jumps.

const far = await upstream({ after });

const gateway = await startGatewayProcess({ after }, { config: { outbound: { allow: [far.authority] } } });

const login = (): Promise<Reply> => post(gateway, '/login', { username: 'admin-user', password: testPassword });
const call = { uri: far.url, verb: 'GET', responseHeaders: false };

test('R74: a login is 503 while another process holds the lock of the store, and 200 afterwards', {
  timeout: 90_000,
}, async (t) => {
  const token = await gateway.tokenFor('admin');
  const database = new DatabaseSync(join(gateway.directory, 'gateway.db'));
  t.after(() => database.close());
  database.exec('begin immediate');
  const reply = await login();
  assertProblem(reply, 503, 'store-unavailable');
  assert.match(reply.header('retry-after') ?? '', /^\d+$/);
  far.answer(() => jsonReply('{}'));
  const headers = { Authorization: `Bearer ${token}` };
  assert.equal((await restCall(gateway, call, { headers })).status, 200);
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  database.exec('rollback');
  assert.equal((await login()).status, 200);
});

test('R75: a file of the store that cannot be created stops the start with a clear message', {
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

test('R78: an unexpected error is a 500 without details, and its log line has the stack', async (t) => {
  const database = new DatabaseSync(join(gateway.directory, 'gateway.db'));
  t.after(() => {
    database.exec('alter table login_failure_away rename to login_failure');
    database.close();
  });
  database.exec('alter table login_failure rename to login_failure_away');
  const reply = await post(
    gateway,
    '/login',
    { username: 'admin-user', password: testPassword },
    { headers: { 'X-Request-Id': 'lost-table' } },
  );
  const problem = assertProblem(reply, 500, 'internal-error');
  assert.equal(problem.requestId, 'lost-table');
  assert.doesNotMatch(reply.text, /sql|login_failure|\.ts|node:| at \w+ \(/i);
  const logged = await until('the error is logged', () =>
    gateway.stderr
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .find((line) => line['requestId'] === 'lost-table' && line['level'] === 'error'),
  );
  assert.match(String(logged['stack']), /^\s+at /);
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
});

test('R79: a jump of the wall clock moves no time limit, and ends no token more than a minute late', async (t) => {
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
  let passed = 0;
  const clock = { now: () => Date.now(), monotonic: () => passed };
  const breaker = createNodeBreaker({ name: 'A', url: 'http://192.0.2.1', failures: 1, openFor: 200, total: 30_000, clock });
  await breaker.count({ failure: new GatewayError('upstream-connect-failed', 'none') });
  assert.throws(() => breaker.refuse());
  const { now } = Date;
  t.mock.method(Date, 'now', () => now() - 3_600_000);
  assert.equal(breaker.wait(), 200);
  passed = 201;
  const reply = { status: 200, headers: {}, head: Buffer.alloc(0), rest: undefined, discard: () => undefined };
  assert.equal(await breaker.run(() => Promise.resolve(reply)), reply);
  assert.equal(breaker.state, 'closed');
});

// Last: the gateway of the tests above ends here.
describe('a damaged store', () => {
  before(async () => {
    assert.equal((await login()).status, 200);
    assert.equal(await gateway.stop(), 0);
  });

  /** Damages one file in a copy of the store; resolves to what a start on the copy writes to standard error. */
  async function startOnDamaged(
    t: TestContext,
    damage: (file: string, whole: Buffer) => Promise<void>,
    name = 'gateway.db',
  ): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-damaged-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    await cp(gateway.directory, directory, { recursive: true });
    const file = join(directory, name);
    await damage(file, await readFile(file));
    const damaged = await readFile(file);
    const { code, stdout, stderr } = await command(['serve', '--config', join(directory, 'gateway.yaml')], { directory });
    assert.equal(code, 1, stderr);
    assert.equal(stdout, '');
    assert.ok((await readFile(file)).equals(damaged), 'the damaged file was changed');
    return stderr;
  }

  test('R75: a store that is no database stops the start with a clear message and is not changed', async (t) => {
    const message = await startOnDamaged(t, (file) => writeFile(file, 'no database at all. '.repeat(500)));
    assert.match(message, /gateway\.db is no SQLite database, or a damaged one/);
  });

  test('R75: a store whose tail is torn off stops the start with a clear message and is not changed', async (t) => {
    const message = await startOnDamaged(t, (file, whole) => truncate(file, Math.floor(whole.length / 2) + 100));
    assert.match(message, /gateway\.db/);
  });

  test('R75: a store whose pages are overwritten stops the start with a clear message and is not changed', async (t) => {
    const message = await startOnDamaged(t, (file, whole) =>
      writeFile(file, Buffer.concat([whole.subarray(0, 4096), randomBytes(whole.length - 4096)])),
    );
    assert.match(message, /gateway\.db/);
  });

  test('R75: an audit file that is no database stops the start with a clear message and is not changed', async (t) => {
    const message = await startOnDamaged(t, (file) => writeFile(file, 'no database at all. '.repeat(500)), 'gateway.audit.db');
    assert.match(message, /gateway\.audit\.db is no SQLite database, or a damaged one/);
  });
});

test('a gateway that starts before its PostgreSQL waits for it, and for no database that does not exist', {
  skip: noOwnPostgres,
  timeout: 90_000,
}, async (t) => {
  const postgres = await ownPostgres(t);
  const directoryFor = async (store: object): Promise<string> => {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-waits-'));
    t.after(() => rm(directory, { recursive: true, force: true }));
    await writeFile(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({ config: { store } })));
    return directory;
  };
  const wrong = await command(['serve'], { directory: await directoryFor({ url: `${postgres.url}_none` }) });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^orchestration-gateway: it did not start: PostgreSQL [^\n]* does not exist[^\n]*\n$/u);
  const standby = `${postgres.url}?options=-c%20default_transaction_read_only%3Don`;
  const refused = await command(['serve'], { directory: await directoryFor({ url: standby, startTimeout: '1s' }) });
  assert.match(refused.stderr, /waits for it.*\norchestration-gateway: it did not start: PostgreSQL .*can only be read/su);
  await postgres.stop('fast');
  const late = await command(['serve'], { directory: await directoryFor({ url: postgres.url, startTimeout: '1s' }) });
  assert.equal(late.code, 1);
  assert.match(late.stderr, /waits for it.*\norchestration-gateway: it did not start: PostgreSQL .*nothing listens/su);
  const child = spawnCommand(['serve'], { directory: await directoryFor({ url: postgres.url }) });
  t.after(() => void child.kill('SIGKILL'));
  const output = collect(child);
  const lines = (): readonly string[] => output.stderr.filter((line) => line.includes('waits for it'));
  await until('the gateway waits', () => lines().length > 0);
  await lapse(5_000, 'PostgreSQL starts later than the gateway');
  await postgres.start();
  await readyPort(child, output);
  assert.equal(lines().length, 1);
});
