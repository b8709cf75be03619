/**
 * Runs the tests.
 *
 *   npm test             everything
 *   npm run test:unit    the tests of src/, client/, demo/ and tools/, on SQLite alone
 *
 * A test file of test/ has a process of its own, because it starts gateways and looks at its process. The others share two processes, one
 * file after the other: that halves their processor time, since each process loads each module once. Exits with 1 where a test fails.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob } from 'node:fs/promises';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { unit: { type: 'boolean', default: false } } });
/** This file measures the memory of its process. */
const alone = 'src/base/garbage-collection.test.ts';
const common = ['--test', '--test-timeout=600000'];
const unit = ['--test-isolation=none', ...(values.unit ? ['--test-skip-pattern=on PostgreSQL'] : [])];

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const total: Counts = { passed: 0, failed: 0, skipped: 0 };

/** Runs node:test with these arguments. `live`: shows its output as it comes; else only where a test failed. */
async function run(args: readonly string[], live = false): Promise<void> {
  const child = spawn(process.execPath, [...common, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (live) process.stdout.write(chunk);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const output = Buffer.concat(chunks).toString();
  const count = (word: string): number => Number(new RegExp(`^ℹ ${word} (\\d+)$`, 'mu').exec(output)?.[1] ?? 0);
  total.passed += count('pass');
  total.skipped += count('skipped');
  // A process that ended without a summary has failed too.
  const failed = count('fail') + count('cancelled');
  total.failed += code === 0 ? failed : Math.max(1, failed);
  if (code !== 0 && !live) process.stdout.write(output);
}

async function filesOf(...patterns: readonly string[]): Promise<readonly string[]> {
  return (await Array.fromAsync(glob(patterns))).filter((file) => file !== alone).toSorted();
}

const files = await filesOf('src/**/*.test.ts', 'client/src/*.test.ts', 'demo/**/*.test.ts', 'tools/**/*.test.ts');
// Each share gets files of every folder, so that the two take about the same time.
const shares = [0, 1].map((share) => files.filter((_file, at) => at % 2 === share));
const outside = values.unit ? [alone] : [alone, ...(await filesOf('test/**/*.test.ts', 'bench/*.test.ts'))];
// Many of these tests wait: for time limits, for a killed process, for a lock.
const concurrency = 4;
await Promise.all([
  ...shares.map((share) => run([...unit, ...share])),
  run([`--test-concurrency=${concurrency}`, ...outside], true),
]);
console.log(`\nall tests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
