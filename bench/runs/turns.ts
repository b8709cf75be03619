import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../figures.ts';
import { processorSeconds } from '../process-tree.ts';
import type { Surroundings } from '../speed/answering-upstream.ts';
import type { JobName } from './jobs.ts';
import { finish, type Side } from './side.ts';
import type { StoreUse } from './stored-runs.ts';

interface Measurement {
  readonly runsASecond: number;
  /** Microseconds of processor time a run, of the process of the side. */
  readonly cost: number;
  /** The same of its server; 0 on SQLite. */
  readonly serverCost: number;
}

/** Medians over the rounds. */
export interface SideFigures extends Measurement {
  readonly name: string;
  /** Median of the ratios of the gateway to this side, each of one round. */
  readonly throughputRatio: number;
  /** With the servers. */
  readonly costRatio: number;
  /** Of a run. */
  readonly use: StoreUse | undefined;
}

interface TurnOptions {
  readonly job: JobName;
  readonly rounds: number;
  /** Runs of one measurement. */
  readonly runs: number;
}

/** Milliseconds for the work after the last run (events, log), which counts. */
const settling = 300;

/** Measures the sides in turns; the order alternates with the rounds. The first side is the one that the others are compared with. */
export async function inTurns(
  sides: readonly Side[],
  surroundings: Surroundings,
  { job, rounds, runs }: TurnOptions,
): Promise<readonly SideFigures[]> {
  const seen = sides.map((): Measurement[] => []);
  const before = await usesOf(sides);
  // The first round compiles code.
  for (let round = 0; round <= rounds; round += 1) {
    const order = [...sides.entries()];
    for (const [index, side] of round % 2 === 0 ? order : order.toReversed()) {
      const measured = await measure(side, surroundings, { job, runs });
      if (round > 0) seen[index]?.push(measured);
    }
    process.stderr.write(`${job}: round ${round} of ${rounds}\n`);
  }
  const after = await usesOf(sides);
  const [own = []] = seen;
  return sides.map(({ name }, index) => {
    const measurements = seen[index] ?? [];
    const medianOf = (of: (one: Measurement) => number): number => median(measurements.map(of));
    const ratioOf = (of: (one: Measurement) => number): number =>
      median(measurements.map((one, round) => of(own[round] ?? one) / of(one)));
    return {
      name,
      runsASecond: medianOf((one) => one.runsASecond),
      cost: medianOf((one) => one.cost),
      serverCost: medianOf((one) => one.serverCost),
      throughputRatio: ratioOf((one) => one.runsASecond),
      costRatio: ratioOf((one) => one.cost + one.serverCost),
      use: useOfOne(before[index], after[index], (rounds + 1) * runs),
    };
  });
}

function usesOf(sides: readonly Side[]): Promise<readonly (StoreUse | undefined)[]> {
  return Promise.all(sides.map(async (side) => await side.use?.()));
}

function useOfOne(before: StoreUse | undefined, after: StoreUse | undefined, runs: number): StoreUse | undefined {
  if (before === undefined || after === undefined) return undefined;
  const { transactions = Number.NaN, wal = Number.NaN } = before;
  return {
    bytes: (after.bytes - before.bytes) / runs,
    transactions: ((after.transactions ?? Number.NaN) - transactions) / runs,
    wal: ((after.wal ?? Number.NaN) - wal) / runs,
  };
}

async function measure(
  side: Side,
  surroundings: Surroundings,
  { job, runs }: Pick<TurnOptions, 'job' | 'runs'>,
): Promise<Measurement> {
  const { pid, serverPid } = side;
  const used = (one: number | undefined): number => (one === undefined ? 0 : processorSeconds(one));
  const before = [used(pid), used(serverPid)] as const;
  let seconds = 0;
  await surroundings.exactly(async () => {
    seconds = await finish(side, { job, count: runs, far: surroundings.upstream });
    return { calls: job === 'values' ? 0 : 3 * runs };
  });
  await sleep(settling);
  return {
    runsASecond: runs / seconds,
    cost: ((used(pid) - before[0]) / runs) * 1e6,
    serverCost: ((used(serverPid) - before[1]) / runs) * 1e6,
  };
}
