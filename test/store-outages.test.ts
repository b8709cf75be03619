// suite: long
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { lapse } from './support/lapse.ts';
import type { Owner } from './support/owner.ts';
import { countingUpstream } from './support/runs/counting-upstream.ts';
import { actionTask, type RunCaller } from './support/runs/run-caller.ts';
import { adminAt, runGateway } from './support/runs/run-stage.ts';
import { noOwnPostgres, type OwnPostgres, ownPostgres } from './support/stores/own-postgres.ts';
import { until } from './support/until.ts';

// A store that is away for longer than a lease, under two gateways that go on living: decision 0032.

/** Milliseconds that the store is away: longer than a lease. */
const away = 13_000;
const runsOfEach = 12;
/** So few that both gateways get runs, and so many that each has room for some of the other. */
const tasks = 20;
const skip = noOwnPostgres;

/** Two gateways on one PostgreSQL, and an upstream that holds every action until it is released. */
async function stageOf(t: TestContext) {
  const postgres = await ownPostgres(t);
  const far = await countingUpstream(t);
  const held = far.hold(() => true);
  const gateways = [
    await runGateway(t, far, { url: postgres.url, name: 'one', tasks }),
    await runGateway(t, far, { url: postgres.url, name: 'two', tasks }),
  ] as const;
  const [first, second] = [await adminAt(gateways[0]), await adminAt(gateways[1])];
  const automation = await first.automation('acts', [actionTask('act', '.number'), actionTask('then', '.action + 1000')]);
  const begin = (caller: RunCaller, from: number, count: number): Promise<readonly string[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, at) => (await caller.start(automation, { input: { number: from + at } })).id),
    );
  return { postgres, far, held, gateways, first, second, begin };
}

/** What the store counts of the runs that have not ended. */
async function claims(url: string): Promise<{ readonly runs: number; readonly deaths: number; readonly fence: number }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ runs: number; deaths: number; fence: number }>(
    'select count(*)::int as runs, max(deaths)::int as deaths, max(fence)::int as fence from run_claim',
  );
  await client.end();
  return rows[0] ?? { runs: 0, deaths: 0, fence: 0 };
}

async function stopped(postgres: OwnPostgres): Promise<void> {
  await postgres.stop('fast');
  await lapse(away, 'the store is away');
  await postgres.start();
}

/** All its processes stand still, and no connection ends. */
async function paused(postgres: OwnPostgres, owner: Owner): Promise<void> {
  const { pid } = postgres;
  assert.ok(pid !== undefined);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  const all = [pid, ...children];
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => {
    for (const one of all) {
      try {
        process.kill(one, name);
      } catch {
        // A connection that ended.
      }
    }
  };
  owner.after(() => signal('SIGCONT'));
  signal('SIGSTOP');
  await lapse(away, 'the store is away');
  signal('SIGCONT');
}

for (const [name, outages] of [
  ['is stopped', [stopped]],
  ['hangs or is stopped three times within one task', [paused, stopped, paused]],
] as const) {
  test(`no gateway takes the runs of a living one after the store ${name}`, { skip }, async (t) => {
    const { postgres, far, held, first, second, begin } = await stageOf(t);
    const runs = [...(await begin(first, 0, runsOfEach)), ...(await begin(second, 100, runsOfEach))];
    await far.reaches(runs.length);
    const before = await claims(postgres.url);
    for (const outage of outages) {
      await outage(postgres, t);
      await lapse(12_000, 'no gateway takes a run over within a lease, nor later');
      assert.deepEqual(await claims(postgres.url), before);
    }
    assert.deepEqual(held.left, [], 'a gateway aborted a call in flight');
    held.release();
    for (const id of runs) assert.equal((await first.reaches(id, 'completed', 'faulted', 'suspended')).status, 'completed');
    assert.deepEqual([...new Set(far.arrived.values())], [1], 'an action arrived twice');
    assert.equal(far.arrived.size, 2 * runs.length);
  });
}

test('the late outcome of a gateway that stood still decides the task of a run that another one suspended', {
  skip,
}, async (t) => {
  const { far, held, gateways, first, second, begin } = await stageOf(t);
  const runs = await begin(first, 0, runsOfEach);
  await far.reaches(runs.length);
  const ofSecond = far.arrivals.filter(({ from }) => from === 'two').length;
  // The one that makes most of the calls.
  const isFirst = 2 * ofSecond < runs.length;
  const [standing, other] = [gateways[isFirst ? 0 : 1], isFirst ? second : first];
  const stuck = isFirst ? runs.length - ofSecond : ofSecond;
  const suspended = async (): Promise<number> => (await other.list()).filter(({ status }) => status === 'suspended').length;
  standing.kill('SIGSTOP');
  await until('its runs are suspended', async () => (await suspended()) === stuck);
  held.release();
  standing.kill('SIGCONT');
  for (const id of runs) assert.equal((await other.reaches(id, 'completed', 'faulted')).status, 'completed');
  assert.deepEqual([...new Set(far.arrived.values())], [1], 'an action arrived twice');
});
