import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { timedOut } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import { keepStanding } from './node-standing.ts';

const total = 300_000;
const refused = new GatewayError('upstream-connect-failed', 'refused');

function reply(status: number, body = ''): FarSideReply {
  return { status, headers: {}, head: Buffer.from(body), rest: undefined, discard: () => {} };
}

function keeper() {
  const time = { now: 1_000 };
  const clock = { now: () => time.now, monotonic: () => time.now };
  return { time, standing: keepStanding({ total, clock }) };
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
  assert.deepEqual([standing.current().state, standing.current().lastError], ['online', undefined]);
  standing.failed(timedOut('total', total));
  assert.equal(standing.current().lastError?.code, 'upstream-timeout');
});

test('a node that comes back has no role until the next probe', () => {
  const { standing } = keeper();
  standing.probed({ reply: reply(204), role: 'primary' });
  standing.failed(refused);
  assert.deepEqual([standing.current().state, standing.current().role], ['offline', 'primary']);
  standing.answered(reply(200));
  assert.deepEqual([standing.current().state, standing.current().role], ['online', undefined]);
});

test('a node that refuses a change is no longer the primary', () => {
  const { standing } = keeper();
  standing.probed({ reply: reply(204), role: 'primary' });
  const error = '{"error-type":"application","error-tag":"operation-failed","error-message":"node is in readonly mode"}';
  const said = {
    ...reply(500, `{"ietf-restconf:errors":{"error":[${error}]}}`),
    headers: { 'content-type': 'application/yang-data+json' },
  };
  standing.answered(said);
  assert.deepEqual([standing.current().state, standing.current().role], ['online', 'read-only']);
});
