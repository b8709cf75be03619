// suite: waiting

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { SeenApproval } from './support/approvals/approval-caller.ts';
import { suiteOwner } from './support/owner.ts';
import { batchTask, type ItemStage, itemStage, namedAction } from './support/runs/item-stage.ts';
import { eachStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// What people filled into password fields of a form is in no approval, and the approved call still has it.

const approvers = { groups: ['noc-leads'] };
const approvals = [
  { name: 'acts', when: { adapters: ['Far'], paths: ['**/act/**'] }, approvers },
  { name: 'batches', when: { adapters: ['Far'], paths: ['**/item'] }, approvers, covers: 'batch' },
  { name: 'calls', when: { routes: ['restCall'] }, approvers },
];
const input = { device: 'r7', enable: 'correct-horse', pin: '123', pins: ['battery-staple'] };

eachStore((store) => {
  const owner = suiteOwner();
  let stage: ItemStage;
  before(async () => {
    stage = await itemStage(owner, store, { approvals, outbound: { allow: ['127.0.0.1:9'] } });
    const field = { type: 'string', format: 'password' };
    const properties = { device: { type: 'string' }, enable: field, pin: field, pins: { type: 'array', items: field } };
    await stage.asked(stage.send('ann', 'PUT', '/automation_catalog/forms/login', { type: 'object', properties }), 201);
  });
  /** The approval for which a run of these tasks waits. */
  const ask = async (name: string, tasks: readonly object[]): Promise<{ readonly run: string; readonly id: string }> => {
    const { send, asked, put } = stage;
    await put(name, tasks);
    const data = { workflowId: `lab.${name}`, formId: 'login', gbac: { write: ['noc'], read: [] } };
    const made = asked<{ readonly _id: string }>(send('ann', 'POST', '/automation_catalog/automations', { name, data }), 201);
    const target = `/automation_catalog/automations/${(await made)._id}/run`;
    const { id: run } = await asked<{ readonly id: string }>(send('ann', 'POST', target, { input }), 201);
    const list = () =>
      asked<{ readonly list: readonly SeenApproval[] }>(send('ann', 'GET', `/approvals?status=waiting&run=${run}`));
    return { run, id: await until('people are asked', async () => (await list()).list[0]?.id) };
  };
  /** What each way to see it says, as one text. */
  const shown = async (id: string): Promise<string> => {
    const texts = [];
    for (const as of ['lea', 'ann'] as const) {
      await stage.asked(stage.send(as, 'POST', `/approvals/${id}/preview`));
      for (const target of [`/approvals/${id}`, '/approvals']) texts.push((await stage.send(as, 'GET', target)).text);
    }
    texts.push((await stage.send('ann', 'GET', `/audit?limit=200&object=${id}`)).text);
    return texts.join('\n');
  };
  const assertHidden = (text: string): void => {
    for (const password of ['correct-horse', '"123"', 'battery-staple']) assert.ok(!text.includes(password), text);
  };
  const grant = (id: string) => stage.asked(stage.send('lea', 'POST', `/approvals/${id}/grant`, { reason: 'It is planned.' }));

  test('approvers see no password of a form in a call, get no preview of it, and approve its true bytes', async () => {
    const body = { action: '${ "enable " + .enable }', pin: '${ .pin }', more: '${ .pins }', device: '${ .device }' };
    const params = { path: '${ "act/" + .enable }', accept: 'application/json' };
    const { run, id } = await ask('acts', [{ act: { call: 'orchestratorAction', with: { adapter: 'Far', params, body } } }]);
    const seen = await stage.asked<SeenApproval>(stage.send('lea', 'GET', `/approvals/${id}`));
    assert.deepEqual(JSON.parse(seen.call?.body ?? ''), { action: 'enable ***', pin: '***', more: ['***'], device: 'r7' });
    assert.equal(seen.call?.redacted, true);
    const text = await shown(id);
    assertHidden(text);
    assert.match(text, /"kind":"none","reason":"The call has values of secrets or of password fields/u);
    await grant(id);
    await stage.reaches(run, 'completed');
    assert.ok(stage.far.arrived.includes('enable correct-horse'), JSON.stringify(stage.far.arrived));
  });

  test('approvers see no password of a form in the body of a restCall that is no JSON', async () => {
    const { id } = await ask('calls', [
      {
        act: {
          call: 'restCall',
          with: {
            uri: 'http://127.0.0.1:9/login',
            verb: 'POST',
            headers: { 'Content-Type': 'text/plain' },
            body: '${ "enable " + .enable + " on " + .device }',
          },
        },
      },
    ]);
    assertHidden(await shown(id));
  });

  test('approvers see no password of a form in the items of a batch', async () => {
    await stage.put('typed', [
      {
        act: {
          call: 'orchestratorAction',
          with: {
            adapter: 'Far',
            params: { path: 'item', accept: 'application/json' },
            body: { action: '${ $workflow.input.item.text }', pin: '${ $workflow.input.item.pin }' },
          },
        },
      },
    ]);
    const items = '${ [{ text: ("set " + .enable), pin }, { text: .pins[0], pin }] }';
    const workflow = { namespace: 'lab', name: 'typed', version: '1.0.0' };
    const { run, id } = await ask('batches', [batchTask('all', { workflow, canary: 1 }, items)]);
    const text = await shown(id);
    assertHidden(text);
    assert.match(text, /set \*\*\*/u);
    await grant(id);
    await stage.reaches(run, 'completed');
    for (const sent of ['set correct-horse', 'battery-staple']) assert.ok(stage.far.arrived.includes(sent), sent);
  });

  test('approvers see no password of a form in a question', async () => {
    const { id } = await ask('asks', [
      { ask: { call: 'approval', with: { message: '${ "Set " + .enable + " on " + .device + "?" }', approvers } } },
      namedAction('act', '"asked"'),
    ]);
    const seen = await stage.asked<SeenApproval>(stage.send('lea', 'GET', `/approvals/${id}`));
    assert.equal(seen.message, 'Set *** on r7?');
    assertHidden((await stage.send('lea', 'GET', '/approvals')).text);
  });
});
