import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { Secret } from '#base/secret.ts';
import { CallScope } from '#outbound/call/call-scope.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import { createTestClock } from '../../../test/support/gateway/access.ts';
import { createCallerCredentials } from './caller-credentials.ts';
import type { CallerIdentity, Carrier } from './caller-identity.ts';

const keys = [1, 2].map(() =>
  generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
);
const ann: CallerIdentity = { name: 'ann', groups: ['noc'], run: 'r1', approval: 'a1' };

function opened(carrier: Carrier) {
  const clock = createTestClock();
  const source = { text: keys[0] ?? '', next: keys[0] ?? '', renewals: 0 };
  const key = new Secret({
    reveal: () => source.text,
    renew: async () => {
      source.renewals += 1;
      source.text = source.next;
    },
  });
  const common = { name: 'NSO', audience: 'nso', issuer: 'https://gateway.example.net', service: undefined };
  const credentials = createCallerCredentials({ ...common, carrier, key, clock });
  const headers = async (identity: CallerIdentity) => await credentials.headers(new CallScope({ total: 1_000, clock }), identity);
  const tokenOf = (given: readonly string[]): string =>
    carrier === 'basic'
      ? Buffer.from((given[1] ?? '').slice('Basic '.length), 'base64')
          .toString()
          .replace(/^ann:/u, '')
      : (given[1] ?? '');
  return { clock, source, credentials, headers, claims: (given: readonly string[]) => claimsIn(tokenOf(given)) };
}

function claimsIn(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Readonly<Record<string, unknown>>;
}

const refused = { status: 401, headers: {} } as UpstreamReply;

test('an assertion of Basic serves for 30 s, for one person with the same groups, without run and approval', async () => {
  const { clock, headers, claims } = opened('basic');
  const first = claims(await headers(ann));
  assert.deepEqual(first['act'], { sub: 'orchestration-gateway' });
  clock.advance(29_999);
  assert.equal(claims(await headers({ ...ann, run: 'r2' }))['jti'], first['jti']);
  assert.notEqual(claims(await headers({ ...ann, groups: [] }))['jti'], first['jti']);
  clock.advance(1);
  const second = claims(await headers(ann));
  assert.notEqual(second['jti'], first['jti']);
  assert.equal(Number(second['exp']) - Number(second['iat']), 60, 'the last call with it is 30 s before its end');
});

test('other carriers have an assertion for each call, with run and approval', async () => {
  for (const carrier of ['token', 'bearer'] as const) {
    const { headers, claims } = opened(carrier);
    const [one, other] = [claims(await headers(ann)), claims(await headers(ann))];
    assert.notEqual(one['jti'], other['jti']);
    assert.deepEqual(one['act'], { sub: 'orchestration-gateway', run: 'r1', approval: 'a1' });
  }
});

test('a 401 reads the key again, and there are other credentials only with another key', async () => {
  for (const carrier of ['token', 'basic'] as const) {
    const { source, credentials, headers } = opened(carrier);
    const used = await headers(ann);
    assert.equal(credentials.observe({ ...refused, status: 403 }, used, ann), false, 'NACM says no: the key is right');
    assert.deepEqual([await credentials.observe(refused, used, ann), source.renewals], [false, 1]);
    source.next = keys[1] ?? '';
    assert.deepEqual([await credentials.observe(refused, used, ann), source.renewals], [true, 2]);
    const others = await headers(ann);
    assert.notDeepEqual(others, used, 'the assertion that Basic keeps is of the former key');
    // A call that left before the rotation needs no other read.
    assert.deepEqual([credentials.observe(refused, used, ann), source.renewals], [true, 2]);
    assert.deepEqual([await credentials.observe(refused, others, ann), source.renewals], [false, 3]);
  }
});
