/**
 * Runs the tests of src/ and tools/ on SQLite alone: `npm run test:unit`.
 *
 * `npm test` gives every file a process of its own. Here the files of a share run one after the other in one process. That takes
 * half of the processor time, since each module is loaded once. Prints the output of a failed share, and exits with 1.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { glob } from 'node:fs/promises';
import { availableParallelism } from 'node:os';

/** This file measures the memory of its process. */
const alone = 'src/base/garbage-collection.test.ts';

const files = (await Array.fromAsync(glob(['src/**/*.test.ts', 'tools/**/*.test.ts']))).filter((file) => file !== alone);
const count = Math.min(4, Math.max(2, availableParallelism()));
// Each share gets files of every folder, so that the shares take about the same time.
const shares = Array.from({ length: count }, (_, share) => files.toSorted().filter((_file, at) => at % count === share));

async function run(share: readonly string[]): Promise<boolean> {
  const options = ['--test', '--test-isolation=none', '--test-timeout=120000', '--test-skip-pattern=on PostgreSQL'];
  const child = spawn(process.execPath, [...options, ...share], { stdio: ['ignore', 'pipe', 'inherit'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  const output = Buffer.concat(chunks).toString();
  console.log(code === 0 ? `${/^ℹ pass (\d+)$/mu.exec(output)?.[1]} tests passed` : output);
  return code === 0;
}

const passed = await Promise.all([...shares, [alone]].map(run));
if (passed.includes(false)) process.exitCode = 1;
