/**
 * Runs the tests.
 *
 *   npm test             without the files of the list `long`: less than four minutes
 *   npm run test:all     everything: CI runs this
 *   npm run test:unit    the tests of src/, client/, console/, demo/ and tools/ on SQLite, without the list `longUnits`: half a minute
 *
 * A few processes share the test files: each takes the next one when it has finished one. So a process compiles each module once for
 * all of its files. Exits with 1 where a test fails.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { glob } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { builtProgram } from './built-program.ts';
import type { FileEnd, NextFile } from './test-process.ts';

const { values } = parseArgs({
  options: { unit: { type: 'boolean', default: false }, all: { type: 'boolean', default: false } },
});
/** Random histories that `test/involved-histories.test.ts` plays on each store. */
if (values.all) process.env['HISTORIES'] ??= '25';
/** Tests of units start no gateway, except in their own process. */
if (!values.unit) process.env['TESTED_PROGRAM'] = await builtProgram();
/** These files measure their process, so each has one of its own. */
const alone = ['src/database/sqlite-memory.test.ts', 'test/node-contract.test.ts'].filter(
  (file) => !values.unit || file.startsWith('src/'),
);
/**
 * `npm test` leaves these out. They drive programs other than Node.js and PostgreSQL, or make faults and overload in rounds, or try every
 * combination. They begin first, because many of them take longest.
 */
const long = [
  'test/run-faults.test.ts',
  'test/catalogue-crashes.test.ts',
  'test/browser/**/*.test.ts',
  'test/claims-model.test.ts',
  'test/outside-clients.test.ts',
  'test/command-line.test.ts',
  'test/command-line-catalogue.test.ts',
  'test/catalogue-gateways.test.ts',
  'test/catalogue-load-balancer.test.ts',
  'test/catalogue-disk.test.ts',
  'test/audit-crashes.test.ts',
  'test/architecture.test.ts',
  'test/nginx.test.ts',
  'test/service-unit.test.ts',
  'test/limits.test.ts',
  'test/proxies.test.ts',
  'test/approval-matrix.test.ts',
  'test/tls.test.ts',
  'test/never-twice.test.ts',
  'test/audit-flood.test.ts',
  'test/store-faults.test.ts',
  'test/memory.test.ts',
  'test/run-telemetry.test.ts',
  'test/drain.test.ts',
  'test/audit-list.test.ts',
  'test/run-crashes.test.ts',
  'test/involved-histories.test.ts',
  'test/who-may-what.test.ts',
  'test/what-ends-when.test.ts',
];
/**
 * `npm run test:unit` leaves these out. They reach limits of time and memory, damage or fill stores, compare random documents, or start
 * commands.
 */
const longUnits = [
  'src/access/hostile-tokens.test.ts',
  'src/access/login-throttle.test.ts',
  'src/audit/audit-pruning.test.ts',
  'src/automations/run-facts.test.ts',
  'src/cli/cli.test.ts',
  'src/config/config-text.test.ts',
  'src/database/database.test.ts',
  'src/notifications/notifier.test.ts',
  'src/outbound/reply-reader.test.ts',
  'src/workflows/expression-pool.test.ts',
  'src/workflows/reader/jq-source.test.ts',
  'src/workflows/reading-threads.test.ts',
  'src/workflows/schema-threads.test.ts',
  'src/workflows/sdk-oracle.test.ts',
];
/** Files that wait for time limits of half a minute, or take as long. They begin before the others, which then fill the waits. */
const waiting = [
  'src/runs/run-engine.test.ts',
  'src/runs/tasks/call-tasks.test.ts',
  'test/lost-documents.test.ts',
  'test/run-people.test.ts',
  'test/store-limits.test.ts',
  'test/approval-runs.test.ts',
  'test/approvals.test.ts',
  'test/notifications.test.ts',
  'test/hostile-callers.test.ts',
  'test/late-callers.test.ts',
  'test/audit-outcomes.test.ts',
  'src/notifications/notifier.test.ts',
  'test/automations-transfer.test.ts',
  'test/adapter-breaker.test.ts',
  'test/begun-replies.test.ts',
  'test/adapter-credentials.test.ts',
  'test/traces.test.ts',
  'test/hostile-far-sides.test.ts',
  'test/schedules.test.ts',
];
/** Processes at the same time: more than the machine has processors, since many tests wait. */
const concurrency = 6;
/** Milliseconds: a process that something keeps alive after its tests is killed, and counts as failed. */
const limit = 60_000;

interface FileCost {
  readonly file: string;
  /** Of the processor, without the processes that the file started. */
  readonly seconds: number;
}

const costs: FileCost[] = [];
const total = { passed: 0, failed: 0, skipped: 0 };
/** What the failed processes wrote of their failures: it is printed at the end, where a person looks first. */
const failures: string[] = [];

function lineOf({ file, seconds }: FileCost): string {
  return `${seconds.toFixed(1).padStart(6)} s  ${file}`;
}

/** The failed tests of a process; where it ended without naming them, its last lines. */
function failureOf(files: readonly string[], ending: string, output: string): string {
  const at = output.lastIndexOf('\n✖ failing tests:');
  return `\nThe process of ${files.at(-1)} ended with ${ending}\n${at < 0 ? output.split('\n').slice(-40).join('\n') : output.slice(at)}`;
}

/** Runs files in one process until `next` has none, and prints what it wrote. */
async function runProcess(next: () => string | undefined): Promise<void> {
  const child = fork(fileURLToPath(new URL('test-process.ts', import.meta.url)), {
    // As `src/main.ts` sets it for its process.
    env: { ...process.env, UV_THREADPOOL_SIZE: '16' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const files: string[] = [];
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.on('message', ({ file: ended, seconds }: FileEnd) => {
    if (ended !== undefined) {
      const cost = { file: relative('.', ended), seconds };
      costs.push(cost);
      console.log(lineOf(cost));
    }
    const file = next();
    if (file === undefined) setTimeout(() => child.kill('SIGKILL'), limit).unref();
    else files.push(file);
    child.send({ file: file === undefined ? undefined : resolve(file), stores: storesOf(file) } satisfies NextFile);
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const output = Buffer.concat(chunks).toString();
  const count = (word: string): number => Number(new RegExp(`^ℹ ${word} (\\d+)$`, 'mu').exec(output)?.[1] ?? 0);
  // Each file counts as a test, too.
  total.passed += count('pass') - files.length;
  total.skipped += count('skipped');
  // A process that ended without a summary has failed too.
  const failed = count('fail') + count('cancelled');
  total.failed += code === 0 ? failed : Math.max(1, failed);
  if (failed > 0 || code !== 0) failures.push(failureOf(files, signal ?? `exit code ${code}`, output));
  console.log(output);
}

/** `npm test` runs the tests next to the code on SQLite alone, to save a tenth of its time. */
function storesOf(file = ''): NextFile['stores'] {
  return values.all || file.startsWith('test/') ? 'every' : 'sqlite';
}

const units = ['src', 'client/src', 'console/src', 'demo', 'tools'].map((folder) => `${folder}/**/*.test.ts`);
const files = await filesInOrder();
await Promise.all([
  ...Array.from({ length: concurrency - 1 }, () => runProcess(() => files.shift())),
  // In the place of one process, one after the other.
  (async () => {
    for (const file of alone) await runProcess(takes([file]));
    await runProcess(() => files.shift());
  })(),
]);
console.log('Most processor time:');
for (const cost of costs.toSorted((one, other) => other.seconds - one.seconds).slice(0, 10)) console.log(lineOf(cost));
for (const failure of failures) console.log(failure);
console.log(`\nall tests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (total.failed > 0 || total.passed === 0) process.exitCode = 1;

function takes(given: readonly string[]): () => string | undefined {
  const rest = [...given];
  return () => rest.shift();
}

async function filesInOrder(): Promise<string[]> {
  const filesOf = async (patterns: readonly string[]): Promise<readonly string[]> =>
    (await Promise.all(patterns.map((pattern) => Array.fromAsync(glob(pattern))))).flatMap((found) => {
      if (found.length === 0) throw new Error('A list of tools/run-tests.ts names a file that does not exist.');
      return found.toSorted();
    });
  const begin = values.unit ? waiting.filter((file) => file.startsWith('src/')) : waiting;
  const others = values.unit ? [] : ['test/**/*.test.ts', 'bench/*.test.ts'];
  const found = await filesOf([...(values.all ? long : []), ...begin, ...units, ...others]);
  const left = new Set([...alone, ...(await filesOf(leftOut()))]);
  return [...new Set(found)].filter((file) => !left.has(file));
}

function leftOut(): readonly string[] {
  if (values.all) return [];
  return values.unit ? longUnits : long;
}
