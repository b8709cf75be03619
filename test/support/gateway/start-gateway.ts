import { type ChildProcess, spawn } from 'node:child_process';
import { argon2Sync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Reply, type Request, send } from '../callers/http-client.ts';
import type { Owner } from '../owner.ts';

export const testRoles = ['admin', 'engineering', 'other', 'readonly', 'apiread'] as const;
export type TestRole = (typeof testRoles)[number];

/** The password of every test user, and the secret of every test client. */
export const testPassword = 'correct horse battery staple';

/** The executable, as the command line names it: the bundle of `npm test`, else the source, so that one test file needs no bundle. */
export const executable = process.env['TESTED_PROGRAM'] ?? fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/** A PHC string with the cheapest parameters of argon2id, so that tests are quick. */
export function hashOf(password: string): string {
  const nonce = randomBytes(16);
  const key = argon2Sync('argon2id', { message: password, nonce, parallelism: 1, tagLength: 32, memory: 8, passes: 1 });
  const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=8,t=1,p=1$${base64(nonce)}$${base64(key)}`;
}

export const testPasswordHash = hashOf(testPassword);

export interface Gateway {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Has the configuration and the store; removed with the gateway. */
  readonly directory: string;
  readonly configFile: string;
  /** The lines of standard error so far. */
  readonly stderr: readonly string[];
  /** The lines of standard output so far. */
  readonly stdout: readonly string[];
  /** An `Authorization` value for the test user of that role. */
  basicFor(role: TestRole): string;
  /** A bearer token of the test user of that role, from `/login`, fetched once. */
  tokenFor(role: TestRole): Promise<string>;
  /** One request on a connection of its own; with `role` it is authenticated by Basic. */
  send(request: Request & { readonly role?: TestRole }): Promise<Reply>;
  /** Sends the signal, by default SIGTERM, and waits: the exit code, or the signal that ended the gateway. */
  stop(signal?: NodeJS.Signals): Promise<number | string>;
  /** Stops it and starts it again on the same directory, which keeps its store; the port changes. */
  restart(): Promise<Gateway>;
  kill(signal: NodeJS.Signals): void;
}

interface GatewayOptions {
  /** Merged over the defaults below, section by section. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly adapters?: readonly Readonly<Record<string, unknown>>[];
  /** Added to the five users named after their role (`admin-user` and so on). */
  readonly users?: readonly Readonly<Record<string, unknown>>[];
  readonly environment?: Readonly<Record<string, string>>;
  /** `ulimit -n`. */
  readonly openFiles?: number;
}

/** The environment of a child, without the variables that the test runner and the shell set for Node. */
export function childEnvironment(extra: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, ...environment } = process.env;
  return { ...environment, ...extra };
}

/** Writes a configuration into a new directory and starts the executable with it. Fails the owner where the gateway ends by itself. */
export function startGateway(owner: Owner, options: GatewayOptions = {}): Promise<Gateway> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const configFile = join(directory, 'gateway.yaml');
  // JSON is valid YAML.
  writeFileSync(configFile, JSON.stringify(configurationOf(options), undefined, 2));
  return launch({
    owner,
    directory,
    configFile,
    environment: options.environment ?? {},
    openFiles: options.openFiles,
    removes: true,
  });
}

/** The configuration that `startGateway` writes. */
export function configurationOf({ config = {}, adapters = [], users = [] }: GatewayOptions): Record<string, unknown> {
  const section = (name: string): object => ({ ...(config[name] as object | undefined) });
  return {
    ...config,
    server: { port: 0, ...section('server') },
    store: { url: 'sqlite:./gateway.db', ...section('store') },
    access: {
      users: [
        ...testRoles.map((role) => ({ username: `${role}-user`, passwordHash: testPasswordHash, roles: [role], groups: [] })),
        ...users,
      ],
      ...section('access'),
    },
    // Health checks and the breaker would change the number of requests that a test counts at its far side.
    adapters: adapters.map((adapter) => ({ health: 'off', breaker: { failures: 10000, openFor: '1s' }, ...adapter })),
  };
}

interface Launch {
  readonly owner: Owner;
  readonly directory: string;
  readonly configFile: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly openFiles?: number | undefined;
  readonly removes: boolean;
}

async function launch(options: Launch): Promise<Gateway> {
  const { owner, directory, configFile } = options;
  const limited = options.openFiles === undefined ? '' : `ulimit -n ${options.openFiles} && `;
  const child = spawn('sh', ['-c', `${limited}exec "$@"`, 'sh', process.execPath, executable, 'serve', '--config', configFile], {
    cwd: directory,
    env: childEnvironment(options.environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = collect(child);
  let asked = false;
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> => {
    asked = true;
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await once(child, 'exit');
    }
    return child.exitCode ?? child.signalCode ?? 'unknown';
  };
  owner.after(async () => {
    const died = !asked && (child.exitCode !== null || child.signalCode !== null);
    const impatient = setTimeout(() => child.kill('SIGKILL'), 8000);
    await stop();
    clearTimeout(impatient);
    if (options.removes) rmSync(directory, { recursive: true, force: true });
    if (!died) return;
    // The runner shows the first error of a test alone, which may be a refused connection.
    console.error(`the gateway died by itself:\n${output.stderr.slice(-20).join('\n')}`);
    throw new Error('the gateway died by itself; its last lines are above');
  });
  const port = await readyPort(child, output);
  const tokens = new Map<TestRole, Promise<string>>();
  const basicFor = (role: TestRole): string => basic(`${role}-user`, testPassword);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: child.pid ?? 0,
    directory,
    configFile,
    ...output,
    basicFor,
    tokenFor: (role) => {
      const token = tokens.get(role) ?? login(port, role);
      tokens.set(role, token);
      return token;
    },
    send: ({ role, ...request }) =>
      send(port, role === undefined ? request : { ...request, headers: { Authorization: basicFor(role), ...request.headers } }),
    stop,
    restart: async () => {
      await stop();
      return launch({ ...options, removes: false });
    },
    kill: (signal) => void child.kill(signal),
  };
}

/** The value of `Authorization` for these credentials (RFC 7617, UTF-8). */
export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

async function login(port: number, role: TestRole): Promise<string> {
  const reply = await send(port, {
    method: 'POST',
    target: '/login',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username: `${role}-user`, password: testPassword }),
  });
  if (reply.status !== 200) throw new Error(`login of ${role}-user: ${reply.status} ${reply.text}`);
  return (reply.json() as { readonly token: string }).token;
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
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
