import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { anyText } from '#base/text/any-text.test-support.ts';
import { exactKey, foldText, keyBehind, sortKey } from './sort-key.ts';

const text = anyText();

/** By code points, which is the documented order. */
function byCodePoint(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)];
  for (const [index, character] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const difference = (character.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return left.length === right.length ? 0 : -1;
}

test('case, accents and compatibility forms do not count', () => {
  for (const [written, folded] of [
    ['Ärger', 'arger'],
    ['A\u0308rger', 'arger'],
    ['ＦＵＬＬ', 'full'],
    ['ﬁber', 'fiber'],
    ['İzmir', 'izmir'],
    ['Ὀδυσσεύς', foldText('ὈΔΥΣΣΕΎΣ')],
    ['Ångström', foldText('ÅNGSTRÖM')],
    ['\u0301', ''],
  ] as const) {
    assert.equal(foldText(written), folded);
  }
});

test('folding a folded text changes nothing', () => {
  fc.assert(fc.property(text, (value) => assert.equal(foldText(foldText(value)), foldText(value))));
});

test('what begins a name is found at its beginning, also where a sigma ends it', () => {
  assert.ok(foldText('ΟΔΟΣΗΜΑ').startsWith(foldText('ΟΔΟΣ')));
  assert.ok(foldText('οδοσημα').startsWith(foldText('ΟΔΟΣ')));
});

test('keys compare byte by byte as their texts do by code point, and not as UTF-16 does', () => {
  assert.equal(Buffer.compare(exactKey('\uff5e'), exactKey('😀')), -1);
  assert.deepEqual(['\uff5e', '😀'].toSorted(), ['😀', '\uff5e']);
  fc.assert(fc.property(text, text, (a, b) => assert.equal(Buffer.compare(exactKey(a), exactKey(b)), byCodePoint(a, b))));
});

test('the keys that begin with a prefix are those from it up to the key behind it', () => {
  assert.equal(keyBehind(new Uint8Array()), undefined);
  fc.assert(
    fc.property(text, text, fc.boolean(), (prefix, other, joined) => {
      const folded = foldText(prefix);
      const value = foldText(joined ? folded + other : other);
      const behind = keyBehind(sortKey(folded));
      const inRange =
        Buffer.compare(sortKey(value), sortKey(folded)) >= 0 &&
        (behind === undefined || Buffer.compare(sortKey(value), behind) < 0);
      assert.equal(inRange, value.startsWith(folded));
    }),
  );
});
