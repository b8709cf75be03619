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
import { startGateway } from './support/gateway/start-gateway.ts';

// Rows 1 to 12, 19 and 69 of docs/security.md: where a call may go. The tests in src/outbound/ have each case.

interface Case {
  readonly uri: string;
  readonly category: string;
  readonly expect: 'allow' | 'deny' | 'invalid';
}

const cases = JSON.parse(readFileSync(new URL('../src/outbound/ssrf-cases.json', import.meta.url), 'utf8')) as readonly Case[];
/** Categories that the gateway refuses with 400, because the text is no destination, where the corpus expects a denial. */
const noDestination = new Set(['userinfo', 'backslash', 'whitespace', 'bidi-zero-width', 'scheme', 'slashes']);
const invalid = cases.filter(({ expect, category }) => expect === 'invalid' || noDestination.has(category));
/** Denied by their text alone, without a look-up: they are safe to send from any machine. */
const denied = cases.filter(({ uri, expect }) => {
  const read = readDestination(uri);
  if (expect !== 'deny' || !('url' in read)) return false;
  const host = read.url.hostname.replaceAll(/[[\]]/gu, '');
  return isIP(host) !== 0 ? !read.url.hostname.startsWith('198.41.') : /(?:^|\.)localhost\.?$/u.test(host);
});

const far = await farSide({ after });
const canary = await farSide({ after });
/** The default policy. */
const strict = await startGateway({ after });
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'canary', kind: 'rest', url: canary.url, auth: { type: 'none' } }],
  },
);

/** All of loopback is allowed, by address and by name. */
const wide = await startGateway({ after }, { config: { outbound: { allow: ['127.0.0.0/8', 'localhost'] } } });

const timeouts = { dns: 1_000, connect: 1_000, firstByte: 1_000, idle: 1_000, total: 1_000 };
const get = (uri: string, more: object = {}): object => ({ uri, verb: 'GET', responseHeaders: false, ...more });

test('R1: a call to a denied address in any spelling is 403 and makes no connection', async () => {
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

test('R2: a text that is no destination is 400, without a look-up', async () => {
  assert.ok(invalid.length > 40, `${invalid.length} cases`);
  for (const { uri } of invalid) {
    assertProblem(await restCall(strict, get(uri)), 400, 'invalid-request');
    assert.ok('problem' in readDestination(uri), uri);
  }
});

/** A connector with the default policy whose resolver and dialler record their calls and never connect. */
function recording(answers: readonly (readonly string[])[]) {
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
    const { dials, lookUps, codeOf } = recording([['93.184.215.14', '2606:2800:21f::1']]);
    assert.equal(await codeOf(`${scheme}://public.example.net`), 'upstream-connect-failed');
    assert.deepEqual([lookUps, dials], [['public.example.net'], ['93.184.215.14', '2606:2800:21f::1']]);
    const literal = recording([]);
    assert.equal(await literal.codeOf(`${scheme}://[2606:4700::1111]:8443`), 'upstream-connect-failed');
    assert.deepEqual([literal.lookUps, literal.dials], [[], ['2606:4700::1111']]);
  }
  far.answer(() => jsonReply('{}'));
  responseOf(await restCall(gateway, get(far.url)));
  assert.equal(far.connections, 1);
});

test('R4: https has the same policy as http, for addresses and names', async () => {
  canary.answer(() => jsonReply('{}'));
  for (const host of ['127.0.0.1', '[::ffff:7f00:1]', 'localhost', 'a.localhost.']) {
    assertProblem(await restCall(gateway, get(`https://${host}:${canary.port}/`)), 403, 'destination-denied');
  }
  assert.equal(canary.connections, 0);
  const byName = recording([['10.0.0.1']]);
  assert.equal(await byName.codeOf('https://internal.example.net'), 'destination-denied');
  assert.deepEqual(byName.dials, []);
});

test('R5: a name that changes its answer has one look-up for each call, and the call dials that answer', async () => {
  const { lookUps, dials, codeOf } = recording([['93.184.215.14'], ['127.0.0.1']]);
  assert.equal(await codeOf('http://rebind.example.net'), 'upstream-connect-failed');
  assert.deepEqual([lookUps.length, dials], [1, ['93.184.215.14']]);
  // The next call has a look-up of its own, which gives the other address: it is denied and not dialled.
  assert.equal(await codeOf('http://rebind.example.net'), 'destination-denied');
  assert.deepEqual(dials, ['93.184.215.14']);
});

test('R6: a name with one denied address among its answers is denied as a whole', async () => {
  for (const bad of ['127.0.0.1', '169.254.169.254', '10.0.0.1', '::1', '::ffff:192.168.0.1', 'fe80::1%lo', 'nonsense']) {
    for (const answers of [
      ['93.184.215.14', bad],
      [bad, '93.184.215.14'],
    ]) {
      const { dials, codeOf } = recording([answers]);
      assert.equal(await codeOf('http://mixed.example.net'), 'destination-denied', bad);
      assert.deepEqual(dials, []);
    }
  }
});

type Done = Parameters<NonNullable<NonNullable<Parameters<typeof createResolver>[0]>['lookup']>>[1];

test('R7: a look-up that fails is 502, one that never ends is 504 within its limit, and others are not affected', async () => {
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

test('R9: a redirect to a denied address is 403 and makes no connection to that address', async () => {
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

test('R10: a connection that an adapter keeps open is not used by a call that is denied there', async () => {
  canary.answer(() => jsonReply('{}'));
  const query = { params: { path: 'x', accept: '*/*' } };
  assert.equal((await relay(gateway, 'restQuery', 'canary', query)).status, 200);
  assertProblem(await restCall(gateway, get(canary.url)), 403, 'destination-denied');
  assert.equal((await relay(gateway, 'restQuery', 'canary', query)).status, 200);
  assert.deepEqual([canary.connections, canary.requests.length], [1, 2]);
});

test('R12: a call to the gateway itself is denied, on every interface and by every name', async (t) => {
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
  for (const host of ['127.0.0.1', 'localhost']) {
    assertProblem(await restCall(wide, get(`http://${host}:${wide.port}/healthz`)), 403, 'destination-denied');
  }
});

test('R19: a header that a metadata service requires is 403, to any destination', async () => {
  far.answer(() => jsonReply('{}'));
  for (const name of ['Metadata-Flavor', 'METADATA', 'x-aws-ec2-metadata-token', 'X-aws-ec2-metadata-token-ttl-seconds']) {
    assertProblem(await restCall(gateway, get(far.url, { headers: { [name]: 'x' } })), 403, 'destination-denied');
  }
  assert.equal(far.connections, 0);
});

test('R69: calls to thousands of destinations keep no memory', { timeout: 60_000 }, async () => {
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
  // The first is denied before it connects. The second, port 1 of loopback, refuses the connection.
  const both = async (at: number): Promise<void> => {
    await call(`http://10.0.${at >> 8}.${at & 255}`);
    await call(`http://127.1.${at >> 8}.${at & 255}:1`);
  };
  for (let at = 0; at < 200; at += 1) await both(at);
  const before = heapInUse();
  for (let at = 200; at < 2_200; at += 1) await both(at);
  const perDestination = (heapInUse() - before) / 4_000;
  // A pool of connections for each would be some kilobytes.
  assert.ok(perDestination < 1_500, `${perDestination} bytes are kept for each destination`);
  await sender.close();
});

test('R69: a connection to a destination that is not called again is closed', { timeout: 60_000 }, async (t) => {
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
