import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idempotentRequest, unsealed } from '#audit/idempotency/idempotent-request.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { UpstreamReply } from '#outbound/call/outbound-call.ts';
import { type CallResult, keyChange, readKeptReply } from './kept-reply.ts';
import { bufferReply } from './send-recorded.ts';

const request = idempotentRequest({ caller: 'admin', route: 'r', key: 'k', payload: [] });

/** What the store keeps of a state-changing call that left and ended so. */
function keptOf(result: CallResult, mask = (text: string): string => text): Buffer | undefined {
  const traffic = { traffic: { attempts: 1, left: true, bytesSent: 0, bytesReceived: 0 } };
  const change = keyChange({ result, request, requestId: 'one', facts: { verb: 'POST', traffic }, mask, mayKeep: () => true });
  assert.ok(change.kind === 'end');
  return change.reply === undefined ? undefined : unsealed(request, change.reply);
}

/** The answer that is given again. */
function answeredAgain(result: CallResult): ReturnType<typeof readKeptReply> {
  const kept = keptOf(result);
  assert.ok(kept !== undefined);
  return readKeptReply(kept);
}

function reply(body: Buffer): UpstreamReply {
  const headers = { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] };
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for (let at = 65_536; at < body.length; at += 50_000) yield body.subarray(at, at + 50_000);
  };
  const head = body.subarray(0, 65_536);
  return { status: 203, headers, head, rest: body.length > head.length ? chunks() : undefined, discard: () => undefined };
}

async function bytesOf({ head, rest }: UpstreamReply): Promise<Buffer> {
  const parts = [head];
  for await (const chunk of rest ?? []) parts.push(chunk);
  return Buffer.concat(parts);
}

test('a kept error is the error of the upstream again, with all that its caller saw', () => {
  const options = { status: 502, headers: { 'X-Upstream-Status': '500' }, upstream: { status: 500, body: '\n"away"' } };
  const { answer, requestId, code } = answeredAgain({ failure: new GatewayError('upstream-error', 'away', options) });
  assert.ok(answer.kind === 'error');
  const { error } = answer;
  assert.deepEqual(
    [requestId, answer.requestId, code, error.code, error.message],
    ['one', 'one', 'upstream-error', 'upstream-error', 'away'],
  );
  assert.deepEqual({ status: error.status, headers: error.headers, upstream: error.upstream }, options);
});

test('a kept reply and a kept error have no secret: text and other bytes are masked', () => {
  const mask = (text: string): string => text.replaceAll('hush', '***');
  const address = 'https://a.example/hush';
  for (const body of [
    Buffer.from('{"é":"hush"}'),
    Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.from('hush'), Buffer.from([0xfe])]),
  ]) {
    const kept = keptOf({ reply: { ...reply(body), address } }, mask);
    assert.ok(kept !== undefined && !kept.includes('hush'));
    const { answer } = readKeptReply(kept);
    assert.ok(answer.kind === 'reply');
    const expected = Buffer.from(body.toString('latin1').replace('hush', '***'), 'latin1');
    assert.deepEqual([answer.reply.address, answer.reply.head], ['https://a.example/***', expected]);
  }
  const failure = new GatewayError('upstream-error', 'no hush', { upstream: { status: 500, body: '"hush"' } });
  assert.doesNotMatch(keptOf({ failure }, mask)?.toString() ?? '', /hush/u);
});

test('a kept reply has status, headers and every byte of the upstream', async () => {
  const bodies = [
    Buffer.alloc(0),
    Buffer.from('{"a":1}\n'),
    Buffer.from([0x0a, 0xff, 0x00]),
    Buffer.alloc(70_000, '\n"x'),
    Buffer.alloc(1_000_000, 1),
  ];
  for (const body of bodies) {
    const held = await bufferReply(reply(body));
    const { answer, requestId, code } = answeredAgain({ reply: held });
    assert.ok(answer.kind === 'reply' && answer.isRepeated);
    assert.deepEqual([requestId, code, answer.reply.status], ['one', undefined, 203]);
    assert.deepEqual(answer.reply.headers, reply(body).headers);
    for (const one of [held, answer.reply]) {
      assert.ok(one.head.length <= 65_536, 'the head decides how a reply is rendered, whether it is kept or not');
      assert.ok((await bytesOf(one)).equals(body));
    }
  }
});

test('a reply longer than 1 MiB is not kept, and arrives with every byte', async () => {
  const body = Buffer.alloc(2_000_000, 'x');
  const held = await bufferReply(reply(body));
  assert.equal(keptOf({ reply: held }), undefined);
  assert.ok((await bytesOf(held)).equals(body));
});

test('the address that redirects led to is kept', () => {
  const { answer } = answeredAgain({ reply: { ...reply(Buffer.alloc(0)), address: 'http://192.0.2.1/' } });
  assert.equal(answer.kind === 'reply' && answer.reply.address, 'http://192.0.2.1/');
});

test('a reply that an older gateway kept is answered as that gateway rendered it', () => {
  const headers = { 'X-Upstream-Status': '204' };
  const kept = { requestId: 'one', status: 200, headers, body: '[{"result":"204"}]' };
  const { answer, requestId, code } = readKeptReply(Buffer.from(JSON.stringify(kept)));
  assert.deepEqual([requestId, code], ['one', undefined]);
  assert.deepEqual(answer, { kind: 'rendered', status: 200, mediaType: undefined, headers, body: kept.body });
});

test('an error that an older gateway kept has its code, of its own or of its problem+json', () => {
  const body = JSON.stringify({ code: 'upstream-error' });
  const headers = { 'Content-Type': 'application/problem+json; charset=utf-8', 'Content-Length': '25' };
  for (const [code, text] of [
    [undefined, body],
    ['upstream-timeout', '{}'],
  ] as const) {
    const kept = readKeptReply(Buffer.from(JSON.stringify({ requestId: 'one', code, status: 502, headers, body: text })));
    assert.equal(kept.code, code ?? 'upstream-error');
    assert.ok(kept.answer.kind === 'rendered');
    assert.deepEqual([kept.answer.mediaType, kept.answer.headers], [headers['Content-Type'], {}]);
  }
});
