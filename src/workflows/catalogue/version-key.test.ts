import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { versionKey } from './version-key.ts';

describe('the key of a version', () => {
  test('has the precedence of semantic versions', () => {
    const ordered = [
      '0.0.1-0',
      '0.0.1',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-alpha-1',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.1',
      '1.2.0',
      '1.10.0',
      '2.0.0-18446744073709551615',
      '2.0.0-18446744073709551616',
      '2.0.0',
      '10.0.0',
    ];
    const mixed = ordered.toSorted((a, b) => (a < b ? 1 : -1));
    assert.deepEqual(
      mixed.toSorted((a, b) => Buffer.compare(versionKey(a), versionKey(b))),
      ordered,
    );
  });

  test('ignores build metadata', () => {
    assert.deepEqual(versionKey('1.0.0+b-1'), versionKey('1.0.0'));
  });
});
