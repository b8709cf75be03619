import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { timedOut } from '#outbound/call/call-scope.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import { NoCredentials } from '../credentials/credentials.ts';
import { keepStanding } from './node-standing.ts';

const total = 300_000;
const refused = new GatewayError('upstream-connect-failed', 'refused');

function reply(status: number, body = ''): UpstreamReply {
  return { status, headers: {}, head: Buffer.from(body), rest: undefined, discard: () => {} };
}

function keeper() {
  const time = { now: 1_000 };
  const clock = { now: () => time.now, monotonic: () => time.now };
  return { time, standing: keepStanding({ auth: 'basic', total, clock, onCredentials: () => {} }) };
}

test('a node is offline after a probe timed out, even if a call has more time', () => {
  const { standing, time } = keeper();
  time.now = 5_000;
  standing.probeFailed(timedOut('total', 10_000));
  const { state, since, lastError } = standing.current();
  assert.deepEqual([state, since, lastError?.code], ['offline', 5_000, 'upstream-timeout']);
});

test('a call with a shorter time limit from its caller does not change the standing when it times out', () => {
  const { standing } = keeper();
  standing.failed(timedOut('total', 10_000));
  assert.deepEqual([standing.current().state, standing.current().lastError], ['unknown', undefined]);
  standing.failed(timedOut('total', total));
  assert.equal(standing.current().lastError?.code, 'upstream-timeout');
});

test('a node that comes back has no role until the next probe', () => {
  const { standing } = keeper();
  standing.probed({ path: '/', reply: reply(204), role: 'primary' });
  standing.failed(refused);
  assert.deepEqual([standing.current().state, standing.current().role], ['offline', 'primary']);
  standing.answered(reply(200), 'accepted');
  assert.deepEqual([standing.current().state, standing.current().role], ['online', undefined]);
});

test('a node that refuses a change is no longer the primary', () => {
  const { standing } = keeper();
  standing.probed({ path: '/', reply: reply(204), role: 'primary' });
  const error = '{"error-type":"application","error-tag":"operation-failed","error-message":"node is in readonly mode"}';
  const said = {
    ...reply(500, `{"ietf-restconf:errors":{"error":[${error}]}}`),
    headers: { 'content-type': 'application/yang-data+json' },
  };
  standing.answered(said, 'accepted');
  assert.deepEqual([standing.current().state, standing.current().role], ['online', 'read-only']);
});

test('a 401 that is not final shows nothing about the credentials, and one that is final makes the node degraded', () => {
  const { standing } = keeper();
  standing.answered(reply(401), 'accepted');
  assert.deepEqual([standing.current().state, standing.current().credentialsRefused], ['online', false]);
  standing.answered(reply(401), 'refused');
  assert.deepEqual([standing.current().state, standing.current().credentialsRefused], ['degraded', true]);
  standing.answered(reply(401), 'accepted');
  assert.deepEqual([standing.current().state, standing.current().credentialsRefused], ['degraded', true]);
  standing.answered(reply(404), 'accepted');
  assert.deepEqual([standing.current().state, standing.current().credentialsRefused], ['online', false]);
});

test('a node without credentials is degraded, and stays offline if it was', () => {
  const { standing } = keeper();
  standing.failed(new NoCredentials('no token'));
  assert.deepEqual([standing.current().state, standing.current().lastError?.detail], ['degraded', 'no token']);
  standing.probeFailed(refused);
  standing.probeFailed(new NoCredentials('no token'));
  assert.equal(standing.current().state, 'offline');
});
