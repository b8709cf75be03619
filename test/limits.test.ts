// suite: long

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, open, openSync, readFile, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { hashPassword, matchesPassword, parsePasswordHash } from '../src/access/passwords/password-hash.ts';
import { createPasswordVerifier } from '../src/access/passwords/password-verifier.ts';
import { createResolver } from '../src/outbound/dialling/resolver.ts';
import { assertProblem, post, relay, restCall } from './support/callers/calls.ts';
import { openConnection, type Reply, requestBytes } from './support/callers/http-client.ts';
import {
  basic,
  type GatewayProcess,
  startGatewayProcess,
  testPassword,
  testPasswordHash,
} from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// What the gateway accepts at once: look-ups, calls of one caller, connections, work in all.

const far = await upstream({ after });
const adapter = { name: 'far', kind: 'rest', url: far.url, auth: { type: 'none' } };
const config = { outbound: { allow: [far.authority] } };
/** Two administrators apart from `admin-user`, so that a test has a caller that no other test uses. */
const users = ['ada', 'grace'].map((username) => ({ username, passwordHash: testPasswordHash, roles: ['admin'], groups: [] }));
const ada = { Authorization: basic('ada', testPassword) };
const grace = { Authorization: basic('grace', testPassword) };

const gateway = await startGatewayProcess({ after }, { config, adapters: [adapter] });
const rateLimited = await startGatewayProcess(
  { after },
  {
    users,
    config: { ...config, server: { rateLimit: { calls: 5, per: '1h' } } },
    adapters: [adapter, { ...adapter, name: 'guarded', denyPaths: { queries: ['secret'] } }],
  },
);
/** The gateway keeps 80 files for itself and a third of the others for calls: 60. */
const fewFiles = await startGatewayProcess({ after }, { config, users, openFiles: 260 });
const call = { uri: far.url, verb: 'GET', responseHeaders: false };

interface ThreadHoldingLookup {
  readonly lookup: (host: string, done: LookupDone) => void;
  readonly held: () => number;
  readonly answer: () => void;
}

/** A look-up that holds one of libuv's threads until `answer`: opening a FIFO to read waits until a process opens it to write. */
function threadHoldingLookup(t: TestContext): ThreadHoldingLookup {
  const directory = mkdtempSync(join(tmpdir(), 'lookup-'));
  const fifo = join(directory, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const writers: number[] = [];
  let held = 0;
  const answer = (): void => void writers.push(openSync(fifo, 'r+'));
  t.after(() => {
    answer();
    for (const writer of writers) closeSync(writer);
    rmSync(directory, { recursive: true });
  });
  return {
    lookup(_host, done) {
      held += 1;
      open(fifo, 'r', (error, file) => {
        held -= 1;
        if (error === null) closeSync(file);
        done(error, [{ address: '192.0.2.1', family: 4 }]);
      });
    },
    held: () => held,
    answer,
  };
}

type LookupDone = (
  error: NodeJS.ErrnoException | null,
  addresses: readonly { readonly address: string; readonly family: number }[],
) => void;

test('R8: fifty slow names leave threads for logins and files', { timeout: 60_000 }, async (t) => {
  const { lookup, held, answer } = threadHoldingLookup(t);
  const resolve = createResolver({ lookup, concurrency: 2 });
  const names = Array.from({ length: 50 }, (_, at) => resolve(`slow-${at}.example`, { timeout: 50_000 }));
  const verifier = createPasswordVerifier({ concurrency: 2, queue: 32, matches: matchesPassword });
  const hash = parsePasswordHash(await hashPassword(testPassword));
  assert.ok(hash !== undefined);
  // No look-up is answered before logins and file are done: they would never be done if they needed the threads of the look-ups.
  const logins = Array.from({ length: 8 }, () => verifier.enter(testPassword).verify(hash));
  const file = new Promise<Buffer>((done, fail) =>
    readFile(new URL(import.meta.url), (error, bytes) => (error === null ? done(bytes) : fail(error))),
  );
  assert.deepEqual(new Set(await Promise.all(logins)), new Set([true]));
  assert.ok((await file).length > 0);
  assert.equal(held(), 2);
  answer();
  assert.equal((await Promise.all(names)).length, 50);
});

function calls(times: number, send: () => Promise<Reply>): Promise<readonly Reply[]> {
  return Promise.all(Array.from({ length: times }, send));
}

test('R98: a caller over server.rateLimit gets 429 with Retry-After, and no other caller is affected', async () => {
  const gateway = rateLimited;
  far.answer(() => jsonReply('{}'));
  const query = { params: { path: 'a', accept: '*/*' } };
  const replies = [
    ...(await calls(3, () => restCall(gateway, call))),
    await relay(gateway, 'restQuery', 'far', query),
    await gateway.send({ target: '/automation_catalog/automations', role: 'admin' }),
  ];
  assert.deepEqual(
    replies.map((reply) => reply.status),
    [200, 200, 200, 200, 200],
  );
  for (const refused of [
    () => restCall(gateway, call),
    () => relay(gateway, 'restQuery', 'far', query),
    () => relay(gateway, 'restAction', 'far', { ...query, body: {} }),
    () => relay(gateway, 'restRequest', 'far', { params: { ...query.params, method: 'GET' } }),
    () => gateway.send({ target: '/automation_catalog/automations', role: 'admin' }),
  ]) {
    const reply = await refused();
    assertProblem(reply, 429, 'too-many-requests');
    const wait = Number(reply.header('retry-after'));
    assert.ok(wait > 0 && wait <= 720, `${wait}`);
  }
  assert.equal(far.requests.length, 4, 'what was refused did not leave');
  // The limit is of the caller, not of its credentials.
  const bearer = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  assertProblem(await restCall(gateway, call, { headers: bearer }), 429, 'too-many-requests');
  // Other callers and other routes have no part in it.
  assert.equal((await restCall(gateway, call, { role: 'engineering' })).status, 200);
  for (const target of ['/healthz', '/readyz', '/metrics', '/whoami', '/openapi.json'])
    assert.equal((await gateway.send({ target, role: 'admin' })).status, 200, target);
  assert.equal((await post(gateway, '/login', { username: 'admin-user', password: testPassword })).status, 200);
});

test('R98: a refusal for another reason comes before 429 and is not counted', async () => {
  const gateway = rateLimited;
  far.answer(() => jsonReply('{}'));
  const asAda = { headers: ada };
  const refusals = async (): Promise<void> => {
    assertProblem(await restCall(gateway, { ...call, verb: 'get' }, asAda), 400, 'invalid-request');
    assertProblem(await restCall(gateway, '{', asAda), 400, 'invalid-json');
    assertProblem(await restCall(gateway, call, { headers: { ...ada, 'Content-Type': 'text/plain' } }), 415);
    assertProblem(await relay(gateway, 'restQuery', 'unknown', {}, asAda), 404, 'adapter-not-found');
    const secret = { params: { path: 'secret', accept: '*/*' } };
    assertProblem(await relay(gateway, 'restQuery', 'guarded', secret, asAda), 403, 'path-denied');
    const metadata = { ...call, headers: { 'Metadata-Flavor': 'Google' } };
    assertProblem(await restCall(gateway, metadata, asAda), 403, 'destination-denied');
    for (const uri of ['http://10.0.0.1/', 'http://[::1]/', 'https://localhost/', `${gateway.url}/healthz`])
      assertProblem(await restCall(gateway, { ...call, uri }, asAda), 403, 'destination-denied');
    assertProblem(await relay(gateway, 'restQuery', 'far', {}, { role: 'engineering' }), 403, 'forbidden');
    for (const query of ['x=1', 'limit=abc'])
      assertProblem(
        await gateway.send({ target: `/automation_catalog/automations?${query}`, headers: ada }),
        400,
        'invalid-request',
      );
    assertProblem(await restCall(gateway, call, { headers: { Authorization: 'Basic eDp5' } }), 401, 'unauthenticated');
  };
  await refusals();
  for (let count = 0; count < 5; count += 1) assert.equal((await restCall(gateway, call, asAda)).status, 200);
  await refusals();
  assertProblem(await restCall(gateway, call, asAda), 429, 'too-many-requests');
});

test('R98: no caller is limited without server.rateLimit', async () => {
  far.answer(() => jsonReply('{}'));
  const replies = await calls(100, () => restCall(gateway, call));
  assert.deepEqual(new Set(replies.map((reply) => reply.status)), new Set([200]));
});

/** Stops and continues the process repeatedly until the result is called, so that its event loop is always late. */
function hold(t: TestContext, gateway: GatewayProcess): () => void {
  const ended = new AbortController();
  const release = (): void => {
    ended.abort();
    gateway.kill('SIGCONT');
  };
  t.after(release);
  void (async () => {
    while (!ended.signal.aborted) {
      gateway.kill('SIGSTOP');
      await lapse(900, 'the process is stopped');
      gateway.kill('SIGCONT');
      await lapse(30, 'the process works');
    }
  })();
  return release;
}

test('R77: a late event loop is 503 for work and a flag for health, until it has caught up', {
  timeout: 90_000,
}, async (t) => {
  far.answer(() => jsonReply('{}'));
  const degraded = async (): Promise<boolean> => {
    const reply = await gateway.send({ target: '/healthz' });
    assert.equal(reply.status, 200);
    const health = reply.json() as { readonly degraded: boolean };
    assert.deepEqual(health, { status: 'ok', degraded: health.degraded });
    return health.degraded;
  };
  await until('the event loop has caught up', async () => !(await degraded()));
  assert.equal((await restCall(gateway, call)).status, 200);
  const bearer = { Authorization: `Bearer ${await gateway.tokenFor('readonly')}` };
  const release = hold(t, gateway);
  await until('the event loop is behind', degraded);
  let answered = far.requests.length;
  for (const send of [
    () => restCall(gateway, call),
    () => relay(gateway, 'restQuery', 'far', { params: { path: 'a', accept: '*/*' } }),
    () => gateway.send({ target: '/automation_catalog/automations', role: 'admin' }),
    () => post(gateway, '/login', { username: 'admin-user', password: testPassword }),
  ]) {
    let reply = await send();
    // On a busy machine the gateway can catch up between two stops.
    await until('it is refused', async () => {
      if (reply.status === 503) return true;
      assert.equal(reply.status, 200);
      answered = far.requests.length;
      reply = await send();
      return false;
    });
    assertProblem(reply, 503, 'overloaded');
    assert.match(reply.header('retry-after') ?? '', /^[1-9]\d*$/u);
  }
  // /readyz gives the store a second, and a stop takes nearly as long: only some of the requests are 200.
  await until('the store answers', async () => (await gateway.send({ target: '/readyz' })).status === 200);
  assert.equal((await gateway.send({ target: '/metrics', headers: bearer })).status, 200);
  // Faults that cost no work to find have their own status.
  assertProblem(await gateway.send({ method: 'POST', target: '/tools/restCall' }), 401, 'unauthenticated');
  assertProblem(await restCall(gateway, call, { role: 'other' }), 403, 'forbidden');
  assert.equal(far.requests.length, answered, 'what was refused did not leave');
  release();
  await until('the event loop has caught up', async () => !(await degraded()));
  assert.equal((await restCall(gateway, call)).status, 200);
  assert.ok(gateway.stderr.some((line) => line.includes('overloaded') && line.includes('event loop')));
});

test('a call beyond the limit of open files is 503, and the calls in flight end with their replies', async (t) => {
  const gateway = fewFiles;
  const token = await gateway.tokenFor('admin');
  const held: (() => void)[] = [];
  t.after(() => far.answer(() => jsonReply('{}')));
  far.answer((_, socket) => void held.push(() => socket.write(jsonReply('{"held":true}'))));
  const ask = (): Promise<Reply> => restCall(gateway, call, { headers: { Authorization: `Bearer ${token}` } });
  const inFlight = Array.from({ length: 60 }, ask);
  await until('60 calls are held', () => held.length === 60);
  const refused = await ask();
  assertProblem(refused, 503, 'overloaded');
  assert.match(refused.body.toString(), /open files/u);
  assert.equal(refused.header('retry-after'), '1');
  assertProblem(await post(gateway, '/login', { username: 'admin-user', password: testPassword }), 503, 'overloaded');
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  assertProblem(await gateway.send({ method: 'POST', target: '/tools/restCall' }), 401, 'unauthenticated');
  for (const answer of held.splice(0)) answer();
  for (const reply of await Promise.all(inFlight)) assert.equal(reply.status, 200);
  const next = ask();
  await until('a call is held', () => held.length === 1);
  held[0]?.();
  assert.equal((await next).status, 200);
});

test('callers who are authenticated at the same time get 503 only where the limit of open files is reached', async () => {
  const gateway = fewFiles;
  far.answer(() => jsonReply('{}'));
  // Callers who leave during authentication must release their place. No test before has verified these credentials.
  for (let round = 0; round < 100; round += 1) {
    const { socket } = await openConnection(gateway.port);
    socket.write(requestBytes(gateway.port, { target: '/whoami', headers: grace }));
    setImmediate(() => socket.resetAndDestroy());
  }
  const crowd = await Promise.all(Array.from({ length: 90 }, () => restCall(gateway, call, { headers: grace })));
  const served = crowd.filter(({ status }) => status === 200).length;
  assert.ok(served >= 60, `${served} were served`);
  for (const reply of crowd) if (reply.status !== 200) assertProblem(reply, 503, 'overloaded');
});

test('an unexpected body of more than 16 KiB is 413', async () => {
  const send = (target: string, size: number): Promise<Reply> => gateway.send({ target, body: 'x'.repeat(size) });
  for (const target of ['/healthz', '/openapi.json']) {
    assert.equal((await send(target, 16_384)).status, 200);
    assertProblem(await send(target, 16_385), 413, 'body-too-large');
  }
});
