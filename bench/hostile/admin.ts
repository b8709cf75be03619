import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Owner } from '../../test/support/owner.ts';
import { quantile } from '../figures.ts';
import { pacedLoad } from '../paced-load.ts';
import type { GatewaySide } from '../runs/gateway-side.ts';

/** What the admin saw in a time. */
export interface AdminFigures {
  readonly made: number;
  readonly answered: number;
  /** Milliseconds of all calls, of queries and of actions. An action waits for its record in the audit log. */
  readonly all: Latency;
  readonly queries: Latency;
  readonly actions: Latency;
  /** The p99 of calls straight to the upstream: how much of a p99 is the machine's. */
  readonly straightP99: number;
  /** Number of replies other than 2xx by status; 0: no reply. */
  readonly refused: readonly string[];
  /** Milliseconds from each POST for a run to the begin of its first task; Infinity where none began in time. */
  readonly begins: readonly number[];
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** Queries a second, and actions a second: 20 calls together. */
const perSecond = 10;
/** Automations a second. */
const runsPerSecond = 0.1;
/** Milliseconds until a run that has not begun counts as one that never begins. */
const patience = 30_000;

/** An admin who works at a steady pace for so many seconds. `far`: the orchestrator. */
export async function admin(owner: Owner, side: GatewaySide, far: string): Promise<(seconds: number) => Promise<AdminFigures>> {
  const pool = poolOf(owner, `http://127.0.0.1:${side.port}`);
  const straight = poolOf(owner, far);
  const headers = { authorization: `Bearer ${side.token}`, 'content-type': 'application/json' };
  const ask = (from: Pool, path: string, body?: object): Promise<{ status: number; text: string }> =>
    from
      .request({
        method: body === undefined ? 'GET' : 'POST',
        path,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
      })
      .then(async (reply) => ({ status: reply.statusCode, text: await reply.body.text() }))
      .catch((error: unknown) => ({ status: 0, text: String(error) }));
  const params = { path: 'status', accept: 'application/json' };
  const query = { path: '/orchestrator_manager/restQuery/Bench', body: { params } };
  const action = { path: '/orchestrator_manager/restAction/Bench', body: { params, body: { device: 'ce0' } } };
  const task = { call: 'orchestratorQuery', with: { adapter: 'Bench', params } };
  const automation = await side.automation('admin', [{ first: task }, { second: task }]);

  const begin = async (): Promise<readonly [number, number]> => {
    const asked = Date.now();
    const started = await ask(pool, `/automation_catalog/automations/${automation}/run`, {});
    if (started.status !== 201) return [started.status, Number.POSITIVE_INFINITY];
    const { id } = JSON.parse(started.text) as { readonly id: string };
    while (Date.now() < asked + patience) {
      const { status, text } = await ask(pool, `/runs/${id}/tasks`);
      if (status !== 200) return [status, Number.POSITIVE_INFINITY];
      const [first] = (JSON.parse(text) as { readonly list: readonly { readonly begin: string }[] }).list;
      if (first !== undefined) return [started.status, Date.parse(first.begin) - asked];
      await sleep(100);
    }
    return [started.status, Number.POSITIVE_INFINITY];
  };

  return async (seconds) => {
    const begins: number[] = [];
    const call = ({ path, body }: { readonly path: string; readonly body: object }) =>
      pacedLoad(async () => (await ask(pool, path, body)).status, { seconds, perSecond });
    const run = async (): Promise<number> => {
      const [status, took] = await begin();
      begins.push(took);
      return status;
    };
    const [queries, actions, runs, direct] = await Promise.all([
      call(query),
      call(action),
      pacedLoad(run, { seconds, perSecond: runsPerSecond }),
      pacedLoad(async () => (await ask(straight, '/status')).status, { seconds, perSecond }),
    ]);
    const latencies = [...queries.latencies, ...actions.latencies];
    const statuses = [...queries.statuses, ...actions.statuses, ...runs.statuses];
    const good = (status: number): boolean => status >= 200 && status < 300;
    return {
      made: latencies.length + runs.latencies.length,
      answered: statuses.reduce((sum, [status, replies]) => sum + (good(status) ? replies : 0), 0),
      all: latencyOf(latencies),
      queries: latencyOf(queries.latencies),
      actions: latencyOf(actions.latencies),
      straightP99: quantile(direct.latencies, 0.99),
      refused: statuses.filter(([status]) => !good(status)).map(([status, replies]) => `${status}: ${replies}`),
      begins,
    };
  };
}

function latencyOf(latencies: readonly number[]): Latency {
  return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
}

function poolOf(owner: Owner, url: string): Pool {
  const pool = new Pool(url, { connections: 128, headersTimeout: patience, bodyTimeout: patience });
  owner.after(() => pool.destroy());
  return pool;
}
