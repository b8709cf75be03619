// suite: long, waiting

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { reloadWith } from './support/gateway/reloading.ts';
import { suiteOwner } from './support/owner.ts';
import { accept, as, callerStage, carriers, type NamedCarrier } from './support/runs/caller-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import type { Assertion } from './support/upstreams/person-nso.ts';
import { httpReply } from './support/upstreams/upstream.ts';

// Runs whose calls an orchestrator sees as calls of a person (docs/guides/nso-sees-the-person.md).

const stage = await callerStage({ after });
const { nso, configured, gateway, send, start, asClient, asPerson, grant, assertionsOf } = stage;
const automations = '/automation_catalog/automations';

const assertionOf = (name: string): Promise<Assertion> =>
  until(`the call of ${name} is there`, () => assertionsOf(`t:${name}`, 'token').at(-1));

interface Seen {
  readonly id: string;
  readonly status: string;
  readonly error?: { readonly detail?: string };
}

interface Started {
  readonly id: string;
}

/** Stores a workflow with one change as one person, an automation as another, and runs it as a third. */
async function run(
  name: string,
  by: { readonly storer: string; readonly author: string; readonly starter: string },
): Promise<string> {
  const params = { path: `restconf/data/t:${name}`, accept, method: 'PUT' };
  const tasks = [{ change: { call: 'orchestratorRequest', with: { adapter: 'token', params, body: { 'a:b': 1 } } } }];
  const document = { dsl: '1.0.3', namespace: 'lab', name, version: '1.0.0' };
  const stored = await send(as(by.storer), 'POST', '/automation_catalog/workflows', { document, do: tasks });
  assert.equal(stored.status, 201, stored.text);
  const data = { workflowId: `lab.${name}`, gbac: { write: ['noc'], read: [] } };
  const made = await send(as(by.author), 'POST', '/automation_catalog/automations', { name, data });
  assert.equal(made.status, 201, made.text);
  const { _id: id } = made.json() as { readonly _id: string };
  const started = await send(as(by.starter), 'POST', `/automation_catalog/automations/${id}/run`);
  assert.equal(started.status, 201, started.text);
  return (started.json() as Started).id;
}

eachStore((store) => {
  const owner = suiteOwner();
  before(() => start(owner, store));

  test('a run calls as its starter, with the groups that everybody who wrote it has too', async (t) => {
    for (const [name, by, sub, groups] of [
      ['alone', { storer: 'ann', author: 'ann', starter: 'ann' }, 'ann', ['labs', 'ncsadmin', 'ncsoper']],
      ['lesser', { storer: 'ann', author: 'ann', starter: 'bob' }, 'bob', ['ncsoper']],
      ['greater', { storer: 'max', author: 'max', starter: 'ann' }, 'ann', ['ncsadmin']],
      ['mixed', { storer: 'ann', author: 'max', starter: 'ann' }, 'ann', ['ncsadmin']],
      ['stored', { storer: 'max', author: 'ann', starter: 'ann' }, 'ann', ['ncsadmin']],
    ] as const) {
      const id = await run(name, by);
      const assertion = await assertionOf(name);
      assert.deepEqual(
        [assertion.sub, assertion.groups, assertion.act],
        [sub, groups, { sub: 'orchestration-gateway', run: id }],
        name,
      );
    }
    t.after(() => reloadWith(gateway(), configured()));
    await reloadWith(gateway(), configured({ authors: ['role:engineering'] }));
    await run('trusted', { storer: 'max', author: 'max', starter: 'ann' });
    assert.deepEqual((await assertionOf('trusted')).groups, ['labs', 'ncsadmin', 'ncsoper']);
    await reloadWith(gateway(), configured({ runs: 'owner' }));
    await run('owned', { storer: 'ann', author: 'ann', starter: 'bob' });
    const { sub, groups } = await assertionOf('owned');
    assert.deepEqual([sub, groups], ['ann', ['labs', 'ncsadmin', 'ncsoper']]);
  });

  test('the call of a run whose starter has no name there fails its task, and nothing leaves', async () => {
    const { length } = nso.ofPeople;
    const stray = await asClient('stray');
    const listed = await send(as('ann'), 'GET', '/automation_catalog/automations');
    const { list } = listed.json() as { readonly list: readonly { readonly _id: string; readonly name: string }[] };
    const id = list.find(({ name }) => name === 'alone')?._id ?? '';
    const started = (await send(stray, 'POST', `/automation_catalog/automations/${id}/run`)).json() as Started;
    await until('the run ended', async () => {
      const { status, error } = (await send(as('ann'), 'GET', `/runs/${started.id}`)).json() as {
        readonly status: string;
        readonly error?: { readonly detail?: string };
      };
      if (status === 'faulted') assert.match(error?.detail ?? '', /has no name at the orchestrator/u);
      return status === 'faulted';
    });
    assert.equal(nso.ofPeople.length, length);
  });

  test('who stored an inner workflow lends groups to none of its calls, and the run of an item has its own id', async () => {
    const act = (path: string) => {
      const params = { path: `restconf/data/t:${path}`, accept, method: 'PUT' };
      return { [path]: { call: 'orchestratorRequest', with: { adapter: 'token', params, body: { 'a:b': 1 } } } };
    };
    const put = async (by: string, name: string, tasks: readonly object[]) => {
      const document = { dsl: '1.0.3', namespace: 'lab', name, version: '1.0.0' };
      const stored = await send(as(by), 'POST', '/automation_catalog/workflows', { document, do: tasks });
      assert.equal(stored.status, 201, stored.text);
    };
    const of = (name: string) => ({ namespace: 'lab', name, version: '1.0.0' });
    await put('max', 'inside', [act('inside')]);
    await put('bob', 'item', [act('item')]);
    const all = { call: 'batch', with: { items: '${ [1, 2] }', workflow: of('item') } };
    await put('ann', 'outside', [act('outside'), { in: { run: { workflow: of('inside') } } }, { all }]);
    const made = await send(as('ann'), 'POST', automations, { name: 'outside', data: { workflowId: 'lab.outside' } });
    const { _id } = made.json() as { readonly _id: string };
    const started = await send(as('ann'), 'POST', `${automations}/${_id}/run`);
    const { id } = started.json() as Started;
    const { sub, groups, act: by } = await assertionOf('outside');
    assert.deepEqual([sub, groups, by.run], ['ann', ['labs', 'ncsadmin', 'ncsoper'], id]);
    const inside = await assertionOf('inside');
    assert.deepEqual([inside.sub, inside.groups], ['ann', ['ncsadmin']], 'max has one of them');
    await until('both items called', () => assertionsOf('t:item', 'token').length === 2);
    const ofItems = assertionsOf('t:item', 'token');
    for (const one of ofItems) assert.deepEqual([one.sub, one.groups], ['ann', ['ncsoper']], 'bob has one of them');
    assert.deepEqual(new Set(ofItems.map((one) => one.act.run)), new Set([0, 1].map((index) => `${id}.3.1-${index}`)));
  });

  /** Each with what the orchestrator has to learn of it, where ann wrote workflow and automation. */
  const starters = {
    ann: [() => as('ann'), 'ann', ['labs', 'ncsadmin', 'ncsoper']],
    bob: [() => as('bob'), 'bob', ['ncsoper']],
    bot: [() => asClient('bot'), 'robot', []],
    oleg: [() => asPerson({ sub: 'oleg', login: 'oleg-at-nso', groups: ['lab', 'other'] }), 'oleg-at-nso', ['labs']],
    olga: [() => asPerson({ sub: '4711', roles: ['admin', 'engineering'] }), 'olga', ['ncsadmin']],
  } as const;
  const kinds = ['Query', 'Action', 'Request'] as const;

  /** A run that makes a call of each kind, once without and once with an approval. Answers what is in its paths. */
  async function runOfAll(carrier: NamedCarrier, starter: keyof typeof starters, begins: 'by-hand' | 'due' | 'owned') {
    const mark = `${carrier}-${starter}-${begins}`;
    const taskOf = (kind: (typeof kinds)[number], asked: string): object => {
      const params = { path: `restconf/data/x:y/${asked}-${kind}-${mark}`, accept, ...(kind === 'Request' && { method: 'PUT' }) };
      const body = kind === 'Query' ? {} : { body: { 'a:b': 1 } };
      return { [`${asked}${kind}`]: { call: `orchestrator${kind}`, with: { adapter: carrier, params, ...body } } };
    };
    const tasks = ['plain', 'approved'].flatMap((asked) => kinds.map((kind) => taskOf(kind, asked)));
    const document = { dsl: '1.0.3', namespace: 'all', name: mark, version: '1.0.0' };
    assert.equal((await send(as('ann'), 'POST', '/automation_catalog/workflows', { document, do: tasks })).status, 201);
    const made = await send(as('ann'), 'POST', automations, { name: mark, data: { workflowId: `all.${mark}` } });
    const { _id } = made.json() as { readonly _id: string };
    const authorization = await starters[starter][0]();
    const begun =
      begins !== 'by-hand'
        ? await send(authorization, 'PATCH', `${automations}/${_id}`, { nextRunAt: new Date().toISOString() })
        : await send(authorization, 'POST', `${automations}/${_id}/run`);
    assert.ok(begun.status < 300, begun.text);
    return { mark, automation: _id };
  }

  /** Grants what the run waits for until it has completed, and answers its id and the approvals by kind. */
  async function granted(automation: string) {
    const approvals: string[] = [];
    const id = await until('the run has completed', async () => {
      const page = (await send(as('ann'), 'GET', `/runs?automation=${automation}`)).json() as { readonly list: readonly Seen[] };
      const [run] = page.list;
      if (run === undefined) return undefined;
      assert.notEqual(run.status, 'faulted', JSON.stringify(run.error));
      const waiting = await send(as('lea'), 'GET', `/approvals?status=waiting&run=${run.id}`);
      for (const one of (waiting.json() as { readonly list: readonly Started[] }).list) {
        approvals.push(one.id);
        await grant('lea', one.id);
      }
      return run.status === 'completed' ? run.id : undefined;
    });
    return { id, approvals };
  }

  for (const carrier of carriers)
    test(`each call of a run carries an assertion of its starter or scheduler, with and without an approval (${carrier})`, async () => {
      const begun = [];
      for (const begins of ['by-hand', 'due'] as const)
        for (const starter of Object.keys(starters) as (keyof typeof starters)[])
          begun.push({ starter, ...(await runOfAll(carrier, starter, begins)) });
      const ended = await Promise.all(begun.map(async (one) => ({ ...one, ...(await granted(one.automation)) })));
      for (const { mark, starter, id, approvals } of ended) {
        const [, sub, groups] = starters[starter];
        assert.equal(approvals.length, 3, mark);
        for (const asked of ['plain', 'approved'])
          for (const [index, kind] of kinds.entries()) {
            const what = `${asked}-${kind}-${mark}`;
            const seen = assertionsOf(`/${what}`, carrier);
            assert.deepEqual(
              seen.map((one) => [one.sub, one.groups]),
              [[sub, groups]],
              what,
            );
            const approval = asked === 'approved' ? { approval: approvals[index] } : {};
            const act = carrier === 'basic' ? {} : { run: id, ...approval };
            assert.deepEqual(seen[0]?.act, { sub: 'orchestration-gateway', ...act }, what);
          }
        const previews = assertionsOf(`/approved-Request-${mark}`, carrier, true);
        assert.equal(previews.length, carrier === 'bearer' ? 0 : 1, mark);
        for (const one of previews) assert.deepEqual([one.sub, one.groups], [sub, groups], mark);
      }
    });

  test('a scheduled run with `runs: owner` carries the owner, and the record of its call names the person', async (t) => {
    t.after(() => reloadWith(gateway(), configured()));
    await reloadWith(gateway(), configured({ runs: 'owner' }));
    const { mark, automation } = await runOfAll('token', 'bob', 'owned');
    const { id } = await granted(automation);
    const [seen] = assertionsOf(`/plain-Action-${mark}`, 'token');
    assert.deepEqual([seen?.sub, seen?.groups, seen?.act.run], ['ann', starters.ann[2], id]);
    const { text } = await send(as('max'), 'GET', `/audit?address=${encodeURIComponent(`plain-Action-${mark}`)}`);
    assert.match(text, /"actsAs":\{"name":"ann","groups":\["labs","ncsadmin","ncsoper"\]\}/u);
  });

  test('a scheduled run of a person of an issuer without a name there fails, and nothing leaves', async () => {
    const { length } = nso.ofPeople;
    const params = { path: 'restconf/data/t:nameless', accept };
    const tasks = [{ act: { call: 'orchestratorAction', with: { adapter: 'token', params, body: {} } } }];
    const document = { dsl: '1.0.3', namespace: 'all', name: 'nameless', version: '1.0.0' };
    await send(as('ann'), 'POST', '/automation_catalog/workflows', { document, do: tasks });
    const made = await send(as('ann'), 'POST', automations, { name: 'nameless', data: { workflowId: 'all.nameless' } });
    const { _id } = made.json() as { readonly _id: string };
    const nameless = await asPerson({ sub: 'nameless' });
    assert.equal((await send(nameless, 'PATCH', `${automations}/${_id}`, { nextRunAt: new Date().toISOString() })).status, 200);
    const run = await until('the run has ended', async () => {
      const page = (await send(as('ann'), 'GET', `/runs?automation=${_id}`)).json() as { readonly list: readonly Seen[] };
      return page.list.find(({ status }) => status === 'faulted');
    });
    assert.match(run.error?.detail ?? '', /has no name at the orchestrator/u);
    assert.equal(nso.ofPeople.length, length);
  });

  test('a 401 to the person of a run is an error of its task, and leaves the adapter instance to others', async (t) => {
    t.after(() => nso.answers.clear());
    const adapters = configured().adapters.map((one) => ({ ...one, breaker: { failures: 1, openFor: '60s' } }));
    t.after(() => reloadWith(gateway(), configured()));
    await reloadWith(gateway(), { ...configured(), adapters });
    nso.answers.set('bob', () => httpReply({ status: 401 }));
    for (let round = 0; round < 3; round += 1) {
      const id = await run(`refused-${round}`, { storer: 'ann', author: 'ann', starter: 'bob' });
      const ended = await until('the run has ended', async () => {
        const seen = (await send(as('ann'), 'GET', `/runs/${id}`)).json() as Seen;
        return seen.status === 'faulted' ? seen : undefined;
      });
      assert.match(ended.error?.detail ?? '', /401.*The call was sent as bob/su);
      assert.equal(assertionsOf(`t:refused-${round}`, 'token').length, 1);
    }
    await run('others', { storer: 'ann', author: 'ann', starter: 'ann' });
    assert.equal((await assertionOf('others')).sub, 'ann');
    const { text } = await send(as('max'), 'GET', '/adapters');
    assert.ok(!/"breaker":"open"|"state":"(?:offline|degraded)"/u.test(text), text);
  });
});
