// suite: long
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { command } from './support/gateway/command.ts';
import { childEnvironment, executable } from './support/gateway/gateway-process.ts';
import { type GatewayProcess, startGatewayProcess, testPassword } from './support/gateway/start-gateway.ts';
import { batchOf, listedRuns } from './support/runs/batch-stage.ts';
import { type CountingUpstream, countingUpstream } from './support/runs/counting-upstream.ts';
import { readStream } from './support/runs/read-stream.ts';
import { actionTask, type RunCaller, type SeenRun, type TaskDocument } from './support/runs/run-caller.ts';
import { adminAt } from './support/runs/run-stage.ts';
import { noOwnPostgres, type OwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { until } from './support/until.ts';

// An asynchronous failover of PostgreSQL: the new primary lacks the last commits. Decision 0044.

const twoActions = [
  { before: { wait: { seconds: 4 } } },
  actionTask('one', '$workflow.input.run + "/1"'),
  actionTask('two', '$workflow.input.run + "/2"'),
];

interface Stage {
  readonly postgres: OwnPostgres;
  readonly far: CountingUpstream;
  readonly gateways: readonly [GatewayProcess, GatewayProcess];
  readonly caller: RunCaller;
  readonly automation: string;
}

const approved = { name: 'approved', when: { paths: ['**/approved'] }, approvers: { groups: ['noc-leads'] } };

async function stageOf(t: TestContext, config: Readonly<Record<string, unknown>> = {}): Promise<Stage> {
  const [postgres, far] = await Promise.all([ownPostgres(t), countingUpstream(t)]);
  const begin = (name: string): Promise<GatewayProcess> =>
    startGatewayProcess(t, {
      config: { store: { url: postgres.url }, audit: { checkpointFile: './checkpoints' }, approvals: [approved], ...config },
      adapters: [{ name: 'Far', kind: 'rest', url: `${far.url}/${name}`, concurrency: 64 }],
    });
  const gateways = [await begin('a'), await begin('b')] as const;
  const caller = await adminAt(gateways[0]);
  return { postgres, far, gateways, caller, automation: await caller.automation('two', twoActions) };
}

/** Starts runs, and resolves with them once their first actions have arrived, all of which the store then loses. */
async function lostActions(stage: Stage, names: readonly string[]): Promise<readonly SeenRun[]> {
  const { postgres, far, caller, automation } = stage;
  const runs = await Promise.all(names.map((run) => caller.start(automation, { input: { run } })));
  postgres.keep();
  await callThroughEach(stage);
  await far.reaches(stage.gateways.length + names.length);
  return runs;
}

/** One action of a person through each gateway: a gateway notices a loss only where records of its own are missing. */
async function callThroughEach({ gateways }: Stage): Promise<void> {
  for (const [index, gateway] of gateways.entries()) {
    const reply = await gateway.send(actionOf('/act', `by hand/${index}`));
    assert.equal(reply.status, 200, reply.text);
  }
}

function actionOf(path: string, action: string): Parameters<GatewayProcess['send']>[0] {
  return {
    role: 'admin',
    method: 'POST',
    target: '/orchestrator_manager/restAction/Far',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ params: { path, accept: 'application/json' }, body: { action } }),
  };
}

async function storeLoss(gateway: GatewayProcess): Promise<{ readonly at: string; readonly records: number } | undefined> {
  const ready = await gateway.send({ target: '/readyz' });
  if (ready.status !== 200) return undefined;
  return (ready.json() as { readonly store: { readonly lost?: { readonly at: string; readonly records: number } } }).store.lost;
}

function release(gateway: GatewayProcess, role: 'admin' | 'engineering' = 'admin'): Promise<Reply> {
  const body = JSON.stringify({ reason: 'The devices were looked at.' });
  return gateway.send({ method: 'POST', target: '/runs/release', role, headers: { 'content-type': 'application/json' }, body });
}

/** Resumes what waits for a decision, by what the upstream saw, until every run has ended. Answers how many decisions. */
async function decideAll({ far, caller }: Stage, runs: readonly SeenRun[], names: readonly string[]): Promise<number> {
  let decisions = 0;
  await until('every run has ended', async () => {
    const seen = await Promise.all(runs.map(({ id }) => caller.read(id)));
    for (const [index, { id, status, suspendedBy }] of seen.entries()) {
      if (status !== 'suspended' || suspendedBy !== 'unknown-outcome') continue;
      const task = (await caller.tasks(id)).find((one) => one.status === 'suspended' && one.name !== 'before');
      if (task === undefined) continue;
      const action = `${names[index]}/${task.name === 'one' ? 1 : 2}`;
      const as = far.arrived.has(action) ? 'done' : 'again';
      if ((await caller.change(id, 'decide', { task: task.id, as, reason: 'The upstream was asked.' })).status === 200)
        decisions += 1;
    }
    return seen.every(({ status }) => status === 'completed');
  });
  return decisions;
}

function assertOnce({ far }: Stage, names: readonly string[]): void {
  assert.deepEqual(
    Object.fromEntries(names.flatMap((run) => [1, 2].map((number) => [`${run}/${number}`, far.arrived.get(`${run}/${number}`)]))),
    Object.fromEntries(names.flatMap((run) => [1, 2].map((number) => [`${run}/${number}`, 1]))),
  );
}

async function verified(
  { directory, configFile }: GatewayProcess,
  ...more: readonly string[]
): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  const args = [executable, 'audit', 'verify', configFile, ...more];
  const options = { cwd: directory, env: childEnvironment() };
  return await promisify(execFile)(process.execPath, args, options).then(
    (output) => ({ code: 0, ...output }),
    (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error,
  );
}

test('living gateways tell of a loss and hold runs, and no action of a run leaves twice', { skip: noOwnPostgres }, async (t) => {
  const stage = await stageOf(t);
  const { postgres, gateways, caller, far } = stage;
  const names = ['r1', 'r2', 'r3', 'r4'];
  const as = gateways[1].basicFor('admin');
  const stream = await readStream(t, { port: Number(new URL(gateways[1].url).port) }, { as, target: '/events' });
  const runs = await lostActions(stage, names);
  await postgres.goBack();
  await until('each gateway tells of the loss', async () => {
    const told = await Promise.all(gateways.map(storeLoss));
    return told.every((one) => (one?.records ?? 0) > 0);
  });
  for (const { id } of runs) {
    const run = await caller.reaches(id, 'suspended');
    assert.equal(run.suspendedBy, 'store-loss');
  }
  assert.ok(
    gateways.some(({ stderr, stdout }) => [...stderr, ...stdout].some((line) => line.includes('the store lost commits'))),
  );
  const metrics = await Promise.all(gateways.map((one) => one.send({ target: '/metrics', role: 'admin' })));
  assert.ok(metrics.some(({ text }) => /^gateway_store_lost_records_total [1-9]/mu.test(text)));
  const { list } = (await gateways[1].send({ target: '/audit?limit=1000', role: 'admin' })).json() as {
    readonly list: readonly { readonly event: string; readonly lost?: object }[];
  };
  assert.ok(list.some(({ event, lost }) => event === 'lost' && lost !== undefined));
  // What waits for the release does not go on by a resumption of one run.
  assert.equal((await caller.change(runs[0]?.id ?? '', 'resume', {})).status, 200);
  assert.equal((await caller.reaches(runs[0]?.id ?? '', 'suspended')).suspendedBy, 'store-loss');

  assert.equal((await release(gateways[0], 'engineering')).status, 403);
  const released = await release(gateways[1]);
  assert.deepEqual([released.status, released.json()], [200, { released: names.length }]);
  const decisions = await decideAll(stage, runs, names);
  assertOnce(stage, names);
  t.diagnostic(`${far.arrivals.length} actions arrived; ${decisions} decisions`);
  await until('the loss is released', async () => (await storeLoss(gateways[0])) === undefined);
  assert.deepEqual((await release(gateways[1])).json(), { released: 0 });
  // Its numbers went back with the store.
  await until('the stream goes on behind the loss', () => {
    const types = stream.events.map(({ type }) => type);
    const completed = types.filter((type) => type === 'io.serverlessworkflow.workflow.completed.v1');
    return types.includes('orchestration-gateway.store.lost.v1') && completed.length >= names.length;
  });

  const log = await verified(gateways[0]);
  assert.equal(log.code, 0, log.stderr);
  assert.match(log.stdout, /^the store lost \S+\/\d+ to /u);
  for (const gateway of gateways) {
    const witnessed = await verified(gateway, '--checkpoints', join(gateway.directory, 'checkpoints'));
    assert.equal(witnessed.code, 0, witnessed.stdout);
  }
});

test('after a loss with the gateway that made the calls, people decide, and no action of a run leaves twice', {
  skip: noOwnPostgres,
}, async (t) => {
  const stage = await stageOf(t, { automations: { afterLoss: 'continue' } });
  const { postgres, gateways, far } = stage;
  const names = ['r1', 'r2', 'r3', 'r4'];
  const runs = await lostActions(stage, names);
  await gateways[0].stop('SIGKILL');
  await postgres.goBack();
  const again = await gateways[0].restart();
  const caller = await adminAt(again);
  // The checkpoint of the start is older than the loss. So the gateway that lives tells of it.
  await until('the other gateway tells of the loss', async () => (await storeLoss(gateways[1])) !== undefined);
  const decisions = await decideAll({ ...stage, caller }, runs, names);
  assertOnce(stage, names);
  t.diagnostic(`${far.arrivals.length} actions arrived; ${decisions} decisions`);
  assert.equal((await verified(again)).code, 0);
});

test('after a loss, what people say of one branch of a `fork` lets no call of another one leave twice', {
  skip: noOwnPostgres,
}, async (t) => {
  const stage = await stageOf(t, { automations: { afterLoss: 'continue' } });
  const { postgres, gateways, far } = stage;
  // Longer than the copy of the data takes, on a busy machine too.
  const before = { before: { wait: { seconds: 10 } } };
  const action = (name: string, number: number): TaskDocument => actionTask(name, `$workflow.input.run + "/${number}"`);
  const tried = { try: [action('three', 3)], catch: { as: 'e', do: [{ goOn: { set: { a: 1 } } }] } };
  const branches = [{ first: { do: [before, action('one', 1), action('two', 2)] } }, { second: { do: [before, { tried }] } }];
  const automation = await stage.caller.automation('branches', [{ both: { fork: { branches } } }]);
  const run = await stage.caller.start(automation, { input: { run: 'r1' } });
  postgres.keep();
  await callThroughEach(stage);
  await far.reaches(gateways.length + 3);
  // Either gateway may have the run after its wait.
  const maker = gateways[far.arrivals.find(({ action: made }) => made === 'r1/1')?.from === 'a' ? 0 : 1];
  await maker.stop('SIGKILL');
  await postgres.goBack();
  const caller = await adminAt(await maker.restart());
  const undecided = async (name: string): Promise<string> =>
    await until(`people are asked about ${name}`, async () => {
      const tasks = await caller.tasks(run.id);
      return tasks.find((one) => one.name === name && one.status === 'suspended')?.id;
    });
  const decide = async (name: string, as: string): Promise<unknown> =>
    await caller.change(run.id, 'decide', { task: await undecided(name), as, reason: 'As the upstream says.' });
  await undecided('three');
  await decide('one', 'done');
  await decide('three', 'failed');
  // It comes behind `one`, which happened.
  await decide('two', 'done');
  await caller.reaches(run.id, 'completed');
  assertOnce(stage, ['r1']);
});

test('a gateway records the lost outcome of a call again whose intent the store has', { skip: noOwnPostgres }, async (t) => {
  const stage = await stageOf(t, { automations: { afterLoss: 'continue' } });
  const { postgres, gateways, caller, far, automation } = stage;
  const held = far.hold((action) => action.endsWith('/1'));
  const run = await caller.start(automation, { input: { run: 'r1' } });
  await far.reaches(1);
  postgres.keep();
  held.release();
  await far.reaches(2);
  await postgres.goBack();
  await until('a gateway tells of the loss', async () => (await storeLoss(gateways[0])) !== undefined);
  // No one has to decide about either action: the gateway that made the calls knows how they ended.
  await caller.reaches(run.id, 'completed');
  assertOnce(stage, ['r1']);
});

test('a loss ends approvals, and a reload with `afterLoss: continue` lets runs go on', { skip: noOwnPostgres }, async (t) => {
  const stage = await stageOf(t);
  const { postgres, gateways, caller } = stage;
  const [gateway] = gateways;
  const refused = await gateway.send(actionOf('/approved', 'asked'));
  const { approval } = assertProblem(refused, 403, 'approval-required');
  const runs = await lostActions(stage, ['r1']);
  await postgres.goBack();
  for (const { id } of runs) assert.equal((await caller.reaches(id, 'suspended')).suspendedBy, 'store-loss');
  const seen = await gateway.send({ role: 'admin', target: approval?.href ?? '' });
  assert.equal((seen.json() as { readonly status: string }).status, 'expired', seen.text);

  const config = JSON.parse(readFileSync(gateway.configFile, 'utf8')) as object;
  writeFileSync(gateway.configFile, JSON.stringify({ ...config, automations: { afterLoss: 'continue' } }));
  gateway.kill('SIGHUP');
  await decideAll(stage, runs, ['r1']);
  assertOnce(stage, ['r1']);
});

test('a gateway that starts finds a loss by its checkpoints, and the command line lets runs go on', {
  skip: noOwnPostgres,
}, async (t) => {
  const stage = await stageOf(t);
  const { postgres, gateways } = stage;
  const runs = await lostActions(stage, ['r1']);
  // The last checkpoint of a gateway is of its end.
  for (const gateway of gateways) await gateway.stop();
  await postgres.goBack();
  const again = await gateways[0].restart();
  const caller = await adminAt(again);
  await until('the gateway tells of the loss', async () => ((await storeLoss(again))?.records ?? 0) > 0);
  for (const { id } of runs) assert.equal((await caller.reaches(id, 'suspended')).suspendedBy, 'store-loss');

  const environment = { GATEWAY_URL: again.url, GATEWAY_USER: 'admin-user', GATEWAY_PASSWORD: testPassword };
  const { code, stdout, stderr } = await command(['runs', 'release', '--reason', 'The devices were looked at.'], { environment });
  assert.deepEqual([code, stdout], [0, '1\n'], stderr);
  await decideAll({ ...stage, caller }, runs, ['r1']);
  assertOnce(stage, ['r1']);
});

test('a batch that lost its last commits is held with its items, and each action leaves once', {
  skip: noOwnPostgres,
}, async (t) => {
  const stage = await stageOf(t);
  const { postgres, gateways, far } = stage;
  const items = 4;
  const act = actionTask('act', '"item/" + ($workflow.input.index | tostring)');
  await stage.caller.store('item', [{ before: { wait: { seconds: 10 } } }, act]);
  const all = batchOf(`\${ [range(${items})] }`, { parallel: items });
  const { id } = await stage.caller.start(await stage.caller.automation('batch', [{ all }]));
  const waiting = () => listedRuns(gateways[1], `parent=${id}&status=waiting`);
  await until('each item waits', async () => (await waiting()).length === items);
  postgres.keep();
  await callThroughEach(stage);
  await far.reaches(gateways.length + items);
  // A gateway that lives knows how its calls ended.
  const isFirst = far.arrivals.some(({ action, from }) => action.startsWith('item/') && from === 'a');
  const [dead, alive] = isFirst ? gateways : gateways.toReversed();
  assert.ok(dead && alive);
  await dead.stop('SIGKILL');
  await postgres.goBack();
  const caller = await adminAt(alive);
  const read = async () => (await caller.read(id)) as SeenRun & { readonly items?: { readonly unknown: number } };
  await until('the batch is held', async () => (await read()).suspendedBy === 'store-loss');
  const held = await until('each item is held', async () => {
    const list = await listedRuns(alive, `parent=${id}`);
    return list.every(({ suspendedBy }) => suspendedBy === 'store-loss') && list.length;
  });
  assert.deepEqual([held, (await release(alive)).json()], [items, { released: items + 1 }]);
  let decided = 0;
  await until('the batch has ended', async () => {
    const { status, items: counts } = await read();
    const expected = counts?.unknown ?? 0;
    const decision = { items: 'unknown', expected, as: 'done', reason: 'The upstream was asked.' };
    if (expected > 0 && (await caller.change(id, 'decide', decision)).status === 200) decided += expected;
    return status === 'completed';
  });
  assert.ok(decided > 0);
  for (let index = 0; index < items; index += 1) assert.equal(far.arrived.get(`item/${index}`), 1, `item ${index}`);
});
