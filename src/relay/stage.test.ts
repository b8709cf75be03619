import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '#base/text/any-text.test-support.ts';
import { base64Stage, charsetStage, type Stage, unmarkedStage, utf8Stage } from './stage.ts';

/** Random text, and the sizes of its chunks. */
const cutText = fc
  .record({
    text: anyText({ maxLength: 200 }),
    sizes: fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
  })
  .filter(({ text }) => text.isWellFormed());

function throughStage(stage: Stage, bytes: Buffer, sizes: readonly number[]): Buffer {
  const out: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    out.push(Buffer.from(stage.push(bytes.subarray(at, at + size))));
    at += size;
  }
  return Buffer.concat([...out, stage.end()]);
}

test('UTF-8 stays unchanged with any chunk sizes', () => {
  fc.assert(
    fc.property(cutText, ({ text, sizes }) => throughStage(utf8Stage(), Buffer.from(text), sizes).equals(Buffer.from(text))),
  );
});

test('one byte order mark at the beginning goes with any chunk sizes, and nothing else', () => {
  fc.assert(
    fc.property(cutText, ({ text, sizes }) => {
      const plain = text.startsWith('\u{feff}') ? text.slice(1) : text;
      assert.equal(throughStage(unmarkedStage(), Buffer.from(text), sizes).toString(), plain);
      assert.equal(throughStage(unmarkedStage(), Buffer.from(`\u{feff}${text}`), sizes).toString(), text);
    }),
  );
  assert.deepEqual(throughStage(unmarkedStage(), Buffer.from([0xef, 0xbb]), [1]), Buffer.from([0xef, 0xbb]));
});

test('base64 is that of the whole text with any chunk sizes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), (array, sizes) => {
      const bytes = Buffer.from(array);
      return throughStage(base64Stage(), bytes, sizes).toString('latin1') === bytes.toString('base64');
    }),
  );
});

test('bytes that are not UTF-8 are refused, and so is a text that ends inside a character', () => {
  assert.throws(() => utf8Stage().push(Buffer.from([0x61, 0xff, 0x61])));
  assert.throws(() => utf8Stage().push(Buffer.from([0xed, 0xa0, 0x80, 0x61])), 'a surrogate');
  const cut = utf8Stage();
  assert.equal(cut.push(Buffer.from([0x61, 0xe2, 0x82])).toString(), 'a');
  assert.throws(() => cut.end());
});

test('another charset is decoded, and bytes outside it are refused', () => {
  assert.equal(throughStage(charsetStage('iso-8859-1'), Buffer.from([0xe9]), [1]).toString(), 'é');
  assert.equal(throughStage(charsetStage('utf-16le'), Buffer.from('hé', 'utf16le'), [1]).toString(), 'hé');
  const marked = Buffer.from('\uFEFFhé', 'utf16le');
  const bigEndian = Buffer.from(marked).swap16();
  for (const sizes of [[1], [2], [64]]) {
    assert.equal(throughStage(charsetStage('utf-16'), marked, sizes).toString(), '\uFEFFhé');
    assert.equal(throughStage(charsetStage('utf-16'), bigEndian, sizes).toString(), '\uFEFFhé');
  }
  assert.equal(throughStage(charsetStage('iso-8859-1'), Buffer.from([0x41]), [1]).toString(), 'A');
  assert.throws(() => throughStage(charsetStage('utf-16'), Buffer.from([0x41]), [1]));
  assert.throws(() => throughStage(charsetStage('shift_jis'), Buffer.from([0xff, 0xff, 0x41]), [3]));
  assert.throws(() => charsetStage('no-such-charset'));
});
