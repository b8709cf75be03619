import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatheredBytes } from './gathered-bytes.ts';

test('gathered bytes are the pieces in order, also after several takes, and no piece is overwritten', () => {
  const gathered = new GatheredBytes();
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 }), (pieces) => {
      // Side by side in one piece of memory, as a connection's are.
      const memory = Buffer.concat(pieces);
      let at = 0;
      for (const { length } of pieces) {
        gathered.add(memory.subarray(at, at + length));
        at += length;
        assert.equal(gathered.length, at);
      }
      assert.deepEqual(gathered.take(), Buffer.concat(pieces));
      assert.deepEqual(memory, Buffer.concat(pieces));
      assert.equal(gathered.length, 0);
    }),
  );
});

test('a single piece is not copied', () => {
  const gathered = new GatheredBytes();
  const piece = Buffer.from('alone');
  gathered.add(piece);
  assert.equal(gathered.take(), piece);
});

test('a million pieces of one byte take a few bytes of memory each', () => {
  const gathered = new GatheredBytes();
  const piece = Buffer.from('x');
  const before = process.memoryUsage();
  for (let count = 0; count < 1_000_000; count += 1) gathered.add(piece);
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const grown = heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers;
  assert.ok(grown < 16_000_000, `${grown} bytes`);
  assert.equal(gathered.take().length, 1_000_000);
});
