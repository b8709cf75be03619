import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { continueTrace } from '#base/trace-context.ts';
import { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { Sender } from '#outbound/sender.ts';
import { restCall } from './rest-call.ts';

test('a reply that cannot be rendered is discarded, so that its connection is released', async () => {
  let discarded = 0;
  const reply = {
    status: 200,
    headers: ['content-type', 'text/plain'],
    // As where the machine has no memory left for the rendering.
    get head(): Buffer {
      throw new RangeError('no memory');
    },
    rest: undefined,
    discard: () => void (discarded += 1),
  } as unknown as FarSideReply;
  const call = restCall({
    request: { destination: new URL('http://192.0.2.1/'), verb: 'GET', responseHeaders: false },
    section: {
      limits: { timeouts: { firstByte: 1000, idle: 1000, total: 2000 }, responseLimit: 1000, redirects: 0 },
      refusal: () => undefined,
      sender: { send: async () => reply } as unknown as Sender,
      hold: () => () => {},
    },
    caller: 'test',
    trace: continueTrace(undefined),
    userAgent: 'test',
  });
  const scope = new CallScope({ total: 1_000, clock: systemClock });
  await assert.rejects(call.send(scope, { note() {}, redirected: async () => {} }), /no rendering/u);
  scope.end();
  assert.equal(discarded, 1);
});
