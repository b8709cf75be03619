/**
 * Runs the checks of the house at the same time: each script of package.json whose name begins with `check:`. `check:types` is left out,
 * because `check:lint` reports the same errors sooner; `.ci/run` runs it as well. Prints what the failed ones wrote, and exits with 1.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { delimiter } from 'node:path';

const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { readonly scripts: Readonly<Record<string, string>> };
const checks = Object.entries(scripts).filter(([name]) => name.startsWith('check:') && name !== 'check:types');
const env = { ...process.env, PATH: `node_modules/.bin${delimiter}${process.env['PATH']}` };
const failed = (await Promise.all(checks.map(([name, command]) => fails(name, command)))).filter(Boolean).length;
if (failed > 0) process.exitCode = 1;

/** True where the command ends with another exit code than 0. */
async function fails(name: string, command: string): Promise<boolean> {
  const begin = performance.now();
  const child = spawn(command, { shell: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise((resolve) => child.on('close', resolve));
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${((performance.now() - begin) / 1000).toFixed(1).padStart(5)} s  ${name}`);
  if (code !== 0) console.log(Buffer.concat(chunks).toString());
  return code !== 0;
}
