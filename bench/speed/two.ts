import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../test/support/far-sides/far-side.ts';
import type { Owner } from '../../test/support/owner.ts';
import { noOwnPostgres, ownPostgres } from '../../test/support/stores/own-postgres.ts';
import { median } from '../statistics.ts';
import { start, temporaryDirectory } from './child.ts';
import { startSurroundings } from './far-side.ts';
import type { Served } from './load.ts';
import { table } from './report.ts';
import type { Section, SectionOptions } from './section.ts';
import { startThisGateway } from './subjects.ts';

const title = 'Two gateways';

/** Plain HTTP, and no health checks that would be calls: what docs/guides/haproxy.cfg adds for a real site is not what is measured. */
function balancer(ports: readonly [number, number], gateways: readonly [number, number]): string {
  const proxy = (name: string, port: number, servers: readonly number[]): string => {
    const lines = servers.map((server, index) => `  server gateway-${index + 1} 127.0.0.1:${server}`);
    return `listen ${name}\n  bind 127.0.0.1:${port}\n  balance leastconn\n${lines.join('\n')}\n`;
  };
  const limits = '  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n';
  return `defaults\n  mode http\n${limits}${proxy('one', ports[0], gateways.slice(0, 1))}${proxy('both', ports[1], gateways)}`;
}

/** The same load on one gateway and on two, sharing PostgreSQL behind HAProxy. */
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
  const turns: Served[][] = [];
  for (let round = 0; round < rounds; round += 1) {
    const turn: Served[] = [];
    for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) turn[index] = await load(ports[index] ?? 0, seconds * 1000);
    turns.push(turn);
  }
  const rate = ({ calls, seconds }: Served): number => calls / seconds;
  const gain = median(turns.map(([one, both]) => (one && both ? rate(both) / rate(one) : Number.NaN)));
  const rows = ['one', 'two'].map((name, index) => {
    const served = turns.map((turn) => turn[index]).filter((one) => one !== undefined);
    return [name, ...[rate, (one: Served) => one.p50, (one: Served) => one.p99].map((of) => median(served.map(of)).toFixed(1))];
  });
  const cores = availableParallelism();
  return {
    title,
    text: [
      `restQuery by ${callers} callers through HAProxy to one gateway and to two on the same PostgreSQL, turns of ${seconds} s, medians of ${rounds} rounds.`,
      table(['gateways', 'calls/s', 'p50 ms', 'p99 ms'], rows),
      `The gain of the second one: **${((gain - 1) * 100).toFixed(0)} %**. ${cores < 6 ? `The ${cores} cores of this machine are shared by the load, the far side, HAProxy, PostgreSQL and the gateways: what two of them are worth on cores of their own this cannot show.` : ''}`,
    ].join('\n\n'),
  };
}
