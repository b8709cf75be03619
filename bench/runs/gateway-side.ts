import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { executable } from '../../test/support/gateway/gateway-process.ts';
import { configurationOf } from '../../test/support/gateway/start-gateway.ts';
import type { Owner } from '../../test/support/owner.ts';
import { start, temporaryDirectory } from '../speed/child.ts';
import { tokenOf } from '../speed/subjects.ts';
import { input, type JobName, tasksOf } from './jobs.ts';
import { creators, type Order, type Side, tasks } from './side.ts';
import { type OwnServer, type StoredRuns, storedRuns } from './stored-runs.ts';

export interface GatewaySide extends Side {
  readonly port: number;
  /** A bearer token of an admin. */
  readonly token: string;
  readonly store: RunsStore;
  /** Stores a workflow with these tasks and an automation that runs it. Answers the automation's `_id`. */
  automation(name: string, document: readonly object[]): Promise<string>;
  /** Starts one run. */
  start(automation: string): Promise<void>;
}

/** Where the gateway has its runs: a server, or the path of a SQLite file. */
export type RunsStore = OwnServer | string;

/** The runs of a gateway. */
export function runsOfGateway(owner: Owner, store: RunsStore): Promise<StoredRuns> {
  return storedRuns(owner, {
    store,
    good: `select count(*) from run where status = 'completed'`,
    bad: `select count(*) from run where status in ('faulted', 'cancelled', 'suspended')`,
  });
}

interface GatewaySideOptions {
  /** Undefined: a new SQLite file. */
  readonly server: OwnServer | undefined;
  /** `http://127.0.0.1:PORT` of each upstream. */
  readonly far: readonly string[];
  /** Added to the users of `configurationOf`. */
  readonly users?: readonly Readonly<Record<string, unknown>>[];
  /** Arguments for Node itself. */
  readonly nodeArguments?: readonly string[];
  /** Whether it keeps what tasks get and give. Default: true. */
  readonly taskData?: boolean;
}

/** The gateway with its defaults, and an adapter instance `Bench`. Runs are started over HTTP, by 32 callers with a token. */
export async function gatewaySide(owner: Owner, options: GatewaySideOptions): Promise<GatewaySide> {
  const { server, far, users = [], nodeArguments = [], taskData = true } = options;
  const directory = temporaryDirectory(owner);
  const config = {
    outbound: { allow: far.map((url) => new URL(url).host) },
    automations: { tasks, taskData },
    store: { url: server?.url ?? 'sqlite:./gateway.db' },
  };
  const adapters = [{ name: 'Bench', kind: 'rest', url: far[0], concurrency: 64 }];
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({ config, adapters, users })));
  const args = [...nodeArguments, executable, 'serve'];
  const open = async () => {
    const started = await start(owner, { command: process.execPath, args, directory });
    const pool = new Pool(`http://127.0.0.1:${started.port}`, { connections: creators });
    owner.after(() => pool.destroy());
    return { ...started, pool, token: await tokenOf(started.port) };
  };
  let running = await open();
  const post = (path: string, body: object): Promise<unknown> => postTo(running, path, body);
  const known = new Map<string, Promise<string>>();
  const automation: GatewaySide['automation'] = async (name, document) => {
    const head = { dsl: '1.0.3', namespace: 'bench', name, version: '1.0.0' };
    await post('/automation_catalog/workflows', { document: head, do: document });
    const made = await post('/automation_catalog/automations', { name, data: { workflowId: `bench.${name}` } });
    return (made as { readonly _id: string })._id;
  };
  const automationOf = (job: JobName, url: string): Promise<string> => {
    const name = `${job}-${new URL(url).port}`;
    const made = known.get(name) ?? automation(name, tasksOf(job, url));
    known.set(name, made);
    return made;
  };
  const begin = (id: string): Promise<void> => startRun(running, id);
  const store = server ?? join(directory, 'gateway.audit.db');
  const stored = await runsOfGateway(owner, store);
  return {
    name: 'gateway',
    serverPid: server?.pid,
    get pid() {
      return running.pid;
    },
    get port() {
      return running.port;
    },
    get token() {
      return running.token;
    },
    store,
    automation,
    start: begin,
    ...stored,
    async create({ job, count, far: url }: Order) {
      const id = await automationOf(job, url);
      let left = count;
      const lane = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          await begin(id);
        }
      };
      await Promise.all(Array.from({ length: creators }, lane));
    },
    async replace() {
      running.child.kill('SIGKILL');
      while (running.child.signalCode === null) await sleep(5);
      running = await open();
    },
  };
}

interface GatewayCaller {
  readonly pool: Pool;
  /** A bearer token. */
  readonly token: string;
}

/** Starts a run of the automation with this `_id`. */
export async function startRun(caller: GatewayCaller, automation: string): Promise<void> {
  await postTo(caller, `/automation_catalog/automations/${automation}/run`, { input });
}

async function postTo({ pool, token }: GatewayCaller, path: string, body: object): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const reply = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) });
  const text = await reply.body.text();
  if (reply.statusCode !== 201 && reply.statusCode !== 200) throw new Error(`${path}: ${reply.statusCode} ${text}`);
  return JSON.parse(text);
}
