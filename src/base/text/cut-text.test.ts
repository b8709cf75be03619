import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutText, isCut, maxTextLength } from './cut-text.ts';

test('a text is cut to its limit of bytes between two characters, and says so', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 3_000 }), fc.integer({ min: 20, max: 6_000 }), (text, bytes) => {
      const cut = cutText(text, bytes);
      assert.ok(Buffer.byteLength(cut) <= bytes || cut === text);
      assert.ok(Buffer.byteLength(text) <= bytes ? cut === text : isCut(cut) && text.startsWith(cut.replace(/ … \(cut\)$/u, '')));
    }),
  );
  assert.equal(Buffer.byteLength(cutText('x'.repeat(1_000_000))), maxTextLength);
});
