import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, isIP, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../src/base/clock.ts';
import { GatewayError } from '../src/base/gateway-error.ts';
import { CallScope } from '../src/outbound/call-scope.ts';
import { createConnector } from '../src/outbound/connector.ts';
import { readDestination } from '../src/outbound/destination.ts';
import { createDestinationPolicy } from '../src/outbound/destination-policy.ts';
import { createResolver } from '../src/outbound/resolver.ts';
import { createSender } from '../src/outbound/sender.ts';
import { assertProblem, relay, responseOf, restCall } from './support/callers/calls.ts';
import { farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';

// Rows 1 to 12, 19 and 69 of docs/security.md: where a call may go. `src/outbound/` has the cases one by one.

interface Case {
  readonly uri: string;
  readonly category: string;
  readonly expect: 'allow' | 'deny' | 'invalid';
}

const cases = JSON.parse(readFileSync(new URL('../src/outbound/ssrf-cases.json', import.meta.url), 'utf8')) as readonly Case[];
/** What the contract calls no destination at all, 400, where the corpus would have it denied. */
const noDestination = new Set(['userinfo', 'backslash', 'whitespace', 'bidi-zero-width', 'scheme', 'slashes']);
const invalid = cases.filter(({ expect, category }) => expect === 'invalid' || noDestination.has(category));
/** Denied for what they say: no look-up can change it, so they are safe to send from any machine. */
const denied = cases.filter(({ uri, expect }) => {
  const read = readDestination(uri);
  if (expect !== 'deny' || !('url' in read)) return false;
  const host = read.url.hostname.replaceAll(/[[\]]/gu, '');
  return isIP(host) !== 0 ? !read.url.hostname.startsWith('198.41.') : /(?:^|\.)localhost\.?$/u.test(host);
});

const far = await farSide({ after });
const canary = await farSide({ after });
const strict = await startGateway({ after });
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'canary', kind: 'rest', url: canary.url, auth: { type: 'none' } }],
  },
);

const timeouts = { dns: 1_000, connect: 1_000, firstByte: 1_000, idle: 1_000, total: 1_000 };
const get = (uri: string, more: object = {}): object => ({ uri, verb: 'GET', responseHeaders: false, ...more });

test('R1: whatever spelling a denied address has, the call is 403 and nothing connects', async () => {
  assert.ok(denied.length > 70, `${denied.length} cases`);
  canary.answer(() => jsonReply('{}'));
  for (const { uri } of denied) {
    const problem = assertProblem(await restCall(strict, get(uri)), 403, 'destination-denied');
    assert.match(problem.detail, /^The destination /, uri);
  }
  for (const host of ['127.0.0.1', '127.1', '2130706433', '0x7f.1', '0177.0.0.1', '[::ffff:127.0.0.1]', 'localhost', '0.0.0.0']) {
    assertProblem(await restCall(strict, get(`http://${host}:${canary.port}/`)), 403, 'destination-denied');
  }
  assert.equal(canary.connections, 0);
});

test('R2: what is no destination is 400, and nothing is looked up', async () => {
  assert.ok(invalid.length > 40, `${invalid.length} cases`);
  for (const { uri } of invalid) {
    assertProblem(await restCall(strict, get(uri)), 400, 'invalid-request');
    assert.ok('problem' in readDestination(uri), uri);
  }
});

/** The default policy with a resolver and a dialler that take notes and connect to nothing. */
function noting(answers: readonly (readonly string[])[]) {
  const lookUps: string[] = [];
  const dials: string[] = [];
  const connect = createConnector({
    policy: createDestinationPolicy({ allow: [], deny: [], ownListeners: () => [] }),
    timeouts,
    resolve: (host) => {
      lookUps.push(host);
      return Promise.resolve(answers[Math.min(lookUps.length, answers.length) - 1] ?? []);
    },
    dial: ({ host }) => {
      dials.push(host);
      const socket = new Socket();
      process.nextTick(() => socket.destroy(Object.assign(new Error('stub'), { code: 'ECONNREFUSED' })));
      return socket;
    },
  });
  const codeOf = (origin: string): Promise<string> =>
    connect(origin).then(
      () => 'connected',
      (error: unknown) => (error instanceof GatewayError ? error.code : String(error)),
    );
  return { lookUps, dials, codeOf };
}

test('R3: an allowed call is dialled at exactly the address that was checked', async () => {
  for (const scheme of ['http', 'https']) {
    const { dials, lookUps, codeOf } = noting([['93.184.215.14', '2606:2800:21f::1']]);
    assert.equal(await codeOf(`${scheme}://public.example.net`), 'upstream-connect-failed');
    assert.deepEqual([lookUps, dials], [['public.example.net'], ['93.184.215.14', '2606:2800:21f::1']]);
    const literal = noting([]);
    assert.equal(await literal.codeOf(`${scheme}://[2606:4700::1111]:8443`), 'upstream-connect-failed');
    assert.deepEqual([literal.lookUps, literal.dials], [[], ['2606:4700::1111']]);
  }
  far.answer(() => jsonReply('{}'));
  responseOf(await restCall(gateway, get(far.url)));
  assert.equal(far.connections, 1);
});

test('R4: https is judged as http is, by literal and by name', async () => {
  canary.answer(() => jsonReply('{}'));
  for (const host of ['127.0.0.1', '[::ffff:7f00:1]', 'localhost', 'a.localhost.']) {
    assertProblem(await restCall(gateway, get(`https://${host}:${canary.port}/`)), 403, 'destination-denied');
  }
  assert.equal(canary.connections, 0);
  const byName = noting([['10.0.0.1']]);
  assert.equal(await byName.codeOf('https://internal.example.net'), 'destination-denied');
  assert.deepEqual(byName.dials, []);
});

test('R5: a name that changes its answer gains nothing: one look-up, and its answer is dialled', async () => {
  const { lookUps, dials, codeOf } = noting([['93.184.215.14'], ['127.0.0.1']]);
  assert.equal(await codeOf('http://rebind.example.net'), 'upstream-connect-failed');
  assert.deepEqual([lookUps.length, dials], [1, ['93.184.215.14']]);
  // The next call looks up anew and meets the other answer: denied, not dialled.
  assert.equal(await codeOf('http://rebind.example.net'), 'destination-denied');
  assert.deepEqual(dials, ['93.184.215.14']);
});

test('R6: a name with one denied address among its answers is denied as a whole', async () => {
  for (const bad of ['127.0.0.1', '169.254.169.254', '10.0.0.1', '::1', '::ffff:192.168.0.1', 'fe80::1%lo', 'nonsense']) {
    for (const answers of [
      ['93.184.215.14', bad],
      [bad, '93.184.215.14'],
    ]) {
      const { dials, codeOf } = noting([answers]);
      assert.equal(await codeOf('http://mixed.example.net'), 'destination-denied', bad);
      assert.deepEqual(dials, []);
    }
  }
});

type Done = Parameters<NonNullable<NonNullable<Parameters<typeof createResolver>[0]>['lookup']>>[1];

test('R7: a look-up that fails is 502, one that never ends 504 within its limit, and others go on', async () => {
  const lookup = (host: string, done: Done): void => {
    if (host === 'fails.example') done(Object.assign(new Error('x'), { code: 'EAI_AGAIN' }), []);
    else if (host === 'empty.example') done(null, []);
    else if (host === 'fine.example') done(null, [{ address: '93.184.215.14', family: 4 }]);
  };
  const resolve = createResolver({ lookup, concurrency: 2 });
  const codeOf = (host: string): Promise<string> =>
    resolve(host, { timeout: 100 }).then(String, (error: unknown) => (error as GatewayError).code);
  const never = codeOf('never.example');
  assert.equal(await codeOf('fails.example'), 'upstream-dns-failed');
  assert.equal(await codeOf('empty.example'), 'upstream-dns-failed');
  assert.equal(await codeOf('fine.example'), '93.184.215.14');
  assert.equal(await never, 'upstream-timeout');
});

test('R9: a redirect to a denied address is 403 and the address sees nothing', async () => {
  canary.answer(() => jsonReply('{}'));
  for (const status of [301, 302, 303, 307, 308]) {
    for (const location of [
      canary.url,
      `//127.0.0.1:${canary.port}/x`,
      'http://169.254.169.254/latest/meta-data/',
      'file:///etc/passwd',
    ]) {
      far.answer(() => httpReply({ status, headers: { Location: location } }));
      assertProblem(await restCall(gateway, get(far.url)), 403, 'destination-denied');
      assert.equal(far.requests.length, 1);
    }
  }
  assert.equal(canary.connections, 0);
});

test('R10: a connection that an adapter keeps open is not lent to a call that may not go there', async () => {
  canary.answer(() => jsonReply('{}'));
  const query = { params: { path: 'x', accept: '*/*' } };
  assert.equal((await relay(gateway, 'restQuery', 'canary', query)).status, 200);
  assertProblem(await restCall(gateway, get(canary.url)), 403, 'destination-denied');
  assert.equal((await relay(gateway, 'restQuery', 'canary', query)).status, 200);
  assert.deepEqual([canary.connections, canary.requests.length], [1, 2]);
});

test('R12: the gateway is denied to itself, on every interface and by every name', async (t) => {
  const everywhere = await startGateway(t, {
    config: {
      server: { host: '0.0.0.0' },
      outbound: { allow: ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'] },
    },
  });
  const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).filter(({ family }) => family === 'IPv4'));
  for (const host of [
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    'localhost',
    '[::ffff:127.0.0.1]',
    ...own.map(({ address }) => address),
  ]) {
    assertProblem(await restCall(everywhere, get(`http://${host}:${everywhere.port}/healthz`)), 403, 'destination-denied');
  }
  const loopback = await startGateway(t, { config: { outbound: { allow: ['127.0.0.0/8', 'localhost'] } } });
  await assertNoSelfCall(loopback);
});

async function assertNoSelfCall(on: Gateway): Promise<void> {
  for (const host of ['127.0.0.1', 'localhost']) {
    assertProblem(await restCall(on, get(`http://${host}:${on.port}/healthz`)), 403, 'destination-denied');
  }
}

test('R19: a header that unlocks a metadata service is 403, wherever the call goes', async () => {
  far.answer(() => jsonReply('{}'));
  for (const name of ['Metadata-Flavor', 'METADATA', 'x-aws-ec2-metadata-token', 'X-aws-ec2-metadata-token-ttl-seconds']) {
    assertProblem(await restCall(gateway, get(far.url, { headers: { [name]: 'x' } })), 403, 'destination-denied');
  }
  assert.equal(far.connections, 0);
});

test('R69: thousands of destinations leave nothing behind in memory', { timeout: 60_000 }, async () => {
  const sender = createSender({
    connect: createConnector({
      policy: createDestinationPolicy({ allow: ['127.0.0.0/8'], deny: [], ownListeners: () => [] }),
      resolve: createResolver({ concurrency: 2 }),
      timeouts,
    }),
  });
  const call = async (origin: string): Promise<void> => {
    const scope = new CallScope({ total: 10_000, clock: systemClock });
    const request = {
      origin,
      path: '/',
      method: 'GET',
      headers: [],
      stateChanging: false,
      timeouts,
      responseLimit: 1_000,
    } as const;
    await assert.rejects(sender.send(request, scope));
    scope.end();
  };
  // One is denied before it connects, the other refused by the machine: port 1 of loopback.
  const both = async (at: number): Promise<void> => {
    await call(`http://10.0.${at >> 8}.${at & 255}`);
    await call(`http://127.1.${at >> 8}.${at & 255}:1`);
  };
  for (let at = 0; at < 200; at += 1) await both(at);
  const before = heapInUse();
  for (let at = 200; at < 2_200; at += 1) await both(at);
  const perDestination = (heapInUse() - before) / 4_000;
  // A pool of connections that stayed would be some kilobytes for each.
  assert.ok(perDestination < 1_500, `${perDestination} bytes stay for each destination`);
  await sender.close();
});

test('R69: connections to destinations that are not called again are closed', { timeout: 60_000 }, async (t) => {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
    socket.on('data', () => socket.write(jsonReply('{}')));
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  const wide = await startGateway(t, { config: { outbound: { allow: ['127.0.0.0/8'] } } });
  const calls = Array.from({ length: 60 }, (_, at) => restCall(wide, get(`http://127.2.0.${at + 1}:${address.port}/`)));
  for (const reply of await Promise.all(calls)) responseOf(reply);
  assert.ok(open.size > 0);
  const deadline = performance.now() + 40_000;
  while (open.size > 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(open.size, 0);
});

function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
