import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { compileVariant } from '#base/web-assembly.ts';
import { JsonEscaper } from './json-escaper.ts';
import { chunkSizes, cut } from './json-texts.test-data.ts';

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', '\u007f', 'é', '😀', '\u2028', 'x')),
  maxLength: 400,
});

for (const variant of ['simd', 'plain'] as const) {
  const program = compileVariant(new URL('.', import.meta.url), 'escape', variant);
  const escaper = program && new JsonEscaper(program);
  const skip = escaper === undefined ? 'this processor has no SIMD' : false;

  test(`escape-${variant} escapes a text in any chunking so that JSON.parse restores it`, { skip }, () => {
    assert.ok(escaper);
    fc.assert(
      fc.property(anyText, chunkSizes, (text, sizes) => {
        const pieces = cut(Buffer.from(text), sizes).map((piece) => Buffer.from(escaper.escape(piece)));
        assert.equal(JSON.parse(`"${Buffer.concat(pieces).toString()}"`), text);
      }),
      { numRuns: 500 },
    );
  });

  test(`escape-${variant} escapes every byte as JSON.stringify does, at every offset`, { skip }, () => {
    assert.ok(escaper);
    for (let byte = 0; byte < 0x100; byte += 1) {
      for (let at = 0; at < 40; at += 1) {
        const bytes = Buffer.alloc(42, 'x').fill(byte, at, at + 3);
        const expected = JSON.stringify(bytes.toString('latin1')).slice(1, -1);
        assert.equal(escaper.escape(bytes).toString('latin1'), expected);
      }
    }
  });

  test(`escape-${variant} accepts any length, and each byte may become six bytes`, { skip }, () => {
    assert.ok(escaper);
    for (const length of [0, 1, 65_535, 65_536, 65_537, 200_000]) {
      assert.equal(escaper.escape(Buffer.alloc(length, 0x01)).toString(), String.raw`\u0001`.repeat(length));
    }
  });
}
