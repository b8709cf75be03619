import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createLog, readableLines } from '../src/base/log.ts';
import { assertProblem, post, relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Rows 83, 84, 88, 94 and 99 of docs/security.md: what hostile and careless values of callers and operators reach.

const far = await upstream({ after });
const provider = await identityProvider({ after });
const ann = { username: 'ann', passwordHash: testPasswordHash, roles: ['readonly'], groups: ['noc'] };
const bob = { username: 'bob', passwordHash: testPasswordHash, roles: ['readonly'], groups: ['NOC', 'sales'] };
const gateway = await startGateway(
  { after },
  {
    config: {
      server: { logLevel: 'trace' },
      outbound: { allow: [far.authority] },
      access: {
        users: [{ username: 'admin-user', passwordHash: testPasswordHash, roles: ['admin'], groups: [] }, ann, bob],
        oidc: [{ issuer: provider.issuer, audience }],
      },
    },
    adapters: [{ name: 'rest', kind: 'rest', url: far.url, auth: { type: 'none' } }],
  },
);

const whoami = (authorization: string): Promise<Reply> =>
  gateway.send({ target: '/whoami', headers: { Authorization: authorization, 'X-Request-Id': 'same' } });
const listed = (username: string, query = ''): Promise<Reply> =>
  gateway.send({ target: `/automation_catalog/automations${query}`, headers: { Authorization: basic(username, testPassword) } });

test('R83: an automation without a read list is visible to all, one with a list to its groups and admin', async () => {
  for (const [name, gbac] of [
    ['a missing', undefined],
    ['b empty', { read: [], write: [] }],
    ['c written by few', { write: ['sales'] }],
    ['d read by noc', { read: ['noc'] }],
    ['e read by a group that was renamed', { read: ['former noc'], write: ['sales'] }],
  ] as const) {
    const automation = { name, ...(gbac === undefined ? {} : { data: { gbac } }) };
    const made = await post(gateway, '/automation_catalog/automations', automation);
    assert.equal(made.status, 201, made.text);
  }
  const seen = async (username: string): Promise<string> => {
    const { list, total } = (await listed(username)).json() as { list: readonly { name: string }[]; total: number };
    assert.equal(total, list.length);
    return list.map(({ name }) => name.charAt(0)).join('');
  };
  assert.deepEqual(await Promise.all([seen('ann'), seen('bob'), seen('admin-user')]), ['abcd', 'abce', 'abcde']);
});

test('R84: a limit or skip that is no whole number in range is 400', async () => {
  for (const limit of ['-1', '1001', '1e9', 'x', 'NaN', '1.5', ''])
    assertProblem(await listed('ann', `?limit=${limit}`), 400, 'invalid-request');
  for (const skip of ['-1', 'x', 'NaN', '9007199254740993', '9007199254740992', '-0.5'])
    assertProblem(await listed('ann', `?skip=${skip}`), 400, 'invalid-request');
  assertProblem(await listed('ann', `?queryParameters=${encodeURIComponent('{"limit":"5"}')}`), 400, 'invalid-request');
  assert.equal((await listed('ann', '?skip=1000000000')).status, 200);
});

test('R88: a user that is not configured has no default password, and a malformed hash stops the start', async (t) => {
  for (const password of ['admin', 'password', 'changeme', '']) assertProblem(await whoami(basic('admin', password)), 401);
  const hashes = ['admin', '$argon2id$v=19$m=8,t=1,p=1$AAAA$AAAA', '$2b$10$abcdefghijklmnopqrstuv'];
  const users = hashes.map((passwordHash, at) => ({ username: `admin-${at}`, passwordHash, roles: ['admin'], groups: [] }));
  await assert.rejects(startGateway({ after: () => undefined }, { config: { access: { users } } }), ({ message }: Error) => {
    for (const at of hashes.keys()) assert.match(message, new RegExp(`access\\.users\\[${at}\\]\\.passwordHash`));
    return true;
  });
  t.diagnostic('the gateway makes its signing keys itself; src/access/oidc.test.ts has RSA keys of issuers below 2,048 bits');
});

test('R94: a name with line breaks or escape sequences is refused, and the log has it on one line', async () => {
  const name = 'eve\r\n{"level":"error","msg":"forged"}\n\u001b[31m\u0000';
  const token = await provider.token({ iss: name });
  assertProblem(await whoami(`Bearer ${token}`), 401, 'unauthenticated');
  assertProblem(await whoami(`Bearer ${await provider.token({ preferred_username: name })}`), 401, 'unauthenticated');
  const line = await until('the refused token is logged', () =>
    gateway.stderr.find((one) => (JSON.parse(one) as Record<string, unknown>)['issuer'] === name),
  );
  assert.doesNotMatch(line, /\p{Cc}/u);
  assert.ok(!gateway.stderr.some((one) => (JSON.parse(one) as Record<string, unknown>)['msg'] === 'forged'));
});

// Log shippers use Node's readline or Python's splitlines, which end a line at these characters.
test('R94: a logged value with U+2028, U+2029 and U+0085 is on one line', () => {
  const written: string[] = [];
  createLog({ level: 'info', destination: { write: (text) => void written.push(text) } }).info('request', {
    principal: 'a\u2028b\u2029c\u0085d\u009b2J\u202ee',
  });
  assert.equal(written.length, 1);
  assert.doesNotMatch(written.join('').trimEnd(), /[\p{Cc}\p{Cf}\u2028\u2029]/u);
  assert.equal((JSON.parse(written.join('')) as Record<string, unknown>)['principal'], 'a\u2028b\u2029c\u0085d\u009b2J\u202ee');
});

test('R94: an event on a terminal is one line without control characters', () => {
  let shown = '';
  const principal = 'a\r\n\u001b[31m\u007f\u0085\u009b2J\u2028\u202eb';
  readableLines({ write: (text) => (shown += text) }).write(
    JSON.stringify({ time: '', level: 'info', msg: 'request', principal }),
  );
  assert.doesNotMatch(shown.trimEnd(), /[\p{Cc}\p{Cf}\u2028\u2029]/u);
});

test('R99: /metrics has the same lines for any values of callers', { timeout: 60_000 }, async () => {
  far.answer(() => jsonReply('{}', { headers: { Connection: 'close' } }));
  const labels = async (): Promise<readonly string[]> =>
    (await gateway.send({ target: '/metrics', role: 'admin' })).text
      .split('\n')
      .filter((line) => line.startsWith('gateway_'))
      .map((line) => line.replace(/ \S+$/, ''));
  const round = async (at: number): Promise<void> => {
    await restCall(gateway, { uri: `${far.url}/${at}?q=${at}`, verb: 'GET', responseHeaders: false });
    await restCall(gateway, { uri: `http://10.0.${at}.1/`, verb: 'GET', responseHeaders: false });
    await relay(gateway, 'restQuery', `unknown ${at}`, { params: { path: 'a', accept: '*/*' } });
    await gateway.send({ target: `/path/${at}`, headers: { 'X-Request-Id': `id-${at}` } });
    await gateway.send({ method: `M${at}`.replaceAll(/\d/g, (digit) => 'ABCDEFGHIJ'[Number(digit)] ?? ''), target: '/healthz' });
    await gateway.send({ target: '/whoami', headers: { Authorization: 'Bearer x' } });
  };
  await round(0);
  await gateway.send({ target: '/metrics', role: 'admin' });
  const before = await labels();
  for (let at = 1; at <= 150; at += 1) await round(at);
  assert.deepEqual(await labels(), before);
});
