import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Owner } from '../../test/support/owner.ts';
import { noOwnPostgres, ownPostgres } from '../../test/support/stores/own-postgres.ts';
import { freePort } from '../../test/support/upstreams/upstream.ts';
import { median } from '../figures.ts';
import { startSurroundings } from './answering-upstream.ts';
import { start, temporaryDirectory } from './child.ts';
import type { Served } from './load.ts';
import { table } from './report.ts';
import type { Section, SectionOptions } from './section.ts';
import { startThisGateway } from './subjects.ts';

const title = 'Two gateways';

/** Plain HTTP without health checks, which would be calls. docs/guides/haproxy.cfg has the configuration for a real site. */
function balancer(ports: readonly [number, number], gateways: readonly [number, number]): string {
  const proxy = (name: string, port: number, servers: readonly number[]): string => {
    const lines = servers.map((server, index) => `  server gateway-${index + 1} 127.0.0.1:${server}`);
    return `listen ${name}\n  bind 127.0.0.1:${port}\n  balance leastconn\n${lines.join('\n')}\n`;
  };
  const limits = '  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n';
  return `defaults\n  mode http\n${limits}${proxy('one', ports[0], gateways.slice(0, 1))}${proxy('both', ports[1], gateways)}`;
}

/** Measures the same load on one gateway and on two that share PostgreSQL, behind HAProxy. */
export async function two(owner: Owner, { rounds, seconds, callers }: SectionOptions): Promise<Section> {
  if (spawnSync('haproxy', ['-v']).status !== 0) return { title, text: 'Not measured: haproxy is not installed.' };
  if (noOwnPostgres !== false) return { title, text: `Not measured: ${noOwnPostgres}.` };
  const surroundings = await startSurroundings(owner);
  const { url: store } = await ownPostgres(owner);
  const first = await startThisGateway(owner, { ...surroundings, store });
  const second = await startThisGateway(owner, { ...surroundings, store });
  const ports: readonly [number, number] = [await freePort(), await freePort()];
  const directory = temporaryDirectory(owner);
  const file = join(directory, 'haproxy.cfg');
  writeFileSync(file, balancer(ports, [first.port, second.port]));
  await start(owner, { command: 'haproxy', args: ['-db', '-f', file], directory, port: ports[1] });
  const request = first.request('restQuery');
  const load = (port: number, milliseconds: number): Promise<Served> =>
    surroundings.load({ port, request, callers, milliseconds });
  for (const port of ports) await load(port, 8000);
  const measured: Served[][] = [];
  for (let count = 0; count < rounds; count += 1) {
    const round: Served[] = [];
    for (const index of count % 2 === 0 ? [0, 1] : [1, 0]) round[index] = await load(ports[index] ?? 0, seconds * 1000);
    measured.push(round);
  }
  const rate = ({ calls, seconds }: Served): number => calls / seconds;
  const gain = median(measured.map(([one, both]) => (one && both ? rate(both) / rate(one) : Number.NaN)));
  const rows = ['one', 'two'].map((name, index) => {
    const served = measured.map((round) => round[index]).filter((one) => one !== undefined);
    return [name, ...[rate, (one: Served) => one.p50, (one: Served) => one.p99].map((of) => median(served.map(of)).toFixed(1))];
  });
  const cores = availableParallelism();
  return {
    title,
    text: [
      `restQuery by ${callers} callers through HAProxy to one gateway and to two on the same PostgreSQL. Measurements take ${seconds} s; figures are medians of ${rounds} rounds.`,
      table(['gateways', 'calls/s', 'p50 ms', 'p99 ms'], rows),
      `The second gateway gains **${((gain - 1) * 100).toFixed(0)} %**. ${cores < 6 ? `Load, upstream, HAProxy, PostgreSQL and gateways share the ${cores} cores of this machine. The gain on cores of their own may be greater.` : ''}`,
    ].join('\n\n'),
  };
}
