import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionCookie } from './session-cookie.ts';

const plain = createSessionCookie({ secure: false });
const overTls = createSessionCookie({ secure: true });

test('the cookie is HttpOnly and SameSite=Strict, and over TLS Secure with the prefix __Host-', () => {
  assert.equal(
    plain.write({ token: 'a.b.c', lifetimeSeconds: 3600 }),
    'orchestration_gateway_session=a.b.c; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict',
  );
  assert.equal(
    overTls.write({ token: 'a.b.c', lifetimeSeconds: 3600 }),
    `__Host-${plain.write({ token: 'a.b.c', lifetimeSeconds: 3600 })}; Secure`,
  );
  assert.match(plain.clear(), /^orchestration_gateway_session=; Path=\/; Max-Age=0;/u);
});

test('the session cookie is found among other cookies by its exact name', () => {
  assert.deepEqual(plain.read('theme=dark; orchestration_gateway_session=a.b.c;x=y'), { token: 'a.b.c' });
  for (const header of [
    '',
    'theme=dark',
    'orchestration_gateway_session',
    'orchestration_gateway_session=',
    'Orchestration_Gateway_Session=a',
    'xorchestration_gateway_session=a',
  ]) {
    assert.equal(plain.read(header), undefined, header);
  }
});

test('two session cookies in one header are ambiguous, because one of them may be planted', () => {
  assert.equal(plain.read('orchestration_gateway_session=a; orchestration_gateway_session=b'), 'ambiguous');
});

test('over TLS only the cookie with the prefix counts, since a sibling domain can set one without it', () => {
  assert.deepEqual(overTls.read('orchestration_gateway_session=a; __Host-orchestration_gateway_session=b'), { token: 'b' });
  assert.equal(overTls.read('orchestration_gateway_session=a'), undefined);
});
