import assert from 'node:assert/strict';
import { Duplex, Transform } from 'node:stream';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type ContentDecoder, createContentDecoder } from './content-decoding.ts';

const text = Buffer.from('all that is decoded '.repeat(2_000));

/** Decodes bytes in pieces of this size, without waiting for a drain. */
async function decoded(coded: Buffer, size: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await new Promise<void>((onEnd, onError) => {
    const output = { onData: (piece: Buffer) => void pieces.push(piece), onDrain: () => {}, onEnd, onError };
    const decoder = createContentDecoder('gzip', output) as ContentDecoder;
    for (let at = 0; at < coded.length; at += size) decoder.write(coded.subarray(at, at + size));
    decoder.end();
  });
  return Buffer.concat(pieces);
}

test('a reply that arrives byte by byte is decoded in few steps, because each is a task for another thread', async (t) => {
  const coded = gzipSync(text, { level: 0 });
  const write = t.mock.method(Duplex.prototype, 'write');
  assert.ok((await decoded(coded, 1)).equals(text));
  const steps = write.mock.calls.filter(({ this: stream }) => stream instanceof Transform).length;
  assert.ok(steps > 0 && steps < 10, `${steps} steps`);
});

test('bytes that wait for a decoder pause the upstream, and none are lost', async () => {
  const coded = gzipSync(text, { level: 0 });
  for (const size of [7, 10_000, 20_000, coded.length]) assert.ok((await decoded(coded, size)).equals(text));
  let drained = 0;
  await new Promise<void>((onEnd, onError) => {
    const output = { onData: () => {}, onDrain: () => void (drained += 1), onEnd, onError };
    const decoder = createContentDecoder('gzip', output) as ContentDecoder;
    assert.equal(decoder.write(coded.subarray(0, 100)), true);
    assert.equal(decoder.write(coded.subarray(100, 20_000)), false);
    assert.equal(decoder.write(coded.subarray(20_000)), false);
    decoder.end();
  });
  assert.equal(drained, 1);
});
