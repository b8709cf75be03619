import type { Owner } from '../test/support/owner.ts';
import { noOwnPostgres, ownPostgres } from '../test/support/stores/own-postgres.ts';
import { median, quantile } from './figures.ts';
import { mebibytes } from './process-tree.ts';
import { firstCalls, takeover } from './runs/first-call.ts';
import { gatewaySide } from './runs/gateway-side.ts';
import { jobNames } from './runs/jobs.ts';
import { loopMemory } from './runs/loop.ts';
import { peerSide, peers } from './runs/peer-side.ts';
import { restateModule, restateSide } from './runs/restate-side.ts';
import { creators, type Side, tasks } from './runs/side.ts';
import type { OwnServer, StoreUse } from './runs/stored-runs.ts';
import { inTurns, type SideFigures } from './runs/turns.ts';
import { type TimedUpstream, timedUpstream } from './runs/upstream.ts';
import { callsBesideRuns } from './runs/with-calls.ts';
import { type Surroundings, startSurroundings } from './speed/answering-upstream.ts';
import { missingModules, versionOf } from './speed/node-rivals.ts';
import { owning } from './speed/owning.ts';
import { table } from './speed/report.ts';
import type { Section, SectionOptions } from './speed/section.ts';

type Store = 'sqlite' | 'postgres';

const titles = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;

/** Single runs whose first call is timed. */
const singleRuns = 20;

/** What runs cost, compared with other engines on the same kind of store, in turns. */
export async function runs(owner: Owner, options: SectionOptions): Promise<Section> {
  const problem = missingModules();
  const stores: readonly Store[] = noOwnPostgres === false ? ['sqlite', 'postgres'] : ['sqlite'];
  const texts: string[] = [about(options)];
  if (problem !== undefined) texts.push(`Other engines are not measured: ${problem}.`);
  if (noOwnPostgres !== false) texts.push(`PostgreSQL is not measured: ${noOwnPostgres}.`);
  for (const store of stores)
    texts.push(
      `### ${titles[store]}`,
      await owning((inner) => measureStore(inner, store, { ...options, peers: problem === undefined })),
    );
  const { upstream } = await startSurroundings(owner);
  texts.push('### A loop of 10,000 queries', await owning((inner) => loopMemory(inner)));
  texts.push('### Relayed calls next to runs', await owning((inner) => callsBesideRuns(inner, { ...options, upstream })));
  return { title: 'Runs', text: texts.join('\n\n') };
}

function about({ runs: count, rounds }: SectionOptions): string {
  const others = [...peers, { name: 'Restate', module: restateModule }];
  const versions = others.map(({ name, module }) => `${name} ${versionOf(module) ?? '(not installed)'}`).join(', ');
  return [
    `A run has three steps. \`values\`: each computes a value from the one before. In the gateway this is a \`set\` task with a jq expression, in the other engines a function of JavaScript. \`reads\`: each is a GET to an upstream; in the gateway \`call: http\`, in the others \`fetch\`. \`changes\`: the same with a POST.`,
    `A measurement creates ${count} runs, ${creators} at a time, and ends when the store has the end of the last one. Both count. The gateway gets each over HTTP, and does what it always does: token, role, automation, input, audit log, log, events, timeline. A POST is in its audit log before it leaves, so that it never happens twice. The other engines (${versions}) create runs by a function call in their own process. Restate is asked over HTTP, without a token. They check and record none of this. All of them repeat a step that was in flight at a crash.`,
    `All do up to ${tasks} runs at once; pg-boss takes batches of ${tasks} jobs of each step. Each has a process of its own and a store of its own of the same kind. Restate has its own server with a store of its own, and is the same next to both stores. Figures are medians of ${rounds} rounds after one that does not count; ratios are the gateway to the other engine, within one round. The ratio of processor time is with the server (PostgreSQL, or that of Restate).`,
  ].join('\n\n');
}

interface StoreOptions extends SectionOptions {
  /** Whether the other engines are installed. */
  readonly peers: boolean;
}

async function measureStore(owner: Owner, store: Store, options: StoreOptions): Promise<string> {
  const surroundings = await startSurroundings(owner);
  const far = await timedUpstream(owner);
  const server = async (): Promise<OwnServer | undefined> => {
    if (store === 'sqlite') return undefined;
    const { url, pid = 0 } = await ownPostgres(owner);
    return { url, pid };
  };
  const sides: Side[] = [await gatewaySide(owner, { server: await server(), far: [surroundings.upstream, far.url] })];
  for (const peer of options.peers ? peers : [])
    if (peer.stores.includes(store)) sides.push(await peerSide(owner, peer, { server: await server() }));
  if (options.peers) sides.push(await restateSide(owner));
  return [await costTables(sides, surroundings, options), await timesTable(sides, far)].join('\n\n');
}

async function costTables(
  sides: readonly Side[],
  surroundings: Surroundings,
  { rounds, runs: count }: SectionOptions,
): Promise<string> {
  const rows: string[][] = [];
  const uses: string[][] = [];
  const verdicts: string[] = [];
  for (const job of jobNames) {
    const figures = await inTurns(sides, surroundings, { job, rounds, runs: count });
    for (const one of figures) rows.push([job, ...rowOf(one)]);
    for (const { name, use } of figures) if (use !== undefined) uses.push([job, name, ...useOf(use)]);
    for (const one of figures.slice(1)) verdicts.push(`\`${job}\`, ${one.name}: ${verdictOf(one)}.`);
  }
  const head = [
    'run',
    'engine',
    'runs/s',
    'processor time a run, µs',
    'of its server, µs',
    'ratio of runs/s',
    'ratio of processor time',
  ];
  return [
    table(head, rows),
    `Mark: at least the runs/s and at most the processor time of each other engine. ${verdicts.join(' ')}`,
    table(['run', 'engine', 'kB stored a run', 'transactions a run', 'kB of write-ahead log a run'], uses),
    'What a run leaves in the store, with its indexes and without vacuum, over all rounds. The store of Restate cannot be asked.',
  ].join('\n\n');
}

function rowOf({ name, runsASecond, cost, serverCost, throughputRatio, costRatio }: SideFigures): string[] {
  const figures = [runsASecond, cost, serverCost].map((figure) => figure.toFixed(0));
  return [name, ...figures, throughputRatio.toFixed(2), costRatio.toFixed(2)];
}

function useOf({ bytes, transactions = Number.NaN, wal = Number.NaN }: StoreUse): string[] {
  return [bytes / 1000, transactions, wal / 1000].map((figure) => (Number.isNaN(figure) ? '' : figure.toFixed(1)));
}

function verdictOf({ throughputRatio, costRatio }: SideFigures): string {
  const missed = [...(throughputRatio >= 1 ? [] : ['runs/s']), ...(costRatio <= 1 ? [] : ['processor time'])];
  return missed.length === 0 ? '**reached**' : `**missed** (${missed.join(', ')})`;
}

async function timesTable(sides: readonly Side[], far: TimedUpstream): Promise<string> {
  const rows: string[][] = [];
  for (const side of sides) {
    const processes = [side.pid, ...(side.hasOwnServer && side.serverPid !== undefined ? [side.serverPid] : [])];
    const memory = processes.map((pid) => mebibytes(pid, 'VmHWM').toFixed(0)).join(' + ');
    const times = await firstCalls(side, far, singleRuns);
    process.stderr.write(`${side.name}: first calls\n`);
    const taken = await takeover(side, far);
    const after = Number.isNaN(taken) ? 'none in 120 s' : (taken / 1000).toFixed(1);
    rows.push([side.name, median(times).toFixed(0), quantile(times, 0.95).toFixed(0), after, memory]);
  }
  return [
    table(['engine', 'first call, ms: median', '95 in 100', 'takeover after SIGKILL, s', 'greatest memory, MiB'], rows),
    `First call: from the asking for a run, with nothing else to do, until its first request is at the upstream; ${singleRuns} runs. Takeover: a process with a call in flight is killed and another one started at once; until the upstream has the call again. The lease of the gateway is 10 s; on SQLite its next start frees it. That of OpenWorkflow is 30 s, and cannot be changed. The heartbeat of pg-boss is 10 s with a look each second, the shortest that it takes. DBOS goes on at its next start. The server of Restate calls again until it is answered.`,
  ].join('\n\n');
}
