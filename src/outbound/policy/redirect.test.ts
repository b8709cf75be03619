import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { nextHop } from './redirect.ts';

const harmless = 'Content-Type a/json ACCEPT */* Accept-Language nb user-agent a Traceparent b'.split(' ');
const post = {
  url: new URL('http://one.example.com/a'),
  method: 'POST',
  headers: [...harmless, 'authorization', 'Basic eDp5', 'Cookie', 'a=b', 'X-Auth-Token', 'secret', 'If-Match', '"a"'],
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

test('all headers stay on the same origin, and any other origin gets only those that cannot hold a credential', () => {
  assert.deepEqual(nextHop(post, 307, '/b').headers, post.headers);
  for (const location of ['http://two.example.com/b', 'https://one.example.com/b', 'http://one.example.com:8080/b']) {
    assert.deepEqual(nextHop(post, 307, location).headers, harmless, location);
    assert.deepEqual(nextHop(post, 303, location).headers, harmless.slice(2), location);
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

test('an invalid Location is a fault of the upstream', () => {
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
