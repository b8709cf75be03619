import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { mergePatch } from './merge-patch.ts';

// RFC 7396, appendix A: original, patch, result.
const examples: readonly (readonly [string, string, string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

for (const [target, patch, result] of examples) {
  test(`RFC 7396 appendix A: ${patch} on ${target} is ${result}`, () => {
    assert.deepEqual(mergePatch(JSON.parse(target), JSON.parse(patch)), JSON.parse(result));
  });
}

test('a patch applied twice gives the result of applying it once, and modifies neither value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (target, patch) => {
      const before = JSON.stringify([target, patch]);
      const once = mergePatch(target, patch);
      assert.deepEqual(mergePatch(once, patch), once);
      assert.equal(JSON.stringify([target, patch]), before);
    }),
  );
});
