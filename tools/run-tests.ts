/**
 * Runs the tests.
 *
 *   npm test             everything
 *   npm run test:unit    the tests of src/, client/, console/, demo/ and tools/, on SQLite alone
 *
 * A test file of test/ or bench/ has a process of its own, because it starts gateways and looks at its process. The others share a few
 * processes, one file after the other: that saves processor time, since each process loads each module once. Exits with 1 where a test
 * fails.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { builtProgram } from './built-program.ts';

const { values } = parseArgs({ options: { unit: { type: 'boolean', default: false } } });
/** Tests of units start no gateway, except in their own process. */
if (!values.unit) process.env['TESTED_PROGRAM'] = await builtProgram();
/** This file measures the memory of its process. */
const alone = 'src/base/garbage-collection.test.ts';
/** Files that wait for time limits of half a minute, or take as long. They begin first, so that no other file is left to wait for them. */
const longest = [
  'test/approvals.test.ts',
  'test/approval-runs.test.ts',
  'test/run-faults.test.ts',
  'test/browser/console-pages.test.ts',
  'test/browser/console-tasks.test.ts',
  'test/browser/console-live.test.ts',
  'test/notifications.test.ts',
  'test/hostile-callers.test.ts',
  'test/limits.test.ts',
  'test/late-callers.test.ts',
  'test/run-crashes.test.ts',
  'test/drain.test.ts',
  'test/audit-outcomes.test.ts',
  'test/audit-crashes.test.ts',
  'test/traces.test.ts',
  'test/tls.test.ts',
  'test/hardening-process.test.ts',
  'test/adapter-breaker.test.ts',
  'test/begun-replies.test.ts',
  'test/catalogue-crashes.test.ts',
];
/** Processes at the same time: more than the machine has processors, since many tests wait. More than four save no time. */
const concurrency = 4;
/** Milliseconds: a process that something keeps alive after its tests is killed, and counts as failed. */
const limit = 1_200_000;
/** Processes for the files that share one. */
const shares = values.unit ? 3 : 4;

interface Job {
  readonly name: string;
  readonly files: readonly string[];
  readonly options?: readonly string[];
}

const total = { passed: 0, failed: 0, skipped: 0 };
/** What the failed processes wrote of their failures: it is printed at the end, where a person looks first. */
const failures: string[] = [];

/** The failed tests of a process; where it ended without naming them, its last lines. */
function failureOf(name: string, ending: string, output: string): string {
  const at = output.lastIndexOf('\n✖ failing tests:');
  return `\n${name} ended with ${ending}\n${at < 0 ? output.split('\n').slice(-40).join('\n') : output.slice(at)}`;
}

/** Runs files in one process, and prints what it wrote. */
async function run({ name, files, options = [] }: Job): Promise<void> {
  const begun = performance.now();
  const args = ['--test', '--test-isolation=none', '--test-timeout=600000', ...options, ...files];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: limit, killSignal: 'SIGKILL' });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const output = Buffer.concat(chunks).toString();
  const count = (word: string): number => Number(new RegExp(`^ℹ ${word} (\\d+)$`, 'mu').exec(output)?.[1] ?? 0);
  total.passed += count('pass');
  total.skipped += count('skipped');
  // A process that ended without a summary has failed too.
  const failed = count('fail') + count('cancelled');
  total.failed += code === 0 ? failed : Math.max(1, failed);
  if (failed > 0 || code !== 0) failures.push(failureOf(name, signal ?? `exit code ${code}`, output));
  console.log(`\n${name}: ${((performance.now() - begun) / 1000).toFixed(1)} s\n${output}`);
}

async function filesOf(...patterns: readonly string[]): Promise<readonly string[]> {
  return (await Array.fromAsync(glob(patterns))).filter((file) => file !== alone).toSorted();
}

/** The shares get files of every folder each, so that they take about the same time. */
async function sharedJobs(): Promise<readonly Job[]> {
  const files = await filesOf(
    'src/**/*.test.ts',
    'client/src/*.test.ts',
    'console/src/*.test.ts',
    'demo/**/*.test.ts',
    'tools/**/*.test.ts',
  );
  return Array.from({ length: shares }, (_, share) => ({
    name: `share ${share + 1} of ${shares}`,
    files: files.filter((_file, at) => at % shares === share),
    options: values.unit ? ['--test-skip-pattern=on PostgreSQL'] : [],
  }));
}

async function singleJobs(): Promise<readonly Job[]> {
  const others = values.unit ? [] : await filesOf('test/**/*.test.ts', 'bench/*.test.ts');
  const begin = values.unit ? [] : longest;
  return [...begin, alone, ...others.filter((file) => !longest.includes(file))].map((file) => ({ name: file, files: [file] }));
}

const [first, ...singles] = await singleJobs();
const jobs = [first, ...(await sharedJobs()), ...singles].filter((job) => job !== undefined);
async function work(): Promise<void> {
  for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await run(job);
}
await Promise.all(Array.from({ length: concurrency }, work));
for (const failure of failures) console.log(failure);
console.log(`\nall tests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (total.failed > 0 || total.passed === 0) process.exitCode = 1;
