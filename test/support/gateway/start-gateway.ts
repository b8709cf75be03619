import { argon2Sync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Reply, type Request, send } from '../callers/http-client.ts';
import type { Owner } from '../owner.ts';
import { copyEmptyStore } from '../stores/empty-stores.ts';
import { serveAsProcess } from './gateway-process.ts';
import type { RunningGateway, Served } from './running-gateway.ts';
import { type HandledSignal, serveHere } from './serve-here.ts';

export const testRoles = ['admin', 'engineering', 'other', 'readonly', 'apiread'] as const;
export type TestRole = (typeof testRoles)[number];

/** The password of every test user, and the secret of every test client. */
export const testPassword = 'correct horse battery staple';

/** A PHC string with the cheapest parameters of argon2id, so that tests are quick. */
export function hashOf(password: string): string {
  const nonce = randomBytes(16);
  const key = argon2Sync('argon2id', { message: password, nonce, parallelism: 1, tagLength: 32, memory: 8, passes: 1 });
  const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');
  return `$argon2id$v=19$m=8,t=1,p=1$${base64(nonce)}$${base64(key)}`;
}

export const testPasswordHash = hashOf(testPassword);

interface GatewayOf<Signal> {
  readonly url: string;
  readonly port: number;
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
  stop(signal?: Signal | 'SIGTERM'): Promise<number | string>;
  kill(signal: Signal): void;
}

export interface Gateway extends GatewayOf<HandledSignal> {
  /** Stops it and starts it again on the same directory, which keeps its store; the port changes. */
  restart(): Promise<Gateway>;
}

/** A gateway with a process of its own, which any signal may stop or end. */
export interface GatewayProcess extends GatewayOf<NodeJS.Signals> {
  readonly pid: number;
  restart(): Promise<GatewayProcess>;
}

interface GatewayOptions {
  /** Merged over the defaults below, section by section. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly adapters?: readonly Readonly<Record<string, unknown>>[];
  /** Added to the five users named after their role (`admin-user` and so on). */
  readonly users?: readonly Readonly<Record<string, unknown>>[];
  readonly environment?: Readonly<Record<string, string>>;
}

interface ProcessOptions extends GatewayOptions {
  /** `ulimit -n`. */
  readonly openFiles?: number;
  /** The executable of another version (other-version.ts). */
  readonly program?: string | undefined;
}

/**
 * Writes a configuration into a new directory, and serves it in this process: over sockets like any other, with its log and its signals.
 * The store is one with empty tables, unless the configuration names another.
 * Fails the owner where the gateway ends by itself.
 */
export async function startGateway(owner: Owner, options: GatewayOptions = {}): Promise<Gateway> {
  const settled = settle(options);
  const { url } = (options.config?.['store'] ?? {}) as { readonly url?: string };
  if (url === undefined) await copyEmptyStore(settled.directory);
  return launchHere(owner, settled);
}

/**
 * As `startGateway`, but starts the executable. For tests that kill, pause or measure the process, see it end, or read all that it
 * writes. For variables and options that Node itself reads as well.
 */
export function startGatewayProcess(
  owner: Owner,
  { openFiles, program, ...options }: ProcessOptions = {},
): Promise<GatewayProcess> {
  return launchProcess(owner, { ...settle(options), program }, openFiles);
}

function settle({ environment = {}, ...options }: GatewayOptions): Settled {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const configFile = join(directory, 'gateway.yaml');
  // JSON is valid YAML.
  writeFileSync(configFile, JSON.stringify(configurationOf(options), undefined, 2));
  return { directory, configFile, environment, removes: true };
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
    // Health checks and the breaker would change the number of requests that a test counts at its upstream.
    adapters: adapters.map((adapter) => ({ health: 'off', breaker: { failures: 10000, openFor: '1s' }, ...adapter })),
  };
}

interface Settled extends Served {
  /** The directory is removed with the gateway. */
  readonly removes: boolean;
}

async function launchHere(owner: Owner, settled: Settled): Promise<Gateway> {
  const gateway = await gatewayOf(owner, settled, serveHere(settled));
  return {
    ...gateway,
    async restart() {
      await gateway.stop();
      return launchHere(owner, { ...settled, removes: false });
    },
  };
}

async function launchProcess(owner: Owner, settled: Settled, openFiles: number | undefined): Promise<GatewayProcess> {
  const running = serveAsProcess(settled, openFiles);
  const gateway = await gatewayOf(owner, settled, running);
  return {
    ...gateway,
    pid: running.pid,
    async restart() {
      await gateway.stop();
      return launchProcess(owner, { ...settled, removes: false }, openFiles);
    },
  };
}

async function gatewayOf<Signal>(
  owner: Owner,
  settled: Settled,
  running: RunningGateway<Signal | 'SIGTERM'>,
): Promise<GatewayOf<Signal>> {
  const { directory, configFile, removes } = settled;
  let asked = false;
  const stop = async (signal: Signal | 'SIGTERM' = 'SIGTERM'): Promise<number | string> => {
    asked = true;
    if (running.end() === undefined) running.signal(signal);
    return running.ended();
  };
  owner.after(async () => {
    const died = !asked && running.end() !== undefined;
    const impatient = setTimeout(() => running.endNow(), 8000);
    await stop();
    clearTimeout(impatient);
    if (removes) rmSync(directory, { recursive: true, force: true });
    if (!died) return;
    // The runner shows the first error of a test alone, which may be a refused connection.
    console.error(`the gateway died by itself:\n${running.stderr.slice(-20).join('\n')}`);
    throw new Error('the gateway died by itself; its last lines are above');
  });
  const port = await running.ready;
  const tokens = new Map<TestRole, Promise<string>>();
  const basicFor = (role: TestRole): string => basic(`${role}-user`, testPassword);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    directory,
    configFile,
    stdout: running.stdout,
    stderr: running.stderr,
    basicFor,
    tokenFor: (role) => {
      const token = tokens.get(role) ?? login(port, role);
      tokens.set(role, token);
      return token;
    },
    send: ({ role, ...request }) =>
      send(port, role === undefined ? request : { ...request, headers: { Authorization: basicFor(role), ...request.headers } }),
    stop,
    kill: (signal) => running.signal(signal),
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
