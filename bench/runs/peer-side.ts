import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Owner } from '../../test/support/owner.ts';
import { temporaryDirectory } from '../speed/child.ts';
import type { Side } from './side.ts';
import { type OwnServer, storedRuns } from './stored-runs.ts';

/** Another engine of runs. */
interface Peer {
  readonly name: string;
  /** The package that has to be installed. */
  readonly module: string;
  /** In this folder: the program that works for it. */
  readonly program: string;
  /** SQL for the number of runs that ended well, and of those that failed; on SQLite tables are in no schema. */
  counts(dialect: 'sqlite' | 'postgres'): { readonly good: string; readonly bad: string };
  readonly stores: readonly ('sqlite' | 'postgres')[];
}

const openWorkflow: Peer = {
  name: 'OpenWorkflow',
  module: 'openworkflow',
  program: 'open-workflow.ts',
  stores: ['sqlite', 'postgres'],
  counts(dialect) {
    const table = dialect === 'sqlite' ? 'workflow_runs' : 'openworkflow.workflow_runs';
    return {
      good: `select count(*) from ${table} where status in ('completed', 'succeeded')`,
      bad: `select count(*) from ${table} where status in ('failed', 'canceled')`,
    };
  },
};

const pgBoss: Peer = {
  name: 'pg-boss',
  module: 'pg-boss',
  program: 'pg-boss.ts',
  stores: ['postgres'],
  counts: () => ({
    good: `select count(*) from pgboss.job where name like '%-3' and state = 'completed'`,
    bad: `select count(*) from pgboss.job where state in ('failed', 'cancelled', 'retry')`,
  }),
};

const dbos: Peer = {
  name: 'DBOS',
  module: '@dbos-inc/dbos-sdk',
  program: 'dbos.ts',
  stores: ['postgres'],
  counts: () => ({
    good: `select count(*) from dbos.workflow_status where status = 'SUCCESS'`,
    bad: `select count(*) from dbos.workflow_status where status not in ('SUCCESS', 'PENDING', 'ENQUEUED')`,
  }),
};

export const peers: readonly Peer[] = [dbos, openWorkflow, pgBoss];

interface PeerSideOptions {
  /** Undefined: a new SQLite file. */
  readonly server: OwnServer | undefined;
}

/** Starts a process of the peer, which creates runs and executes them. */
export async function peerSide(owner: Owner, peer: Peer, { server }: PeerSideOptions): Promise<Side> {
  const directory = temporaryDirectory(owner);
  const file = join(directory, 'runs.db');
  const start = (): Promise<ChildProcess> => startPeer(owner, { ...peer, argument: server?.url ?? `sqlite:${file}` });
  let child = await start();
  const stored = await storedRuns(owner, { store: server ?? file, ...peer.counts(server === undefined ? 'sqlite' : 'postgres') });
  return {
    name: peer.name,
    serverPid: server?.pid,
    get pid() {
      return child.pid ?? 0;
    },
    ...stored,
    async create(order) {
      const answer = once(child, 'message', { signal: AbortSignal.timeout(300_000) });
      child.send(order);
      const [message] = (await answer) as readonly unknown[];
      if (message !== 'created') throw new Error(`${peer.name}: ${String(message)}`);
    },
    async replace() {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      child = await start();
    },
  };
}

interface PeerProgram extends Pick<Peer, 'name' | 'program'> {
  readonly argument: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts a program of this folder, and waits until it says that it is ready. */
export async function startPeer(owner: Owner, { name, program, argument, environment = {} }: PeerProgram): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, program), [argument], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  owner.after(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${name} ended before it was ready`);
  });
  ended.catch(() => undefined);
  await Promise.race([once(child, 'message', { signal: AbortSignal.timeout(60_000) }), ended]);
  return child;
}
