import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { GatewayError } from '#base/gateway-error.ts';
import { accessConfig, createTestClock, openAccess, type TestClock } from '../../test/support/gateway/access.ts';
import { eachStore, sqliteStore } from '../../test/support/stores/stores.ts';
import type { Access } from './access.ts';
import type { Authentication } from './authentication.ts';
import type { IssuerOptions } from './rights/access-options.ts';

const sourceAddress = '192.0.2.1';

interface Issuer {
  readonly url: string;
  /** The published keys. A text is sent as it is, everything else as JSON. */
  keys: unknown;
  discovery: Record<string, unknown> | undefined;
  status: number;
  isSilent: boolean;
  /** The requested paths. */
  readonly asked: string[];
  stop(): Promise<void>;
}

async function startIssuer(t: TestContext): Promise<Issuer> {
  const server = createServer((request, response) => {
    issuer.asked.push(request.url ?? '');
    if (issuer.isSilent) return;
    const document =
      request.url === '/keys' ? issuer.keys : (issuer.discovery ?? { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` });
    response.writeHead(issuer.status, { 'Content-Type': 'application/json' });
    response.end(typeof document === 'string' ? document : JSON.stringify(document));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  t.after(stop);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issuer: Issuer = { url, keys: { keys: [] }, discovery: undefined, status: 200, isSilent: false, asked: [], stop };
  return issuer;
}

interface IssuerKey {
  readonly jwk: JWK;
  sign(claims: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

async function makeKey(alg: string, kid: string): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' },
    sign: (claims, header = {}) => new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
  };
}

interface Opened {
  readonly access: Access;
  readonly clock: TestClock;
  readonly claims: Record<string, unknown>;
}

async function open(t: TestContext, issuer: Issuer, changes: Partial<IssuerOptions> = {}, store = sqliteStore): Promise<Opened> {
  const clock = createTestClock();
  const database = await store.open(t);
  const options: IssuerOptions = {
    issuer: issuer.url,
    audience: 'gateway',
    rolesClaim: 'roles',
    groupsClaim: 'groups',
    algorithms: ['ES256', 'RS256'],
    remember: 30 * 86_400_000,
  };
  const { access } = await openAccess(t, {
    database,
    clock,
    config: accessConfig({ oidc: [{ ...options, ...changes }] }),
    fetch: (url) => fetch(url),
  });
  const now = Math.floor(clock.now() / 1000);
  const claims = {
    iss: issuer.url,
    aud: 'gateway',
    sub: 'f3a1',
    preferred_username: 'ann',
    exp: now + 3_600,
    iat: now,
    roles: ['engineering'],
  };
  return { access, clock, claims };
}

function ask(access: Access, token: string): Authentication | Promise<Authentication> {
  return access.authenticate({ authorization: `Bearer ${token}`, sourceAddress });
}

async function codeOf(access: Access, token: string): Promise<string> {
  try {
    await ask(access, token);
    return 'accepted';
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return error.code;
  }
}

test('a token of a configured issuer is accepted with the roles and groups of its claims, and cached', async (t) => {
  const issuer = await startIssuer(t);
  const key = await makeKey('ES256', 'one');
  issuer.keys = { keys: [key.jwk] };
  const { access, claims } = await open(t, issuer);
  const token = await key.sign({ ...claims, roles: ['engineering', 'unknown'], groups: ['noc'] }, { typ: 'JWT' });
  const id = `oidc:["${issuer.url}","f3a1"]`;
  const origin = { issuer: issuer.url, subject: 'f3a1' };
  const expected = { principal: { id, username: 'ann', roles: ['engineering'], groups: ['noc'], ...origin }, via: 'oidc' };
  assert.deepEqual(await ask(access, token), expected);
  assert.deepEqual(ask(access, token), expected);
  assert.deepEqual(issuer.asked, ['/.well-known/openid-configuration', '/keys']);
  assert.equal(await codeOf(access, await key.sign({ ...claims, aud: ['other', 'gateway'] })), 'accepted');
  assert.equal(issuer.asked.length, 2);
});

test('R87: a token that is not valid is refused (row 86), and no address in a token is fetched', async (t) => {
  const issuer = await startIssuer(t);
  const [key, stranger] = [await makeKey('ES256', 'one'), await makeKey('ES256', 'one')];
  issuer.keys = { keys: [key.jwk] };
  const { access, claims, clock } = await open(t, issuer);
  assert.equal(await codeOf(access, await key.sign(claims)), 'accepted');
  const now = Math.floor(clock.now() / 1000);
  const wrong: readonly Record<string, unknown>[] = [
    { aud: 'other' },
    { aud: undefined },
    { exp: undefined },
    { exp: now - 61 },
    { nbf: now + 61 },
    { sub: undefined },
    { sub: 5 },
    { iss: 'https://elsewhere.example' },
    { iss: `${issuer.url}/` },
    { iss: 'orchestration-gateway', aud: 'orchestration-gateway' },
  ];
  for (const change of wrong)
    assert.equal(await codeOf(access, await key.sign({ ...claims, ...change })), 'unauthenticated', JSON.stringify(change));
  for (const change of [{ exp: now - 59 }, { nbf: now + 59 }])
    assert.equal(await codeOf(access, await key.sign({ ...claims, ...change })), 'accepted');

  const headers = [{ typ: 'logout+jwt' }, { typ: 'dpop+jwt' }, { crit: ['x'], x: 1 }];
  for (const header of headers) {
    const token = key.sign(claims, header).catch(() => 'a.b.c');
    assert.equal(await codeOf(access, await token), 'unauthenticated', JSON.stringify(header));
  }
  const evil = `${issuer.url}/evil`;
  for (const header of [{}, { jwk: stranger.jwk }, { jku: evil, kid: 'other' }, { x5u: evil }]) {
    assert.equal(await codeOf(access, await stranger.sign(claims, header)), 'unauthenticated', JSON.stringify(header));
  }
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  for (const alg of ['none', 'HS256']) {
    const signed = `${part({ alg, kid: 'one' })}.${part(claims)}`;
    const mac = alg === 'none' ? '' : createHmac('sha256', JSON.stringify(key.jwk)).update(signed).digest('base64url');
    assert.equal(await codeOf(access, `${signed}.${mac}`), 'unauthenticated', alg);
  }
  assert.ok(issuer.asked.every((path) => path !== '/evil'));
});

test('a token with an algorithm outside the configured list is refused', async (t) => {
  const issuer = await startIssuer(t);
  const key = await makeKey('ES384', 'one');
  issuer.keys = { keys: [key.jwk] };
  const { access, claims } = await open(t, issuer, { algorithms: ['ES256'] });
  assert.equal(await codeOf(access, await key.sign(claims)), 'unauthenticated');
});

test('R88: a published RSA key below 2,048 bits verifies nothing', async (t) => {
  const issuer = await startIssuer(t);
  const { generateKeyPairSync, createSign } = await import('node:crypto');
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
  issuer.keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'weak', alg: 'RS256' }] };
  const { access, claims } = await open(t, issuer);
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ alg: 'RS256', kid: 'weak' })}.${part(claims)}`;
  assert.equal(
    await codeOf(access, `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`),
    'unauthenticated',
  );
});

test('a new key of the issuer is found, and unknown key ids get 503 until the next fetch, which follows after 30 seconds', async (t) => {
  const issuer = await startIssuer(t);
  const [old, young] = [await makeKey('ES256', 'old'), await makeKey('RS256', 'young')];
  issuer.keys = { keys: [old.jwk] };
  const { access, clock, claims } = await open(t, issuer);
  assert.equal(await codeOf(access, await old.sign(claims)), 'accepted');
  issuer.keys = { keys: [old.jwk, young.jwk] };
  const madeUp = async (count: number): Promise<string> =>
    codeOf(access, await old.sign({ ...claims, count }, { kid: `made up ${count}` }));
  for (let count = 0; count < 10; count += 1) {
    clock.advance(1);
    assert.equal(await madeUp(count), 'issuer-unavailable');
  }
  assert.equal(issuer.asked.length, 2);
  clock.advance(30_000);
  assert.equal(await madeUp(10), 'unauthenticated', 'the keys were fetched for this token');
  assert.equal(issuer.asked.length, 4);
  clock.advance(1);
  assert.equal(await codeOf(access, await young.sign(claims)), 'accepted');
  assert.equal(issuer.asked.length, 4);
});

test('a token with a new key gets 503 while its issuer does not answer, known keys stay valid, and a fetch follows after 5 seconds', async (t) => {
  const issuer = await startIssuer(t);
  const [old, young] = [await makeKey('ES256', 'old'), await makeKey('RS256', 'young')];
  issuer.keys = { keys: [old.jwk] };
  const { access, clock, claims } = await open(t, issuer);
  assert.equal(await codeOf(access, await old.sign(claims)), 'accepted');
  issuer.keys = { keys: [old.jwk, young.jwk] };
  issuer.status = 503;
  clock.advance(30_000);
  assert.equal(await codeOf(access, await young.sign(claims)), 'issuer-unavailable');
  const before = issuer.asked.length;
  assert.equal(await codeOf(access, await young.sign(claims)), 'issuer-unavailable');
  assert.equal(issuer.asked.length, before);
  assert.equal(await codeOf(access, await old.sign({ ...claims, again: 1 })), 'accepted');
  issuer.status = 200;
  clock.advance(5_000);
  assert.equal(await codeOf(access, await young.sign(claims)), 'accepted');
});

test('an issuer without usable documents gives 503, never 500 or 401, and is not asked at each call', async (t) => {
  const faults: readonly ((issuer: Issuer) => void | Promise<void>)[] = [
    (issuer) => issuer.stop(),
    (issuer) => void (issuer.status = 500),
    (issuer) => void (issuer.discovery = { issuer: 'https://other.example', jwks_uri: `${issuer.url}/keys` }),
    // The same address, but another text than the claim `iss` has.
    (issuer) => void (issuer.discovery = { issuer: `${issuer.url}/`, jwks_uri: `${issuer.url}/keys` }),
    (issuer) => void (issuer.discovery = { issuer: issuer.url, jwks_uri: 'file:///etc/passwd' }),
    (issuer) => void (issuer.discovery = { issuer: issuer.url }),
    (issuer) => void (issuer.keys = '<html>'),
    (issuer) => void (issuer.keys = 'null'),
    (issuer) => void (issuer.keys = { keys: 'none' }),
    (issuer) => void (issuer.keys = { keys: ['none'] }),
  ];
  const key = await makeKey('ES256', 'one');
  for (const fault of faults) {
    const issuer = await startIssuer(t);
    issuer.keys = { keys: [key.jwk] };
    await fault(issuer);
    const { access, claims } = await open(t, issuer);
    assert.equal(await codeOf(access, await key.sign(claims)), 'issuer-unavailable', String(fault));
    const before = issuer.asked.length;
    assert.equal(await codeOf(access, await key.sign({ ...claims, again: 1 })), 'issuer-unavailable');
    assert.equal(issuer.asked.length, before);
    assert.equal((await access.login({ username: 'admin', password: 'right', sourceAddress })).token.length > 0, true);
  }
});

test('the callers of an issuer continue while the issuer is away for a short time', async (t) => {
  const issuer = await startIssuer(t);
  const key = await makeKey('ES256', 'one');
  issuer.keys = { keys: [key.jwk] };
  const { access, clock, claims } = await open(t, issuer);
  const lasting = { ...claims, exp: Number(claims['exp']) + 86_400 };
  assert.equal(await codeOf(access, await key.sign(lasting)), 'accepted');
  issuer.status = 503;
  clock.advance(30 * 60_000);
  assert.equal(await codeOf(access, await key.sign({ ...lasting, again: 1 })), 'accepted');
  clock.advance(31 * 60_000);
  assert.equal(await codeOf(access, await key.sign({ ...lasting, again: 2 })), 'issuer-unavailable');
  issuer.status = 200;
  clock.advance(5_000);
  assert.equal(await codeOf(access, await key.sign({ ...lasting, again: 2 })), 'accepted');
});

test('an issuer that hangs delays callers only briefly while its old keys are usable', async (t) => {
  const issuer = await startIssuer(t);
  const key = await makeKey('ES256', 'one');
  issuer.keys = { keys: [key.jwk] };
  const { access, clock, claims } = await open(t, issuer);
  assert.equal(await codeOf(access, await key.sign(claims)), 'accepted');
  issuer.isSilent = true;
  clock.advance(11 * 60_000);
  const begun = performance.now();
  assert.equal(await codeOf(access, await key.sign({ ...claims, again: 1 })), 'accepted');
  assert.ok(performance.now() - begun < 5_000);
});

test('an issuer removed from the configuration is not trusted, and its tokens are not session cookies', async (t) => {
  const issuer = await startIssuer(t);
  const key = await makeKey('ES256', 'one');
  issuer.keys = { keys: [key.jwk] };
  const { access, claims } = await open(t, issuer);
  const token = await key.sign(claims);
  assert.equal(await codeOf(access, token), 'accepted');
  await assert.rejects(
    async () => await access.authenticate({ cookie: `orchestration_gateway_session=${token}`, sourceAddress }),
    GatewayError,
  );
  access.reload(accessConfig());
  assert.equal(await codeOf(access, token), 'unauthenticated');
});

/** Another valid signature for the same signed part: every ECDSA signature has a second form (SEC 1 section 4.1.4). */
function signedOtherwise(token: string): string {
  const end = token.lastIndexOf('.') + 1;
  const signature = Buffer.from(token.slice(end), 'base64url');
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const other = order - BigInt(`0x${signature.toString('hex', 32)}`);
  signature.write(other.toString(16).padStart(64, '0'), 32, 'hex');
  return token.slice(0, end) + signature.toString('base64url');
}

eachStore((store) => {
  test('a logout revokes a token of an issuer, with any valid signature and any expiry time', async (t) => {
    const issuer = await startIssuer(t);
    const key = await makeKey('ES256', 'one');
    issuer.keys = { keys: [key.jwk] };
    const { access, claims, clock } = await open(t, issuer, {}, store);
    const exp = Number(claims['exp']);
    for (const end of [exp, exp + 0.123456, 1e300]) {
      const token = await key.sign({ ...claims, exp: end });
      const other = signedOtherwise(token);
      assert.notEqual(other, token);
      for (const each of [token, other]) assert.equal(await codeOf(access, each), 'accepted');
      await access.logout({ authorization: `Bearer ${token}` });
      for (const each of [token, other]) assert.equal(await codeOf(access, each), 'unauthenticated');
    }
    assert.equal(await codeOf(access, await key.sign({ ...claims, jti: 'another' })), 'accepted');
    // The token was never accepted as a session cookie, so a logout with this cookie revokes nothing.
    const kept = await key.sign({ ...claims, jti: 'kept' });
    await access.logout({ cookie: `orchestration_gateway_session=${kept}` });
    assert.equal(await codeOf(access, kept), 'accepted');
    clock.advance(1_001);
    assert.equal(await codeOf(access, kept), 'accepted');
  });
});
