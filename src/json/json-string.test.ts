import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { decodeJsonString } from './json-string.ts';
import { stringToken } from './json-texts.test-data.ts';

test('a token reads as JSON.parse reads it', () => {
  fc.assert(
    fc.property(stringToken, (token) => {
      assert.equal(decodeJsonString(Buffer.from(token)), JSON.parse(token));
    }),
  );
});
