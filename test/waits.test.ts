import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const cwd = fileURLToPath(new URL('..', import.meta.url));
/** A promise of a time: `setTimeout` of timers/promises, or one that resolves a promise. */
const fixedWait = /setTimeout\b[^;]*from 'node:timers\/promises'|Promise(?:<\w+>)?\(\(?\w*\)? => setTimeout\(/u;
const waiting = ['lapse', 'until'].map((name) => `test/support/${name}.ts`);
/** Issue 39 rewrites these together with the catalogue. */
const later = [
  'test/automations-transfer.test.ts',
  'test/catalogue-load-balancer.test.ts',
  'test/support/catalogue/catalogue-load.ts',
];

test('a test waits for an event with `until`, or says with `lapse` why it waits a time', () => {
  const files = globSync(['test/**/*.ts', '{src,client/src,console/src,demo,tools}/**/*.test{,-support}.ts'], { cwd });
  assert.ok(files.length > 300, `${files.length} files`);
  const waits = files.filter((file) => fixedWait.test(readFileSync(`${cwd}/${file}`, 'utf8')));
  assert.deepEqual(
    waits.filter((file) => ![...waiting, ...later].includes(file)),
    [],
  );
  assert.deepEqual(
    waiting.filter((file) => !waits.includes(file)),
    [],
    'the pattern finds nothing',
  );
});
