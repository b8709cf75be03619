import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { systemCode } from '../../../src/base/system-code.ts';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';
import { freePort } from '../upstreams/upstream.ts';

/** A PostgreSQL server of one test, which may stop it and start it again at any time. */
export interface OwnPostgres {
  /** A value for `store.url`. */
  readonly url: string;
  readonly port: number;
  /** Its first process; undefined while it is stopped. */
  readonly pid: number | undefined;
  /** Starts it on the data it has, and waits until it answers. */
  start(): Promise<void>;
  /** `fast` ends every connection and shuts down in order; `immediate` is a crash, with recovery at the next start. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
  /** Keeps its data as they are now, while it runs. */
  keep(): void;
  /** Crashes it, and starts it on the data that `keep` kept: what was committed since is lost, as after an asynchronous failover. */
  goBack(): Promise<void>;
  /** All its processes stand still: the system still accepts connections. `stop` ends that as well. */
  freeze(): void;
  thaw(): void;
  /** Runs the statements as its own user, each by itself. */
  run(...statements: string[]): Promise<void>;
}

/** The directory of the newest server's programs on Debian. */
export const programs = globSync('/usr/lib/postgresql/*/bin').toSorted(byVersion).at(-1);

/** Why a test that needs a server of its own cannot run; false where it can, and under CI=true, where it must. */
export const noOwnPostgres: string | false =
  programs !== undefined || process.env['CI'] === 'true'
    ? false
    : 'no initdb under /usr/lib/postgresql/*/bin: install the package postgresql';

/** Makes a cluster in a directory of its own and starts it on a free port of 127.0.0.1; both are removed with the owner. */
export function ownPostgres(owner: Owner): Promise<OwnPostgres> {
  return serverOn(owner, (data) => ['initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']);
}

/** As `ownPostgres`: a standby of the primary, which takes its writes from it and can be promoted. */
export function ownStandby(owner: Owner, primary: Pick<OwnPostgres, 'port'>): Promise<OwnPostgres> {
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres'];
  return serverOn(owner, (data) => ['pg_basebackup', '-D', data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync', ...from]);
}

/** A process of PostgreSQL may end at any time. */
function signalProcess(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error;
  }
}

async function serverOn(
  owner: Owner,
  making: (data: string) => readonly [program: string, ...rest: string[]],
): Promise<OwnPostgres> {
  if (programs === undefined) throw new Error('This test needs the package postgresql (/usr/lib/postgresql/*/bin/initdb).');
  const user = unprivileged();
  const directory = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  owner.after(() => rmSync(directory, { recursive: true, force: true }));
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const [data, kept] = [join(directory, 'data'), join(directory, 'kept')];
  const [program, ...parameters] = making(data);
  const made = spawnSync(join(programs, program), parameters, { ...user, cwd: directory, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`${program}: ${made.stderr}`);
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => {
    for (const pid of [server?.pid, ...childrenOf(server?.pid)]) if (pid !== undefined) signalProcess(pid, name);
  };
  const stop = async (mode: 'fast' | 'immediate'): Promise<void> => {
    const stopping = server;
    if (stopping === undefined || stopping.exitCode !== null || stopping.signalCode !== null) return;
    signal('SIGCONT');
    server = undefined;
    const ended = once(stopping, 'exit');
    stopping.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  };
  const start = async (): Promise<void> => {
    const options = ['-D', data, '-p', String(port), '-k', directory, '-c', 'listen_addresses=127.0.0.1'];
    server = spawn(join(programs, 'postgres'), options, { ...user, cwd: directory, stdio: 'ignore' });
    await answers(url, server);
  };
  // Without waiting for connected clients: the gateways of the test may stop later.
  owner.after(() => stop('immediate'));
  await start();
  return {
    url,
    port,
    get pid() {
      return server?.pid;
    },
    start,
    stop,
    keep() {
      const from = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
      const copy = [...from, '-D', kept, '-X', 'fetch', '-c', 'fast', '--no-sync'];
      const copied = spawnSync(join(programs ?? '', 'pg_basebackup'), copy, { ...user, cwd: directory, encoding: 'utf8' });
      if (copied.status !== 0) throw new Error(`pg_basebackup: ${copied.stderr}`);
    },
    async goBack() {
      await stop('immediate');
      rmSync(data, { recursive: true });
      renameSync(kept, data);
      await start();
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async run(...statements) {
      const client = new Client({ connectionString: url, query_timeout: 30_000 });
      await client.connect();
      try {
        for (const statement of statements) await client.query(statement);
      } finally {
        await client.end();
      }
    },
  };
}

function childrenOf(pid: number | undefined): readonly number[] {
  if (pid === undefined) return [];
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return [...children.matchAll(/\d+/gu)].map(([child]) => Number(child));
}

/** PostgreSQL and PgBouncer refuse to run as root: they run as the user of the package of PostgreSQL, or as the daemon user. */
export function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const known = new Map(
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name = '', , uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }]),
  );
  const user = known.get('postgres') ?? known.get('daemon');
  if (user === undefined) throw new Error('neither postgres nor daemon is a user of this machine');
  return user;
}

async function answers(url: string, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`);
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('select 1');
      return;
    } catch {
      await lapse(50, 'postgres may start');
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  throw new Error('postgres did not answer in time');
}

function byVersion(one: string, other: string): number {
  const version = (path: string): number => (existsSync(path) ? Number.parseFloat(path.split('/').at(-2) ?? '') : 0);
  return version(one) - version(other);
}
