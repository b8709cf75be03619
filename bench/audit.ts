/**
 * What the audit log adds to a call, on SQLite and on PostgreSQL. An action is recorded before it leaves, and its outcome before the reply.
 * A query is recorded after its reply. 64 callers make both.
 *
 *   node bench/audit.ts [SECONDS] [sqlite|postgres]        default 5 for each measurement
 *
 * Each caller alternates between queries and actions, so that other work on the machine affects both. `paced`: 10 calls a second each, so
 * that the gateway is not saturated and the difference is the wait of an action. `flat out`: the next call at once; on two cores a
 * call mostly waits for the other 63. Callers and the upstream share a process. Mark: paced, on SQLite, an action's median is at most
 * 1 ms over a query's.
 */
import { Pool } from 'undici';
import { startGatewayProcess } from '../test/support/gateway/start-gateway.ts';
import { foundPostgres, sqliteStore, storeUrl, type TestStore } from '../test/support/stores/stores.ts';
import { answeringUpstream } from './answering-upstream.ts';
import { quantile } from './figures.ts';

const seconds = Number(process.argv[2] ?? 5);
const only = process.argv[3];
const callers = 64;
/** Milliseconds between the calls of a caller that is paced. */
const pace = 100;

const params = { path: '/status', accept: 'application/json' };
const query = { path: '/orchestrator_manager/restQuery/Far', body: JSON.stringify({ params }) };
const action = { path: '/orchestrator_manager/restAction/Far', body: JSON.stringify({ params, body: { a: 1 } }) };

type Call = () => Promise<void>;

/** Milliseconds of each call, by kind of call. */
async function measure(calls: readonly Call[], paced: boolean): Promise<readonly (readonly number[])[]> {
  const times = calls.map((): number[] => []);
  const until = performance.now() + seconds * 1000;
  const lane = async (number: number): Promise<void> => {
    if (paced) await new Promise((resolve) => setTimeout(resolve, (number * pace) / callers));
    for (let count = number; performance.now() < until; count += 1) {
      const started = performance.now();
      await calls[count % calls.length]?.();
      const took = performance.now() - started;
      times[count % calls.length]?.push(took);
      if (paced) await new Promise((resolve) => setTimeout(resolve, Math.max(0, pace - took)));
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, number) => lane(number)));
  return times;
}

async function run(store: TestStore): Promise<void> {
  const closers: (() => void | Promise<void>)[] = [];
  const owner = { after: (close: () => void | Promise<void>) => void closers.unshift(close) };
  try {
    const url = await answeringUpstream(owner);
    const gateway = await startGatewayProcess(owner, {
      config: { store: { url: storeUrl(await store.fresh(owner)) } },
      adapters: [{ name: 'Far', kind: 'rest', url, concurrency: callers }],
    });
    const headers = { authorization: `Bearer ${await gateway.tokenFor('admin')}`, 'content-type': 'application/json' };
    const pool = new Pool(gateway.url, { connections: callers });
    owner.after(() => pool.close());
    const caller = (request: { readonly path: string; readonly body: string }) => async (): Promise<void> => {
      const reply = await pool.request({ ...request, method: 'POST', headers });
      const text = await reply.body.text();
      if (reply.statusCode !== 200) throw new Error(`${reply.statusCode} ${text}`);
    };
    for (let count = 0; count < 20; count += 1)
      await Promise.all(Array.from({ length: 100 }, caller(count % 2 ? query : action)));
    for (const paced of [true, false]) {
      const measured = await measure([caller(query), caller(action)], paced);
      const base = quantile(measured[0] ?? [], 0.5);
      for (const [index, times] of measured.entries()) {
        const median = quantile(times, 0.5);
        const cells = [median, quantile(times, 0.99), median - base].map((value) => value.toFixed(2));
        const about = [
          store.dialect,
          paced ? 'paced' : 'flat out',
          ['query', 'action'][index],
          Math.round(times.length / seconds),
        ];
        console.log(`| ${[...about, ...cells].join(' | ')} |`);
      }
    }
  } finally {
    for (const close of closers) await close();
  }
}

console.log('| store | load | call | calls/s | median, ms | 99 %, ms | over a query, ms |\n|---|---|---|---|---|---|---|');
for (const store of [sqliteStore, foundPostgres].filter((found) => found !== undefined))
  if (only === undefined || only === store.dialect) await run(store);
