import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { Sender } from '#outbound/sender.ts';
import type { CallContext } from './call-context.ts';
import { restCall } from './rest-call.ts';

const context = {
  clock: systemClock,
  wait: undefined,
  isIdempotent: false,
  trace: { traceparent: '00' },
  begins() {},
  note() {},
  whenOver() {},
  whenEnding: () => () => {},
  concluded: async () => {},
} as unknown as CallContext;

test('a reply that cannot be rendered is let go, so that its connection is', async () => {
  let discarded = 0;
  const reply = {
    status: 200,
    headers: ['content-type', 'text/plain'],
    // What the rendering of it meets where the machine has no memory left.
    get head(): Buffer {
      throw new RangeError('no memory');
    },
    rest: undefined,
    discard: () => void (discarded += 1),
  } as unknown as FarSideReply;
  const call = restCall({
    request: { uri: 'http://192.0.2.1/', verb: 'GET', responseHeaders: false },
    context,
    limits: { timeouts: { firstByte: 1000, idle: 1000, total: 2000 }, responseLimit: 1000, redirects: 0 },
    refuseDenied() {},
    sender: { send: async () => reply } as unknown as Sender,
    userAgent: 'test',
  });
  await assert.rejects(call);
  assert.equal(discarded, 1);
});
