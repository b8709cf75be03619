import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SharedReads } from './shared-reads.ts';

describe('shared reads', () => {
  test('read once for those who ask in one iteration, by key', async () => {
    const reads = new SharedReads<string>();
    const begun: string[] = [];
    const read = (key: string) =>
      reads.read(key, async () => {
        begun.push(key);
        return `value of ${key}`;
      });
    assert.deepEqual(await Promise.all([read('a'), read('b'), read('a')]), ['value of a', 'value of b', 'value of a']);
    assert.deepEqual(begun, ['a', 'b']);
  });

  test('read again for one who asks after the statement began, although it has not ended', async () => {
    const reads = new SharedReads<number>();
    const first = Promise.withResolvers<number>();
    const begun = Promise.withResolvers<void>();
    const early = reads.read('a', () => {
      begun.resolve();
      return first.promise;
    });
    await begun.promise;
    assert.equal(await reads.read('a', async () => 2), 2);
    first.resolve(1);
    assert.equal(await early, 1);
  });

  test('fail for all who share a statement, and not for the next one', async () => {
    const reads = new SharedReads<number>();
    const fail = () => reads.read('a', () => Promise.reject(new Error('away')));
    const ends = await Promise.allSettled([fail(), fail()]);
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(await reads.read('a', async () => 3), 3);
  });
});
