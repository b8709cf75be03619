import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { countStreamed } from './garbage-collection.ts';

const root = new URL('../../', import.meta.url);
const unit = readFileSync(new URL('deploy/systemd/orchestration-gateway.service', root), 'utf8');
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  readonly scripts: { readonly start: string };
};

/** Node's own options in a command that starts the gateway. */
function nodeOptions(command: string | undefined): readonly string[] {
  return (command?.split('main.ts')[0] ?? '').split(' ').filter((word) => word.startsWith('--'));
}

const options = nodeOptions(/^ExecStart=(.*)$/mu.exec(unit)?.[1]);

/** Runs a program in a process that starts with the unit's options, and returns the number it prints. */
function numberFrom(program: string): number {
  const args = [...options, '--input-type=module', '--eval', program];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd: root });
  assert.equal(status, 0, stderr);
  return Number(stdout);
}

test('the unit for systemd and npm start pass the same options to Node, and Node documents each', () => {
  assert.ok(options.length > 0);
  assert.deepEqual(nodeOptions(manifest.scripts.start), options);
  for (const option of options) assert.ok(process.allowedNodeEnvironmentFlags.has(option.split('=')[0] ?? ''), option);
});

test('a flood of short-lived objects leaves the young generation at 16 MiB under the options of the unit', () => {
  const size = numberFrom(`
    import { getHeapSpaceStatistics } from 'node:v8';
    const kept = [];
    for (let round = 0; round < 400; round += 1) {
      for (let index = 0; index < 3_000; index += 1) kept.push({ text: 'x' + index, list: [index, round, {}] });
      if (kept.length > 20_000) kept.splice(0, 10_000);
    }
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size);`);
  assert.ok(size <= 16 * 1024 ** 2, `${size} bytes`);
});

test('streamed buffers are collected before 64 MiB of them wait, under the options of the unit', () => {
  const most = numberFrom(`
    import { countStreamed } from '#base/garbage-collection.ts';
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    for (let round = 0; round < 3_200; round += 1) {
      countStreamed(Buffer.allocUnsafeSlow(65_536).length);
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    console.log(most);`);
  // A thread of V8 frees them, and may wait for a processor. Without countStreamed there are 63 MiB.
  assert.ok(most < 56 * 1024 ** 2, `${most} bytes`);
});

test('counting streamed bytes has no effect where Node starts without --expose-gc', () => {
  assert.equal(globalThis.gc, undefined);
  for (let round = 0; round < 3; round += 1) countStreamed(16 * 1024 ** 2);
});
