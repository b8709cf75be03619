// suite: long

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { missing } from './support/installed.ts';

const run = promisify(execFile);
const source = new URL('../src/', import.meta.url).pathname;
const model = join(source, 'runs/journal/claims.pml');
const noSpin = missing('spin', '-V', 'spin') || missing('gcc', '--version', 'build-essential');

/** Makes verifiers of the model, and answers how to run them. A fault is a name that the model plants with -D. */
async function verifiers(t: TestContext, fault?: string): Promise<(kind: 'states' | 'progress') => Promise<string>> {
  const directory = await mkdtemp(join(tmpdir(), 'claims-model-'));
  t.after(() => rm(directory, { recursive: true }));
  const options = { cwd: directory, maxBuffer: 64 * 1024 * 1024 };
  await run('spin', [...(fault === undefined ? [] : [`-D${fault}`]), '-a', model], options);
  return async (kind) => {
    const flags = kind === 'states' ? ['-DNOCLAIM', '-DSAFETY'] : ['-DNFAIR=3'];
    // A verifier that finds a planted fault ends soon: to optimize it would take longer.
    await run('gcc', [fault === undefined ? '-O1' : '-O0', '-w', ...flags, '-o', kind, 'pan.c'], options);
    const { stdout } = await run(join(directory, kind), ['-m100000', ...(kind === 'states' ? [] : ['-a', '-f'])], options);
    return stdout;
  };
}

test('the protocol of claims holds in every state of its model, and every execution ends', { skip: noSpin }, async (t) => {
  const verify = await verifiers(t);
  for (const kind of ['states', 'progress'] as const) {
    const report = await verify(kind);
    assert.match(report, /Full statespace search for:/u, report);
    assert.match(report, /errors: 0\n/u, report);
    assert.doesNotMatch(report, /Search not completed|max search depth too small|out of memory/u);
  }
});

const faults: readonly (readonly [fault: string, found: RegExp])[] = [
  ['NO_FENCE', /assertion violated \(\(next==/u],
  ['NO_TAKEOVER', /invalid end state/u],
  ['NO_WAKE', /invalid end state/u],
  ['BEGIN_EARLY', /assertion violated \(position>=next\)/u],
  ['ANY_LEASE', /assertion violated \(held\[/u],
  ['NO_GRACE', /assertion violated .*still/u],
  ['ABORT_LOST', /invalid end state/u],
  ['NO_TELL', /invalid end state/u],
];

for (const [fault, found] of faults) {
  test(`the model with the planted fault ${fault} fails`, { skip: noSpin }, async (t) => {
    const report = await (await verifiers(t, fault))('states');
    assert.match(report, /errors: 1\n/u, report);
    assert.match(report, found, report);
  });
}

test('the model names code that exists', async () => {
  const text = await readFile(model, 'utf8');
  const named = [...text.matchAll(/@code ([\w-]+\.ts)\s+(\w+)/gu)];
  assert.ok(named.length >= 10);
  for (const [, file = '', name = ''] of named) {
    const [path = ''] = await Array.fromAsync(glob(`**/${file}`, { cwd: source }));
    const code = await readFile(join(source, path), 'utf8');
    assert.match(code, new RegExp(`(?:function|interface|class) ${name}\\b`, 'u'), `${file} has no ${name}`);
  }
});
