import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { missing } from '../installed.ts';
import type { Owner } from '../owner.ts';
import { until } from '../until.ts';
import { freePort } from '../upstreams/upstream.ts';
import { type OwnPostgres, unprivileged } from './own-postgres.ts';

export const noPgbouncer = missing('pgbouncer', '--version', 'pgbouncer');

/** Starts a PgBouncer in front of the server, with its defaults but for the pool. Resolves to a value for `store.url`. */
export async function ownPgbouncer(
  owner: Owner,
  server: Pick<OwnPostgres, 'port'>,
  mode: 'session' | 'transaction',
): Promise<string> {
  const user = unprivileged();
  const directory = mkdtempSync(join(tmpdir(), 'gateway-pgbouncer-'));
  owner.after(() => rmSync(directory, { recursive: true, force: true }));
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const port = await freePort();
  const settings = [
    '[databases]',
    `postgres = host=127.0.0.1 port=${server.port} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'server_login_retry = 1',
    // With session pooling each gateway has up to 11 sessions.
    'default_pool_size = 40',
  ];
  const file = join(directory, 'pgbouncer.ini');
  writeFileSync(file, `${settings.join('\n')}\n`);
  const pooler = spawn('pgbouncer', [file], { ...user, cwd: directory, stdio: 'ignore' });
  owner.after(async () => {
    if (pooler.exitCode !== null || pooler.signalCode !== null) return;
    const ended = once(pooler, 'exit');
    pooler.kill('SIGKILL');
    await ended;
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await until('PgBouncer answers', async () => {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('select 1');
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  });
  return url;
}
