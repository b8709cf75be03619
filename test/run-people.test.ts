// suite: long, waiting

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SeenApproval } from './support/approvals/approval-caller.ts';
import { assertProblem } from './support/callers/calls.ts';
import { command } from './support/gateway/command.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { testPassword } from './support/gateway/start-gateway.ts';
import { actionTask } from './support/runs/run-caller.ts';
import { involvedIn, listening, type PeopleStage, peopleStage, stagePeople } from './support/runs/run-people-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// Who answers for what a run calls, and who is involved in it: on the state of the store, so on both stores.

const action = actionTask('act', '"one"');
const { bob: _bob, ...withoutBob } = stagePeople;

/** A task that asks admins and engineers. */
function question(selfApproval: false | 'authors'): object {
  const approvers = { roles: ['admin', 'engineering'] };
  return { ask: { call: 'approval', with: { message: 'Go on?', approvers, selfApproval } } };
}

/** The approval that the run waits for. */
async function asked(send: PeopleStage['send'], run: string): Promise<string> {
  return await until('the run asks people', async () => {
    const page = (await send('ann', 'GET', `/approvals?status=waiting&run=${run}`)).json() as {
      readonly list: readonly SeenApproval[];
    };
    return page.list[0]?.id;
  });
}

eachStore((store) => {
  test('a run whose storer lost the role is suspended before its action, and goes on once somebody took the workflow', async (t) => {
    const { far, gateway, configured, send, store: put, automation, start, read, reaches, goOn } = await peopleStage(t, store);
    await put('bob', 'one', '1.0.0', [listening, action]);
    const id = await automation('one');
    const run = await start('otto', id);
    await reaches(run.id, 'waiting');
    await reloadWith(gateway, configured({ ...stagePeople, bob: { roles: ['engineering'], groups: [] } }));
    await goOn('ann');
    const refused = await send('otto', 'POST', `/automation_catalog/automations/${id}/run`);
    const held = await reaches(run.id, 'suspended');
    assert.equal(held.suspendedBy, 'delegation-lost');
    assert.deepEqual([...far.arrived], []);
    assert.match(assertProblem(refused, 409, 'delegation-lost').detail, /^bob answers for lab\.one 1\.0\.0/u);
    const stream = await send('ann', 'GET', `/runs?status=suspended`);
    assert.match(stream.text, /"suspendedBy":"delegation-lost"/u);
    // To resume is to judge again.
    assert.equal((await send('ann', 'POST', `/runs/${run.id}/resume`)).status, 200);
    await until('the run is held again', async () => (await read(run.id)).suspendedBy === 'delegation-lost');
    assert.deepEqual([...far.arrived], []);
    assertProblem(await send('eve', 'POST', '/automation_catalog/workflows/lab.one/take'), 403, 'forbidden');
    const taken = await send('ann', 'POST', '/automation_catalog/workflows/lab.one/take');
    assert.deepEqual([taken.status, taken.json()], [200, { id: 'lab.one', versions: ['1.0.0'] }]);
    await send('ann', 'POST', `/runs/${run.id}/resume`);
    const ended = await reaches(run.id, 'completed');
    assert.deepEqual([...far.arrived], [['one', 1]]);
    assert.deepEqual(involvedIn(ended), ['ann: author workflow event', 'bob: workflow', 'otto: starter']);
    const audit = await send('ann', 'GET', '/audit?limit=1000');
    assert.match(audit.text, /"workflow":\{"_id":"lab\.one","name":"lab\.one"\}/u, 'the take is on record');
    assert.match(audit.text, /"code":"delegation-lost"/u, 'the refusal is on record');
  });

  test('a run of somebody who was removed is suspended by the reload, and calls again once the account is back', async (t) => {
    const { far, gateway, configured, send, store: put, automation, start, reaches, goOn } = await peopleStage(t, store);
    await put('ann', 'one', '1.0.0', [listening, action]);
    const run = await start('bob', await automation('one'));
    await reaches(run.id, 'waiting');
    await reloadWith(gateway, configured(withoutBob));
    // It waits for an event that has not come.
    assert.equal((await reaches(run.id, 'suspended')).suspendedBy, 'person-gone');
    await goOn('ann');
    assert.deepEqual([...far.arrived], []);
    const events = await send('ann', 'GET', `/runs/${run.id}/tasks`);
    assert.equal(events.status, 200);
    await reloadWith(gateway, configured(stagePeople));
    await send('ann', 'POST', `/runs/${run.id}/resume`);
    await reaches(run.id, 'completed');
    assert.deepEqual([...far.arrived], [['one', 1]]);
  });

  test('a child answers by who stored the documents above it as well', async (t) => {
    const { far, gateway, configured, store: put, automation, start, reaches, send, goOn } = await peopleStage(t, store);
    await put('ann', 'child', '1.0.0', [listening, action]);
    await put('bob', 'parent', '1.0.0', [
      { inner: { run: { workflow: { namespace: 'lab', name: 'child', version: '1.0.0' } } } },
    ]);
    const run = await start('otto', await automation('parent'));
    await until('the child listens', async () =>
      (await send('ann', 'GET', '/runs?status=waiting&workflow=lab.child')).text.includes('lab.child'),
    );
    await reloadWith(gateway, configured({ ...stagePeople, bob: { roles: ['engineering'], groups: [] } }));
    await goOn('eve');
    const child = await reaches(`${run.id}.1.1`, 'suspended');
    assert.equal(child.suspendedBy, 'delegation-lost');
    assert.deepEqual([...far.arrived], []);
    assert.deepEqual(involvedIn(child), [
      'ann: author workflow parent',
      'bob: workflow parent',
      'eve: event',
      'otto: starter parent',
    ]);
    assert.equal((await send('ann', 'POST', `/runs/${run.id}/cancel`)).status, 200);
  });

  test('a repeated run has everybody who was involved, and a child, an old version and another workflow are not repeated', async (t) => {
    const { send, store: put, automation, start, read, reaches } = await peopleStage(t, store);
    const nothing = [{ only: { set: { a: 1 } } }];
    await put('bob', 'child', '1.0.0', nothing);
    const inner = { inner: { run: { workflow: { namespace: 'lab', name: 'child', version: '1.0.0' } } } };
    await put('ann', 'one', '1.0.0', [inner]);
    const id = await automation('one');
    const first = await start('otto', id);
    await reaches(first.id, 'completed');
    const rerun = (as: 'ann' | 'eve' | 'otto', run: string, body?: object) => send(as, 'POST', `/runs/${run}/rerun`, body);
    assertProblem(await rerun('otto', `${first.id}.1.1`), 409, 'run-has-parent');
    const again = await rerun('ann', first.id, { input: { b: 2 } });
    assert.equal(again.status, 201, again.text);
    assert.match(again.text, /"input":\{"b":2\}/u);
    assert.deepEqual(involvedIn(await read((again.json() as { id: string }).id)), [
      'ann: starter author workflow repeated',
      'bob: workflow repeated',
      'otto: starter repeated',
    ]);
    assertProblem(await rerun('otto', first.id, { item: 'failed' }), 400, 'invalid-request');
    assertProblem(await rerun('otto', first.id, { version: '1.0.0' }), 403, 'forbidden');
    assert.equal((await rerun('otto', first.id, {})).status, 201);
    await put('ann', 'one', '1.1.0', [...nothing, inner]);
    assertProblem(await rerun('otto', first.id), 409, 'version-superseded');
    const byWriter = await rerun('ann', first.id);
    assert.equal((byWriter.json() as { version: string }).version, '1.0.0');
    const named = await rerun('ann', first.id, { version: '1.1.0' });
    assert.equal((named.json() as { version: string }).version, '1.1.0');
    await put('ann', 'two', '1.0.0', nothing);
    await send('ann', 'PATCH', `/automation_catalog/automations/${id}`, { data: { workflowId: 'lab.two' } });
    assertProblem(await rerun('ann', first.id), 409, 'run-conflict');
  });

  test('a person who joins a run while it waits for people is shown as involved, and may not approve it any more', async (t) => {
    const { send, store: put, automation, start, reaches, goOn } = await peopleStage(t, store);
    await put('bob', 'one', '1.0.0', [{ side: { fork: { branches: [listening, question(false)] } } }]);
    const run = await start('otto', await automation('one'));
    await reaches(run.id, 'waiting');
    const id = await asked(send, run.id);
    const seen = async () => (await send('eve', 'GET', `/approvals/${id}`)).json() as SeenApproval;
    assert.deepEqual([(await seen()).mayDecide, involvedIn(await seen()).includes('eve: event')], [true, false]);
    await goOn('eve');
    await until('eve has joined', async () => involvedIn(await seen()).includes('eve: event'));
    const { mayDecide, whyNot } = await seen();
    assert.deepEqual([mayDecide, whyNot?.code], [false, 'involved']);
    const listed = (await send('eve', 'GET', `/approvals?run=${run.id}`)).json() as { readonly list: readonly SeenApproval[] };
    assert.equal(listed.list[0]?.whyNot?.code, 'involved');
    assertProblem(await send('eve', 'POST', `/approvals/${id}/grant`, { reason: 'x' }), 403, 'forbidden');
    assert.equal((await send('otto', 'POST', `/runs/${run.id}/cancel`)).status, 200);
  });

  test('an event that a run emits is sent by everybody who joined the run before, the sender of the event before it included', async (t) => {
    const { store: put, automation, start, read, reaches, goOn } = await peopleStage(t, store);
    const sent = { type: 'net.example.relayed', source: 'https://tests.example.net' };
    await put('bob', 'relay', '1.0.0', [listening, { tell: { emit: { event: { with: sent } } } }]);
    await put('ann', 'taker', '1.0.0', [{ take: { listen: { to: { one: { with: { type: sent.type } } } } } }]);
    const taker = await start('ann', await automation('taker'));
    const relay = await start('otto', await automation('relay'));
    for (const { id } of [taker, relay]) await reaches(id, 'waiting');
    await goOn('eve');
    await reaches(taker.id, 'completed');
    assert.deepEqual(involvedIn(await read(taker.id)), [
      'ann: starter author workflow event',
      'bob: event',
      'eve: event',
      'otto: event',
    ]);
  });

  test('a rule that lets authors approve lets them do so in a child and in a repetition, and no person who began the runs', async (t) => {
    const { send, store: put, automation, start, reaches } = await peopleStage(t, store);
    await put('bob', 'child', '1.0.0', [question('authors')]);
    const inner = { inner: { run: { workflow: { namespace: 'lab', name: 'child', version: '1.0.0' } } } };
    await put('ann', 'one', '1.0.0', [inner]);
    const id = await automation('one');
    const first = await start('bob', id);
    const reason = { reason: 'x' };
    const whyNot = async (as: 'ann' | 'bob', approval: string) =>
      ((await send(as, 'GET', `/approvals/${approval}`)).json() as SeenApproval).whyNot?.code;
    const asks = await asked(send, `${first.id}.1.1`);
    assert.deepEqual([await whyNot('ann', asks), await whyNot('bob', asks)], [undefined, 'caller']);
    assert.equal((await send('ann', 'POST', `/approvals/${asks}/grant`, reason)).status, 200);
    await reaches(first.id, 'completed');
    const again = (await send('otto', 'POST', `/runs/${first.id}/rerun`)).json() as { readonly id: string };
    const asksAgain = await asked(send, `${again.id}.1.1`);
    assert.deepEqual([await whyNot('ann', asksAgain), await whyNot('bob', asksAgain)], [undefined, 'involved']);
    assert.equal((await send('ann', 'POST', `/approvals/${asksAgain}/grant`, reason)).status, 200);
    await reaches(again.id, 'completed');
  });

  test('a run takes the newest release, and a version only from those who may write the workflow', async (t) => {
    const { send, store: put, automation, start } = await peopleStage(t, store);
    const nothing = [{ only: { set: { a: 1 } } }];
    await put('eve', 'one', '2.0.0-rc.1', nothing);
    const id = await automation('one');
    const run = (as: 'otto' | 'eve', body?: object) => send(as, 'POST', `/automation_catalog/automations/${id}/run`, body);
    assertProblem(await run('otto'), 409, 'workflow-not-found');
    await put('eve', 'one', '1.0.0', nothing);
    const started = await start('otto', id);
    assert.equal(started.version, '1.0.0');
    assert.match(started.workflowDigest ?? '', /^[0-9a-f]{64}$/u);
    assertProblem(await run('otto', { version: '2.0.0-rc.1' }), 403, 'forbidden');
    assert.equal((await start('ann', id, { version: '2.0.0-rc.1' })).version, '2.0.0-rc.1');
    assertProblem(
      await send('ann', 'POST', `/automation_catalog/automations/${id}/run`, { version: '9.0.0' }),
      409,
      'workflow-not-found',
    );
    const read = await send('ann', 'GET', '/automation_catalog/workflows/lab.one');
    assert.match(read.text, /"1\.0\.0"/u);
  });

  test('a command takes a workflow, one version of it, and all that a person left behind', async (t) => {
    const { gateway, configured, send, store: put } = await peopleStage(t, store);
    await reloadWith(gateway, configured({ ...stagePeople, eve: { roles: ['engineering', 'readonly'], groups: [] } }));
    const nothing = [{ only: { set: { a: 1 } } }];
    for (const name of ['one', 'two']) for (const version of ['1.0.0', '1.1.0']) await put('eve', name, version, nothing);
    await put('bob', 'two', '2.0.0', nothing);
    const take = (...parameters: readonly string[]) => takeAs('ann', ...parameters);
    const takeAs = (as: string, ...parameters: readonly string[]) => {
      const environment = { GATEWAY_USER: as, GATEWAY_PASSWORD: testPassword, GATEWAY_URL: gateway.url };
      return command(['workflows', 'take', ...parameters], { environment });
    };
    const left = async (person: string): Promise<readonly string[]> => {
      const reply = await send('ann', 'GET', `/automation_catalog/workflows?storer=${person}`);
      const { list, total } = reply.json() as { readonly list: readonly { id: string; versions: string[] }[]; total: number };
      assert.equal(total, list.length);
      return list.flatMap(({ id, versions }) => versions.map((version) => `${id} ${version}`));
    };
    assert.deepEqual(await left('eve'), ['lab.one 1.1.0', 'lab.one 1.0.0', 'lab.two 1.1.0', 'lab.two 1.0.0']);
    const one = await take('lab.one', '--version', '1.0.0');
    assert.deepEqual([one.code, one.stdout], [0, 'lab.one 1.0.0\n'], one.stderr);
    const behind = await take('--from', 'eve');
    assert.deepEqual([behind.code, behind.stdout], [0, 'lab.one 1.1.0\nlab.two 1.1.0\nlab.two 1.0.0\n'], behind.stderr);
    assert.deepEqual([await left('eve'), await left('bob')], [[], ['lab.two 2.0.0']]);
    const whole = await take('lab.two');
    assert.deepEqual([whole.code, whole.stdout], [0, 'lab.two 2.0.0\nlab.two 1.1.0\nlab.two 1.0.0\n'], whole.stderr);
    assert.equal((await left('ann')).length, 5);
    // What a person may not take keeps none of the rest.
    await put('ann', 'alone', '1.0.0', [action]);
    const partly = await takeAs('eve', '--from', 'ann');
    assert.equal(partly.code, 1);
    assert.match(partly.stderr, /^orchestration-gateway workflows take: lab\.alone 1\.0\.0: the user eve may not do this/u);
    assert.deepEqual([await left('ann'), (await left('eve')).length], [['lab.alone 1.0.0'], 5]);
    for (const wrong of [[], ['lab.one', '--from', 'eve'], ['--from', 'eve', '--version', '1.0.0']])
      assert.equal((await take(...wrong)).code, 2, wrong.join(' '));
    assert.equal((await take('lab.none')).code, 1);
  });
});
