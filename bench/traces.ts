/**
 * What traces cost a call in processor time of the gateway: without traces, with the sampler `always_off`, and with every span recorded.
 * The three gateways run at the same time and are called alternately, so that other work on the machine affects all of them.
 *
 *   node bench/traces.ts [ROUNDS]        default 7, each of 2,000 calls to each gateway
 *
 * Linux only: processor time is read from /proc. `GATEWAY_BEFORE` is the directory of another checkout, which is measured too.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { collector } from '../test/support/far-sides/collector.ts';
import { childEnvironment, collect, readyPort } from '../test/support/gateway/gateway-process.ts';
import { basic, configurationOf, testPassword } from '../test/support/gateway/start-gateway.ts';
import { answeringFarSide } from './answering-far-side.ts';
import { processorSeconds } from './process-tree.ts';
import { median } from './statistics.ts';

const rounds = Number(process.argv[2] ?? 7);
const callsARound = 2_000;
const callers = 16;
const closers: (() => void | Promise<void>)[] = [];
const owner = { after: (close: () => void | Promise<void>) => void closers.unshift(close) };

interface Called {
  readonly name: string;
  readonly pid: number;
  readonly pool: Pool;
  /** Microseconds of processor time a call, one value a round. */
  readonly costs: number[];
}

async function start(
  name: string,
  { root, environment, url }: { readonly root: string; readonly environment: Record<string, string>; readonly url: string },
): Promise<Called> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const adapters = [{ name: 'Orchestrator', kind: 'rest', url, concurrency: 64 }];
  writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configurationOf({ adapters })));
  const child = spawn(process.execPath, [join(root, 'src/main.ts'), 'serve'], {
    cwd: directory,
    env: childEnvironment(environment),
  });
  owner.after(async () => {
    child.kill();
    await new Promise((resolve) => child.once('exit', resolve));
    rmSync(directory, { recursive: true });
  });
  const output = collect(child);
  const pool = new Pool(`http://127.0.0.1:${await readyPort(child, output)}`, { connections: callers });
  owner.after(() => pool.close());
  return { name, pid: child.pid ?? 0, pool, costs: [] };
}

async function call(pool: Pool): Promise<void> {
  const reply = await pool.request({
    method: 'POST',
    path: '/orchestrator_manager/restQuery/Orchestrator',
    headers: { authorization: basic('admin-user', testPassword), 'content-type': 'application/json' },
    body: '{"params":{"path":"/status","accept":"application/json"}}',
  });
  const text = await reply.body.text();
  if (reply.statusCode !== 200) throw new Error(`${reply.statusCode} ${text}`);
}

async function round({ pid, pool, costs }: Called, calls: number): Promise<void> {
  const before = processorSeconds(pid);
  let left = calls;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call(pool);
    }
  };
  await Promise.all(Array.from({ length: callers }, lane));
  costs.push(((processorSeconds(pid) - before) / calls) * 1e6);
}

try {
  const url = await answeringFarSide(owner);
  const receiver = await collector(owner);
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };
  const [here, before] = [join(import.meta.dirname, '..'), process.env['GATEWAY_BEFORE']];
  const gateways = [
    await start('without traces', { root: here, environment: {}, url }),
    ...(before === undefined ? [] : [await start(`as in ${before}`, { root: before, environment: {}, url })]),
    await start('sampler always_off', { root: here, environment: { ...traced, OTEL_TRACES_SAMPLER: 'always_off' }, url }),
    await start('every span', { root: here, environment: traced, url }),
  ];
  for (const gateway of gateways) await round(gateway, 3 * callsARound);
  for (const gateway of gateways) gateway.costs.length = 0;
  for (let count = 0; count < rounds; count += 1) for (const gateway of gateways) await round(gateway, callsARound);
  const base = median(gateways[0]?.costs ?? []);
  console.log('| gateway | processor time a call, µs (median of the rounds; least, greatest) | ratio |\n|---|---|---|');
  for (const { name, costs } of gateways) {
    const [least, middle, greatest] = [Math.min(...costs), median(costs), Math.max(...costs)].map(Math.round);
    console.log(`| ${name} | ${middle} (${least}, ${greatest}) | ${(median(costs) / base).toFixed(2)} |`);
  }
} finally {
  for (const close of closers) await close();
}
