import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort } from '../far-sides/far-side.ts';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';

/** A PostgreSQL server of one test, which may stop it and start it again at any time. */
export interface OwnPostgres {
  /** A value for `store.url`. */
  readonly url: string;
  /** Its first process; undefined while it is stopped. */
  readonly pid: number | undefined;
  /** Starts it on the data it has, and waits until it answers. */
  start(): Promise<void>;
  /** `fast` ends every connection and shuts down in order; `immediate` is a crash, with recovery at the next start. */
  stop(mode: 'fast' | 'immediate'): Promise<void>;
}

/** The directory of the newest server's programs on Debian. */
const programs = globSync('/usr/lib/postgresql/*/bin').toSorted(byVersion).at(-1);

/** Why a test that needs a server of its own cannot run; false where it can, and under CI=true, where it must. */
export const noOwnPostgres: string | false =
  programs !== undefined || process.env['CI'] === 'true'
    ? false
    : 'no initdb under /usr/lib/postgresql/*/bin: install the package postgresql';

/** Makes a cluster in a directory of its own and starts it on a free port of 127.0.0.1; both are removed with the owner. */
export async function ownPostgres(owner: Owner): Promise<OwnPostgres> {
  if (programs === undefined) throw new Error('This test needs the package postgresql (/usr/lib/postgresql/*/bin/initdb).');
  const user = unprivileged();
  const directory = mkdtempSync(join(tmpdir(), 'gateway-postgres-'));
  owner.after(() => rmSync(directory, { recursive: true, force: true }));
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const data = join(directory, 'data');
  const made = spawnSync(join(programs, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'], {
    ...user,
    cwd: directory,
    encoding: 'utf8',
  });
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
  const port = await freePort();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;
  const stop = async (mode: 'fast' | 'immediate'): Promise<void> => {
    const stopping = server;
    server = undefined;
    if (stopping === undefined || stopping.exitCode !== null || stopping.signalCode !== null) return;
    const ended = once(stopping, 'exit');
    stopping.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  };
  const start = async (): Promise<void> => {
    const parameters = ['-D', data, '-p', String(port), '-k', directory, '-c', 'listen_addresses=127.0.0.1'];
    server = spawn(join(programs, 'postgres'), parameters, { ...user, cwd: directory, stdio: 'ignore' });
    await answers(url, server);
  };
  // Without waiting for connected clients: the gateways of the test may stop later.
  owner.after(() => stop('immediate'));
  await start();
  return {
    url,
    get pid() {
      return server?.pid;
    },
    start,
    stop,
  };
}

/** PostgreSQL refuses to run as root: it runs as the user of its package, or as the daemon user. */
function unprivileged(): { readonly uid: number; readonly gid: number } | undefined {
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
