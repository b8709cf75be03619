import type { Owner } from '../../test/support/owner.ts';
import { median, type Point, slope } from '../figures.ts';
import { mebibytes } from '../process-tree.ts';
import { startSurroundings } from './answering-upstream.ts';
import { table } from './report.ts';
import type { Section, SectionOptions } from './section.ts';
import { routes, startThisGateway } from './subjects.ts';

/** Part of the time in which V8 compiles and sizes its heap; it does not count. */
const warmUp = 0.2;

/** Measures the memory of a gateway under load over time. */
export async function soak(owner: Owner, { minutes, seconds, callers }: SectionOptions): Promise<Section> {
  const surroundings = await startSurroundings(owner);
  const gateway = await startThisGateway(owner, surroundings);
  const idle = mebibytes(gateway.pid, 'VmRSS');
  const points: Point[] = [];
  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 60_000;
  let calls = 0;
  for (let round = 0; elapsed() < minutes; round += 1) {
    const request = gateway.request(routes[round % routes.length] ?? 'restQuery');
    calls += (await surroundings.load({ port: gateway.port, request, callers, milliseconds: seconds * 1000 })).calls;
    points.push({ x: elapsed(), y: mebibytes(gateway.pid, 'VmRSS') });
  }
  const counted = points.filter(({ x }) => x > minutes * warmUp);
  const half = (later: boolean): string => {
    const middle = (minutes * (1 + warmUp)) / 2;
    return median(counted.filter(({ x }) => x > middle === later).map(({ y }) => y)).toFixed(0);
  };
  const rows = [
    ['calls', String(calls)],
    ['memory at the start, MiB', idle.toFixed(0)],
    ['median memory of the first and of the second half, MiB', `${half(false)}, ${half(true)}`],
    ['greatest memory, MiB', mebibytes(gateway.pid, 'VmHWM').toFixed(0)],
    ['slope by least squares, MiB/min', slope(counted).toFixed(2)],
  ];
  const text = `${minutes} minutes of ${callers} callers: rounds of restCall, restAction and restQuery, ${seconds} s each. Memory is read after each round; the first ${warmUp * 100} % do not count.`;
  return { title: 'A soak', text: `${text}\n\n${table(['what', 'figure'], rows)}` };
}
