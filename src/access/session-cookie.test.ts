import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clearSessionCookie, readSessionCookie, writeSessionCookie } from './session-cookie.ts';

test('the cookie is HttpOnly and SameSite=Strict, and Secure where there is TLS', () => {
  assert.equal(
    writeSessionCookie({ token: 'a.b.c', lifetimeSeconds: 3600, secure: false }),
    'orchestration_gateway_session=a.b.c; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict',
  );
  assert.match(writeSessionCookie({ token: 'a.b.c', lifetimeSeconds: 3600, secure: true }), /; Secure$/u);
  assert.match(clearSessionCookie({ secure: false }), /^orchestration_gateway_session=; Path=\/; Max-Age=0;/u);
});

test('the session cookie is found among other cookies by its exact name', () => {
  assert.deepEqual(readSessionCookie('theme=dark; orchestration_gateway_session=a.b.c;x=y'), { token: 'a.b.c' });
  for (const header of [
    '',
    'theme=dark',
    'orchestration_gateway_session',
    'orchestration_gateway_session=',
    'Orchestration_Gateway_Session=a',
    'xorchestration_gateway_session=a',
  ]) {
    assert.equal(readSessionCookie(header), undefined, header);
  }
});

test('two session cookies in one header are ambiguous, because one of them may be planted', () => {
  assert.equal(readSessionCookie('orchestration_gateway_session=a; orchestration_gateway_session=b'), 'ambiguous');
});
