import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { frontDoorLimit } from '../../src/http/connections/connection-limit.ts';
import type { Owner } from '../../test/support/owner.ts';
import { median } from '../figures.ts';
import { mebibytes, processorSeconds } from '../process-tree.ts';
import { type Surroundings, startSurroundings } from './answering-upstream.ts';
import { temporaryDirectory } from './child.ts';
import type { Served } from './load.ts';
import { table } from './report.ts';
import type { Section, SectionOptions } from './section.ts';
import { type Subject, startThisGateway } from './subjects.ts';

/** Milliseconds from the start of a gateway until it is ready. */
const mark = 1000;
const [wantedIdle, busyCallers, seconds, starts, loads] = [10_000, 1000, 10, 5, 4];
const openFiles = 65_536;
/** Connections left for other uses, such as the login. */
const spare = 20;

/** The gateway closes idle connections when 95 in 100 are taken. */
function possibleIdle(pid: number): number {
  const granted = Number(/^Max open files\s+(\d+)/mu.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))?.[1]);
  const possible = Math.floor(frontDoorLimit(granted).connections * 0.95) - busyCallers - spare;
  return Math.min(wantedIdle, Math.floor(possible / 100) * 100);
}

/** Measures a gateway with many connections: its start, its calls, its memory. */
export async function many(owner: Owner, _options: SectionOptions): Promise<Section> {
  const surroundings = await startSurroundings(owner);
  const startUps = await measureStarts(owner, surroundings);
  const gateway = await startThisGateway(owner, { ...surroundings, openFiles });
  await sleep(3000);
  const idle = mebibytes(gateway.pid, 'VmRSS');
  const idleCallers = possibleIdle(gateway.pid);
  const { served, cost, calls } = await crowd(gateway, surroundings, idleCallers);
  const sum = (of: (one: Served) => number): number => served.reduce((total, one) => total + of(one), 0);
  const most = mebibytes(gateway.pid, 'VmHWM');
  await sleep(5000);
  const rows = [
    ['ready on a new SQLite file, ms, median of five (greatest)', shown(startUps.fresh)],
    ['ready on that file again, ms', shown(startUps.again)],
    ['processor time of a start with one login, ms', shown(startUps.costs)],
    ['memory when ready, MiB', idle.toFixed(0)],
    ['calls/s of the active callers', (sum((one) => one.served) / seconds).toFixed(0)],
    ['p50, p99 of the active callers, ms', `${worst(served, 'p50')}, ${worst(served, 'p99')}`],
    ['processor time a call with its share of connecting, µs', ((cost / calls) * 1e6).toFixed(0)],
    ['greatest memory, MiB', most.toFixed(0)],
    ['memory 5 s after all connections ended, MiB', mebibytes(gateway.pid, 'VmRSS').toFixed(0)],
  ];
  const reached = median(startUps.fresh) < mark;
  return {
    title: 'Many callers',
    text: [
      `${idleCallers} idle callers keep their connections and call once before and once after the load. ${busyCallers} active callers make restQuery calls for ${seconds} s.${idleCallers < wantedIdle ? ` Not ${wantedIdle}: the system grants the gateway no more open files.` : ''}`,
      table(['what', 'figure'], rows),
      `Mark: ready within ${mark} ms. ${reached ? 'Reached.' : '**Not reached.**'}`,
    ].join('\n\n'),
  };
}

async function measureStarts(
  owner: Owner,
  surroundings: Surroundings,
): Promise<Readonly<Record<'fresh' | 'again' | 'costs', number[]>>> {
  const [fresh, again, costs]: [number[], number[], number[]] = [[], [], []];
  for (let count = 0; count < starts; count += 1) {
    const directory = temporaryDirectory(owner);
    for (const times of [fresh, again]) {
      const gateway = await startThisGateway(owner, { ...surroundings, directory });
      times.push(gateway.startedIn);
      costs.push(processorSeconds(gateway.pid) * 1000);
      await gateway.stop();
    }
  }
  return { fresh, again, costs };
}

/** Makes the load in several processes, because one alone would limit the rate. */
async function crowd(
  gateway: Subject,
  surroundings: Surroundings,
  idleCallers: number,
): Promise<{ readonly served: readonly Served[]; readonly calls: number; readonly cost: number }> {
  const order = {
    port: gateway.port,
    request: gateway.request('restQuery'),
    callers: busyCallers / loads,
    idle: idleCallers / loads,
    milliseconds: seconds * 1000,
  };
  const loaders = Array.from({ length: loads }, () => surroundings.newLoad());
  const before = processorSeconds(gateway.pid);
  return surroundings.exactly(async () => {
    const served = await Promise.all(loaders.map((load) => load(order)));
    const calls = served.reduce((sum, one) => sum + one.calls, 0);
    return { served, calls, cost: processorSeconds(gateway.pid) - before };
  });
}

function shown(times: readonly number[]): string {
  return `${median(times).toFixed(0)} (${Math.max(...times).toFixed(0)})`;
}

/** The greatest value of the load processes, because their medians give no common median. */
function worst(served: readonly Served[], part: 'p50' | 'p99'): string {
  return Math.max(...served.map((one) => one[part])).toFixed(0);
}
