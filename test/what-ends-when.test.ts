// suite: long

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { assertProblem, post } from './support/callers/calls.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, type configurationOf, hashOf, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { readStream } from './support/runs/read-stream.ts';
import { listening, peopleStage, stagePeople } from './support/runs/run-people-stage.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// The table of docs/guides/people-who-leave.md: each of its cells is a test.

const columns = ['login', 'token', 'stream', 'schedule', 'run', 'grant'] as const;
const rows = ['logout', 'expiry', 'removal', 'block', 'changed password'] as const;

type Column = (typeof columns)[number];
type Row = (typeof rows)[number];
type Cell = 'ends' | 'stays';

const page = readFileSync(new URL('../docs/guides/people-who-leave.md', import.meta.url), 'utf8');
const table = page
  .slice(page.indexOf('| what happens'))
  .split('\n\n', 1)
  .flatMap((text) => text.split('\n'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const [head = [], , ...body] = table;

function cellOf(row: Row, column: Column): string | undefined {
  return body.find(([name]) => name === row)?.[head.indexOf(column)];
}

test('the page has a row and a column for each of these tests, and no other', () => {
  assert.deepEqual(head, ['what happens', ...columns]);
  assert.deepEqual(
    body.map(([name]) => name),
    rows,
  );
});

const { bob, ...others } = stagePeople;
const approvals = [{ name: 'two', when: { routes: ['restRequest'] }, approvers: { roles: ['admin'] }, count: 2 }];

/** bob, an admin, has a token, a stream, a schedule, a run that waits, and a grant of an approval that needs another one. */
async function stage(t: TestContext, store: TestStore, row: Row) {
  const made = await peopleStage(t, store);
  const { gateway, send, start, automation } = made;
  const configured = (
    people: Parameters<typeof made.configured>[0],
    access: object = {},
  ): Parameters<typeof configurationOf>[0] => {
    const { config, ...rest } = made.configured(people);
    return { ...rest, config: { ...config, approvals, access: { tokenLifetime: row === 'expiry' ? '3s' : '1h', ...access } } };
  };
  await reloadWith(gateway, configured(stagePeople));
  await made.store('ann', 'waiting', '1.0.0', [listening, { after: { set: { a: 1 } } }]);
  await made.store('ann', 'ticking', '1.0.0', [{ only: { set: { a: 1 } } }]);
  const run = await start('bob', await automation('waiting'));
  await made.reaches(run.id, 'waiting');
  const data = { workflowId: 'lab.ticking' };
  const ticking = { name: 'ticking', repeatInterval: '1 second', nextRunAt: new Date(Date.now() + 500).toISOString(), data };
  assert.equal((await send('bob', 'POST', '/automation_catalog/automations', ticking)).status, 201);
  await until('the schedule begins a run', async () => (await newestOf(made)) > 0);
  const call = {
    params: { method: 'PATCH', path: 'thing', accept: 'application/json', contentType: 'application/json' },
    body: {},
  };
  const refused = await send('ann', 'POST', '/orchestrator_manager/restRequest/Far', call);
  const approval = assertProblem(refused, 403, 'approval-required').approval?.id ?? '';
  assert.equal((await send('bob', 'POST', `/approvals/${approval}/grant`, { reason: 'planned' })).status, 200);
  const login = await post(gateway, '/login', { username: 'bob', password: testPassword });
  assert.equal(login.status, 200, login.text);
  const bearer = `Bearer ${(login.json() as { readonly token: string }).token}`;
  const stream = await readStream(t, gateway, { as: bearer, target: '/events' });
  assert.equal(stream.response.statusCode, 200);
  return { ...made, configured, run, approval, bearer, stream };
}

type Stage = Awaited<ReturnType<typeof stage>>;

/** When the schedule began its newest run, in milliseconds since the epoch; 0: never. */
async function newestOf({ send }: Pick<Stage, 'send'>): Promise<number> {
  const { list } = (await send('ann', 'GET', '/runs?workflow=lab.ticking&limit=1')).json() as {
    readonly list: readonly { readonly createdAt: string }[];
  };
  return Date.parse(list[0]?.createdAt ?? '') || 0;
}

const happenings: Readonly<Record<Row, (stage: Stage) => Promise<unknown>>> = {
  logout: ({ gateway, bearer }) => gateway.send({ method: 'POST', target: '/logout', headers: { Authorization: bearer } }),
  expiry: ({ gateway, bearer }) =>
    until(
      'the token expires',
      async () => (await gateway.send({ target: '/whoami', headers: { Authorization: bearer } })).status === 401,
    ),
  removal: ({ gateway, configured }) => reloadWith(gateway, configured(others)),
  block: ({ gateway, configured }) => reloadWith(gateway, configured(stagePeople, { blocked: ['bob'] })),
  async 'changed password'({ gateway, configured }) {
    const changed = configured(others);
    await reloadWith(gateway, {
      ...changed,
      users: [...(changed?.users ?? []), { username: 'bob', passwordHash: hashOf('another'), ...bob }],
    });
  },
};

const observations: Readonly<Record<Column, (stage: Stage, since: number) => Promise<Cell>>> = {
  async login({ gateway }) {
    const { status } = await post(gateway, '/login', { username: 'bob', password: testPassword });
    const byBasic = await gateway.send({ target: '/whoami', headers: { Authorization: basic('bob', testPassword) } });
    assert.equal(status, byBasic.status);
    return status === 200 ? 'stays' : 'ends';
  },
  async token({ gateway, bearer }) {
    const { status } = await gateway.send({ target: '/whoami', headers: { Authorization: bearer } });
    return status === 200 ? 'stays' : 'ends';
  },
  async stream({ stream, goOn }) {
    const before = stream.events.length;
    await goOn('eve');
    await until('the stream tells of the event, or ends', () => stream.ended !== undefined || stream.events.length > before);
    if (stream.events.length > before) return 'stays';
    assert.equal(stream.ended, true, 'the stream ends whole');
    return 'ends';
  },
  async schedule(made, since) {
    const skipped = async (): Promise<boolean> => {
      const { text } = await made.send('ann', 'GET', '/audit?limit=200');
      return text.includes('"code":"person-gone"');
    };
    await until('the schedule begins a run, or skips it', async () => (await newestOf(made)) > since || (await skipped()));
    return (await skipped()) ? 'ends' : 'stays';
  },
  async run({ run, reaches }) {
    // It waited for the event that the stream tells of. Where it goes on, it has ended since.
    const { status, suspendedBy } = await reaches(run.id, 'suspended', 'completed');
    if (status === 'suspended') assert.equal(suspendedBy, 'person-gone');
    return status === 'suspended' ? 'ends' : 'stays';
  },
  async grant({ send, approval }) {
    const reply = await send('ann', 'GET', `/approvals/${approval}`);
    const { decisions } = reply.json() as {
      readonly decisions: readonly { readonly principal: string; readonly withdrawn?: object }[];
    };
    assert.equal(decisions[0]?.principal, 'bob', reply.text);
    return decisions[0].withdrawn === undefined ? 'stays' : 'ends';
  },
};

eachStore((store) => {
  for (const row of rows) {
    test(`after ${row}, all that a person has ends or stays as the page says`, { timeout: 120_000 }, async (t) => {
      const made = await stage(t, store, row);
      await happenings[row](made);
      const since = Date.now();
      // The stream comes before the run: the event for it lets the run end.
      for (const column of columns) {
        await t.test(`${column}: ${cellOf(row, column)}`, async () => {
          assert.equal(await observations[column](made, since), cellOf(row, column));
        });
      }
    });
  }

  if (store.dialect === 'sqlite') return;
  test('a logout at one gateway ends the stream of the token at another one, and no stream of another token', async (t) => {
    const url = storeUrl(await store.empty(t));
    const [one, other] = await Promise.all([
      startGateway(t, { config: { store: { url } } }),
      startGateway(t, { config: { store: { url } } }),
    ]);
    const open = async () => {
      const login = await post(one, '/login', { username: 'readonly-user', password: testPassword });
      const bearer = `Bearer ${(login.json() as { readonly token: string }).token}`;
      return { bearer, stream: await readStream(t, other, { as: bearer, target: '/events' }) };
    };
    const [first, second] = [await open(), await open()];
    await one.send({ method: 'POST', target: '/logout', headers: { Authorization: first.bearer } });
    await first.stream.end();
    assert.deepEqual([first.stream.ended, second.stream.ended], [true, undefined]);
  });
});
