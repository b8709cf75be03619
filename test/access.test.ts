import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { assertProblem, callerIn, pointersOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { sendFrom } from './support/gateway/send-from.ts';
import { basic, type Gateway, hashOf, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { foundPostgres, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';

// How callers authenticate: docs/reference/http-api.md.

const provider = await identityProvider({ after });
const stranger = await identityProvider({ after });
/** Is configured with names of its own for the claims, and with one algorithm. */
const renaming = await identityProvider({ after });
const clients = [
  { clientId: 'reporting', secretHash: testPasswordHash, roles: ['apiread'], groups: ['night shift'] },
  { clientId: 'client with/odd chars', secretHash: hashOf('s3cret: ü+%/'), roles: ['admin'], groups: [] },
];
const users = [
  { username: 'ann', passwordHash: testPasswordHash, roles: ['readonly', 'engineering'], groups: ['noc', 'core'] },
  { username: 'jürgen', passwordHash: hashOf('pä:ß wörd 😀'), roles: ['admin'], groups: [] },
  ...['leaver', 'victim', 'crowded', 'waiting', 'returning'].map((username) => ({
    username,
    passwordHash: testPasswordHash,
    roles: ['admin'],
    groups: [],
  })),
];
/** Connections from this address come from a trusted proxy. */
const trustedProxy = '127.0.0.9';

/** The access section: the users above, the clients, and the issuers. */
function access(more: object = {}): object {
  return {
    users: [{ username: 'admin-user', passwordHash: testPasswordHash, roles: ['admin'], groups: [] }, ...users],
    clients,
    oidc: [
      { issuer: provider.issuer, audience },
      { issuer: renaming.issuer, audience: 'x', rolesClaim: 'gw_roles', groupsClaim: 'gw_groups', algorithms: ['ES256'] },
    ],
    ...more,
  };
}

const gateway = await startGateway(
  { after },
  { config: { access: access(), server: { trustedProxies: [`${trustedProxy}/32`] } } },
);
/** Two gateways on one PostgreSQL, the second one without the user `leaver`; none where no PostgreSQL answers. */
const pair = await foundPostgres?.empty({ after }).then((store) => {
  const start = (more: object) => startGateway({ after }, { config: { access: access(more), store: { url: storeUrl(store) } } });
  return Promise.all([start({}), start({ users: users.filter(({ username }) => username !== 'leaver') })]);
});
const skip = pair === undefined && 'no PostgreSQL answers';

function login(on: Gateway, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return on.send({
    method: 'POST',
    target: '/login',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

function whoami(on: Gateway, headers: Readonly<Record<string, string>>): Promise<Reply> {
  return on.send({ target: '/whoami', headers });
}

async function tokenOf(on: Gateway, username: string): Promise<string> {
  const reply = await login(on, { username, password: testPassword });
  assert.equal(reply.status, 200, reply.text);
  return (reply.json() as { readonly token: string }).token;
}

const bearer = (token: string): { readonly Authorization: string } => ({ Authorization: `Bearer ${token}` });
const ann = { username: 'ann', roles: ['readonly', 'engineering'], groups: ['noc', 'core'] };
/** The caller of a token of `provider`. */
const alice = { username: 'alice', roles: [], groups: [], issuer: provider.issuer, subject: 'alice' };

function assertWho(reply: Reply, who: object): void {
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(callerIn(reply), who);
}

function assertUnauthenticated(reply: Reply): void {
  assertProblem(reply, 401, 'unauthenticated');
  assert.ok(reply.header('www-authenticate'));
}

describe('/login', () => {
  for (const body of [{ username: 'ann', password: testPassword }, { user: { username: 'ann', password: testPassword } }]) {
    test(`takes ${Object.keys(body).join(' and ')} and answers with a token, its expiry and a cookie`, async () => {
      const reply = await login(gateway, body);
      assert.equal(reply.status, 200, reply.text);
      const { token, expiresAt, ...more } = reply.json() as { readonly token: string; readonly expiresAt: string };
      assert.deepEqual(more, {});
      assert.match(expiresAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
      const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
      assert.ok(minutes > 50 && minutes <= 61, expiresAt);
      assertWho(await whoami(gateway, bearer(token)), ann);
      const cookie = reply.header('set-cookie') ?? '';
      assert.match(cookie, /; *HttpOnly/i);
      assert.match(cookie, /; *SameSite=Strict/i);
      assert.doesNotMatch(cookie, /; *Secure/i);
      assert.doesNotMatch(cookie, /; *Domain/i);
      assertWho(await whoami(gateway, { Cookie: cookie.split(';')[0] ?? '' }), ann);
      assertWho(await whoami(gateway, { Cookie: `a=b; ${cookie.split(';')[0] ?? ''}; c=d` }), ann);
      assert.equal(reply.header('cache-control'), 'no-store');
    });
  }

  for (const body of [
    {},
    { username: 'ann' },
    { username: 'ann', password: 5 },
    { username: 'ann', password: testPassword, evil: 1 },
    { username: 'ann', password: testPassword, user: { username: 'ann', password: testPassword } },
    { user: { username: 'ann' } },
    { user: { username: 'ann', password: testPassword, evil: 1 } },
    { username: 'ann', password: 'x'.repeat(1_025) },
  ]) {
    test(`refuses ${JSON.stringify(body).slice(0, 100)}`, async () => {
      assertProblem(await login(gateway, body), 400, 'invalid-request');
    });
  }

  test('refuses another media type', async () => {
    const reply = await login(gateway, { username: 'ann', password: testPassword }, { 'Content-Type': 'text/plain' });
    assertProblem(reply, 415, 'unsupported-media-type');
  });

  test('R80: answers an unknown user and a wrong password with the same body', async () => {
    const bodies: string[] = [];
    for (const body of [
      { username: 'ann', password: 'wrong' },
      { username: 'unknown', password: 'wrong' },
    ]) {
      const reply = await login(gateway, body, { 'X-Request-Id': 'same' });
      assertUnauthenticated(reply);
      assert.equal(reply.header('set-cookie'), undefined);
      bodies.push(`${reply.header('www-authenticate')} ${reply.text}`);
    }
    assert.equal(bodies[0], bodies[1]);
  });

  test('takes a password with characters beyond ASCII', async () => {
    assert.equal((await login(gateway, { username: 'jürgen', password: 'pä:ß wörd 😀' })).status, 200);
  });
});

describe('/logout', () => {
  test('ends the token and the cookie of one login only', async () => {
    const first = await login(gateway, { username: 'ann', password: testPassword });
    const { token } = first.json() as { readonly token: string };
    const cookie = (first.header('set-cookie') ?? '').split(';')[0] ?? '';
    const second = await tokenOf(gateway, 'ann');
    const reply = await gateway.send({ method: 'POST', target: '/logout', headers: bearer(token) });
    assert.ok(reply.status === 200 || reply.status === 204, reply.text);
    assertUnauthenticated(await whoami(gateway, bearer(token)));
    assertUnauthenticated(await whoami(gateway, { Cookie: cookie }));
    assertWho(await whoami(gateway, bearer(second)), ann);
  });

  test('accepts the cookie as credentials, and clears the cookie', async () => {
    const first = await login(gateway, { username: 'ann', password: testPassword });
    const cookie = (first.header('set-cookie') ?? '').split(';')[0] ?? '';
    const reply = await gateway.send({ method: 'POST', target: '/logout', headers: { Cookie: cookie } });
    assert.ok(reply.status === 200 || reply.status === 204, reply.text);
    assert.match(reply.header('set-cookie') ?? '', /Max-Age=0|Expires=Thu, 01 Jan 1970/i);
    assertUnauthenticated(await whoami(gateway, { Cookie: cookie }));
  });

  test('needs credentials', async () => {
    assertUnauthenticated(await gateway.send({ method: 'POST', target: '/logout' }));
  });
});

describe('Basic', () => {
  test('is accepted with each request', async () => {
    assertWho(await whoami(gateway, { Authorization: basic('ann', testPassword) }), ann);
    assertWho(await whoami(gateway, { Authorization: basic('ann', testPassword).replace('Basic', 'bAsIc') }), ann);
    assertWho(await whoami(gateway, { Authorization: basic('jürgen', 'pä:ß wörd 😀') }), {
      username: 'jürgen',
      roles: ['admin'],
      groups: [],
    });
  });

  test('that was accepted before does not let wrong credentials through', async () => {
    assertWho(await whoami(gateway, { Authorization: basic('ann', testPassword) }), ann);
    assertUnauthenticated(await whoami(gateway, { Authorization: basic('ann', `${testPassword} `) }));
    assertUnauthenticated(await whoami(gateway, { Authorization: basic('Ann', testPassword) }));
    assertWho(await whoami(gateway, { Authorization: basic('ann', testPassword) }), ann);
  });

  test('R80: answers an unknown user and a wrong password with the same body', async () => {
    const bodies: string[] = [];
    for (const username of ['jürgen', 'unknown']) {
      const reply = await whoami(gateway, { Authorization: basic(username, 'wrong'), 'X-Request-Id': 'same' });
      assertUnauthenticated(reply);
      bodies.push(`${reply.header('www-authenticate')} ${reply.text}`);
    }
    assert.equal(bodies[0], bodies[1]);
  });

  for (const value of [
    'Basic',
    'Basic ',
    'Basic !!!',
    'Basic YQ==',
    'Digest username="ann"',
    'Bearer',
    'ann',
    'Negotiate abc',
    'Basic a b',
  ]) {
    test(`is refused where the header is malformed or has another scheme: ${JSON.stringify(value)}`, async () => {
      assertUnauthenticated(await whoami(gateway, { Authorization: value }));
    });
  }
});

describe('a caller', () => {
  test('without credentials gets 401 with the schemes to use', async () => {
    const reply = await whoami(gateway, {});
    assertUnauthenticated(reply);
    const schemes = reply.header('www-authenticate') ?? '';
    assert.match(schemes, /Basic/);
    assert.match(schemes, /Bearer/);
  });

  test('is not authenticated by a token in the query string', async () => {
    const token = await tokenOf(gateway, 'ann');
    assertUnauthenticated(await gateway.send({ target: `/whoami?token=${token}` }));
    assertUnauthenticated(await gateway.send({ target: `/automation_catalog/automations?access_token=${token}` }));
    const problem = assertProblem(
      await gateway.send({ target: `/whoami?token=${token}`, headers: bearer(token) }),
      400,
      'invalid-request',
    );
    assert.deepEqual(pointersOf(problem), ['?token']);
    assert.ok(!gateway.stderr.some((line) => line.includes(token)), 'the log has the token');
  });

  test('is not authenticated by a forged or foreign token', async () => {
    const token = await tokenOf(gateway, 'ann');
    const parts = token.split('.');
    const forged = [
      'x',
      'x.y.z',
      `${token}x`,
      token.slice(0, -4),
      'a'.repeat(9000),
      '..',
      `${parts[0] ?? ''}.${parts[1] ?? ''}.`,
      unsigned({ sub: 'admin-user', roles: ['admin'], exp: 4_102_444_800 }),
    ];
    for (const one of forged) assertUnauthenticated(await whoami(gateway, bearer(one)));
    assertWho(await whoami(gateway, bearer(token)), ann);
  });
});

describe('/oauth/token', () => {
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const ask = (fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
    gateway.send({
      method: 'POST',
      target: '/oauth/token',
      headers: { ...form, ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  const good = { grant_type: 'client_credentials', client_id: 'reporting', client_secret: testPassword };

  const assertOauthError = (reply: Reply, status: number, error: string): void => {
    assert.equal(reply.status, status, reply.text);
    assert.match(reply.header('content-type') ?? '', /^application\/json/);
    const body = reply.json() as { readonly error: string };
    assert.equal(body.error, error);
    for (const name of Object.keys(body)) assert.ok(['error', 'error_description', 'error_uri'].includes(name), name);
  };

  test('gives a token for a client in the body', async () => {
    const reply = await ask(good);
    assert.equal(reply.status, 200, reply.text);
    const body = reply.json() as { readonly access_token: string; readonly token_type: string; readonly expires_in: number };
    assert.deepEqual(Object.keys(body).sort(), ['access_token', 'expires_in', 'token_type']);
    assert.equal(body.token_type, 'Bearer');
    assert.equal(body.expires_in, 3600);
    assert.equal(reply.header('cache-control'), 'no-store');
    assert.equal(reply.header('set-cookie'), undefined);
    assertWho(await whoami(gateway, bearer(body.access_token)), {
      username: 'reporting',
      roles: ['apiread'],
      groups: ['night shift'],
    });
  });

  test('ignores scope, as the gateway has no scopes', async () => {
    const reply = await ask({ ...good, scope: 'admin openid' });
    assert.equal(reply.status, 200, reply.text);
    const { access_token: token } = reply.json() as { readonly access_token: string };
    assertWho(await whoami(gateway, bearer(token)), { username: 'reporting', roles: ['apiread'], groups: ['night shift'] });
  });

  test('gives a token for a client in Basic, form-encoded as RFC 6749 2.3.1 says', async () => {
    assert.equal(
      (await ask({ grant_type: 'client_credentials' }, { Authorization: basic('reporting', testPassword.replaceAll(' ', '+')) }))
        .status,
      200,
    );
    const [id, secret] = ['client with/odd chars', 's3cret: ü+%/'].map((text) =>
      new URLSearchParams({ x: text }).toString().slice(2),
    );
    const reply = await ask({ grant_type: 'client_credentials' }, { Authorization: basic(id ?? '', secret ?? '') });
    assert.equal(reply.status, 200, reply.text);
  });

  test('refuses a wrong secret and an unknown client with the same body', async () => {
    const texts: string[] = [];
    for (const fields of [
      { ...good, client_secret: 'wrong' },
      { ...good, client_id: 'unknown' },
    ]) {
      const reply = await ask(fields);
      assertOauthError(reply, 401, 'invalid_client');
      texts.push(reply.text);
    }
    assert.equal(texts[0], texts[1]);
    const byBasic = await ask({ grant_type: 'client_credentials' }, { Authorization: basic('reporting', 'wrong') });
    assertOauthError(byBasic, 401, 'invalid_client');
    assert.match(byBasic.header('www-authenticate') ?? '', /Basic/);
  });

  test('answers errors in the shape of RFC 6749', async () => {
    assertOauthError(await ask({ client_id: 'reporting', client_secret: testPassword }), 400, 'invalid_request');
    assertOauthError(await ask({ ...good, grant_type: 'password' }), 400, 'unsupported_grant_type');
    assertOauthError(await ask(good, { Authorization: basic('reporting', testPassword) }), 400, 'invalid_request');
    const repeated = `${new URLSearchParams(good).toString()}&client_id=reporting`;
    assertOauthError(
      await gateway.send({ method: 'POST', target: '/oauth/token', headers: form, body: repeated }),
      400,
      'invalid_request',
    );
    assert.equal((await ask({ grant_type: 'client_credentials' })).status, 401);
  });

  test('refuses a user, as /login refuses a client', async () => {
    assertOauthError(await ask({ ...good, client_id: 'ann' }), 401, 'invalid_client');
    assertProblem(await login(gateway, { username: 'reporting', password: testPassword }), 401);
  });
});

describe('a token', () => {
  test('of one gateway is accepted by another on the same store, and a logout holds on both', { skip }, async () => {
    const [one, other] = pair ?? [gateway, gateway];
    const kept = await tokenOf(one, 'ann');
    const ended = await tokenOf(one, 'ann');
    await one.send({ method: 'POST', target: '/logout', headers: bearer(ended) });
    assertWho(await whoami(other, bearer(kept)), ann);
    assertUnauthenticated(await whoami(other, bearer(ended)));
    assertWho(await whoami(one, bearer(await tokenOf(other, 'ann'))), ann);
  });

  test('ends with its lifetime', async (t) => {
    const brief = await startGateway(t, { config: { access: access({ tokenLifetime: '2s' }) } });
    const token = await tokenOf(brief, 'ann');
    assertWho(await whoami(brief, bearer(token)), ann);
    await until('the token has ended', async () => (await whoami(brief, bearer(token))).status !== 200);
    assertUnauthenticated(await whoami(brief, bearer(token)));
  });

  test('of a user who is not in the configuration is refused', { skip }, async () => {
    const [one, other] = pair ?? [gateway, gateway];
    const token = bearer(await tokenOf(one, 'leaver'));
    assertWho(await whoami(one, token), { username: 'leaver', roles: ['admin'], groups: [] });
    assertUnauthenticated(await whoami(other, token));
  });
});

/** A login with this source address. */
function loginFrom(address: string, body: object, headers: Readonly<Record<string, string>> = {}, on = gateway): Promise<Reply> {
  return sendFrom(address, on.port, {
    method: 'POST',
    target: '/login',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** Logins with wrong passwords, one after the other. */
async function failures(address: string, username: string, count: number, on = gateway): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (let at = 0; at < count; at += 1) replies.push(await loginFrom(address, { username, password: `wrong ${at}` }, {}, on));
  return replies;
}

function statuses(replies: readonly Reply[]): readonly number[] {
  return replies.map((reply) => reply.status);
}

// Failed logins count for the account and for the source address: each test has its own of both.
describe('failed logins', { concurrency: 3 }, () => {
  test('R89: are free five times, then throttled by account; other accounts and tokens are not affected', async () => {
    const address = '127.0.0.21';
    const token = await tokenOf(gateway, 'victim');
    assert.deepEqual(statuses(await failures(address, 'victim', 5)), [401, 401, 401, 401, 401]);
    // The first wait is one second: attempts without a pause meet it.
    const throttled = (await failures(address, 'victim', 4)).find((reply) => reply.status === 429);
    assert.ok(throttled !== undefined);
    assertProblem(throttled, 429, 'login-throttled');
    assert.match(throttled.header('retry-after') ?? '', /^[1-9]\d*$/);
    assertWho(await whoami(gateway, bearer(token)), { username: 'victim', roles: ['admin'], groups: [] });
    assert.equal((await loginFrom(address, { username: 'ann', password: testPassword })).status, 200);
  });

  test('are throttled the same where many come at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, at) => loginFrom('127.0.0.22', { username: 'crowded', password: `wrong ${at}` })),
    );
    const seen = statuses(replies);
    assert.equal(seen.filter((status) => status === 401 || status === 429).length, 60);
    // Five are free. On a slow machine a wait of one second may pass before the last attempt arrives, which admits another.
    assert.ok(seen.filter((status) => status === 401).length <= 8, seen.join());
  });

  test('block the right password too, during the wait', async () => {
    const address = '127.0.0.23';
    // Waits double, so after some failures the wait is much longer than a request takes.
    await until('the waits have doubled', async () => {
      const reply = await loginFrom(address, { username: 'waiting', password: 'wrong' });
      return Number(reply.header('retry-after') ?? 0) >= 4;
    });
    assertProblem(await loginFrom(address, { username: 'waiting', password: testPassword }), 429, 'login-throttled');
    assertProblem(await whoami(gateway, { Authorization: basic('waiting', testPassword) }), 429, 'login-throttled');
  });

  test('of an unknown account and by Basic are throttled the same', async () => {
    const seen: number[] = [];
    for (let at = 0; at < 8; at += 1)
      seen.push((await whoami(gateway, { Authorization: basic('no account', `wrong ${at}`) })).status);
    assert.deepEqual(seen.slice(0, 5), [401, 401, 401, 401, 401]);
    assert.ok(seen.slice(5).includes(429), seen.join());
  });

  test('R90: are throttled by address after fifty, with any X-Forwarded-For', async () => {
    const seen: number[] = [];
    for (let at = 0; at < 56; at += 1) {
      const headers = { 'X-Forwarded-For': `192.0.2.${at}`, 'X-Real-IP': `192.0.2.${at}`, Forwarded: `for=192.0.2.${at}` };
      seen.push((await loginFrom('127.0.0.24', { username: `guess ${at}`, password: 'wrong' }, headers)).status);
    }
    assert.ok(!seen.slice(0, 50).includes(429), seen.join());
    assert.ok(seen.slice(50).includes(429), seen.join());
  });

  test('count for the address that a trusted proxy names', async () => {
    const from = (address: string): { readonly 'X-Forwarded-For': string } => ({ 'X-Forwarded-For': address });
    const seen: number[] = [];
    for (let at = 0; at < 56; at += 1) {
      // Some proxies name the caller's port as well.
      const address = at % 2 === 0 ? '192.0.2.1' : `192.0.2.1:${50_000 + at}`;
      seen.push((await loginFrom(trustedProxy, { username: `proxied ${at}`, password: 'wrong' }, from(address))).status);
    }
    assert.ok(seen.slice(50).includes(429), seen.join());
    const other = from('192.0.2.2');
    assertProblem(await loginFrom(trustedProxy, { username: 'another guess', password: 'wrong' }, other), 401);
    assert.equal((await loginFrom(trustedProxy, { username: 'ann', password: testPassword }, other)).status, 200);
  });
});

describe('a token of a configured issuer', () => {
  const who = async (token: string): Promise<Reply> => whoami(gateway, bearer(token));

  for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
    test(`is accepted with ${algorithm}, with the roles and groups of its claims`, async () => {
      const token = await provider.token({ roles: ['engineering', 'unknown role'], groups: ['noc'] }, { algorithm });
      assertWho(await who(token), { ...alice, roles: ['engineering'], groups: ['noc'] });
    });
  }

  test('without roles is authenticated and gets 403', async () => {
    const token = await provider.token();
    assertWho(await who(token), alice);
    assertProblem(await gateway.send({ target: '/automation_catalog/automations', headers: bearer(token) }), 403, 'forbidden');
  });

  test('may have several audiences', async () => {
    assertWho(await who(await provider.token({ aud: ['x', audience] })), alice);
  });

  const now = Math.floor(Date.now() / 1000);
  const wrong: Record<string, () => Promise<string> | string> = {
    'another audience': () => provider.token({ aud: 'another' }),
    'no audience': () => provider.token({ aud: undefined }),
    'another issuer': () => provider.token({ iss: 'http://127.0.0.1:1' }),
    'an issuer that is not configured': () => stranger.token({ roles: ['admin'] }),
    'the issuer’s name and another’s key': () => stranger.token({ iss: provider.issuer, roles: ['admin'] }),
    'an expiry in the past': () => provider.token({ iat: now - 7200, exp: now - 3600 }),
    'no expiry': () => provider.token({ exp: undefined }),
    'a start in the future': () => provider.token({ nbf: now + 3600 }),
    'no subject': () => provider.token({ sub: undefined }),
    'a forged signature': () => provider.token({}, { forged: true }),
    'an algorithm that is not allowed': () => provider.token({}, { algorithm: 'RS512' }),
    'more than 8 kB': () => provider.token({ filler: 'x'.repeat(9_000) }),
    'a broken encoding': async () => `${(await provider.token()).slice(0, -3)}!!!`,
    'an unknown critical header': () => provider.token({}, { header: { crit: ['x'], x: 1 } }),
    'no signature': () => unsigned({ iss: provider.issuer, aud: audience, sub: 'alice', exp: now + 3600, roles: ['admin'] }),
    'the public key as an HMAC secret': () =>
      hmac({ iss: provider.issuer, aud: audience, sub: 'alice', exp: now + 3600 }, provider.rsaPublicPem),
  };
  for (const [what, make] of Object.entries(wrong)) {
    test(`R87: is refused with ${what}`, async () => {
      assertUnauthenticated(await who(await make()));
    });
  }

  test('R86: is never checked with a key that the token names itself', async () => {
    const before = stranger.asked.length;
    for (const name of ['jku', 'x5u']) {
      const token = await stranger.token({ iss: provider.issuer }, { header: { [name]: `${stranger.issuer}/keys` } });
      assertUnauthenticated(await who(token));
    }
    assert.equal(stranger.asked.length, before);
  });

  test('ends with a logout, on every gateway of the store, and other tokens do not', { skip }, async () => {
    const [one, other] = pair ?? [gateway, gateway];
    const ended = bearer(await provider.token({ jti: 'one' }));
    const kept = bearer(await provider.token({ jti: 'two' }));
    for (const at of [one, other]) for (const token of [ended, kept]) assertWho(await whoami(at, token), alice);
    assert.equal((await one.send({ method: 'POST', target: '/logout', headers: ended })).status, 200);
    assertUnauthenticated(await whoami(one, ended));
    await lapse(2_000, 'a logout is in force on every gateway within two seconds');
    for (const at of [one, other]) {
      assertUnauthenticated(await whoami(at, ended));
      assertWho(await whoami(at, kept), alice);
    }
  });

  test('has its roles and groups in the claims that are configured', async () => {
    const claims = { aud: 'x', roles: ['admin'], groups: ['a'], gw_roles: ['readonly'], gw_groups: ['b'] };
    const es = await renaming.token(claims, { algorithm: 'ES256' });
    assertWho(await who(es), { ...alice, roles: ['readonly'], groups: ['b'], issuer: renaming.issuer });
    assertUnauthenticated(await who(await renaming.token(claims)));
  });
});

// Last: the gateway of the tests above ends here.
test('a restart keeps tokens, logouts and the count of failed logins', async () => {
  const address = '127.0.0.25';
  const token = await tokenOf(gateway, 'ann');
  const ended = await tokenOf(gateway, 'ann');
  const tokenOfThrottled = await tokenOf(gateway, 'returning');
  const [issued, issuedEnded] = [await provider.token({ jti: 'three' }), await provider.token({ jti: 'four' })];
  for (const one of [ended, issuedEnded])
    assert.equal((await gateway.send({ method: 'POST', target: '/logout', headers: bearer(one) })).status, 200);
  assert.ok(statuses(await failures(address, 'returning', 9)).includes(429));

  const restarted = await gateway.restart();
  assertWho(await whoami(restarted, bearer(token)), ann);
  assertUnauthenticated(await whoami(restarted, bearer(ended)));
  assertWho(await whoami(restarted, bearer(issued)), alice);
  assertUnauthenticated(await whoami(restarted, bearer(issuedEnded)));
  // A gateway that had forgotten the failures would let five more attempts through.
  assert.ok(statuses(await failures(address, 'returning', 5, restarted)).includes(429));
  assertWho(await whoami(restarted, bearer(tokenOfThrottled)), { username: 'returning', roles: ['admin'], groups: [] });
  assert.equal((await loginFrom(address, { username: 'ann', password: testPassword }, {}, restarted)).status, 200);
});

/** A token without a signature: its header has `alg: none`. */
function unsigned(claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`;
}

/** A token signed with HMAC over any text as its secret (the algorithm confusion of RFC 8725 2.1). */
function hmac(claims: object, secret: string): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'HS256', kid: 'rsa' })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}
