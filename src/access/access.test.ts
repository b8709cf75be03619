import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import type { Database } from '#database/database.ts';
import {
  accessConfig,
  createTestClock,
  openAccess,
  quickHash,
  type TestAccess,
  type TestClock,
} from '../../test/support/gateway/access.ts';
import { eachStore, type TestStore } from '../../test/support/stores/stores.ts';
import type { Access } from './access.ts';
import type { Authentication } from './authentication.ts';

const sourceAddress = '192.0.2.1';

function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
}

async function refusal(attempt: () => unknown): Promise<GatewayError> {
  let refused: unknown;
  try {
    await attempt();
  } catch (error) {
    refused = error;
  }
  assert.ok(refused instanceof GatewayError, `expected a refusal, got ${String(refused)}`);
  return refused;
}

function asked(access: Access, authorization: string): Authentication | Promise<Authentication> {
  return access.authenticate({ authorization, sourceAddress });
}

async function isRefused(access: Access, token: string): Promise<boolean> {
  try {
    await asked(access, `Bearer ${token}`);
    return false;
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'unauthenticated');
    return true;
  }
}

interface Opened extends TestAccess {
  readonly database: Database;
  readonly clock: TestClock;
}

async function open(t: TestContext, store: TestStore, config = accessConfig()): Promise<Opened> {
  const clock = createTestClock();
  const database = await store.open(t);
  return { ...(await openAccess(t, { database, clock, config })), database, clock };
}

eachStore((store) => {
  for (const { asks, request } of [
    { asks: true, request: 'a request that arrives meanwhile' },
    { asks: false, request: 'a request that arrives later' },
  ]) {
    test(`a role that a reload removes while the password is hashed is gone for ${request}`, async (t) => {
      const hash = Promise.withResolvers<void>();
      const database = await store.open(t);
      const { access, hashed } = await openAccess(t, { database, clock: createTestClock(), beforeHash: hash.promise });
      const before = asked(access, basic('admin', 'right'));
      while (hashed.length === 0) await new Promise((resolve) => setImmediate(resolve));
      access.reload(accessConfig({ users: { admin: ['readonly'] } }));
      const meanwhile = asks ? asked(access, basic('admin', 'right')) : undefined;
      hash.resolve();
      assert.deepEqual((await before).principal.roles, ['admin']);
      if (meanwhile !== undefined) assert.deepEqual((await meanwhile).principal.roles, ['readonly']);
      assert.deepEqual((await asked(access, basic('admin', 'right'))).principal.roles, ['readonly']);
    });
  }

  test('Basic credentials are hashed once, then answered from the cache without a promise', async (t) => {
    const { access, hashed, clock } = await open(t, store);
    const expected = { principal: { id: 'admin', username: 'admin', roles: ['admin'], groups: ['noc'] }, via: 'basic' };
    const { fingerprint, ...verified } = await asked(access, basic('admin', 'right'));
    assert.deepEqual(verified, expected);
    clock.advance(9 * 60_000);
    assert.deepEqual(asked(access, basic('admin', 'right')), { ...expected, fingerprint });
    assert.equal(hashed.length, 1);
    clock.advance(10 * 60_000);
    await asked(access, basic('admin', 'right'));
    assert.equal(hashed.length, 2);
  });

  test('concurrent connections with the same credentials cost one hash and are not throttled', async (t) => {
    const { access, hashed } = await open(t, store);
    await Promise.all(Array.from({ length: 50 }, async () => await asked(access, basic('admin', 'right'))));
    assert.equal(hashed.length, 1);
  });

  test('R80: an unknown user and a wrong password get the same error, and cost one hash each', async (t) => {
    const { access, hashed } = await open(t, store);
    const answers = [
      await refusal(() => asked(access, basic('admin', 'wrong'))),
      await refusal(() => asked(access, basic('unknown', 'wrong'))),
      await refusal(() => access.login({ username: 'admin', password: 'wrong', sourceAddress })),
      await refusal(() => access.login({ username: 'unknown', password: 'right', sourceAddress })),
    ];
    for (const { code, status, message, headers } of answers) {
      assert.deepEqual([code, status, message], ['unauthenticated', 401, 'The user name or the password is wrong.']);
      assert.equal(headers['WWW-Authenticate'], answers[0]?.headers['WWW-Authenticate']);
    }
    assert.deepEqual(hashed, [64, 64, 64, 64]);
  });

  test('R80: a request with missing, malformed or foreign credentials gets 401 with both challenges', async (t) => {
    const { access } = await open(t, store);
    const attempts = [
      () => access.authenticate({ sourceAddress }),
      () => access.authenticate({ cookie: 'theme=dark', sourceAddress }),
      () => asked(access, 'Digest username="admin"'),
      () => asked(access, 'Basic ???'),
      () => asked(access, ''),
    ];
    for (const attempt of attempts) {
      const { code, headers } = await refusal(attempt);
      assert.equal(code, 'unauthenticated');
      assert.equal(
        headers['WWW-Authenticate'],
        'Basic realm="Orchestration Gateway", charset="UTF-8", Bearer realm="Orchestration Gateway"',
      );
    }
    const { headers } = await refusal(() => asked(access, 'Bearer a.b.c'));
    assert.match(headers['WWW-Authenticate'] ?? '', /^Basic .*, Bearer realm="Orchestration Gateway", error="invalid_token"/u);
  });

  test('a session begins with /login, is accepted in header or cookie, and expires', async (t) => {
    const { access, clock } = await open(t, store);
    const { token, expiresAt, cookie } = await access.login({ username: 'admin', password: 'right', sourceAddress });
    assert.match(expiresAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/u);
    assert.equal(Math.round((Date.parse(expiresAt) - clock.now()) / 60_000), 60);
    assert.ok(cookie.startsWith(`orchestration_gateway_session=${token}; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict`));

    assert.equal((await asked(access, `Bearer ${token}`)).via, 'bearer');
    assert.ok(!(asked(access, `Bearer ${token}`) instanceof Promise));
    const session = { cookie: `a=b; orchestration_gateway_session=${token}`, sourceAddress };
    assert.deepEqual(await access.authenticate(session), {
      principal: { id: 'admin', username: 'admin', roles: ['admin'], groups: ['noc'] },
      via: 'session',
    });
    await refusal(() => access.authenticate({ ...session, authorization: basic('admin', 'wrong') }));
    await refusal(() => asked(access, `cookie ${token}`));

    clock.advance(3_600_000);
    assert.equal(await isRefused(access, token), true);
    await refusal(() => access.authenticate(session));
  });

  test('logout revokes a token at once on its gateway and within a second on the others', async (t) => {
    const options = await store.empty(t);
    const clock = createTestClock();
    const here = (await openAccess(t, { database: await store.open(t, options), clock })).access;
    const there = (await openAccess(t, { database: await store.open(t, options), clock })).access;
    const ended = await here.login({ username: 'admin', password: 'right', sourceAddress });
    const other = await here.login({ username: 'admin', password: 'right', sourceAddress });
    for (const gateway of [here, there]) assert.equal(await isRefused(gateway, ended.token), false);

    const { cookie } = await here.logout({ authorization: `Bearer ${ended.token}` });
    assert.match(cookie, /^orchestration_gateway_session=; .*Max-Age=0/u);
    assert.equal(await isRefused(here, ended.token), true);
    assert.equal(await isRefused(there, ended.token), false, 'the verdict is less than a second old');
    clock.advance(1_001);
    assert.equal(await isRefused(there, ended.token), true);
    assert.equal(await isRefused(there, other.token), false);
    await here.logout({ cookie: `orchestration_gateway_session=${other.token}` });
    assert.equal(await isRefused(here, other.token), true);
    await here.logout({ authorization: basic('admin', 'right'), cookie: 'orchestration_gateway_session=x' });
  });

  test('a reload takes effect on each later call: changed roles, removed users and changed passwords', async (t) => {
    const { access, hashed } = await open(t, store);
    const { token } = await access.login({ username: 'admin', password: 'right', sourceAddress });
    await asked(access, basic('admin', 'right'));
    await asked(access, `Bearer ${token}`);

    access.reload(accessConfig({ users: { admin: ['readonly'] } }));
    assert.deepEqual((await asked(access, `Bearer ${token}`)).principal.roles, ['readonly']);
    assert.deepEqual((await asked(access, basic('admin', 'right'))).principal.roles, ['readonly']);
    assert.equal(hashed.length, 3);

    access.reload(accessConfig({ passwordHash: quickHash('changed') }));
    assert.equal(await isRefused(access, token), true);
    assert.equal((await refusal(() => asked(access, basic('admin', 'right')))).code, 'unauthenticated');
    await asked(access, basic('admin', 'changed'));

    access.reload(accessConfig({ users: {} }));
    assert.equal((await refusal(() => asked(access, basic('admin', 'changed')))).code, 'unauthenticated');

    assert.throws(() => access.reload(accessConfig({ passwordHash: 'broken' })), /not an argon2id/u);
    access.reload(accessConfig());
    assert.equal(await isRefused(access, token), false);
  });

  test('a user or client is found by name with the roles and groups of the configuration in force', async (t) => {
    const { access } = await open(t, store);
    assert.deepEqual(access.principalNamed('admin'), { id: 'admin', username: 'admin', roles: ['admin'], groups: ['noc'] });
    assert.deepEqual(access.principalNamed('reporting'), {
      id: 'reporting',
      username: 'reporting',
      roles: ['apiread'],
      groups: [],
    });
    for (const name of ['ann', '', '__proto__', 'oidc:["https://a","ann"]']) assert.equal(access.principalNamed(name), undefined);

    access.reload(accessConfig({ users: { admin: ['readonly'], ann: ['other'] }, clients: {} }));
    assert.deepEqual(access.principalNamed('admin')?.roles, ['readonly']);
    assert.deepEqual(access.principalNamed('ann')?.roles, ['other']);
    assert.equal(access.principalNamed('reporting'), undefined);

    assert.throws(() => access.reload(accessConfig({ users: {}, passwordHash: 'broken' })), /not an argon2id/u);
    assert.deepEqual(access.principalNamed('ann')?.roles, ['other'], 'a reload that fails changes nothing');
  });

  test('a client gets a token for its secret, and errors in the form of RFC 6749', async (t) => {
    const { access, hashed } = await open(t, store);
    const form = (text: string): URLSearchParams => new URLSearchParams(`grant_type=client_credentials${text}`);
    const inForm = await access.issueClientToken({ form: form('&client_id=reporting&client_secret=right'), sourceAddress });
    assert.ok(inForm.ok);
    assert.equal(inForm.expiresIn, 3600);
    assert.deepEqual((await asked(access, `Bearer ${inForm.accessToken}`)).principal, {
      id: 'reporting',
      username: 'reporting',
      roles: ['apiread'],
      groups: [],
    });
    assert.ok((await access.issueClientToken({ form: form(''), authorization: basic('reporting', 'right'), sourceAddress })).ok);

    for (const [name, secret] of [
      ['reporting', 'wrong'],
      ['unknown', 'right'],
      ['admin', 'right'],
    ] as const) {
      const answer = await access.issueClientToken({ form: form(''), authorization: basic(name, secret), sourceAddress });
      assert.ok(!answer.ok);
      assert.deepEqual(
        [answer.status, answer.error, answer.description],
        [401, 'invalid_client', 'The client or its secret is wrong.'],
      );
    }
    assert.equal(hashed.length, 5);
    const long = await access.issueClientToken({ form: form(`&client_id=a&client_secret=${'x'.repeat(1_025)}`), sourceAddress });
    assert.equal(!long.ok && long.error, 'invalid_request');
    assert.equal(
      (await refusal(() => asked(access, basic('reporting', 'right')))).code,
      'unauthenticated',
      'a client cannot use Basic',
    );
    assert.equal(hashed.length, 6);
  });

  test('R89: failures throttle /login, Basic and /oauth/token, but no session, token or cached Basic', async (t) => {
    const { access, clock, hashed } = await open(t, store, accessConfig({ users: { admin: ['admin'], ann: ['other'] } }));
    const { token } = await access.login({ username: 'ann', password: 'right', sourceAddress });
    await asked(access, basic('ann', 'right'));
    for (const name of ['ann', 'unknown']) {
      for (let count = 0; count < 5; count += 1) {
        const guess = `guess ${count}`;
        const way =
          count % 2 === 0
            ? () => asked(access, basic(name, guess))
            : () => access.login({ username: name, password: guess, sourceAddress });
        assert.equal((await refusal(way)).code, 'unauthenticated');
      }
      const before = hashed.length;
      for (const way of [
        () => access.login({ username: name, password: 'right', sourceAddress }),
        () => asked(access, basic(name, 'right ')),
      ]) {
        const { code, headers } = await refusal(way);
        assert.deepEqual([code, headers['Retry-After']], ['login-throttled', '1']);
      }
      assert.equal(hashed.length, before, 'a throttled attempt computes no hash');
    }
    assert.equal(await isRefused(access, token), false);
    assert.equal((await asked(access, basic('ann', 'right'))).via, 'basic');

    const client = {
      form: new URLSearchParams('grant_type=client_credentials&client_id=reporting&client_secret=wrong'),
      sourceAddress,
    };
    for (let count = 0; count < 5; count += 1) await access.issueClientToken(client);
    assert.equal((await refusal(() => access.issueClientToken(client))).code, 'login-throttled');

    clock.advance(1_000);
    await access.login({ username: 'ann', password: 'right', sourceAddress });
    assert.equal(
      (await refusal(() => access.login({ username: 'ann', password: 'wrong', sourceAddress }))).code,
      'unauthenticated',
    );
  });

  test('R91: a password that is too long gets 400 (row 92), too many logins at once get 429, and neither counts as a failure', async (t) => {
    const { access, hashed } = await open(t, store);
    for (let count = 0; count < 8; count += 1) {
      const { status } = await refusal(() => access.login({ username: 'admin', password: 'x'.repeat(1_025), sourceAddress }));
      assert.equal(status, 400);
    }
    assert.equal(hashed.length, 0);
    const logins = await Promise.allSettled(
      Array.from({ length: 200 }, (_, index) =>
        access.login({ username: `user${index}`, password: 'x', sourceAddress: `192.0.2.${index}` }),
      ),
    );
    const codes = logins.map((login) =>
      login.status === 'rejected' && login.reason instanceof GatewayError ? login.reason.code : '',
    );
    assert.ok(codes.every((code) => code === 'unauthenticated' || code === 'too-many-requests'));
    await access.login({ username: 'admin', password: 'right', sourceAddress });
  });

  test('a throttled address takes no place from others and writes nothing to the store, however often it tries', async (t) => {
    const { access, database } = await open(t, store);
    const hostile = '198.51.100.9';
    const guess = (name: string): Promise<unknown> => access.login({ username: name, password: 'x', sourceAddress: hostile });
    for (let count = 0; count < 50; count += 1) await refusal(() => guess(`user${count}`));
    const rows = async (): Promise<number> =>
      (await database.query.selectFrom('login_failure').select('subject').execute()).length;
    const before = await rows();
    const guesses = Array.from({ length: 200 }, (_, index) => refusal(() => guess(`other${index}`)));
    await access.login({ username: 'admin', password: 'right', sourceAddress });
    for (const { code } of await Promise.all(guesses)) assert.equal(code, 'login-throttled');
    assert.equal(await rows(), before + 1, 'the address of the successful login');
  });

  test('gateways that start at the same time make one signing key and accept each other’s tokens', async (t) => {
    const options = await store.empty(t);
    const clock = createTestClock();
    const databases = await Promise.all(Array.from({ length: 3 }, () => store.open(t, options)));
    const gateways = await Promise.all(databases.map((database) => openAccess(t, { database, clock })));
    const keys = await databases[0]?.query.selectFrom('signing_key').select('kid').execute();
    assert.equal(keys?.length, 1);
    const { token } = (await gateways[0]?.access.login({ username: 'admin', password: 'right', sourceAddress })) ?? { token: '' };
    for (const { access } of gateways) assert.equal(await isRefused(access, token), false);
  });

  test('a gateway replaces a signing key older than 30 days, and every gateway accepts the tokens of both keys', async (t) => {
    const options = await store.empty(t);
    const clock = createTestClock();
    const here = (await openAccess(t, { database: await store.open(t, options), clock })).access;
    clock.advance(30 * 86_400_000 - 60_000);
    const old = await here.login({ username: 'admin', password: 'right', sourceAddress });
    clock.advance(120_000);
    const there = (await openAccess(t, { database: await store.open(t, options), clock })).access;
    const young = await there.login({ username: 'admin', password: 'right', sourceAddress });
    const kidOf = (token: string): unknown => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;
    assert.notEqual(kidOf(old.token), kidOf(young.token));
    for (const gateway of [here, there]) {
      assert.equal(await isRefused(gateway, old.token), false);
      assert.equal(await isRefused(gateway, young.token), false);
    }
  });

  test('callers with cached credentials continue while the store is away, and others get 503', async (t) => {
    const { access, database, clock } = await open(t, store);
    const { token } = await access.login({ username: 'admin', password: 'right', sourceAddress });
    await asked(access, `Bearer ${token}`);
    await asked(access, basic('admin', 'right'));
    const { token: unseen } = await access.login({ username: 'admin', password: 'right', sourceAddress });
    await database.close();
    clock.advance(30_000);
    assert.equal((await asked(access, `Bearer ${token}`)).via, 'bearer');
    assert.equal((await asked(access, basic('admin', 'right'))).via, 'basic');
    assert.equal((await refusal(() => asked(access, `Bearer ${unseen}`))).code, 'store-unavailable');
    assert.equal((await refusal(() => asked(access, basic('admin', 'wrong')))).code, 'store-unavailable');
    assert.equal((await refusal(() => access.login({ username: 'admin', password: 'right', sourceAddress }))).status, 503);
  });
});
