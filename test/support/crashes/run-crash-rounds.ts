import assert from 'node:assert/strict';
import { type GatewayProcess, startGatewayProcess } from '../gateway/start-gateway.ts';
import { lapse } from '../lapse.ts';
import type { Owner } from '../owner.ts';
import { type CountingUpstream, countingUpstream } from '../runs/counting-upstream.ts';
import { decideByArrival } from '../runs/decide-by-arrival.ts';
import { actionTask, queryTask, type RunCaller, runCaller, type SeenRun, type SeenTask } from '../runs/run-caller.ts';
import { type SeededRandom, seededRandom } from '../seeded-random.ts';
import { storeUrl, type TestStore } from '../stores/stores.ts';
import { until } from '../until.ts';

interface RunCrashRoundsOptions {
  readonly store: TestStore;
  readonly rounds: number;
  readonly seed: number;
  readonly report?: (line: string) => void;
}

interface RunCrashRoundsResult {
  readonly runs: number;
  readonly actions: number;
  /** Decisions of people about calls with an unknown outcome: that they happened, and that they did not. */
  readonly done: number;
  readonly again: number;
  /** Runs that ended because three gateways were killed at one of their tasks. */
  readonly endedByDeaths: number;
  /** Milliseconds from the last kill until no run was under way. */
  readonly takenUpAfter: number;
}

const runsARound = 8;
const actionsOfARun = 6;
const statusesAtRest = ['completed', 'suspended', 'faulted', 'cancelled'];

/** Six actions: three in a row, two at the same time, and one in a loop, with a query between them. */
const sixActions = [
  actionTask('one', '$workflow.input.run + "/1"'),
  queryTask('look'),
  actionTask('two', '$workflow.input.run + "/2"'),
  {
    both: {
      fork: { branches: [actionTask('three', '$workflow.input.run + "/3"'), actionTask('four', '$workflow.input.run + "/4"')] },
    },
  },
  {
    loop: {
      for: { each: 'number', in: '${ [5, 6] }' },
      do: [actionTask('turn', '$workflow.input.run + "/" + ($number | tostring)')],
    },
  },
];

/**
 * Starts runs and kills their gateway (SIGKILL) at a random moment, `rounds` times, and starts it again each time. At the end it decides the
 * calls with an unknown outcome by what the upstream saw. Every run then completes, and each action has arrived exactly once. A run at one of
 * whose tasks three gateways were killed ends with that reason; none of its actions has arrived twice. The same seed chooses the same moments.
 */
export async function runCrashRounds(owner: Owner, options: RunCrashRoundsOptions): Promise<RunCrashRoundsResult> {
  const { rounds, seed, report } = options;
  const random = seededRandom(seed);
  const far = await countingUpstream(owner);
  const delays = seededRandom(seed + 1);
  far.answerAfter(() => delays.whole(0, 60));
  const first = await startGatewayProcess(owner, {
    config: { store: { url: storeUrl(await options.store.fresh(owner)) } },
    adapters: [{ name: 'Far', kind: 'nso', url: far.url, concurrency: 16 }],
  });
  let gateway = first;
  const caller = runCaller(() => gateway, `Bearer ${await first.tokenFor('admin')}`);
  const work = new CrashWork(caller, far, await caller.automation('six', sixActions));
  for (let round = 1; round <= rounds; round += 1) {
    work.wanted.push(...Array.from({ length: runsARound }, (_, number) => `r${round}-${number}`));
    const killed = killAtRandom(gateway, far, random);
    await work.startAll().catch(ignoreDead(gateway));
    await work.decideAll().catch(ignoreDead(gateway));
    await killed;
    gateway = await gateway.restart();
    work.check();
    report?.(`round ${round}: ${far.arrivals.length} actions, ${work.decisions.done + work.decisions.again} decisions`);
  }
  const restarted = performance.now();
  await work.startAll();
  await allAre(caller, isQuiet);
  const takenUpAfter = Math.round(performance.now() - restarted);
  await work.finish();
  assert.equal(await gateway.stop(), 0);
  const { wanted, decisions, endedByDeaths } = work;
  return { runs: wanted.length, actions: far.arrivals.length, ...decisions, endedByDeaths, takenUpAfter };
}

/**
 * Kills the gateway some milliseconds after an action arrived, or after a while. On PostgreSQL, runs begin only when the lease of the gateway that
 * was killed before has ended: a kill before that meets nothing.
 */
async function killAtRandom(gateway: GatewayProcess, far: CountingUpstream, random: SeededRandom): Promise<void> {
  const before = far.arrivals.length;
  const goal = before + random.whole(1, runsARound * actionsOfARun);
  const [longest, later] = [random.whole(1_000, 8_000), random.whole(0, 25)];
  await until('an action of this round arrived', () => far.arrivals.length > before);
  const from = performance.now();
  while (far.arrivals.length < goal && performance.now() - from < longest) await lapse(2, 'actions may arrive');
  await lapse(later, 'the kill meets another moment');
  await gateway.stop('SIGKILL');
}

/** A request to a killed gateway fails; it is made again after the restart. */
function ignoreDead(gateway: GatewayProcess): (error: unknown) => Promise<void> {
  return async (error) => {
    if (error instanceof assert.AssertionError) throw error;
    await gateway.stop('SIGKILL');
  };
}

/** Waits until all runs have such a status; fails after a minute in which their number does not grow. */
async function allAre(
  caller: RunCaller,
  wanted: (status: string) => boolean,
  between = async (): Promise<void> => {},
): Promise<void> {
  let [most, since] = [-1, performance.now()];
  for (;;) {
    await between();
    await lapse(200, 'runs go on');
    const runs = await caller.list();
    const open = runs.filter(({ status }) => !wanted(status));
    if (open.length === 0) return;
    if (runs.length - open.length > most) [most, since] = [runs.length - open.length, performance.now()];
    assert.ok(performance.now() - since < 60_000, `these runs do not go on: ${JSON.stringify(open)}`);
  }
}

function isQuiet(status: string): boolean {
  return statusesAtRest.includes(status);
}

/** The runs of all rounds, and what is known of them. */
class CrashWork {
  readonly #caller: RunCaller;
  readonly #far: CountingUpstream;
  readonly #automation: string;
  /** Names of the runs that the test wants. */
  readonly wanted: string[] = [];
  /** Ids by name. */
  readonly #started = new Map<string, string>();
  readonly decisions = { done: 0, again: 0 };
  endedByDeaths = 0;

  constructor(caller: RunCaller, far: CountingUpstream, automation: string) {
    this.#caller = caller;
    this.#far = far;
    this.#automation = automation;
  }

  /** Starts what is not started. A start whose reply was lost has its key, so that there is one run of it. */
  async startAll(): Promise<void> {
    const missing = this.wanted.filter((name) => !this.#started.has(name));
    const starts = missing.map(async (name) => {
      const { id } = await this.#caller.start(this.#automation, { input: { run: name }, key: name });
      this.#started.set(name, id);
    });
    const failed = (await Promise.allSettled(starts)).find((start) => start.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** No action has arrived twice. */
  check(): void {
    for (const [action, times] of this.#far.arrived) assert.equal(times, 1, `${action} arrived ${times} times`);
  }

  /** Decides every call with an unknown outcome by what the upstream saw. */
  async decideAll(): Promise<void> {
    const suspended = (await this.#caller.list()).filter(({ status }) => status === 'suspended');
    const names = new Map([...this.#started].map(([name, id]) => [id, name]));
    for (const { id } of suspended) {
      const name = names.get(id) ?? '';
      const decided = { name, id, actionOf: (task: SeenTask) => actionOf(name, task) };
      for (const as of await decideByArrival(this.#caller, this.#far, decided)) this.decisions[as] += 1;
    }
  }

  /** Decides until every run has completed, and looks at each. */
  async finish(): Promise<void> {
    await allAre(
      this.#caller,
      (status) => status !== 'suspended' && isQuiet(status),
      () => this.decideAll(),
    );
    this.check();
    const runs = await this.#caller.list();
    assert.equal(runs.length, this.wanted.length, 'each start made one run');
    for (const name of this.wanted)
      await this.#prove(
        name,
        runs.find(({ id }) => id === this.#started.get(name)),
      );
  }

  async #prove(name: string, run: SeenRun | undefined): Promise<void> {
    assert.ok(run !== undefined, `${name} is not in the list`);
    const tasks = async (): Promise<string> => JSON.stringify(await this.#caller.tasks(run.id));
    // Three gateways were killed at one task of the run, which then ends with that reason.
    if (run.status === 'faulted' && run.error?.title === 'Gateways ended at this task') {
      this.endedByDeaths += 1;
      return;
    }
    assert.equal(run.status, 'completed', `${name}: ${JSON.stringify(run)} ${run.status === 'completed' ? '' : await tasks()}`);
    for (let number = 1; number <= actionsOfARun; number += 1)
      assert.equal(this.#far.arrived.get(`${name}/${number}`), 1, `${name}/${number} is missing: ${await tasks()}`);
  }
}

const numbers: Readonly<Record<string, number>> = { one: 1, two: 2, three: 3, four: 4 };

function actionOf(run: string, { name, iteration = 0 }: SeenTask): string {
  return `${run}/${name === 'turn' ? 5 + iteration : numbers[name]}`;
}
