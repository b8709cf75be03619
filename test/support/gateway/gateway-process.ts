import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { lapse } from '../lapse.ts';
import type { RunningGateway, Served } from './running-gateway.ts';

/** The executable, as the command line names it: the bundle of `npm test`, else the source, so that one test file needs no bundle. */
export const executable = process.env['TESTED_PROGRAM'] ?? fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** The environment of a child, without the variables that the test runner and the shell set for Node. */
export function childEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, ...environment } = process.env;
  return { ...environment, ...extra };
}

interface RunningProcess extends RunningGateway<NodeJS.Signals> {
  readonly pid: number;
}

/** Runs the executable as a process of its own. `openFiles` is `ulimit -n`. */
export function serveAsProcess(
  { directory, configFile, environment, program = executable }: Served,
  openFiles: number | undefined,
): RunningProcess {
  const limited = openFiles === undefined ? '' : `ulimit -n ${openFiles} && `;
  const child = spawn('sh', ['-c', `${limited}exec "$@"`, 'sh', process.execPath, program, 'serve', '--config', configFile], {
    cwd: directory,
    env: childEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  const exit = once(child, 'exit');
  const end = (): number | string | undefined => child.exitCode ?? child.signalCode ?? undefined;
  return {
    ...output,
    pid: child.pid ?? 0,
    signal: (name) => void child.kill(name),
    endNow: () => void child.kill('SIGKILL'),
    end,
    async ended() {
      await exit;
      return end() ?? 'unknown';
    },
    ready: readyPort(child, output),
  };
}

/** The lines a child wrote so far. */
export function collect(child: ChildProcess): { readonly stdout: string[]; readonly stderr: string[] } {
  const output = { stdout: [] as string[], stderr: [] as string[] };
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = child[name];
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => output[name].push(line));
  }
  return output;
}

/** Waits for the ready line of a child that serves; rejects with the child's output where the child ends first. */
export async function readyPort(child: ChildProcess, output: ReturnType<typeof collect>, patience = 120_000): Promise<number> {
  const deadline = Date.now() + patience;
  for (;;) {
    for (const line of output.stdout) {
      const port = /^listening on https?:\/\/[^ ]*:(\d+)$/.exec(line)?.[1];
      if (port !== undefined) return Number(port);
    }
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (ended || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(
        `the gateway ${ended ? 'ended' : 'was not ready in time'}:\n${[...output.stdout, ...output.stderr].join('\n')}`,
      );
    }
    await lapse(20, 'the child may print its ready line');
  }
}
