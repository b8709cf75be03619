/**
 * Runs the tests.
 *
 *   npm test             without the long files of test/: less than four minutes
 *   npm run test:all     everything: CI runs this
 *   npm run test:packages  makes the packages, and runs the tests that install them
 *   npm run test:unit    the files of src/, client/, console/, demo/ and tools/ that are not long, on SQLite: half a minute
 *
 * The first line of a test file may mark it, as in `// suite: long, waiting`:
 *
 *   long       it drives programs other than Node.js and PostgreSQL, reaches limits of time and memory, makes faults in rounds, tries
 *              every combination, or is among those that cost the most
 *   waiting    it mostly waits: it begins before the others, which then fill the waits
 *   alone      it measures its process, so it has one of its own
 *
 * A few processes share the test files: each takes the next one when it has finished one. So a process compiles each module once for
 * all of its files. Exits with 1 where a test fails.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob, readFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { builtProgram } from './built-program.ts';
import type { FileEnd, NextFile } from './test-process.ts';

const { values } = parseArgs({
  options: {
    unit: { type: 'boolean', default: false },
    all: { type: 'boolean', default: false },
    packages: { type: 'boolean', default: false },
  },
});
/** Random histories that `test/involved-histories.test.ts` plays on each store. */
if (values.all) process.env['HISTORIES'] ??= '25';
/** Tests of units start no gateway, except in their own process. */
if (!values.unit && !values.packages) process.env['TESTED_PROGRAM'] = await builtProgram();
/** The tests of packages wait for it, and the others run meanwhile. */
const packagesMade = values.all || values.packages ? makePackages() : Promise.resolve();
/** Processes at the same time: more than the machine has processors, since many tests wait. */
const concurrency = 6;
/** Milliseconds: a process that something keeps alive after its tests is killed, and counts as failed. */
const limit = 60_000;

interface FileCost {
  readonly file: string;
  /** Of the processor, without the processes that the file started. */
  readonly seconds: number;
}

const packageTests = 'test/packages/';
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

const marks = ['long', 'waiting', 'alone'] as const;
type Mark = (typeof marks)[number];

interface TestFile {
  readonly file: string;
  readonly marks: readonly Mark[];
}

const chosen = (await testFiles()).filter((one) => !isLeftOut(one));
const alone = chosen.filter((one) => one.marks.includes('alone')).map(({ file }) => file);
const shared = chosen.filter((one) => !one.marks.includes('alone'));
const files = shared.toSorted((one, other) => placeOf(one) - placeOf(other)).map(({ file }) => file);
await Promise.all([
  ...Array.from({ length: concurrency - 1 }, () => runProcess(() => files.shift())),
  // In the place of one process, one after the other.
  (async () => {
    for (const file of alone) {
      if (file.startsWith(packageTests)) await packagesMade;
      await runProcess(takes([file]));
    }
    await runProcess(() => files.shift());
  })(),
]);
console.log('Most processor time:');
for (const cost of costs.toSorted((one, other) => other.seconds - one.seconds).slice(0, 10)) console.log(lineOf(cost));
for (const failure of failures) console.log(failure);
console.log(`\nall tests: ${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (total.failed > 0 || total.passed === 0) process.exitCode = 1;

/** Makes all packages with little compression. A test of a package that could not be made says what is missing, or fails. */
async function makePackages(): Promise<void> {
  process.env['TESTED_PACKAGES'] = resolve('dist/packages');
  const child = spawn(process.execPath, ['tools/package.ts', '--quick'], { stdio: ['inherit', 'inherit', 'pipe'] });
  const faults: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => faults.push(chunk));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const said = Buffer.concat(faults).toString();
  console.error(said);
  if (code === 0) return;
  total.failed += 1;
  failures.push(`\nThe packages were not made: tools/package.ts ended with ${signal ?? `exit code ${code}`}\n${said}`);
}

function takes(given: readonly string[]): () => string | undefined {
  const rest = [...given];
  return () => rest.shift();
}

/** Every test file of this run, also those that it leaves out. */
async function testFiles(): Promise<readonly TestFile[]> {
  const units = ['src', 'client/src', 'console/src', 'demo', 'tools'].map((folder) => `${folder}/**/*.test.ts`);
  const patterns = values.unit ? units : [...units, 'test/**/*.test.ts', 'bench/*.test.ts'];
  const found = await Promise.all(patterns.map((pattern) => Array.fromAsync(glob(pattern))));
  return Promise.all(found.flatMap((some) => some.toSorted()).map(async (file) => ({ file, marks: await marksOf(file) })));
}

async function marksOf(file: string): Promise<readonly Mark[]> {
  const [, named] = /^\/\/ suite: (.+)/u.exec(await readFile(file, 'utf8')) ?? [];
  const words = named?.split(', ') ?? [];
  const unknown = words.find((word) => !marks.some((mark) => mark === word));
  if (unknown !== undefined) throw new Error(`${file} has the mark "${unknown}"; there are ${marks.join(', ')}`);
  return marks.filter((mark) => words.includes(mark));
}

function isLeftOut({ file, marks: own }: TestFile): boolean {
  if (values.packages) return !file.startsWith(packageTests);
  return !values.all && own.includes('long') && (values.unit || file.startsWith('test/'));
}

/** Where files begin: the long ones first, because many of them take longest. `npm test` has few of them, which are short. */
function placeOf({ marks: own }: TestFile): number {
  if (values.all && own.includes('long')) return 0;
  return own.includes('waiting') ? 1 : 2;
}
