import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { callersOf, peopleStage, stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { secretConfig } from './support/runs/sealed-secret.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// GET /automation_catalog/automations/:id/history, and the last runs of a listing.

const automations = '/automation_catalog/automations';

interface Entry {
  readonly at: string;
  readonly principal: string;
  readonly change: string;
  readonly document: Readonly<Record<string, unknown>> & { readonly data?: Readonly<Record<string, unknown>> };
}

interface History {
  readonly list: readonly Entry[];
  readonly cursor?: string;
}

async function stage(t: TestContext, store: TestStore) {
  const { gateway, send, ...callers } = await peopleStage(t, store);
  const make = async (body: object): Promise<string> => {
    const reply = await send('ann', 'POST', automations, body);
    assert.equal(reply.status, 201, reply.text);
    return (reply.json() as { readonly _id: string })._id;
  };
  const change = async (as: keyof typeof stagePeople, method: string, target: string, body?: object): Promise<void> => {
    const reply = await send(as, method, `${automations}/${target}`, body);
    assert.ok(reply.status < 300, reply.text);
  };
  const history = async (id: string, as: keyof typeof stagePeople = 'ann', query = ''): Promise<History> => {
    const reply = await send(as, 'GET', `${automations}/${id}/history${query}`);
    assert.equal(reply.status, 200, reply.text);
    return reply.json() as History;
  };
  const importing = async (line: object): Promise<void> => {
    const headers = { Authorization: basic('bob', testPassword), 'Content-Type': 'application/x-ndjson' };
    const reply = await gateway.send({
      method: 'POST',
      target: '/automation_catalog/import',
      headers,
      body: JSON.stringify(line),
    });
    assert.equal(reply.status, 200, reply.text);
  };
  return { gateway, send, make, change, history, importing, ...callers };
}

const told = ({ list }: History): readonly string[] => list.map(({ change, principal }) => `${change} ${principal}`);

eachStore((store) => {
  test('each change of an automation has an entry with its person and the document as it was, the newest first', async (t) => {
    const { send, make, change, history, importing } = await stage(t, store);
    const began = Date.now();
    const id = await make({
      name: 'told',
      repeatInterval: '1 day',
      nextRunAt: '2099-01-01T06:30:00Z',
      data: { description: 'one' },
    });
    await change('eve', 'PATCH', id, { data: { description: 'two' } });
    await change('eve', 'PATCH', id, { data: { description: 'two' } });
    await change('eve', 'PATCH', id, { nextRunAt: null });
    await change('eve', 'PATCH', id, { nextRunAt: null });
    await change('bob', 'POST', `${id}/take`);
    const exported = (await send('ann', 'GET', `${automations}/${id}`)).json() as object;
    await importing(exported);
    await importing({ ...exported, name: 'imported' });
    const before = await history(id);
    assert.deepEqual(
      told(before),
      ['imported bob', 'taken bob', 'changed eve', 'changed eve', 'created ann'],
      'a write that changes nothing has no entry',
    );
    assert.deepEqual(
      before.list.map(({ document: { name, data, nextRunAt } }) => [name, data?.['description'], nextRunAt !== undefined]),
      [
        ['imported', 'two', false],
        ['told', 'two', false],
        ['told', 'two', false],
        ['told', 'two', true],
        ['told', 'one', true],
      ],
    );
    assert.equal(before.list[1]?.document.data?.['owner'], 'bob');
    for (const { at } of before.list) assert.ok(Date.parse(at) >= began && Date.parse(at) <= Date.now(), at);
    const [now] = before.list;
    assert.deepEqual(now?.document, (await send('ann', 'GET', `${automations}/${id}`)).json());
    await change('ann', 'DELETE', id);
    const after = await history(id);
    assert.deepEqual([after.list[0]?.document, told(after)], [now?.document, ['deleted ann', ...told(before)]]);
  });

  test('a refused change leaves no entry, and two changes at once leave both', async (t) => {
    const { send, make, history } = await stage(t, store);
    const id = await make({ name: 'first', data: { gbac: { write: ['noc'], read: [] } } });
    await make({ name: 'second' });
    assertProblem(
      await send('eve', 'PATCH', `${automations}/${id}`, { data: { description: 'x' } }),
      404,
      'automation-not-found',
    );
    assertProblem(await send('ann', 'PATCH', `${automations}/${id}`, { name: 'second' }), 409, 'automation-exists');
    const both = ['ann', 'bob'] as const;
    await Promise.all(both.map((who) => send(who, 'PATCH', `${automations}/${id}`, { data: { description: who } })));
    const { list } = await history(id);
    assert.deepEqual(told({ list }).toSorted(), ['changed ann', 'changed bob', 'created ann']);
    for (const { principal, document } of list.slice(0, 2)) assert.equal(document.data?.['description'], principal);
  });

  test('those who may read an automation read its history, and admins alone that of a deleted one', async (t) => {
    const { send, make, change, history, importing } = await stage(t, store);
    const open = await make({ name: 'open' });
    const secret = await make({ name: 'secret', data: { gbac: { write: [], read: ['soc'] } } });
    const named = await make({ name: 'noc', data: { gbac: { write: [], read: ['noc'] } } });
    const status = async (as: keyof typeof stagePeople, id: string): Promise<number> =>
      (await send(as, 'GET', `${automations}/${id}/history`)).status;
    for (const [as, expected] of [
      ['ann', [200, 200, 200]],
      ['eve', [200, 404, 404]],
      ['otto', [200, 404, 200]],
    ] as const)
      assert.deepEqual(await Promise.all([open, secret, named].map((id) => status(as, id))), expected, as);
    for (const id of ['none', 'x'.repeat(200)])
      assertProblem(await send('ann', 'GET', `${automations}/${id}/history`), 404, 'automation-not-found');
    await change('ann', 'PATCH', open, { data: { description: 'was here' } });
    await change('ann', 'DELETE', open);
    assert.deepEqual([await status('ann', open), await status('eve', open), await status('otto', open)], [200, 404, 404]);
    await importing({ _id: open, name: 'again' });
    assert.deepEqual(told(await history(open, 'otto')), ['imported bob'], 'what was before the deletion is for admins alone');
    assert.deepEqual(told(await history(open, 'ann')), ['imported bob', 'deleted ann', 'changed ann', 'created ann']);
  });

  test('the history leaves out what the groups of its time hide from a reader of today, page after page', async (t) => {
    const { make, change, history } = await stage(t, store);
    const id = await make({ name: 'opened', data: { description: 'at first', gbac: { write: [], read: ['soc'] } } });
    for (const description of ['hidden', 'hidden too']) await change('ann', 'PATCH', id, { data: { description } });
    await change('ann', 'PATCH', id, { data: { description: 'for noc', gbac: { read: ['soc', 'noc'] } } });
    const shown = async (as: 'ann' | 'eve' | 'otto') =>
      (await history(id, as)).list.map(({ document }) => document.data?.['description']);
    assert.deepEqual(await shown('otto'), ['for noc'], 'otto is of noc, and sees what noc was let see');
    await change('ann', 'PATCH', id, { data: { description: 'for soc', gbac: { read: ['soc'] } } });
    for (let number = 1; number <= 60; number += 1) await change('ann', 'PATCH', id, { data: { description: `soc ${number}` } });
    await change('ann', 'PATCH', id, { data: { description: 'for all', gbac: { read: [] } } });
    assert.deepEqual(await shown('eve'), ['for all'], 'eve is in no group');
    const first = await history(id, 'otto');
    assert.deepEqual(
      first.list.map(({ document }) => document.data?.['description']),
      ['for all'],
    );
    const next = await history(id, 'otto', `?cursor=${encodeURIComponent(first.cursor ?? '')}`);
    assert.deepEqual([next.list.map(({ document }) => document.data?.['description']), next.cursor], [['for noc'], undefined]);
    assert.equal((await shown('ann')).length, 50);
  });

  test('a page of the history has at most 50 changes and 1 MiB, and always the newest', async (t) => {
    const { send, make, change, history } = await stage(t, store);
    const id = await make({ name: 'long' });
    for (let number = 1; number <= 59; number += 1) await change('ann', 'PATCH', id, { data: { description: `${number}` } });
    const first = await history(id);
    const second = await history(id, 'ann', `?cursor=${encodeURIComponent(first.cursor ?? '')}`);
    assert.deepEqual([first.list.length, second.list.length, second.cursor], [50, 10, undefined]);
    const all = [...first.list, ...second.list].map(({ document }) => document.data?.['description']);
    assert.deepEqual(all, [...Array.from({ length: 59 }, (_, index) => `${59 - index}`), undefined]);
    for (const size of [400_000, 500_000, 1_040_000])
      await change('ann', 'PATCH', id, { data: { description: 'x'.repeat(size) } });
    const sizes = (page: History): readonly number[] => page.list.map(({ document }) => JSON.stringify(document).length);
    const newest = await history(id);
    assert.deepEqual(sizes(newest).length, 1, 'the newest alone has more than fits');
    const next = await history(id, 'ann', `?cursor=${encodeURIComponent(newest.cursor ?? '')}`);
    assert.ok(next.list.length > 2 && sizes(next).reduce((sum, size) => sum + size) <= 1_048_576);
    assertProblem(await send('ann', 'GET', `${automations}/${id}/history?cursor=x`), 400, 'invalid-request');
  });

  test('the history hides the values of secrets of workflows, and keeps the digits of numbers', async (t) => {
    const gateway = await startGateway(t, {
      config: {
        store: { url: storeUrl(await store.fresh(t)) },
        automations: { secrets: { token: secretConfig({ env: 'TOKEN' }, { destinations: [], adapters: [] }) } },
      },
      users: usersOf(stagePeople),
      environment: { TOKEN: 'hush-hush-hush' },
    });
    const { send } = callersOf(() => gateway);
    const headers = { Authorization: basic('ann', testPassword), 'Content-Type': 'application/json' };
    const body = '{"name":"sealed","data":{"input":{"note":"it is hush-hush-hush","n":1.50}}}';
    const made = await gateway.send({ method: 'POST', target: automations, headers, body });
    const { _id: id } = made.json() as { readonly _id: string };
    const { text } = await send('ann', 'GET', `${automations}/${id}/history`);
    assert.ok(text.includes('"note":"it is ***","n":1.50') && !text.includes('hush-hush'), text);
  });

  test('the history of automations counts for the store quota of who wrote it', async (t) => {
    const gateway = await startGateway(t, {
      config: { store: { url: storeUrl(await store.fresh(t)) }, automations: { storePerPerson: '1MiB' } },
      users: usersOf(stagePeople),
    });
    const { send, store: put, automation } = callersOf(() => gateway);
    await put('ann', 'one', '1.0.0', [{ only: { set: { a: 1 } } }]);
    const id = await automation('one', { gbac: {} });
    const run = (as: 'ann' | 'eve') => send(as, 'POST', `${automations}/${id}/run`, {});
    for (const letter of ['a', 'b', 'c'])
      assert.equal(
        (await send('eve', 'PATCH', `${automations}/${id}`, { data: { description: letter.repeat(400_000) } })).status,
        200,
      );
    assertProblem(await run('eve'), 429, 'quota-reached');
    assert.equal((await run('ann')).status, 201);
  });

  test('a listing with runs has the newest runs of each automation, without those that other runs began', async (t) => {
    const { send, store: put, automation, start, reaches } = await stage(t, store);
    await put('ann', 'inner', '1.0.0', [{ only: { set: { a: 1 } } }]);
    const child = { child: { run: { workflow: { namespace: 'lab', name: 'inner', version: '1.0.0' } } } };
    await put('ann', 'outer', '1.0.0', [child]);
    await put('ann', 'fails', '1.0.0', [
      { no: { raise: { error: { type: 'https://example.net/no', status: 500, title: 'no' } } } },
    ]);
    await put('ann', 'waits', '1.0.0', [{ long: { wait: { hours: 1 } } }]);
    const ids = { outer: await automation('outer'), fails: await automation('fails'), waits: await automation('waits') };
    const never = await automation('inner');
    const started: string[] = [];
    for (const id of [ids.outer, ids.outer, ids.outer]) {
      const { id: run } = await start('ann', id);
      await reaches(run, 'completed');
      started.unshift(run);
    }
    const { id: failed } = await start('ann', ids.fails);
    await reaches(failed, 'faulted');
    const { id: waiting } = await start('ann', ids.waits);
    await reaches(waiting, 'waiting');
    interface Listed {
      readonly _id: string;
      readonly lastRuns?: readonly { readonly id: string; readonly status: string; readonly endedAt?: string }[];
    }
    const list = async (as: keyof typeof stagePeople, query: string): Promise<ReadonlyMap<string, Listed>> => {
      const reply = await send(as, 'GET', `${automations}${query}`);
      assert.equal(reply.status, 200, reply.text);
      return new Map((reply.json() as { readonly list: readonly Listed[] }).list.map((each) => [each._id, each]));
    };
    for (const as of ['ann', 'otto'] as const) {
      const listed = await list(as, '?runs=2');
      assert.deepEqual(
        listed.get(ids.outer)?.lastRuns?.map(({ id, status }) => [id, status]),
        [
          [started[0], 'completed'],
          [started[1], 'completed'],
        ],
      );
      assert.equal(listed.get(ids.fails)?.lastRuns?.[0]?.status, 'faulted');
      assert.deepEqual(listed.get(ids.waits)?.lastRuns, [{ id: waiting, status: 'waiting' }]);
      assert.deepEqual(listed.get(never)?.lastRuns, []);
    }
    const [newest] = (await list('ann', '?queryParameters={"runs":50}')).get(ids.outer)?.lastRuns ?? [];
    assert.equal(
      newest?.endedAt,
      ((await send('ann', 'GET', `/runs/${newest?.id}`)).json() as { readonly endedAt: string }).endedAt,
    );
    const plain = (await list('ann', '')).get(ids.outer);
    assert.equal(plain !== undefined && 'lastRuns' in plain, false);
    assertProblem(await send('ann', 'GET', `${automations}?runs=51`), 400, 'invalid-request');
    const sentBack = await send('ann', 'PUT', `${automations}/${ids.waits}`, (await list('ann', '?runs=1')).get(ids.waits));
    assert.equal(sentBack.status, 200, sentBack.text);
    await until('the run can be cancelled', async () => (await send('ann', 'POST', `/runs/${waiting}/cancel`)).status === 200);
  });
});
