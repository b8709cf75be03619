import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idempotentRequest, unsealed } from '#audit/idempotent-request.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { keyChange, readKeptReply } from './kept-reply.ts';

const request = idempotentRequest({ caller: 'admin', route: 'r', key: 'k', payload: [] });

/** What is kept of a state-changing call that left and failed so. */
function keptOf(failure: GatewayError): string {
  const traffic = { traffic: { attempts: 1, left: true, bytesSent: 0, bytesReceived: 0 } };
  const change = keyChange({
    result: { failure },
    request,
    requestId: 'one',
    facts: { verb: 'POST', traffic },
    renderError: ({ status, message }) => ({
      status,
      headers: { 'Content-Type': 'text/plain', 'Content-Length': '4' },
      body: message,
    }),
    mayKeep: () => true,
  });
  assert.ok(change.kind === 'end' && change.reply !== undefined);
  return unsealed(request, change.reply);
}

test('a kept error is answered again as its entrance wrote it, with its code', () => {
  const { reply, requestId, code } = readKeptReply(keptOf(new GatewayError('upstream-error', 'away')));
  assert.deepEqual([requestId, code, reply.status, reply.mediaType], ['one', 'upstream-error', 502, 'text/plain']);
  assert.equal(reply.head.toString(), 'away');
  assert.deepEqual(reply.headers, ['Idempotency-Replayed', 'true']);
});

test('an error that an older gateway kept without its code has the code of its problem+json', () => {
  const body = JSON.stringify({ code: 'upstream-error' });
  const { code } = readKeptReply(JSON.stringify({ requestId: 'one', status: 502, headers: {}, body }));
  assert.equal(code, 'upstream-error');
});

test('a kept success has no code', () => {
  const { code } = readKeptReply(JSON.stringify({ requestId: 'one', status: 200, headers: {}, body: '[]' }));
  assert.equal(code, undefined);
});
