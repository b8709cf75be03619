import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';
import type { Owner } from '../../test/support/owner.ts';
import { median, quantile } from '../figures.ts';
import { pacedLoad } from '../paced-load.ts';
import { program } from '../speed/answering-upstream.ts';
import { table } from '../speed/report.ts';
import type { BusyOrder } from './busy-runs.ts';
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
/** Calls a second straight to the upstream: how much of a p99 is the machine's. */
const directPerSecond = 50;
/** Runs that are under way at any moment, and the milliseconds that the upstream takes for each of their queries. */
const cases = [
  { name: 'no runs', runs: 0, wait: 0 },
  { name: 'one run after the other', runs: 1, wait: 0 },
  { name: '32 runs, each query takes 100 ms', runs: 32, wait: 100 },
  { name: '32 runs, each query is answered at once', runs: 32, wait: 0 },
] as const;

interface CaseFigures {
  readonly runs: number[];
  readonly p50: number[];
  readonly p99: number[];
  readonly directP99: number[];
}

type Call = () => Promise<number>;

/** The latency of relayed calls with and without runs next to them in the same gateway. */
export async function callsBesideRuns(owner: Owner, { rounds, seconds, upstream }: BesideOptions): Promise<string> {
  const side = await gatewaySide(owner, { server: undefined, far: [upstream] });
  const call = callOf(owner, side);
  const direct = directCallOf(owner, upstream);
  const automations: string[] = [];
  for (const [index, { wait }] of cases.entries()) {
    const far = wait === 0 ? upstream : `${upstream}/after/${wait}`;
    automations.push(await side.automation(`next-to-${index}`, tasksOf('reads', far)));
  }
  for (let count = 0; count < 500; count += 1) await Promise.all([call(), direct()]);
  const seen = cases.map((): CaseFigures => ({ runs: [], p50: [], p99: [], directP99: [] }));
  // The first round compiles code.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, { runs }] of cases.entries()) {
      const endRuns = await keepBusy(owner, side, { automation: automations[index] ?? '', runs });
      const before = await side.ended();
      const began = performance.now();
      const [relayed, straight] = await Promise.all([
        pacedLoad(call, { seconds, perSecond }),
        pacedLoad(direct, { seconds, perSecond: directPerSecond }),
      ]);
      for (const { latencies, statuses } of [relayed, straight]) {
        const failed = latencies.length - (statuses.get(200) ?? 0);
        if (failed > 0) throw new Error(`${failed} calls failed`);
      }
      const rate = ((await side.ended()) - before) / ((performance.now() - began) / 1000);
      await endRuns();
      if (round === 0) continue;
      seen[index]?.runs.push(rate);
      seen[index]?.p50.push(quantile(relayed.latencies, 0.5));
      seen[index]?.p99.push(quantile(relayed.latencies, 0.99));
      seen[index]?.directP99.push(quantile(straight.latencies, 0.99));
    }
  }
  return textOf(seen, { rounds, seconds });
}

function textOf(seen: readonly CaseFigures[], { rounds, seconds }: Pick<BesideOptions, 'rounds' | 'seconds'>): string {
  const medians = seen.map(({ runs, p50, p99, directP99 }) => ({
    runs: median(runs),
    p50: median(p50),
    p99: median(p99),
    directP99: median(directP99),
  }));
  const [alone] = medians;
  if (alone === undefined) throw new Error('There is a case without runs.');
  const rows = medians.map(({ runs, p50, p99, directP99 }, index) => [
    cases[index]?.name ?? '',
    runs.toFixed(0),
    p50.toFixed(1),
    p99.toFixed(1),
    (p99 / alone.p99).toFixed(2),
    directP99.toFixed(1),
    (directP99 / alone.directP99).toFixed(2),
  ]);
  const missed = medians.filter(({ p99 }) => !(p99 / alone.p99 <= markOfCalls)).length;
  return [
    `\`restQuery\` ${perSecond} times a second, ${seconds} s each, medians of ${rounds} rounds. Each run makes three queries. "Straight": ${directPerSecond} calls a second from the same caller to the upstream, without the gateway. Their p99 shows how much the machine adds.`,
    table(['next to calls', 'runs/s', 'p50 ms', 'p99 ms', 'ratio of p99', 'straight p99 ms', 'ratio'], rows),
    `Mark: a p99 next to runs of at most ${markOfCalls} times that without. ${missed === 0 ? '**Reached.**' : `**Missed** in ${missed} of ${medians.length - 1} cases.`}`,
  ].join('\n\n');
}

function directCallOf(owner: Owner, upstream: string): Call {
  const pool = new Pool(upstream, { connections: 128 });
  owner.after(() => pool.destroy());
  return async () => {
    const reply = await pool.request({ method: 'GET', path: '/status' });
    await reply.body.dump();
    return reply.statusCode;
  };
}

function callOf(owner: Owner, side: GatewaySide): Call {
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

/** Keeps runs under way from a process of its own, so that it does not delay the measured calls. Answers how to end them. */
async function keepBusy(
  owner: Owner,
  side: GatewaySide,
  { automation, runs }: Pick<BusyOrder, 'automation' | 'runs'>,
): Promise<() => Promise<void>> {
  if (runs === 0) return async () => {};
  const busy = fork(program('../runs/busy-runs.ts'));
  owner.after(() => void busy.kill());
  const exited = once(busy, 'exit');
  const tell = async (message: BusyOrder | 'stop', answer: Promise<unknown>): Promise<void> => {
    // A process that has ended takes no message. Its exit code is looked at.
    busy.send(message, () => undefined);
    await answer;
    if (busy.exitCode !== null && busy.exitCode !== 0) throw new Error('the runs next to the calls failed');
  };
  const heard = (): Promise<unknown> => Promise.race([once(busy, 'message'), exited]);
  await heard();
  await tell({ port: side.port, token: side.token, store: side.store, automation, runs }, heard());
  return () => tell('stop', exited);
}
