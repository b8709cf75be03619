import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { childEnvironment, executable } from './gateway-process.ts';
import { testPassword } from './start-gateway.ts';

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandOptions {
  readonly directory?: string;
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Runs a command of the executable to its end; after 30 s it is killed, and its code is null. */
export async function command(parameters: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
  const child = spawnCommand(parameters, options);
  const impatient = setTimeout(() => child.kill('SIGKILL'), 30_000);
  try {
    return await outcome(child, options.input);
  } finally {
    clearTimeout(impatient);
  }
}

/** Starts a command of the executable; the caller ends it. */
export function spawnCommand(parameters: readonly string[], { directory, environment }: CommandOptions = {}): ChildProcess {
  return spawn(process.execPath, [executable, ...parameters], {
    ...(directory === undefined ? {} : { cwd: directory }),
    env: childEnvironment(environment),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** The variables with which commands log in at a gateway, by default as its admin. */
export function loginAt({ url }: { readonly url: string }, user = 'admin-user'): Readonly<Record<string, string>> {
  return { GATEWAY_URL: url, GATEWAY_USER: user, GATEWAY_PASSWORD: testPassword };
}

/** Runs a line in a shell, with a limit of 30 s. */
export function shell(line: string, environment: CommandOptions['environment'] = {}): Promise<Outcome> {
  return outcome(
    spawn('sh', ['-c', line], { env: childEnvironment(environment), stdio: ['pipe', 'pipe', 'pipe'], timeout: 30_000 }),
    '',
  );
}

async function outcome(child: ChildProcess, input = ''): Promise<Outcome> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  await once(child, 'close');
  return { code: child.exitCode, stdout, stderr };
}
