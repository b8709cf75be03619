// suite: long
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  actionOf,
  actionsOf,
  FailoverLoad,
  isLong,
  loadApprovals,
  loadUsers,
  longRuns,
  threeActions,
} from './support/failover/failover-load.ts';
import { type Mode, noPatroni, type PatroniCluster, patroniCluster } from './support/failover/patroni-cluster.ts';
import type { PatroniNode } from './support/failover/patroni-node.ts';
import { command } from './support/gateway/command.ts';
import { type GatewayProcess, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { type CountingUpstream, countingUpstream } from './support/runs/counting-upstream.ts';
import { decideByArrival } from './support/runs/decide-by-arrival.ts';
import { type RunCaller, runCaller, type SeenRun } from './support/runs/run-caller.ts';
import { until } from './support/until.ts';

// Two gateways on a PostgreSQL of Patroni that fails over, as docs/guides/scaling.md configures it, but with shorter times.

interface Round {
  readonly name: string;
  /** Answers what brings the former leader back. */
  readonly fail: (cluster: PatroniCluster, leader: PatroniNode) => Promise<() => void>;
}

const switchover: Round = {
  name: 'switchover',
  async fail(cluster) {
    await cluster.switchover();
    return () => {};
  },
};

const killed: Round = {
  name: 'leader killed',
  async fail(_cluster, leader) {
    await leader.kill();
    return () => leader.start();
  },
};

const killedBehind: Round = {
  name: 'leader killed, its standby 3 s behind',
  async fail(_cluster, leader) {
    await leader.stopSending();
    await lapse(3_000, 'the leader commits what its standby never gets');
    await leader.kill();
    return () => leader.start();
  },
};

const paused: Round = {
  name: 'leader paused',
  async fail(_cluster, leader) {
    leader.pause();
    return () => leader.resume();
  },
};

/** Two gateways on one store, an upstream, and a caller who starts runs. */
interface Stage {
  readonly far: CountingUpstream;
  readonly gateways: readonly [GatewayProcess, GatewayProcess];
  readonly caller: RunCaller;
  readonly automation: string;
}

/** What a round shows. */
interface Seen {
  readonly load: FailoverLoad;
  readonly runs: readonly SeenRun[];
  readonly twice: readonly string[];
  /** Acknowledged actions without a record of their outcome, and acknowledged runs that the store does not have. */
  readonly lost: readonly string[];
  readonly suspended: readonly SeenRun[];
  /** The long actions whose gateway ended the connection. */
  readonly aborted: readonly string[];
}

async function stageOn(t: TestContext, url: string): Promise<Stage> {
  const far = await countingUpstream(t);
  let calls = 0;
  far.answerAfter(() => (calls++ * 37) % 300);
  const start = (number: number): Promise<GatewayProcess> =>
    startGatewayProcess(t, {
      config: { store: { url }, approvals: loadApprovals },
      users: loadUsers,
      adapters: [
        { name: 'Far', kind: 'rest', url: `${far.url}/${number}`, concurrency: 64, timeouts: { firstByte: '90s', total: '90s' } },
      ],
    });
  const gateways = await Promise.all([start(1), start(2)]);
  const [first] = gateways;
  const caller = runCaller(() => first, first.basicFor('admin'));
  return { far, gateways, caller, automation: await caller.automation('three', threeActions) };
}

/** Lets PostgreSQL fail over under load, and waits until the cluster is whole and every run is at rest. */
async function play(t: TestContext, cluster: PatroniCluster, stage: Stage, mode: Mode, round: Round): Promise<Seen> {
  const { far, gateways, automation } = stage;
  const arrivedBefore = far.arrivals.length;
  const load = new FailoverLoad(gateways, automation, `${mode} ${round.name}`);
  t.after(() => load.stop());
  const held = far.hold(isLong);
  await load.answers(20);
  await until(`${longRuns} runs are in a long action`, () => held.actions.length === longRuns);
  const former = await cluster.leader();
  const heal = await round.fail(cluster, former);
  await cluster.follows(former);
  await load.answers(20);
  held.release();
  heal();
  await cluster.becomes(mode);
  await load.answers(20);
  await load.stop();
  const seen = await settled(stage, load);
  const { twice, lost, suspended } = seen;
  const reasons = new Set(suspended.map(({ suspendedBy }) => suspendedBy));
  const [gap, slowest] = [load.longestGap, load.slowest].map((time) => (time / 1_000).toFixed(1));
  t.diagnostic(
    `${mode}, ${round.name}: ${gap} s without an answered change, slowest reply ${slowest} s; ` +
      `${far.arrivals.length - arrivedBefore} arrivals, ${twice.length} twice, ${lost.length} lost; ` +
      `${load.runs.size} runs, ${suspended.length} suspended${suspended.length > 0 ? ` (${[...reasons].join(', ')})` : ''}; ` +
      `other replies: ${load.told() || 'none'}`,
  );
  return { ...seen, aborted: held.left };
}

async function settled({ far, gateways, caller }: Stage, load: FailoverLoad): Promise<Omit<Seen, 'aborted'>> {
  const runs = await runsWhere(caller, 'every run is at rest', ({ status }) => atRest.has(status));
  const known = new Set(runs.map(({ id }) => id));
  const recorded = await until('the audit log has every outcome', () => outcomesOf(gateways));
  const twice = [...far.arrived].filter(([, times]) => times > 1).map(([action]) => action);
  const lost = [
    ...[...load.acknowledged].filter(([, requestId]) => !recorded.has(requestId)).map(([action]) => action),
    ...[...load.runs].filter(([, id]) => !known.has(id)).map(([name]) => name),
  ];
  return { load, twice, lost, runs, suspended: runs.filter(({ status }) => status === 'suspended') };
}

/** The request ids of the calls whose outcome the audit log has. */
async function outcomesOf([gateway]: Stage['gateways']): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for (let cursor = ''; ; ) {
    const reply = await gateway.send({ role: 'admin', target: `/audit?limit=1000&outcome=ok${cursor}` });
    assert.equal(reply.status, 200, reply.text);
    const page = reply.json() as { readonly list: readonly { readonly requestId: string }[]; readonly cursor?: string };
    for (const { requestId } of page.list) ids.add(requestId);
    if (page.cursor === undefined) return ids;
    cursor = `&cursor=${encodeURIComponent(page.cursor)}`;
  }
}

/** `audit verify` finds nothing, or nothing but a loss. */
async function verified({ gateways: [gateway] }: Stage): Promise<void> {
  const { code, stdout, stderr } = await command(['audit', 'verify', '--config', gateway.configFile]);
  assert.equal(code, 0, `${stdout}${stderr}`);
}

test('in synchronous and in asynchronous mode no failover makes an action of a run leave twice', {
  skip: noPatroni,
}, async (t) => {
  const cluster = await patroniCluster(t);
  await t.test('in synchronous mode nothing leaves twice, nothing is lost, and no run is suspended', async (mode) => {
    await cluster.becomes('synchronous');
    const stage = await stageOn(mode, await cluster.database('synchronous'));
    for (const round of [switchover, killed, paused]) {
      const { load, twice, lost, runs, aborted } = await play(mode, cluster, stage, 'synchronous', round);
      const others = runs.filter(({ status }) => status !== 'completed');
      const { contradictions } = load;
      const none = { twice: [], lost: [], aborted: [], others: [], contradictions: [] };
      assert.deepEqual({ twice, lost, aborted, others, contradictions }, none);
      const missing = [...load.runs.keys()].flatMap(actionsOf).filter((action) => !stage.far.arrived.has(action));
      assert.deepEqual(missing, []);
    }
    await verified(stage);
  });
  await t.test('in asynchronous mode the gateways tell a loss, and no action of a run leaves twice', async (mode) => {
    await cluster.becomes('asynchronous');
    const stage = await stageOn(mode, await cluster.database('asynchronous'));
    for (const round of [switchover, killedBehind, paused]) {
      const { load, lost, suspended } = await play(mode, cluster, stage, 'asynchronous', round);
      if (round === killedBehind) assert.ok(lost.length > 0, 'the standby was not behind');
      // Each other failover may lose the commits of a moment.
      const isHeld = suspended.some(({ suspendedBy }) => suspendedBy === 'store-loss');
      if (round === killedBehind || isHeld) await released(stage);
      await decided(stage, load);
      const twice = [...stage.far.arrived].filter(([action, times]) => action.includes(' run ') && times > 1);
      assert.deepEqual(twice, []);
    }
    await verified(stage);
  });
});

/** Each gateway tells the loss; an operator then lets the runs go on. */
async function released({ gateways }: Stage): Promise<void> {
  for (const gateway of gateways) {
    const { status, text } = await gateway.send({ target: '/readyz' });
    const { store } = JSON.parse(text) as { readonly store?: { readonly lost?: { readonly records: number } } };
    assert.equal(status, 200, text);
    assert.ok((store?.lost?.records ?? 0) > 0, `a gateway does not tell the loss: ${text}`);
  }
  const reply = await gateways[0].send({
    method: 'POST',
    target: '/runs/release',
    role: 'admin',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ reason: 'The upstream is what it was.' }),
  });
  assert.equal(reply.status, 200, reply.text);
}

/** Decides about each call with an unknown outcome by what arrived, until every run has completed. */
async function decided({ far, caller }: Stage, load: FailoverLoad): Promise<void> {
  const names = new Map([...load.runs].map(([name, id]) => [id, name]));
  await runsWhere(caller, 'every run has completed', async ({ id, status, suspendedBy, input }) => {
    if (suspendedBy === 'unknown-outcome') {
      const name = names.get(id) ?? (input as { readonly run: string }).run;
      await decideByArrival(caller, far, { name, id, actionOf: (task) => actionOf(name, task) });
    }
    return status === 'completed';
  });
}

const atRest: ReadonlySet<string> = new Set(['completed', 'suspended', 'faulted']);

/** Waits until this holds for all runs, and answers them. Where it is in vain, it prints the others. */
async function runsWhere(
  caller: RunCaller,
  what: string,
  holds: (run: SeenRun) => boolean | Promise<boolean>,
): Promise<readonly SeenRun[]> {
  let runs: readonly SeenRun[] = [];
  let others: readonly SeenRun[] = [];
  const all = async (): Promise<boolean> => {
    runs = await caller.list();
    const held = await Promise.all(runs.map(async (run) => holds(run)));
    others = runs.filter((_, index) => held[index] === false);
    return others.length === 0;
  };
  await until(what, all).catch(async (error: unknown) => {
    for (const run of others) console.error(JSON.stringify(run), JSON.stringify(await caller.tasks(run.id)));
    throw error;
  });
  return runs;
}
