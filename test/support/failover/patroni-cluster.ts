import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { childEnvironment, collect } from '../gateway/gateway-process.ts';
import { noHaproxy } from '../gateway/haproxy.ts';
import { missing } from '../installed.ts';
import type { Owner } from '../owner.ts';
import { noOwnPostgres, unprivileged } from '../stores/own-postgres.ts';
import { until } from '../until.ts';
import { freePort } from '../upstreams/upstream.ts';
import { PatroniNode } from './patroni-node.ts';

/** Why a failover cannot be tested here; false where it can, and under CI=true, where it must. */
export const noPatroni: string | false =
  noOwnPostgres || noHaproxy || missing('patroni', '--version', 'patroni') || missing('etcd', '--version', 'etcd-server');

export type Mode = 'synchronous' | 'asynchronous';

/** Two nodes of PostgreSQL under Patroni, one etcd, and HAProxy in front, as docs/guides configures them. */
export interface PatroniCluster {
  /** Makes an empty database, and answers a value for `store.url` that leads to the leader. */
  database(name: string): Promise<string>;
  /** Resolves once the leader and its standby run, and replication is of that mode. */
  becomes(mode: Mode): Promise<void>;
  leader(): Promise<PatroniNode>;
  /** Resolves once another node than this one is the leader. */
  follows(former: PatroniNode): Promise<PatroniNode>;
  /** Begins to make the standby the leader, in order. */
  switchover(): Promise<void>;
}

interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

const guides = fileURLToPath(new URL('../../../docs/guides', import.meta.url));
const password = 'postgres of a test';

/** Seconds. Shorter than those of the guide; `ttl` is still longer than the lease of a run, so that an outage outlasts it. */
const times = { ttl: 14, loopWait: 1, retryTimeout: 3 };

/** Starts all of it on free ports of 127.0.0.1, in a directory of its own; everything is stopped and removed with the owner. */
export async function patroniCluster(owner: Owner): Promise<PatroniCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-patroni-'));
  const user = unprivileged();
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const etcd = await startEtcd(directory);
  const configuration = writeConfiguration(directory);
  const nodes: PatroniNode[] = [];
  const closers = [etcd.kill];
  owner.after(async () => {
    await Promise.all([...nodes.map((node) => node.kill()), ...closers.map((close) => close())]);
    rmSync(directory, { recursive: true, force: true });
  });
  for (const name of ['node-1', 'node-2']) {
    const [postgres, api] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const environment = {
      PATRONI_ETCD_HOSTS: etcd.address,
      PATRONI_SUPERUSER_PASSWORD: password,
      PATRONI_REPLICATION_PASSWORD: password,
    };
    nodes.push(new PatroniNode({ name, directory, configuration, postgres, api, environment }));
  }
  const balancer = await startBalancer(nodes);
  closers.push(balancer.kill);
  for (const node of nodes) node.start();
  return clusterOf(nodes, balancer.address);
}

function clusterOf(nodes: readonly PatroniNode[], address: string): PatroniCluster {
  const members = async (): Promise<readonly Member[]> => {
    for (const { api } of nodes) {
      const answer = await ask(api, 'GET', '/cluster').catch(() => undefined);
      if (answer?.ok === true) return ((await answer.json()) as { readonly members: readonly Member[] }).members;
    }
    return [];
  };
  const found = async (): Promise<PatroniNode | undefined> => {
    const name = (await members()).find(({ role, state }) => role === 'leader' && state === 'running')?.name;
    return nodes.find((node) => node.name === name);
  };
  const leader = (): Promise<PatroniNode> => patiently(nodes, 'a leader', found);
  return {
    async database(name) {
      const url = `postgres://postgres:${encodeURIComponent(password)}@${address}`;
      await patiently(nodes, `database ${name}`, () => makeDatabase(`${url}/postgres`, name));
      return `${url}/${name}`;
    },
    async becomes(mode) {
      const wanted = mode === 'synchronous' ? 'sync_standby' : 'replica';
      const body = { synchronous_mode: mode === 'synchronous', maximum_lag_on_failover: 100 * 1024 * 1024 };
      await patiently(nodes, 'a configuration', async () => (await ask((await leader()).api, 'PATCH', '/config', body)).ok);
      await patiently(nodes, `two nodes and a ${wanted}`, async () => {
        const roles = (await members()).filter(({ state }) => state === 'running').map(({ role }) => role);
        return roles.length === nodes.length && roles.includes('leader') && roles.includes(wanted);
      });
    },
    leader,
    follows: (former) =>
      patiently(nodes, `a leader after ${former.name}`, async () => {
        const now = await found();
        return now !== undefined && now !== former && now;
      }),
    async switchover() {
      const { name, api } = await leader();
      const answer = await ask(api, 'POST', '/switchover', { leader: name });
      assert.ok(answer.ok, await answer.text());
    },
  };
}

/** Waits as `until`, and names what the nodes say where it is in vain. */
async function patiently<T>(
  nodes: readonly PatroniNode[],
  what: string,
  holds: () => Promise<T>,
): Promise<NonNullable<Exclude<T, false>>> {
  try {
    return await until(what, holds);
  } catch (error) {
    for (const { name, lastLines } of nodes) console.error(`${name}:\n${lastLines.join('\n')}`);
    throw error;
  }
}

/** A node that hangs answers nothing. */
function ask(api: string, method: string, path: string, body?: object): Promise<Response> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return fetch(`http://${api}${path}`, { method, ...sent, signal: AbortSignal.timeout(path === '/switchover' ? 30_000 : 1_000) });
}

async function makeDatabase(connectionString: string, name: string): Promise<boolean> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 1_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(`create database ${name}`);
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * The configuration of the guide with shorter times. The watchdog would reset the machine of the test. With `etcd3`, Patroni 3.0.2 lets a
 * leader that hung take the lock back from the next one.
 */
function writeConfiguration(directory: string): string {
  const replaced: readonly (readonly [string, string])[] = [
    ['ttl: 20', `ttl: ${times.ttl}`],
    ['loop_wait: 5', `loop_wait: ${times.loopWait}`],
    ['retry_timeout: 5', `retry_timeout: ${times.retryTimeout}`],
    ['mode: automatic', "mode: 'off'"],
    ['etcd3:', 'etcd:'],
    ['/var/run/postgresql', directory],
  ];
  let text = readFileSync(join(guides, 'patroni.yml'), 'utf8');
  for (const [former, next] of replaced) {
    assert.equal(text.split(`${former}\n`).length, 2, `patroni.yml has not exactly one "${former}"`);
    text = text.replace(`${former}\n`, `${next}\n`);
  }
  const file = join(directory, 'patroni.yml');
  writeFileSync(file, text);
  return file;
}

interface Started {
  /** `127.0.0.1:PORT` */
  readonly address: string;
  readonly kill: () => Promise<void>;
}

async function startEtcd(directory: string): Promise<Started> {
  const address = `127.0.0.1:${await freePort()}`;
  const peer = `http://127.0.0.1:${await freePort()}`;
  const client = `http://${address}`;
  const kill = startProgram('etcd', directory, {
    ETCD_DATA_DIR: join(directory, 'etcd'),
    ETCD_LISTEN_CLIENT_URLS: client,
    ETCD_ADVERTISE_CLIENT_URLS: client,
    ETCD_LISTEN_PEER_URLS: peer,
    ETCD_INITIAL_ADVERTISE_PEER_URLS: peer,
    ETCD_INITIAL_CLUSTER: `default=${peer}`,
    ETCD_ENABLE_V2: 'true',
    // The test needs no etcd that survives a loss of power.
    ETCD_UNSAFE_NO_FSYNC: 'true',
  });
  await until('etcd answers', async () => (await ask(address, 'GET', '/health').catch(() => undefined))?.ok === true);
  return { address, kill };
}

async function startBalancer(nodes: readonly PatroniNode[]): Promise<Started> {
  const address = `127.0.0.1:${await freePort()}`;
  const servers = nodes.flatMap(({ postgres, api }, index) => [
    [`POSTGRES_${index + 1}`, postgres],
    [`PATRONI_${index + 1}`, api],
  ]);
  const kill = startProgram('haproxy', guides, { LISTEN: address, ...(Object.fromEntries(servers) as Record<string, string>) }, [
    '-db',
    '-f',
    'postgres-haproxy.cfg',
  ]);
  return { address, kill };
}

/** Answers what kills it. */
function startProgram(
  program: string,
  cwd: string,
  environment: Readonly<Record<string, string>>,
  options: readonly string[] = [],
): () => Promise<void> {
  const child = spawn(program, options, {
    ...unprivileged(),
    cwd,
    env: childEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { stderr } = collect(child);
  const ended = once(child, 'exit');
  let asked = false;
  void ended.then(() => asked || console.error(`${program} ended:\n${stderr.slice(-10).join('\n')}`));
  return async () => {
    asked = true;
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended;
  };
}
