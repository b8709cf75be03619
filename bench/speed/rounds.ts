import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../figures.ts';
import { processorSeconds } from '../process-tree.ts';
import type { Surroundings } from './answering-upstream.ts';
import type { Served } from './load.ts';
import type { Route, Subject } from './subjects.ts';

/** Limit of a small query: ratio of its processor time to that of the bare relay. */
export const mark = 2;

/**
 * A relay and the floor with the same call. Both may be several processes of the same code, since processes of the floor differ by up to
 * 45 % for their whole life. Each process of the relay is measured with each process of the floor.
 */
export interface Row {
  readonly name: string;
  readonly route: Route;
  readonly subjects: readonly Subject[];
  readonly floors: readonly Subject[];
}

interface Measurement extends Served {
  /** Microseconds of processor time a call, of the relay and its children. */
  readonly cost: number;
}

/** Medians over the rounds. */
export interface Figures {
  readonly name: string;
  readonly cost: number;
  /** The cost to that of the floor measured directly before or after it. */
  readonly ratio: number;
  /** The least and the greatest ratio. */
  readonly ratios: readonly [number, number];
  readonly callsASecond: number;
  readonly p50: number;
  readonly p99: number;
}

interface RoundOptions {
  readonly rounds: number;
  /** Length of one measurement. */
  readonly milliseconds: number;
  readonly callers: number;
  /** Milliseconds of each kind of call before the first round. */
  readonly warmUp: number;
}

/** Milliseconds of load before a measurement, because an idle process loses compiled code and memory. */
const leadIn = 500;
/** Milliseconds for the work after the last reply (audit log, log), which counts. */
const settling = 300;

/** Measures all rows in each round. The floor comes directly before or after each row, so that other work on the machine affects both. */
export async function measureRows(
  rows: readonly Row[],
  surroundings: Surroundings,
  options: RoundOptions,
): Promise<readonly Figures[]> {
  await warmUp(rows, surroundings, options);
  const seen = rows.map((row) => ({ row, measurements: [] as Measurement[], ratios: [] as number[] }));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const { row, ...figures } of seen) {
      const both = pairOf(row, round).map((subject) => () => measure(subject, row.route, surroundings, options));
      const order = round % 2 === 0 ? [0, 1] : [1, 0];
      const measured: Measurement[] = [];
      for (const index of order) measured[index] = await (both[index] as () => Promise<Measurement>)();
      const [own, floor] = measured as [Measurement, Measurement];
      figures.measurements.push(own);
      figures.ratios.push(own.cost / floor.cost);
    }
    process.stderr.write(`round ${round + 1} of ${options.rounds}\n`);
  }
  return seen.map(({ row, measurements, ratios }) => ({
    name: row.name,
    cost: median(measurements.map(({ cost }) => cost)),
    ratio: median(ratios),
    ratios: [Math.min(...ratios), Math.max(...ratios)],
    callsASecond: median(measurements.map(({ calls, seconds }) => calls / seconds)),
    p50: median(measurements.map(({ p50 }) => p50)),
    p99: median(measurements.map(({ p99 }) => p99)),
  }));
}

/** The pair that a round measures: one process of the relay and one of the floor, another pair each time. */
export function pairOf({ subjects, floors }: Row, round: number): readonly [Subject, Subject] {
  const of = (all: readonly Subject[], index: number): Subject => all[index % all.length] as Subject;
  return [of(subjects, round), of(floors, round + Math.floor(round / floors.length))];
}

/** Gives each process the same load of each kind of call, so that V8 compiles the code. */
async function warmUp(rows: readonly Row[], surroundings: Surroundings, { warmUp, ...options }: RoundOptions): Promise<void> {
  const warmed = new Set<string>();
  for (const { subjects, floors, route } of rows)
    for (const one of [...subjects, ...floors]) {
      const key = `${one.pid} ${route}`;
      if (!warmed.has(key)) await measure(one, route, surroundings, { ...options, milliseconds: warmUp });
      warmed.add(key);
    }
}

async function measure(
  subject: Subject,
  route: Route,
  surroundings: Surroundings,
  { callers, milliseconds }: Pick<RoundOptions, 'callers' | 'milliseconds'>,
): Promise<Measurement> {
  const order = { port: subject.port, request: subject.request(route), callers };
  await surroundings.load({ ...order, milliseconds: leadIn });
  await sleep(settling);
  const before = processorSeconds(subject.pid);
  const served = await surroundings.load({ ...order, milliseconds });
  await sleep(settling);
  return { ...served, cost: ((processorSeconds(subject.pid) - before) / served.calls) * 1e6 };
}
