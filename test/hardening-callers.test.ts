import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createAutomationStore } from '../src/automations/automation-store.ts';
import { createLog, noLog, readableLines } from '../src/base/log.ts';
import { openDatabase } from '../src/database/database.ts';
import { assertProblem, post, relay, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { farSide, jsonReply } from './support/far-sides/far-side.ts';
import { audience, identityProvider } from './support/far-sides/identity-provider.ts';
import { basic, startGateway, testPassword, testPasswordHash, testRoles } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';

// Rows 80, 81, 83, 84, 86 to 89, 92, 94 and 99 of docs/security.md: authentication, visibility, log and metrics.
// The tests in src/access/ have each case.

const far = await farSide({ after });
const provider = await identityProvider({ after });
const ann = { username: 'ann', passwordHash: testPasswordHash, roles: ['readonly'], groups: ['noc'] };
const bob = { username: 'bob', passwordHash: testPasswordHash, roles: ['readonly'], groups: ['NOC', 'sales'] };
const root = { username: 'root', passwordHash: testPasswordHash, roles: ['admin'], groups: [] };
const gateway = await startGateway(
  { after },
  {
    users: [ann, bob, root],
    config: {
      server: { logLevel: 'trace' },
      outbound: { allow: [far.authority] },
      access: {
        users: [
          ...testRoles.map((role) => ({ username: `${role}-user`, passwordHash: testPasswordHash, roles: [role], groups: [] })),
          ann,
          bob,
          root,
        ],
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

test('R80: a caller without valid credentials gets 401 with both challenges, the same for an unknown user and a wrong password', async () => {
  const texts = new Set<string>();
  for (const value of [basic('ann', 'wrong'), basic('unknown', 'wrong')]) {
    const reply = await whoami(value);
    assertProblem(reply, 401, 'unauthenticated');
    assert.match(reply.header('www-authenticate') ?? '', /Basic.*Bearer|Bearer.*Basic/);
    texts.add(`${reply.header('www-authenticate') ?? ''} ${reply.text}`);
  }
  assert.equal(texts.size, 1);
});

test('R81: a caller with the wrong role gets 403 on each of the four routes, and no call is made', async () => {
  far.answer(() => jsonReply('{}'));
  const params = { path: 'a', accept: '*/*' };
  const wrong: readonly (readonly [
    readonly (typeof testRoles)[number][],
    (role: (typeof testRoles)[number]) => Promise<Reply>,
  ])[] = [
    [
      ['other', 'readonly', 'apiread'],
      (role) => restCall(gateway, { uri: far.url, verb: 'GET', responseHeaders: false }, { role }),
    ],
    [
      ['engineering', 'other', 'readonly', 'apiread'],
      (role) => relay(gateway, 'restAction', 'rest', { params, body: {} }, { role }),
    ],
    [['engineering', 'other', 'readonly', 'apiread'], (role) => relay(gateway, 'restQuery', 'rest', { params }, { role })],
    [['engineering'], (role) => gateway.send({ target: '/automation_catalog/automations', role })],
  ];
  for (const [roles, ask] of wrong) for (const role of roles) assertProblem(await ask(role), 403, 'forbidden');
  assert.equal(far.connections, 0);
});

test('R83: an automation without a read list is visible to all, one with a list to its groups and admin', async (t) => {
  const database = await openDatabase({
    store: { kind: 'sqlite', file: join(gateway.directory, 'gateway.db') },
    log: noLog,
  });
  t.after(() => database.close());
  const store = createAutomationStore(database);
  for (const [name, gbac] of [
    ['a missing', undefined],
    ['b empty', { read: [], write: [] }],
    ['c written by few', { write: ['sales'] }],
    ['d read by noc', { read: ['noc'] }],
    ['e read by a group that was renamed', { read: ['former noc'], write: ['sales'] }],
  ] as const) {
    const automation = { _id: name.slice(0, 1), name, ...(gbac === undefined ? {} : { data: { gbac } }) };
    await store.change((writer) => writer.insert([automation]));
  }
  const seen = async (username: string): Promise<string> => {
    const { list, total } = (await listed(username)).json() as { list: readonly { _id: string }[]; total: number };
    assert.equal(total, list.length);
    return list.map(({ _id }) => _id).join('');
  };
  assert.deepEqual(await Promise.all([seen('ann'), seen('bob'), seen('root')]), ['abcd', 'abce', 'abcde']);
});

test('R84: a limit or skip that is no whole number in range is 400', async () => {
  for (const query of [
    'limit=-1',
    'limit=1001',
    'limit=1e9',
    'limit=x',
    'limit=NaN',
    'limit=1.5',
    'limit=',
    'skip=-1',
    'skip=x',
    'skip=NaN',
  ])
    assertProblem(await listed('ann', `?${query}`), 400, 'invalid-request');
  for (const value of ['9007199254740993', '9007199254740992', '-0.5']) assertProblem(await listed('ann', `?skip=${value}`), 400);
  assertProblem(await listed('ann', `?queryParameters=${encodeURIComponent('{"limit":"5"}')}`), 400, 'invalid-request');
  assert.equal((await listed('ann', '?skip=1000000000')).status, 200);
});

const now = Math.floor(Date.now() / 1000);
const unsigned = (header: object, claims: object): string =>
  [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');

test('R86: a token with a wrong algorithm, a key of its own or a hostile key id is refused, without a fetch', async () => {
  const claims = { iss: provider.issuer, aud: audience, sub: 'eve', iat: now, exp: now + 3600, roles: ['admin'] };
  assert.equal((await whoami(`Bearer ${await provider.token()}`)).status, 200);
  const before = provider.asked.length;
  const confused = unsigned({ alg: 'HS256', kid: 'rsa', typ: 'JWT' }, claims);
  const tokens = [
    ...['none', 'None', 'nOnE'].map((alg) => `${unsigned({ alg, typ: 'JWT' }, claims)}.`),
    `${confused}.${createHmac('sha256', provider.rsaPublicPem).update(confused).digest('base64url')}`,
    await provider.token({}, { forged: true, header: { jwk: { kty: 'oct', k: 'AA' } } }),
    await provider.token({}, { forged: true, header: { jku: `${far.url}/keys`, x5u: `${far.url}/keys` } }),
  ];
  far.answer(() => jsonReply('{}'));
  for (const token of tokens) assertProblem(await whoami(`Bearer ${token}`), 401, 'unauthenticated');
  // The issuer may have published such a key since its keys were fetched, and is not asked again so soon.
  for (const kid of ['../../dev/null', "' OR 1=1"])
    assertProblem(await whoami(`Bearer ${await provider.token({}, { header: { kid } })}`), 503, 'issuer-unavailable');
  assert.equal(far.connections, 0);
  // For an unknown key id the gateway may fetch the keys of the issuer again, and no other document.
  for (const path of provider.asked.slice(before)) assert.ok(path === '/keys' || path.startsWith('/.well-known/'));
});

test('R87: a token that has no expiry, is expired, not yet valid, for others, malformed or too long is 401', async () => {
  const tokens = [
    await provider.token({ exp: undefined }),
    await provider.token({ exp: now - 120, iat: now - 240 }),
    await provider.token({ nbf: now + 3600 }),
    await provider.token({ iss: 'http://127.0.0.1:1' }),
    await provider.token({ aud: 'others' }),
    await provider.token({}, { header: { crit: ['x'], x: 1 } }),
    await provider.token({ filler: 'x'.repeat(9_000) }),
    `${(await provider.token()).slice(0, -3)}!!!`,
  ];
  for (const token of tokens) assertProblem(await whoami(`Bearer ${token}`), 401, 'unauthenticated');
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

test('R92: a password of 1,024 bytes is checked, one of 1,025 is 400 without a check', async () => {
  assertProblem(await post(gateway, '/login', { username: 'bob', password: 'x'.repeat(1_024) }), 401, 'unauthenticated');
  assertProblem(await post(gateway, '/login', { username: 'bob', password: 'x'.repeat(1_025) }), 400);
});

test('R94: a name with line breaks or escape sequences is refused, and the log has it on one line', async () => {
  const name = 'eve\r\n{"level":"error","msg":"forged"}\n\u001b[31m\u0000';
  const token = await provider.token({ iss: name });
  assertProblem(await whoami(`Bearer ${token}`), 401, 'unauthenticated');
  assertProblem(await whoami(`Bearer ${await provider.token({ preferred_username: name })}`), 401, 'unauthenticated');
  const lineOfToken = (): string | undefined =>
    gateway.stderr.find((one) => (JSON.parse(one) as Record<string, unknown>)['issuer'] === name);
  await until('the refused token is logged', () => lineOfToken() !== undefined);
  assert.doesNotMatch(lineOfToken() ?? '', /\p{Cc}/u);
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

// Last: the failures throttle the address of all tests.
test('R89: wrong passwords throttle the account and the address, and no valid token', async () => {
  const login = await post(gateway, '/login', { username: 'root', password: testPassword });
  const { token } = login.json() as { readonly token: string };
  const statuses: number[] = [];
  for (let at = 0; at < 8; at += 1)
    statuses.push((await post(gateway, '/login', { username: 'root', password: `no ${at}` })).status);
  assert.ok(statuses.includes(429), statuses.join());
  const throttled = await Promise.all(
    Array.from({ length: 60 }, (_, at) => post(gateway, '/login', { username: `unknown ${at}`, password: 'no' })),
  );
  const refused = throttled.find((reply) => reply.status === 429);
  assert.match(refused?.header('retry-after') ?? '', /^[1-9]\d*$/);
  assert.equal((await whoami(`Bearer ${token}`)).status, 200);
});
