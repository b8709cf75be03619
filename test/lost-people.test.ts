// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { countingUpstream } from './support/runs/counting-upstream.ts';
import { actionTask } from './support/runs/run-caller.ts';
import { callersOf, listening, stagePeople, usersOf } from './support/runs/run-people-stage.ts';
import { eachStoreWith, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';

// What happens to automations and runs when a reload takes something away from the people behind them.

const people = {
  ...stagePeople,
  sam: { roles: ['admin'], groups: [] },
  kim: { roles: ['engineering'], groups: ['noc'] },
  gus: { roles: ['engineering'], groups: ['noc'] },
};

type Name = keyof typeof people;

const automations = '/automation_catalog/automations';
const everySecond = { nextRunAt: '2026-01-01T00:00:00Z', repeatInterval: '1 second' };
const action = actionTask('act', '"one"');

async function lossStage(owner: Owner, store: TestStore) {
  const [far, provider, options] = await Promise.all([countingUpstream(owner), identityProvider(owner), store.empty(owner)]);
  const configured = (given: Parameters<typeof usersOf>[0], roles: readonly object[] = [], more: object = {}) => ({
    config: { store: { url: storeUrl(options) }, access: { oidc: [{ issuer: provider.issuer, audience }], roles, ...more } },
    adapters: [{ name: 'Far', kind: 'rest', url: far.url }],
    users: usersOf(given),
  });
  const gateway = await startGateway(owner, configured(people));
  const oda = `Bearer ${await provider.token({ sub: '1', preferred_username: 'oda', roles: ['admin'] })}`;
  const send = (as: Name | 'oda', method: string, target: string, body?: object): Promise<Reply> => {
    const Authorization = as === 'oda' ? oda : basic(as, testPassword);
    const headers = { Authorization, ...(body !== undefined && { 'Content-Type': 'application/json' }) };
    return gateway.send({ method, target, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
  };
  const callers = callersOf(() => gateway);
  const schedule = async (as: Name | 'oda', id: string): Promise<void> => {
    const reply = await send(as, 'PATCH', `${automations}/${id}`, everySecond);
    assert.equal(reply.status, 200, reply.text);
  };
  return {
    ...callers,
    send,
    gateway,
    far,
    odaId: `oidc:${JSON.stringify([provider.issuer, '1'])}`,
    schedule,
    reload: async (...given: Parameters<typeof configured>) => void (await reloadWith(gateway, configured(...given))),
    /** Creates an automation that runs each second, by these people. */
    automation: async (name: string, by: { author?: Name | 'oda'; scheduler?: Name | 'oda'; workflow: string }) => {
      const data = { workflowId: `lab.${by.workflow}`, gbac: { write: ['noc'], read: [] } };
      const reply = await send(by.author ?? 'ann', 'POST', automations, { name, data });
      assert.equal(reply.status, 201, reply.text);
      const id = (reply.json() as { readonly _id: string })._id;
      await schedule(by.scheduler ?? 'ann', id);
      return id;
    },
    /** The known persons of issuers were seen last when the time began. */
    forget: async (t: Parameters<TestStore['open']>[0]): Promise<void> => {
      await (await store.open(t, options)).query.updateTable('known_person').set({ seen_at: 1 }).execute();
    },
    /** Waits until a due time of the automation is skipped with a code; answers the code. */
    skipCode: async (id: string): Promise<string | undefined> => {
      let code: string | undefined;
      await until(`${id} is skipped`, async () => {
        const { list } = (await send('ann', 'GET', '/audit?limit=1000')).json() as { readonly list: readonly Skipped[] };
        code = list.find((each) => each.event === 'skipped' && each.automation?._id === id && each.code !== 'running')?.code;
        return code !== undefined;
      });
      return code;
    },
    run: (id: string) => send('otto', 'POST', `${automations}/${id}/run`),
    /** The automations that a reload named since, by their name. */
    named: (): readonly string[] =>
      gateway.stderr
        .map((line) => JSON.parse(line) as { readonly msg: string; readonly path?: string })
        .filter(({ msg }) => msg === 'an automation can no longer run after the reload')
        .map(({ path = '' }) => path)
        .toSorted(),
  };
}

interface Skipped {
  readonly event: string;
  readonly code?: string;
  readonly automation?: { readonly _id: string };
}

eachStoreWith({ concurrency: 3 }, (store) => {
  test('a reload that takes rights away names each automation that can no longer run, and each is skipped with its code', async (t) => {
    const { send, store: put, automation, reload, skipCode, run, named, forget } = await lossStage(t, store);
    await put('ann', 'plain', '1.0.0', [{ only: { set: { a: 1 } } }]);
    await put('ann', 'acts', '1.0.0', [action]);
    const stored = await send('sam', 'POST', '/automation_catalog/workflows', {
      document: { dsl: '1.0.3', namespace: 'lab', name: 'of-sam', version: '1.0.0' },
      do: [action],
    });
    assert.equal(stored.status, 201, stored.text);
    const ids = {
      author: await automation('author', { author: 'bob', workflow: 'acts' }),
      storer: await automation('storer', { workflow: 'of-sam' }),
      group: await automation('group', { scheduler: 'kim', workflow: 'plain' }),
      gone: await automation('gone', { scheduler: 'gus', workflow: 'plain' }),
      harmless: await automation('harmless', { author: 'bob', workflow: 'plain' }),
      unseenAuthor: await automation('unseenAuthor', { author: 'oda', workflow: 'acts' }),
      unseenScheduler: await automation('unseenScheduler', { scheduler: 'oda', workflow: 'plain' }),
    };
    // A right that is added takes none away.
    await reload({ ...people, zoe: { roles: ['admin'], groups: [] } });
    assert.deepEqual(named(), []);
    const { sam: _sam, gus: _gus, ...kept } = people;
    const lessened = {
      ...kept,
      bob: { roles: ['engineering'], groups: [] },
      kim: { roles: ['engineering'], groups: [] },
    };
    await reload(lessened);
    assert.deepEqual(named(), ['author', 'gone', 'group', 'storer']);
    await reload(lessened);
    assert.equal(named().length, 4, 'a reload without a loss names none again');
    await forget(t);
    const codes = {
      author: 'delegation-lost',
      storer: 'delegation-lost',
      group: 'delegation-lost',
      gone: 'person-gone',
      unseenAuthor: 'person-not-seen',
      unseenScheduler: 'person-not-seen',
    } as const;
    for (const [name, code] of Object.entries(codes)) assert.equal(await skipCode(ids[name as keyof typeof codes]), code, name);
    for (const name of ['author', 'storer', 'unseenAuthor'] as const) assertProblem(await run(ids[name]), 409, 'delegation-lost');
    for (const name of ['group', 'gone', 'unseenScheduler', 'harmless'] as const)
      assert.equal((await run(ids[name])).status, 201, name);
  });

  test('a reload that takes a right out of a role names the automations whose people have it', async (t) => {
    const { store: put, automation, reload, run, named } = await lossStage(t, store);
    await put('ann', 'acts', '1.0.0', [action]);
    const [calls, writes] = [{ adapters: ['Far'] }, { routes: ['createWorkflow', 'createAutomation', 'patchAutomation'] }];
    const withRole = { ...people, bob: { roles: ['acting'], groups: ['noc'] } };
    await reload(withRole, [{ name: 'acting', allows: [calls, writes] }]);
    const id = await automation('acting', { author: 'bob', workflow: 'acts' });
    assert.equal((await run(id)).status, 201);
    await reload(withRole, [{ name: 'acting', allows: [writes] }]);
    assert.deepEqual(named(), ['acting']);
    assertProblem(await run(id), 409, 'delegation-lost');
  });

  test('a run under way is suspended where its author lost a right, and goes on after a resume once the right is back', async (t) => {
    const { store: put, automation, reload, reaches, goOn, send, far, read, run } = await lossStage(t, store);
    await put('ann', 'waits', '1.0.0', [listening, action]);
    const id = await automation('waits', { author: 'bob', workflow: 'waits' });
    assert.equal((await send('ann', 'PATCH', `${automations}/${id}`, { nextRunAt: null })).status, 200);
    const started = (await run(id)).json() as { readonly id: string };
    await reaches(started.id, 'waiting');
    await reload({ ...people, bob: { roles: ['engineering'], groups: [] } });
    await goOn('ann');
    assert.equal((await reaches(started.id, 'suspended')).suspendedBy, 'delegation-lost');
    await send('ann', 'POST', `/runs/${started.id}/resume`);
    await until('it is held again', async () => (await read(started.id)).suspendedBy === 'delegation-lost');
    assert.deepEqual([...far.arrived], []);
    await reload(people);
    await send('ann', 'POST', `/runs/${started.id}/resume`);
    await reaches(started.id, 'completed');
    assert.deepEqual([...far.arrived], [['one', 1]]);
  });

  test('a scheduled run under way is suspended where its scheduler was removed', async (t) => {
    const { store: put, automation, reload, reaches, goOn, send, far } = await lossStage(t, store);
    await put('ann', 'waits', '1.0.0', [listening, action]);
    const id = await automation('waits', { scheduler: 'sam', workflow: 'waits' });
    let run = '';
    await until('it waits', async () => {
      const reply = await send('ann', 'GET', `/runs?automation=${id}&status=waiting`);
      run = (reply.json() as { readonly list: readonly { readonly id: string }[] }).list[0]?.id ?? '';
      return run !== '';
    });
    const { sam: _, ...withoutSam } = people;
    await reload(withoutSam);
    await goOn('ann');
    assert.equal((await reaches(run, 'suspended')).suspendedBy, 'person-gone');
    await send('ann', 'POST', `/runs/${run}/resume`);
    await until('it is held again', async () => (await reaches(run, 'suspended')).suspendedBy === 'person-gone');
    assert.deepEqual([...far.arrived], []);
    await reload(people);
    await send('ann', 'POST', `/runs/${run}/resume`);
    await reaches(run, 'completed');
  });

  test('a person of an issuer that a reload blocks is gone: schedules, runs and what needs its rights', async (t) => {
    const { send, store: put, automation, reload, skipCode, run, named, reaches, odaId } = await lossStage(t, store);
    await put('ann', 'plain', '1.0.0', [{ only: { set: { a: 1 } } }]);
    await put('ann', 'acts', '1.0.0', [action]);
    await put('ann', 'waits', '1.0.0', [listening, action]);
    const ids = {
      author: await automation('author', { author: 'oda', workflow: 'acts' }),
      scheduler: await automation('scheduler', { scheduler: 'oda', workflow: 'plain' }),
    };
    const waits = await send('ann', 'POST', automations, { name: 'waits', data: { workflowId: 'lab.waits' } });
    const { _id: waiting } = waits.json() as { readonly _id: string };
    const started = await send('oda', 'POST', `${automations}/${waiting}/run`);
    assert.equal(started.status, 201, started.text);
    await reload(people, [], { blocked: [odaId] });
    assert.deepEqual(named(), ['author', 'scheduler']);
    assert.equal((await send('oda', 'GET', '/whoami')).status, 401);
    assert.equal((await reaches((started.json() as { readonly id: string }).id, 'suspended')).suspendedBy, 'person-gone');
    assert.deepEqual([await skipCode(ids.author), await skipCode(ids.scheduler)], ['delegation-lost', 'person-gone']);
    assertProblem(await run(ids.author), 409, 'delegation-lost');
    assert.equal((await run(ids.scheduler)).status, 201, 'by hand it is another person’s run');
  });
});
