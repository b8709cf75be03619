import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Owner } from '../../test/support/owner.ts';
import { pacedLoad } from '../paced-load.ts';
import { table } from '../speed/report.ts';
import { median, quantile } from '../statistics.ts';
import { type GatewaySide, gatewaySide } from './gateway-side.ts';
import { tasksOf } from './jobs.ts';

interface BesideOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly upstream: string;
}

/** Calls a second, each made when it is due. */
const perSecond = 150;
/** Limit of the p99 next to runs, compared with that without. */
const markOfCalls = 1.5;
/** Runs that are under way at any moment; 0: none. */
const cases = [
  { name: 'no runs', runs: 0 },
  { name: 'one run after the other', runs: 1 },
  { name: 'runs flat out', runs: 32 },
] as const;

/** The latency of relayed calls with and without runs next to them in the same gateway. */
export async function callsBesideRuns(owner: Owner, { rounds, seconds, upstream }: BesideOptions): Promise<string> {
  const side = await gatewaySide(owner, { server: undefined, far: [upstream] });
  const call = callOf(owner, side);
  const automation = await side.automation('next-to', tasksOf('reads', upstream));
  for (let count = 0; count < 500; count += 1) await call();
  const seen = cases.map(() => ({ p50: [] as number[], p99: [] as number[], runs: [] as number[] }));
  // The first round compiles code.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, { runs }] of cases.entries()) {
      const before = await side.ended();
      const began = performance.now();
      const busy = keepBusy(side, automation, runs);
      const { latencies, statuses } = await pacedLoad(call, { seconds, perSecond });
      const failed = latencies.length - (statuses.get(200) ?? 0);
      if (failed > 0) throw new Error(`${failed} relayed calls failed`);
      const rate = ((await side.ended()) - before) / ((performance.now() - began) / 1000);
      await busy.stop();
      if (round === 0) continue;
      seen[index]?.p50.push(quantile(latencies, 0.5));
      seen[index]?.p99.push(quantile(latencies, 0.99));
      seen[index]?.runs.push(rate);
    }
  }
  const alone = median(seen[0]?.p99 ?? []);
  const rows = cases.map(({ name }, index) => {
    const { p50 = [], p99 = [], runs = [] } = seen[index] ?? {};
    const cells = [median(runs).toFixed(0), median(p50).toFixed(1), median(p99).toFixed(1), (median(p99) / alone).toFixed(2)];
    return [name, ...cells];
  });
  const ratio = median(seen.at(-1)?.p99 ?? []) / alone;
  return [
    `\`restQuery\` ${perSecond} times a second, ${seconds} s each, medians of ${rounds} rounds. Each run makes three queries.`,
    table(['next to calls', 'runs/s', 'p50 ms', 'p99 ms', 'ratio of p99'], rows),
    `Mark: a p99 next to runs of at most ${markOfCalls} times that without. ${ratio <= markOfCalls ? '**Reached.**' : '**Missed.**'}`,
  ].join('\n\n');
}

function callOf(owner: Owner, side: GatewaySide): () => Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${side.port}`, { connections: 128 });
  owner.after(() => pool.destroy());
  const headers = { authorization: `Bearer ${side.token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ params: { path: 'status', accept: 'application/json' } });
  return async () => {
    const reply = await pool.request({ method: 'POST', path: '/orchestrator_manager/restQuery/Bench', headers, body });
    await reply.body.dump();
    return reply.statusCode;
  };
}

/** Keeps so many runs under way: each that has ended is followed by another. */
function keepBusy(side: GatewaySide, automation: string, runs: number): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const work = async (): Promise<void> => {
    let created = await side.ended();
    if (runs === 0) return;
    while (!stopping.signal.aborted) {
      const missing = runs - (created - (await side.ended()));
      await Promise.all(Array.from({ length: missing }, () => side.start(automation)));
      created += missing;
      await sleep(5);
    }
    while ((await side.ended()) < created) await sleep(20);
  };
  const working = work();
  working.catch(() => undefined);
  return {
    async stop() {
      stopping.abort();
      await working;
    },
  };
}
