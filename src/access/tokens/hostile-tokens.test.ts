// suite: long

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import { type CryptoKey, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { GatewayError } from '#base/gateway-error.ts';
import { createTestClock, openAccess } from '../../../test/support/gateway/access.ts';
import { sqliteStore } from '../../../test/support/stores/stores.ts';
import type { Access } from '../access.ts';

const sourceAddress = '192.0.2.1';

interface Forge {
  readonly access: Access;
  /** A valid token. */
  readonly token: string;
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
  readonly now: number;
  readonly publicJwk: JWK;
  /** Signs with the gateway's own key. */
  readonly sign: (header: Record<string, unknown>, claims: Record<string, unknown>) => Promise<string>;
}

async function openForge(t: TestContext): Promise<Forge> {
  const clock = createTestClock();
  const database = await sqliteStore.open(t);
  const { access } = await openAccess(t, { database, clock });
  const { token } = await access.login({ username: 'admin', password: 'right', sourceAddress });
  const key = await database.query.selectFrom('signing_key').selectAll().executeTakeFirstOrThrow();
  const privateKey = (await importJWK(JSON.parse(key.private_jwk) as JWK, 'EdDSA')) as CryptoKey;
  const sign = (header: Record<string, unknown>, claims: Record<string, unknown>): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', ...header }).sign(privateKey, { crit: { 'x-extra': true } });
  return {
    access,
    token,
    header: { ...decodeProtectedHeader(token) },
    claims: { ...decodeJwt(token) },
    now: Math.floor(clock.now() / 1000),
    publicJwk: JSON.parse(key.public_jwk) as JWK,
    sign,
  };
}

async function assertRefused(access: Access, token: string, why: string): Promise<void> {
  let error: unknown;
  try {
    await access.authenticate({ authorization: `Bearer ${token}`, sourceAddress });
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof GatewayError && error.code === 'unauthenticated', why);
}

function part(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
}

test('the forged token is valid, so that each variant of it is refused for its own fault', async (t) => {
  const { access, header, claims, sign } = await openForge(t);
  const { principal } = await access.authenticate({ authorization: `Bearer ${await sign(header, claims)}`, sourceAddress });
  assert.equal(principal.username, 'admin');
});

test('R86: a token without an algorithm, with a symmetric one or with its own key is refused', async (t) => {
  const { access, header, claims, publicJwk, token } = await openForge(t);
  const signature = token.split('.')[2] ?? '';
  for (const alg of ['none', 'None', 'nOnE', '', 'ES256', 'RS256']) {
    await assertRefused(access, `${part({ ...header, alg })}.${part(claims)}.`, `alg ${alg}, unsigned`);
    await assertRefused(access, `${part({ ...header, alg })}.${part(claims)}.${signature}`, `alg ${alg}`);
  }
  for (const secret of [JSON.stringify(publicJwk), publicJwk.x ?? '', '']) {
    const signed = `${part({ ...header, alg: 'HS256' })}.${part(claims)}`;
    const mac = createHmac('sha256', secret).update(signed).digest('base64url');
    await assertRefused(access, `${signed}.${mac}`, 'HS256 with the public key');
  }
  const foreign = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const jwk = await exportJWK(foreign.publicKey);
  const brought: readonly Record<string, unknown>[] = [
    { jwk },
    { jku: 'http://127.0.0.1:9/keys' },
    { x5u: 'http://127.0.0.1:9/cert' },
    { kid: 'another', jwk },
    {},
  ];
  for (const extra of brought) {
    const forged = await new SignJWT(claims).setProtectedHeader({ ...header, alg: 'EdDSA', ...extra }).sign(foreign.privateKey);
    await assertRefused(access, forged, `signed by another key with ${JSON.stringify(extra)}`);
  }
});

test('R86: a key id is never taken for a path, a query or a property', async (t) => {
  const { access, header, claims, sign } = await openForge(t);
  for (const kid of [
    '../../dev/null',
    "' OR 1=1 --",
    '__proto__',
    'constructor',
    '',
    'http://127.0.0.1:9/key',
    undefined,
    7,
    null,
  ]) {
    await assertRefused(access, await sign({ ...header, kid }, claims), `kid ${kid}`);
  }
});

test('R87: a token with a valid signature is refused if a claim is missing, expired, not yet valid or for another audience', async (t) => {
  const { access, header, claims, now, sign } = await openForge(t);
  const wrong: readonly Record<string, unknown>[] = [
    { exp: undefined },
    { iat: undefined },
    { jti: undefined },
    { sub: undefined },
    { iss: undefined },
    { aud: undefined },
    { exp: now - 1 },
    { exp: now },
    { exp: 'tomorrow' },
    { nbf: now + 3_600 },
    { iss: 'https://elsewhere.example' },
    { aud: 'elsewhere' },
    { aud: [] },
    { sub: 'unknown' },
    { sub: 5 },
    { jti: 5 },
    { kind: 'client' },
    { kind: 'root' },
    { fpr: undefined },
    { fpr: 'another' },
  ];
  for (const change of wrong) await assertRefused(access, await sign(header, { ...claims, ...change }), JSON.stringify(change));
});

test('R87: a token of another type, with an unknown critical extension, over 8 kB or with a broken encoding is refused', async (t) => {
  const { access, header, claims, sign, token } = await openForge(t);
  for (const typ of [undefined, 'JWT', 'logout+jwt', 'AT+JWTX'])
    await assertRefused(access, await sign({ ...header, typ }, claims), `typ ${typ}`);
  await assertRefused(access, await sign({ ...header, crit: ['x-extra'], 'x-extra': 1 }, claims), 'crit');
  await assertRefused(access, await sign(header, { ...claims, padding: 'x'.repeat(9_000) }), '9 kB');
  const [first = '', second = '', third = ''] = token.split('.');
  const broken = [
    `${first}.${second}`,
    `${first}.${second}.`,
    `${first}.${second}.${third}.x`,
    `${first}.${second}.${third}=`,
    `.${second}.${third}`,
    `${first}..${third}`,
    `${part('{"alg":"EdDSA"')}.${second}.${third}`,
    `${part('[]')}.${second}.${third}`,
    `${first}.${part('null')}.${third}`,
    `${first}.${part('{"iss":"orchestration-gateway"')}.${third}`,
    'a.b.c',
    '~~~.~~~.~~~',
  ];
  for (const text of broken) await assertRefused(access, text, text);
});

test('R87: a token with any one character changed is refused', async (t) => {
  const { access, token } = await openForge(t);
  // The last character is never changed: four of its six bits are not part of the signature (RFC 4648 section 3.5).
  const change = fc.tuple(fc.nat(token.length - 2), fc.constantFrom(...Array.from('ABCDwxyz0189-_.')));
  await fc.assert(
    fc.asyncProperty(change, async ([index, character]) => {
      fc.pre(token[index] !== character);
      const changed = token.slice(0, index) + character + token.slice(index + 1);
      await assertRefused(access, changed, changed);
    }),
    { numRuns: 200 },
  );
});
