import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnvironment, collect, readyPort } from '../../test/support/gateway/gateway-process.ts';
import type { Owner } from '../../test/support/owner.ts';

/** A process to measure, with its children. */
export interface Started {
  readonly pid: number;
  readonly port: number;
  /** Milliseconds from its spawning to its ready line, seen at most 20 ms late. */
  readonly startedIn: number;
  /** Sends SIGTERM and waits for its end. */
  stop(): Promise<void>;
}

interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** Its working directory, which also holds its output; the owner removes it. */
  readonly directory: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The port on which it will listen; without it, its ready line has the port. */
  readonly port?: number;
  readonly ipc?: boolean;
  /** `ulimit -n`, where the system grants it. */
  readonly openFiles?: number;
}

export function temporaryDirectory(owner: Owner): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  owner.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts it and waits until it listens. Its log goes to a file, because a slow reader of a pipe would slow it down. */
export async function start(owner: Owner, options: Command): Promise<Started & { readonly child: ChildProcess }> {
  const { command, args, directory, environment = {}, port } = options;
  const log = join(directory, 'stderr.log');
  const began = performance.now();
  const limited =
    options.openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${options.openFiles} 2>/dev/null; exec "$@"`, 'sh'];
  const [first = command, ...rest] = [...limited, command, ...args];
  const child = spawn(first, rest, {
    cwd: directory,
    env: childEnvironment(environment),
    stdio: [
      'ignore',
      port === undefined ? 'pipe' : openSync(`${log}.out`, 'w'),
      openSync(log, 'w'),
      options.ipc ? 'ipc' : 'ignore',
    ],
  });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    const impatient = setTimeout(() => child.kill('SIGKILL'), 20_000);
    child.kill();
    await ended;
    clearTimeout(impatient);
  };
  owner.after(stop);
  try {
    const at = port ?? (await readyPort(child, collect(child)));
    const startedIn = performance.now() - began;
    await accepting(at, child);
    return { child, pid: child.pid ?? 0, port: at, startedIn, stop };
  } catch (error) {
    throw new Error(`${command}: ${String(error)}\n${readFileSync(log, 'utf8').slice(-2000)}`, { cause: error });
  }
}

async function accepting(port: number, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 2400 && child.exitCode === null; attempt += 1) {
    const socket = connect(port, '127.0.0.1');
    const open = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    socket.destroy();
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`nothing listens on port ${port}`);
}
