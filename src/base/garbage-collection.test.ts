import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { getHeapSpaceStatistics } from 'node:v8';
import { countStreamed, tuneGarbageCollection } from './garbage-collection.ts';

test('a flood of short-lived objects does not let the young generation grow to its default', async (t) => {
  t.after(tuneGarbageCollection());
  const kept: unknown[] = [];
  for (let round = 0; round < 400; round += 1) {
    for (let index = 0; index < 3_000; index += 1) kept.push({ text: `x${index}`, list: [index, round, {}] });
    if (kept.length > 20_000) kept.splice(0, 10_000);
    await new Promise(setImmediate);
  }
  const newSpace = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  assert.ok((newSpace?.space_size ?? Infinity) <= 32 * 1024 ** 2, `${newSpace?.space_size} bytes`);
});

test('buffers that streamed by are collected long before the memory outside of the heap would be', () => {
  const size = 64 * 1024;
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let round = 0; round < 3200; round += 1) {
    countStreamed(Buffer.allocUnsafeSlow(size).length);
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  // V8 gives them back in a thread of its own, which may have to wait for a processor; left alone there are 63 MiB of them.
  assert.ok(most < 56 * 1024 ** 2, `${most} bytes`);
});

test('V8 knows every flag that is set, for it passes over others without a word', () => {
  const source = readFileSync(new URL('garbage-collection.ts', import.meta.url), 'utf8');
  const flags = [...source.matchAll(/setFlagsFromString\([`'](--[a-z-]+)/gu)].map(([, flag = '']) => flag);
  assert.ok(flags.length >= 5, flags.join(' '));
  for (const flag of flags) {
    const args = [/growth-factor|percent/u.test(flag) ? `${flag}=1` : flag, '--eval', ''];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(status, 0, `${flag}: ${stderr}`);
  }
});
