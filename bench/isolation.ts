/**
 * Whether a failing orchestrator slows the calls to a healthy one. The benchmark measures the latency of its calls alone, next to two
 * healthy orchestrators, and next to a dead and a frozen one. The load is the same.
 *
 *   node bench/isolation.ts [SECONDS] [ROUNDS]        default 4 seconds for each of the three cases, 5 rounds
 *
 * Exit code 1 where a call fails, or where the p99 next to failing neighbours is over three times the p99 alone. Both are medians of the
 * rounds. Callers and far sides share a process, and the machine with the gateway. The benchmark ends all of them.
 */
import { Pool } from 'undici';
import { closedPort, farSide, jsonReply } from '../test/support/far-sides/far-side.ts';
import { startGatewayProcess } from '../test/support/gateway/start-gateway.ts';
import { type PacedFigures, pacedLoad } from './paced-load.ts';
import { median, quantile } from './statistics.ts';

const seconds = Number(process.argv[2] ?? 4);
const rounds = Number(process.argv[3] ?? 5);
const mark = 3;
/** Calls a second. */
const rate = { measured: 150, neighbour: 60 };

const closers: (() => void | Promise<void>)[] = [];
const owner = { after: (close: () => void | Promise<void>) => void closers.unshift(close) };

type Call = (adapter: string) => Promise<number>;

function statusText({ statuses }: PacedFigures): string {
  return [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
}

async function openCall(): Promise<Call> {
  const healthy = await farSide(owner, () => jsonReply('{"x:list":[{"name":"one"}]}'));
  const frozen = await farSide(owner, () => undefined);
  const dead = `http://127.0.0.1:${await closedPort()}`;
  const settings = { kind: 'nso', health: { interval: '1s' }, breaker: { failures: 5, openFor: '1s' } };
  const gateway = await startGatewayProcess(owner, {
    adapters: [
      { ...settings, name: 'measured', url: healthy.url },
      { ...settings, name: 'healthy', url: healthy.url },
      { ...settings, name: 'also healthy', url: healthy.url },
      { ...settings, name: 'dead', url: dead },
      // Its breaker never opens, so that all its slots are occupied and its queue is full.
      {
        ...settings,
        name: 'frozen',
        url: frozen.url,
        breaker: { failures: 1_000_000, openFor: '1s' },
        timeouts: { firstByte: '2s', total: '2s' },
        queue: 50,
      },
    ],
  });
  const headers = { authorization: `Bearer ${await gateway.tokenFor('admin')}`, 'content-type': 'application/json' };
  const pool = new Pool(gateway.url, { connections: 512 });
  owner.after(() => pool.close());
  const body = JSON.stringify({ params: { path: 'restconf/data/x:list', accept: 'application/yang-data+json' } });
  return async (adapter) => {
    const path = `/orchestrator_manager/restQuery/${encodeURIComponent(adapter)}`;
    const reply = await pool.request({ method: 'POST', path, headers, body });
    await reply.body.dump();
    return reply.statusCode;
  };
}

const cases = [
  { name: 'alone', neighbours: [] },
  { name: 'two healthy ones', neighbours: ['healthy', 'also healthy'] },
  { name: 'one dead, one frozen', neighbours: ['dead', 'frozen'] },
] as const;

try {
  const call = await openCall();
  for (let count = 0; count < 500; count += 1) await call('measured');
  const seen = cases.map((): PacedFigures[] => []);
  const neighbourReplies = cases.map((): string[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [place, { neighbours }] of cases.entries()) {
      const others = neighbours.map((name) => pacedLoad(() => call(name), { seconds, perSecond: rate.neighbour }));
      seen[place]?.push(await pacedLoad(() => call('measured'), { seconds, perSecond: rate.measured }));
      neighbourReplies[place] = (await Promise.all(others)).map(
        (figures, which) => `${neighbours[which]}: ${statusText(figures)}`,
      );
    }
  }
  console.log('| neighbours | calls | failed | p50 ms | p99 ms | ratio of p99 | replies of the neighbours in the last round |');
  console.log('|---|---|---|---|---|---|---|');
  const p99 = seen.map((figures) => median(figures.map((one) => quantile(one.latencies, 0.99))));
  const [alone = Number.NaN] = p99;
  for (const [place, { name }] of cases.entries()) {
    const figures = seen[place] ?? [];
    const calls = figures.reduce((sum, { latencies }) => sum + latencies.length, 0);
    const failed = calls - figures.reduce((sum, { statuses }) => sum + (statuses.get(200) ?? 0), 0);
    const p50 = median(figures.map((one) => quantile(one.latencies, 0.5)));
    const worst = p99[place] ?? Number.NaN;
    const others = neighbourReplies[place]?.join('; ');
    const cells = [name, calls, failed, p50.toFixed(1), worst.toFixed(1), (worst / alone).toFixed(2), others];
    console.log(`| ${cells.join(' | ')} |`);
    if (failed > 0) process.exitCode = 1;
  }
  const ratio = (p99[2] ?? Number.NaN) / alone;
  if (!(ratio <= mark)) process.exitCode = 1;
} finally {
  for (const close of closers) await close();
}
