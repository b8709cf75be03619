import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { nextHop } from './redirect.ts';

const post = {
  url: new URL('http://one.example.com/a'),
  method: 'POST',
  headers: ['Content-Type', 'application/json', 'authorization', 'Basic eDp5', 'Cookie', 'a=b', 'X-Kept', '1'],
  body: Buffer.from('{}'),
} as const;

test('a POST becomes a GET without a body on 301, 302 and 303, and stays a POST on 307 and 308', () => {
  for (const status of [301, 302, 303]) {
    const hop = nextHop(post, status, '/b');
    assert.equal(hop.method, 'GET');
    assert.equal(hop.body, undefined);
    assert.ok(!hop.headers.includes('Content-Type'));
    assert.equal(hop.url.href, 'http://one.example.com/b');
  }
  for (const status of [307, 308]) {
    const hop = nextHop(post, status, '/b');
    assert.equal(hop.method, 'POST');
    assert.equal(hop.body, post.body);
  }
});

test('PUT and DELETE keep their method on 301 and 302, and become GET on 303 alone', () => {
  for (const method of ['PUT', 'DELETE', 'PATCH'] as const) {
    assert.equal(nextHop({ ...post, method }, 302, '/b').method, method);
    assert.equal(nextHop({ ...post, method }, 303, '/b').method, 'GET');
  }
});

test('credentials and cookies stay on the same origin and are dropped on any other', () => {
  assert.ok(nextHop(post, 307, '/b').headers.includes('authorization'));
  for (const location of ['http://two.example.com/b', 'https://one.example.com/b', 'http://one.example.com:8080/b']) {
    assert.deepEqual(nextHop(post, 307, location).headers, ['Content-Type', 'application/json', 'X-Kept', '1'], location);
  }
});

test('a target that restCall would not accept as its address is denied', () => {
  for (const location of ['file:///etc/passwd', 'gopher://one.example.com/', 'http://user:secret@one.example.com/', 'ftp://x/']) {
    assert.throws(
      () => nextHop(post, 302, location),
      (error) => error instanceof GatewayError && error.code === 'destination-denied' && !error.message.includes('secret'),
      location,
    );
  }
});

test('an invalid Location is a fault of the far side', () => {
  for (const location of ['http://', 'http://[bad', 'https://a:b:c/']) {
    assert.throws(
      () => nextHop(post, 302, location),
      (error) => error instanceof GatewayError && error.code === 'upstream-protocol-error',
      location,
    );
  }
});

test('bytes of a Location beyond ASCII are percent-encoded unchanged', () => {
  assert.equal(nextHop(post, 307, '/caf\xe9').url.pathname, '/caf%E9');
  assert.equal(nextHop(post, 307, Buffer.from('/café').toString('latin1')).url.pathname, '/caf%C3%A9');
});
