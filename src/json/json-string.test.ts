import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decodeJsonString, escapeJsonString } from './json-string.ts';
import { JsonTextWriter } from './json-text-writer.ts';
import { chunkSizes, cut, stringToken } from './json-texts.test-data.ts';

const anyText = fc.string({
  unit: fc.oneof(fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', '\u007f', 'é', '😀', '\u2028', 'x')),
  maxLength: 400,
});

test('a text that is escaped in pieces, cut anywhere, reads as itself', () => {
  fc.assert(
    fc.property(anyText, chunkSizes, (text, sizes) => {
      const escaped = Buffer.concat(cut(Buffer.from(text), sizes).map(escapeJsonString));
      assert.equal(JSON.parse(`"${escaped.toString()}"`), text);
    }),
  );
});

test('a text longer than one piece is escaped whole', () => {
  const text = 'é"'.repeat(6 * 1024 * 1024);
  assert.equal(escapeJsonString(Buffer.from(text)).toString(), 'é\\"'.repeat(6 * 1024 * 1024));
});

test('a token reads as JSON.parse reads it', () => {
  fc.assert(
    fc.property(stringToken, (token) => {
      assert.equal(decodeJsonString(Buffer.from(token)), JSON.parse(token));
    }),
  );
});

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
        Buffer.concat([Buffer.from('"'), escapeJsonString(chunk), Buffer.from('",'), chunk]),
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
  assert.ok(Buffer.concat(written).equals(escapeJsonString(text)));
  assert.ok(Math.max(...written.map((chunk) => chunk.length)) <= 64 * 1024);
});
