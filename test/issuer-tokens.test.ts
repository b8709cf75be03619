import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, callerIn, post } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';
import { closedPort } from './support/upstreams/upstream.ts';

// Tokens of OIDC issuers: whose name a caller gets, and what the log says of a refused token.

const provider = await identityProvider({ after });
const stranger = await identityProvider({ after });
const away = `http://127.0.0.1:${await closedPort()}`;
const gateway = await startGateway(
  { after },
  {
    users: [{ username: 'admin', passwordHash: testPasswordHash, roles: ['admin'], groups: [] }],
    config: {
      access: {
        clients: [{ clientId: 'reporting', secretHash: testPasswordHash, roles: ['apiread'], groups: [] }],
        oidc: [
          { issuer: provider.issuer, audience },
          { issuer: away, audience },
        ],
      },
    },
  },
);

const bearer = (token: string): { readonly Authorization: string } => ({ Authorization: `Bearer ${token}` });
let requests = 0;

/** Sends GET /whoami with the token, under a request id of its own. */
async function who(token: string): Promise<{ readonly reply: Reply; readonly requestId: string }> {
  requests += 1;
  const requestId = `who-${requests}`;
  const reply = await gateway.send({ target: '/whoami', headers: { ...bearer(token), 'X-Request-Id': requestId } });
  return { reply, requestId };
}

type Line = Readonly<Record<string, unknown>>;

/** The log line of that request with that message. */
async function lineOf(requestId: string, message: string): Promise<Line> {
  const found = (): Line | undefined =>
    gateway.stderr
      .map((text) => JSON.parse(text) as Line)
      .find((line) => line['requestId'] === requestId && line['msg'] === message);
  await until(`the log has "${message}" of ${requestId}`, () => found() !== undefined);
  return found() ?? {};
}

describe('the name of an issuer’s caller', () => {
  for (const name of ['admin', 'reporting', 'admin-user', 'Admin', 'admin ', 'ａｄｍｉｎ']) {
    test(`is qualified with the issuer where it looks like the configured name: ${JSON.stringify(name)}`, async () => {
      const { reply } = await who(await provider.token({ sub: 'f3a1', preferred_username: name, roles: ['readonly'] }));
      assert.deepEqual(callerIn(reply), {
        username: `${name}@${provider.issuer}`,
        roles: ['readonly'],
        groups: [],
        issuer: provider.issuer,
        subject: 'f3a1',
      });
    });
  }

  test('stays as it is where no user or client has it, and /whoami tells issuer and subject', async () => {
    const { reply } = await who(await provider.token({ sub: 'f3a2', preferred_username: 'ann' }));
    const told = { username: 'ann', roles: [], groups: [], issuer: provider.issuer, subject: 'f3a2' };
    assert.deepEqual(callerIn(reply), told);
  });

  test('of a configured user comes without issuer and subject', async () => {
    const reply = await gateway.send({ target: '/whoami', headers: { Authorization: basic('admin', testPassword) } });
    assert.deepEqual(callerIn(reply), { username: 'admin', roles: ['admin'], groups: [] });
  });

  test('with a control or invisible character, or over 256 characters, is refused, and the log says so', async () => {
    const names = ['a\nb', 'a\u0000', 'ad\u200bmin', 'adm\u00adin', '\u202enimda', 'a\u2028b', 'ad\u3164min', 'x'.repeat(257)];
    for (const name of names) {
      for (const claims of [{ preferred_username: name }, { sub: name, preferred_username: 'ann' }]) {
        const { reply, requestId } = await who(await provider.token(claims));
        assertProblem(reply, 401, 'unauthenticated');
        assert.equal((await lineOf(requestId, 'a token was refused'))['reason'], 'unusable name', JSON.stringify(claims));
      }
    }
    assert.equal((await who(await provider.token({ preferred_username: 'Zoë ' + 'x'.repeat(252) }))).reply.status, 200);
  });

  test('is in the log line and the record of its request with issuer and subject', async () => {
    const token = await provider.token({ sub: 'f3a3', preferred_username: 'admin', roles: ['admin'] });
    const requestId = 'audited-issuer';
    const headers = { ...bearer(token), 'X-Request-Id': requestId };
    assert.equal((await gateway.send({ target: '/audit', headers })).status, 200);
    const told = { principal: `admin@${provider.issuer}`, issuer: provider.issuer, subject: 'f3a3' };
    const { principal, issuer, subject } = await lineOf(requestId, 'request');
    assert.deepEqual({ principal, issuer, subject }, told);
    const recordOf = async (): Promise<Line | undefined> => {
      const { list } = (await gateway.send({ target: '/audit', role: 'admin' })).json() as { readonly list: readonly Line[] };
      return list.find((record) => record['requestId'] === requestId);
    };
    let record: Line | undefined;
    await until('the request is on record', async () => (record = await recordOf()) !== undefined);
    assert.deepEqual({ principal: record?.['principal'], issuer: record?.['issuer'], subject: record?.['subject'] }, told);
  });

  test('that collides is qualified in lastModifiedBy too', async () => {
    const token = await provider.token({ preferred_username: 'admin', roles: ['admin'] });
    const reply = await gateway.send({
      method: 'POST',
      target: '/automation_catalog/automations',
      headers: { ...bearer(token), 'Content-Type': 'application/json' },
      body: '{"name":"by an issuer’s admin"}',
    });
    assert.equal(reply.status, 201, reply.text);
    assert.equal((reply.json() as Line)['lastModifiedBy'], `admin@${provider.issuer}`);
  });
});

describe('a refused token', () => {
  const now = Math.floor(Date.now() / 1000);
  const faults: Readonly<Record<string, () => Promise<string> | string>> = {
    'wrong audience': () => provider.token({ aud: 'another' }),
    'unknown issuer': () => stranger.token(),
    'wrong signature': () => provider.token({}, { forged: true }),
    'algorithm not allowed': () => provider.token({}, { algorithm: 'RS512' }),
    expired: () => provider.token({ iat: now - 7200, exp: now - 3600 }),
    'not yet valid': () => provider.token({ nbf: now + 3600 }),
    'missing claim': () => provider.token({ exp: undefined }),
    malformed: () => 'x.y.z',
    'too long': () => 'a'.repeat(9000),
  };
  for (const [reason, make] of Object.entries(faults)) {
    test(`is vague to its caller and logged with its reason: ${reason}`, async () => {
      const { reply, requestId } = await who(await make());
      const { detail } = assertProblem(reply, 401, 'unauthenticated');
      assert.equal(detail, 'The token is expired, ended or not valid here: get a new one.');
      assert.equal((await lineOf(requestId, 'a token was refused'))['reason'], reason);
    });
  }

  test('of an issuer is logged with issuer and, once its signature is verified, with subject', async () => {
    const { requestId } = await who(await provider.token({ sub: 'f3a4', aud: 'another' }));
    const { issuer, subject, sourceAddress } = await lineOf(requestId, 'a token was refused');
    assert.deepEqual(
      { issuer, subject, sourceAddress },
      { issuer: provider.issuer, subject: 'f3a4', sourceAddress: '127.0.0.1' },
    );
    const { requestId: forged } = await who(await provider.token({ sub: 'f3a4' }, { forged: true }));
    assert.equal((await lineOf(forged, 'a token was refused'))['subject'], undefined);
  });

  test('that was revoked is logged with that reason and its subject', async () => {
    const login = await post(gateway, '/login', { username: 'admin', password: testPassword });
    const { token } = login.json() as { readonly token: string };
    assert.equal((await who(token)).reply.status, 200);
    assert.equal((await gateway.send({ method: 'POST', target: '/logout', headers: bearer(token) })).status, 200);
    const { requestId, reply } = await who(token);
    assertProblem(reply, 401, 'unauthenticated');
    const { reason, subject } = await lineOf(requestId, 'a token was refused');
    assert.deepEqual({ reason, subject }, { reason: 'revoked', subject: 'admin' });
  });

  test('that names no role is accepted, and logged with the claim that has none', async () => {
    const { reply, requestId } = await who(await provider.token({ sub: 'f3a5', roles: ['pilot'] }));
    assert.equal(reply.status, 200);
    const { reason, issuer, subject } = await lineOf(requestId, 'a token has no role');
    assert.deepEqual({ reason, issuer, subject }, { reason: 'no role: claim "roles"', issuer: provider.issuer, subject: 'f3a5' });
  });
});

describe('an issuer that cannot be asked', () => {
  test('gives 503 issuer-unavailable with Retry-After', async () => {
    const { reply } = await who(await provider.token({ iss: away }));
    assertProblem(reply, 503, 'issuer-unavailable');
    assert.match(reply.header('retry-after') ?? '', /^[1-9]\d*$/);
  });

  test('again so soon for a key that may be newer than its fetched keys gives 503 with the time to the next fetch', async () => {
    assert.equal((await who(await provider.token())).reply.status, 200);
    const before = provider.asked.length;
    const { reply } = await who(await provider.token({}, { header: { kid: 'new' } }));
    assertProblem(reply, 503, 'issuer-unavailable');
    const seconds = Number(reply.header('retry-after'));
    assert.ok(seconds >= 1 && seconds <= 30, String(seconds));
    assert.equal(provider.asked.length, before);
  });
});
