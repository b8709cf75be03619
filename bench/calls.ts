/**
 * What a small call costs one gateway: calls a second, processor time a call, and transactions of its PostgreSQL.
 *
 *   node bench/calls.ts [SECONDS]        default 5 for each route
 *
 * Linux only: processor time is read from /proc. The gateway is a process with a PostgreSQL of its own. Callers and the upstream share
 * another process on the same machine. The benchmark ends all of them.
 */
import { Client } from 'pg';
import { Pool } from 'undici';
import { startGatewayProcess } from '../test/support/gateway/start-gateway.ts';
import { ownPostgres } from '../test/support/stores/own-postgres.ts';
import { answeringUpstream } from './answering-upstream.ts';
import { processorSeconds } from './process-tree.ts';

const seconds = Number(process.argv[2] ?? 5);
const callers = 32;
const closers: (() => void | Promise<void>)[] = [];
const owner = { after: (close: () => void | Promise<void>) => void closers.unshift(close) };

async function committed(client: Client): Promise<number> {
  // PostgreSQL may report the statistics of an active connection a second late.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const { rows } = await client.query(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  );
  return Number((rows as readonly { readonly count: string }[])[0]?.count);
}

try {
  const postgres = await ownPostgres(owner);
  const url = await answeringUpstream(owner);
  const gateway = await startGatewayProcess(owner, {
    config: { store: { url: postgres.url } },
    adapters: [{ name: 'Orchestrator', kind: 'rest', url, concurrency: 64 }],
  });
  const headers = { authorization: `Bearer ${await gateway.tokenFor('admin')}`, 'content-type': 'application/json' };
  const pool = new Pool(gateway.url, { connections: callers });
  owner.after(() => pool.close());
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  owner.after(() => client.end());
  const params = { path: '/status', accept: 'application/json' };
  const routes = [
    { method: 'POST', path: '/orchestrator_manager/restAction/Orchestrator', body: JSON.stringify({ params, body: {} }) },
    { method: 'POST', path: '/orchestrator_manager/restQuery/Orchestrator', body: JSON.stringify({ params }) },
    { method: 'GET', path: '/automation_catalog/automations?limit=20' },
  ] as const;
  console.log('| route | calls/s | processor time a call, µs | transactions of PostgreSQL a call |\n|---|---|---|---|');
  for (const route of routes) {
    const call = async (): Promise<void> => {
      const reply = await pool.request({ ...route, headers });
      const text = await reply.body.text();
      if (reply.statusCode !== 200) throw new Error(`${reply.statusCode} ${text}`);
    };
    for (let count = 0; count < 500; count += 1) await call();
    const [transactions, used, started] = [await committed(client), processorSeconds(gateway.pid), performance.now()];
    let count = 0;
    const lane = async (): Promise<void> => {
      while (performance.now() - started < seconds * 1000) {
        await call();
        count += 1;
      }
    };
    await Promise.all(Array.from({ length: callers }, lane));
    const elapsed = (performance.now() - started) / 1000;
    const microseconds = ((processorSeconds(gateway.pid) - used) / count) * 1e6;
    const each = ((await committed(client)) - transactions) / count;
    const name = route.path.replace(/\?.*|\/Orchestrator/gu, '');
    console.log(`| ${name} | ${Math.round(count / elapsed)} | ${Math.round(microseconds)} | ${each.toFixed(3)} |`);
  }
} finally {
  for (const close of closers) await close();
}
