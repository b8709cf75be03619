import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { type CallReply, inMemory } from '#relay/relayed-call.ts';
import { renderAnswer, renderResponse } from './call-renderings.ts';
import { renderAnswered } from './rendered-call.ts';

const json = { 'content-type': 'application/json' };

function answering(reply: CallReply): Parameters<typeof renderAnswered>[0] {
  return Promise.resolve({ kind: 'reply', reply, isRepeated: false });
}

test('a reply that cannot be rendered is discarded, so that its connection is released', async () => {
  let discarded = 0;
  const reply = { ...inMemory({ status: 200, headers: {} }, Buffer.alloc(0)), discard: () => void (discarded += 1) };
  const failing = (): never => {
    throw new RangeError('no memory');
  };
  await assert.rejects(renderAnswered(answering(reply), failing), /no memory/u);
  assert.equal(discarded, 1);
});

test('a reply in memory that does not continue as it began is refused, before a byte of it is written', async () => {
  const body = Buffer.concat([Buffer.alloc(70_000, ' '), Buffer.from('{} x')]);
  const kept = inMemory({ status: 200, headers: json }, body);
  const refused = renderAnswered(answering(kept), (reply) => renderResponse(reply, true));
  await assert.rejects(refused, { code: 'upstream-protocol-error' });
});

test('a kept reply is rendered as the first one was, and an error with the id of its request', async () => {
  const reply = (): CallReply => inMemory({ status: 200, headers: json }, Buffer.alloc(70_000, '1'));
  const first = await renderAnswered(answering(reply()), renderAnswer);
  const again = await renderAnswered(Promise.resolve({ kind: 'reply', reply: reply(), isRepeated: true }), renderAnswer);
  assert.ok(first.kind === 'relayed' && again.kind === 'relayed');
  assert.ok(first.head.equals(again.head));
  assert.deepEqual(again.headers, [...first.headers, 'Idempotency-Replayed', 'true']);
  const error = new GatewayError('upstream-error', 'away');
  const problem = await renderAnswered(Promise.resolve({ kind: 'error', error, requestId: 'one' }), renderAnswer);
  assert.deepEqual(problem, { kind: 'problem', error, requestId: 'one', headers: { 'Idempotency-Replayed': 'true' } });
});
