import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { compileVariant } from '#base/web-assembly.ts';
import { createJsonEscaper } from './json-escape.ts';
import { JsonTextWriter } from './json-text-writer.ts';
import { chunkSizes, cut } from './json-texts.test-data.ts';

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', '\u007f', 'é', '😀', '\u2028', 'x')),
  maxLength: 400,
});

function asString(bytes: Buffer): Buffer {
  return Buffer.from(JSON.stringify(bytes.toString('latin1')), 'latin1').subarray(1, -1);
}

for (const variant of ['simd', 'plain'] as const) {
  const program = compileVariant(new URL('.', import.meta.url), 'escape', variant);
  const escaper = program && createJsonEscaper(program);
  const skip = escaper === undefined ? 'this processor has no SIMD' : false;

  test(`escape-${variant} escapes a text cut anywhere so that it reads as itself`, { skip }, () => {
    assert.ok(escaper);
    fc.assert(
      fc.property(anyText, chunkSizes, (text, sizes) => {
        const pieces = cut(Buffer.from(text), sizes).map((piece) => Buffer.from(escaper.escape(piece, 0, piece.length)));
        assert.equal(JSON.parse(`"${Buffer.concat(pieces).toString()}"`), text);
      }),
      { numRuns: 500 },
    );
  });

  test(`escape-${variant} escapes every byte as JSON.stringify does, wherever it stands`, { skip }, () => {
    assert.ok(escaper);
    for (let byte = 0; byte < 0x100; byte += 1) {
      for (let at = 0; at < 40; at += 1) {
        const bytes = Buffer.alloc(42, 'x').fill(byte, at, at + 3);
        const expected = JSON.stringify(bytes.toString('latin1')).slice(1, -1);
        assert.equal(escaper.escape(bytes, 0, bytes.length).toString('latin1'), expected);
      }
    }
  });

  test(`escape-${variant} takes as many bytes as it says, each of them six times as long`, { skip }, () => {
    assert.ok(escaper);
    const bytes = Buffer.alloc(escaper.limit + 2, 0x01);
    assert.equal(escaper.escape(bytes, 1, escaper.limit + 1).toString(), String.raw`\u0001`.repeat(escaper.limit));
  });
}

test('a text writer gives on what it was given, raw and escaped, short and long', () => {
  fc.assert(
    fc.property(anyText, chunkSizes, fc.nat({ max: 300 }), (text, sizes, room) => {
      const written: Buffer[] = [];
      const writer = new JsonTextWriter((chunk) => written.push(chunk));
      writer.reserve(room);
      for (const chunk of [...cut(Buffer.from(text), sizes), Buffer.from(text)]) {
        writer.byte(0x22);
        writer.escaped(chunk, 0, chunk.length);
        writer.text('",');
        writer.raw(chunk, 0, chunk.length);
        if (chunk.length % 3 === 0) writer.flush();
      }
      writer.flush();
      const expected = [...cut(Buffer.from(text), sizes), Buffer.from(text)].map((chunk) =>
        Buffer.concat([Buffer.from('"'), asString(chunk), Buffer.from('",'), chunk]),
      );
      assert.ok(Buffer.concat(written).equals(Buffer.concat(expected)));
    }),
  );
});

test('a text writer escapes long texts in blocks', () => {
  const text = Buffer.from('línea\n'.repeat(40_000));
  const written: Buffer[] = [];
  const writer = new JsonTextWriter((chunk) => written.push(chunk));
  writer.escaped(text, 0, text.length);
  writer.flush();
  assert.ok(Buffer.concat(written).equals(asString(text)));
  assert.ok(Math.max(...written.map((chunk) => chunk.length)) <= 64 * 1024);
});
