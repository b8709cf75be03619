import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inMemory } from '#relay/relayed-call.ts';
import { maxOutputSize, readRenderedReply, readTaskReply } from './task-reply.ts';

const headers = { 'content-type': 'text/plain', 'set-cookie': 'a=1', vary: ['a', 'b'] };
const shown = { 'content-type': 'text/plain', 'set-cookie': ['a=1'], vary: 'a, b' };

test('a task reads text as text, and other bytes in base64', async () => {
  const text = await readTaskReply(inMemory({ status: 201, headers }, Buffer.from('é')), false);
  assert.deepEqual({ ...text, headers: { ...text?.headers } }, { status: 201, headers: shown, body: 'é', isBase64: false });
  for (const [body, asBytes] of [
    [Buffer.from([0xff]), false],
    [Buffer.from('é'), true],
  ] as const) {
    const bytes = await readTaskReply(inMemory({ status: 201, headers }, body), asBytes);
    assert.deepEqual(
      { ...bytes, headers: { ...bytes?.headers } },
      { status: 201, headers: shown, body: body.toString('base64'), isBase64: true },
    );
  }
});

test('a text that ends as other bytes is refused, and a reply that is too long is none', async () => {
  const broken = Buffer.concat([Buffer.alloc(70_000, 'x'), Buffer.from([0xff])]);
  await assert.rejects(readTaskReply(inMemory({ status: 200, headers }, broken), false), { code: 'upstream-protocol-error' });
  assert.equal(
    await readTaskReply(inMemory({ status: 200, headers }, Buffer.alloc(2 * maxOutputSize + 1, 'x')), false),
    undefined,
  );
});

test('a reply that an older gateway kept as text for a task is read', () => {
  const kept = { statusCode: 201, headers: shown, body: '/w==', bodyEncoding: 'base64' };
  const rendered = { kind: 'rendered', status: 200, mediaType: undefined, headers: {}, body: JSON.stringify(kept) } as const;
  assert.deepEqual(readRenderedReply(rendered), { status: 201, headers: shown, body: '/w==', isBase64: true });
});
