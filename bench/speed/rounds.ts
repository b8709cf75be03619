import { setTimeout as sleep } from 'node:timers/promises';
import { processorSeconds } from '../process-tree.ts';
import { median } from '../statistics.ts';
import type { Surroundings } from './far-side.ts';
import type { Served } from './load.ts';
import type { Route, Subject } from './subjects.ts';

/** Times the processor time of the bare relay that a small call may take (issue 7). */
export const mark = 1.25;

/**
 * Somebody who is called in some way, beside the floor called in the same way. Each may be several processes of the same code, which take turns,
 * each beside each of the other: two of the floor differ by up to 45 % as long as they live.
 */
export interface Row {
  readonly name: string;
  readonly route: Route;
  readonly subjects: readonly Subject[];
  readonly floors: readonly Subject[];
}

interface Turn extends Served {
  /** Microseconds of processor time a call, of the subject and its children. */
  readonly cost: number;
}

/** Medians over the rounds. */
export interface Figures {
  readonly name: string;
  readonly cost: number;
  /** The cost to that of the floor in the turn beside it; the least and the greatest, too. */
  readonly ratio: number;
  readonly ratios: readonly [number, number];
  readonly callsASecond: number;
  readonly p50: number;
  readonly p99: number;
}

interface Turns {
  readonly rounds: number;
  readonly milliseconds: number;
  readonly callers: number;
  readonly warmUp: number;
}

/** A process that was idle has lost some of its compiled code and its memory: what it does in so many milliseconds first is not counted. */
const leadIn = 500;
/** What is left to be done after the last reply (audit, log) is part of the calls: it gets this long, ms. */
const settling = 300;

/** Round after round all rows in turn, each with its floor right before or right behind it, so that the machine's other work meets both. */
export async function measureRows(rows: readonly Row[], surroundings: Surroundings, turns: Turns): Promise<readonly Figures[]> {
  await warmUp(rows, surroundings, turns);
  const seen = rows.map((row) => ({ row, turns: [] as Turn[], ratios: [] as number[] }));
  for (let round = 0; round < turns.rounds; round += 1) {
    for (const { row, ...figures } of seen) {
      const both = pairOf(row, round).map((subject) => () => takeTurn(subject, row.route, surroundings, turns));
      const order = round % 2 === 0 ? [0, 1] : [1, 0];
      const taken: Turn[] = [];
      for (const index of order) taken[index] = await (both[index] as () => Promise<Turn>)();
      const [own, floor] = taken as [Turn, Turn];
      figures.turns.push(own);
      figures.ratios.push(own.cost / floor.cost);
    }
    process.stderr.write(`round ${round + 1} of ${turns.rounds}\n`);
  }
  return seen.map(({ row, turns, ratios }) => ({
    name: row.name,
    cost: median(turns.map(({ cost }) => cost)),
    ratio: median(ratios),
    ratios: [Math.min(...ratios), Math.max(...ratios)],
    callsASecond: median(turns.map(({ calls, seconds }) => calls / seconds)),
    p50: median(turns.map(({ p50 }) => p50)),
    p99: median(turns.map(({ p99 }) => p99)),
  }));
}

/** Who takes the turns of a round: one of the subjects beside one of the floor's processes, another pair each time. */
export function pairOf({ subjects, floors }: Row, round: number): readonly [Subject, Subject] {
  const of = (all: readonly Subject[], index: number): Subject => all[index % all.length] as Subject;
  return [of(subjects, round), of(floors, round + Math.floor(round / floors.length))];
}

/** So that V8 has compiled what there is to compile; everybody as many milliseconds with each kind of call. */
async function warmUp(rows: readonly Row[], surroundings: Surroundings, { warmUp, ...turns }: Turns): Promise<void> {
  const warmed = new Set<string>();
  for (const { subjects, floors, route } of rows)
    for (const one of [...subjects, ...floors]) {
      const key = `${one.pid} ${route}`;
      if (!warmed.has(key)) await takeTurn(one, route, surroundings, { ...turns, milliseconds: warmUp });
      warmed.add(key);
    }
}

async function takeTurn(
  subject: Subject,
  route: Route,
  surroundings: Surroundings,
  { callers, milliseconds }: Pick<Turns, 'callers' | 'milliseconds'>,
): Promise<Turn> {
  const order = { port: subject.port, request: subject.request(route), callers };
  await surroundings.load({ ...order, milliseconds: leadIn });
  await sleep(settling);
  const before = processorSeconds(subject.pid);
  const served = await surroundings.load({ ...order, milliseconds });
  await sleep(settling);
  return { ...served, cost: ((processorSeconds(subject.pid) - before) / served.calls) * 1e6 };
}
