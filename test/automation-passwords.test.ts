import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import { peopleStage, type stagePeople } from './support/runs/run-people-stage.ts';
import { eachStore } from './support/stores/stores.ts';

// Readers of an automation do not see what its input has for password fields of its form.

const automations = '/automation_catalog/automations';
const input = { device: 'r7', enable: 'correct-horse', pins: ['1234'] };
const masked = { device: 'r7', enable: '***', pins: '***' };

eachStore((store) => {
  test('no reply has a password of the input, and a write of what was read keeps it', async (t) => {
    const { far, send, store: put, reaches } = await peopleStage(t, store);
    const wanted = async (as: keyof typeof stagePeople, method: string, target: string, body?: object) => {
      const reply = await send(as, method, target, body);
      assert.ok(reply.status < 300, reply.text);
      return reply;
    };
    const field = { type: 'string', format: 'password' };
    const properties = { device: { type: 'string' }, enable: field, pins: { type: 'array', items: field } };
    await wanted('ann', 'PUT', '/automation_catalog/forms/login', { type: 'object', properties });
    const params = { path: 'act', accept: 'application/json' };
    const act = {
      call: 'orchestratorAction',
      with: { adapter: 'Far', params, body: { action: '${ .enable + " " + .pins[0] }' } },
    };
    await put('ann', 'login', '1.0.0', [{ act }]);
    const data = { workflowId: 'lab.login', formId: 'login', input, gbac: { write: ['noc'], read: [] } };
    const created = await wanted('ann', 'POST', automations, { name: 'login', data });
    const { _id: id } = created.json() as { readonly _id: string };
    const own = `${automations}/${id}`;
    const read = async (as: keyof typeof stagePeople = 'otto') =>
      (await wanted(as, 'GET', own)).json() as { readonly data: typeof data };
    const seen = await read();
    assert.deepEqual(seen.data.input, masked);
    const replies = [
      created,
      await wanted('ann', 'PUT', own, { ...seen, name: 'renamed' }),
      await wanted('ann', 'PATCH', own, { data: { description: 'said', input: { device: 'r8', enable: '***' } } }),
      await wanted('ann', 'PATCH', own, { data: { description: 'enable: ***' } }),
      await wanted('bob', 'POST', `${own}/take`),
    ];
    for (const as of ['ann', 'otto'] as const)
      for (const target of [own, `${own}/history`, automations, `${automations}?runs=1`])
        replies.push(await wanted(as, 'GET', target));
    for (const { text } of replies) assert.ok(text.includes('"enable":"***"') && !/correct-horse|1234/u.test(text), text);
    assert.deepEqual((await read()).data.input, { ...masked, device: 'r8' });

    const run = (await wanted('ann', 'POST', `${own}/run`)).json() as { readonly id: string };
    await reaches(run.id, 'completed');
    assert.ok(far.arrived.has('correct-horse 1234'), JSON.stringify(far.arrivals));
    const exported = await wanted('ann', 'GET', '/automation_catalog/export?kind=automation');
    assert.match(exported.text, /"enable":"correct-horse","pins":\["1234"\]/u);
  });

  test('the mask is no password of a new automation, of an empty field or of another form', async (t) => {
    const { send } = await peopleStage(t, store);
    const properties = { enable: { type: 'string', format: 'password' }, note: { type: 'string' } };
    for (const name of ['one', 'two'])
      assert.equal((await send('ann', 'PUT', `/automation_catalog/forms/${name}`, { type: 'object', properties })).status, 201);
    const data = { formId: 'one', input: { enable: '***', note: '***' } };
    const refused = assertProblem(await send('ann', 'POST', automations, { name: 'new', data }), 400, 'invalid-request');
    assert.deepEqual(
      refused.errors?.map(({ pointer }) => pointer),
      ['/data/input/enable'],
    );
    const made = await send('ann', 'POST', automations, { name: 'new', data: { formId: 'one', input: { note: '***' } } });
    const own = `${automations}/${(made.json() as { readonly _id: string })._id}`;
    assertProblem(await send('ann', 'PATCH', own, { data: { input: { enable: '***' } } }), 400, 'invalid-request');
    assert.equal((await send('ann', 'PATCH', own, { data: { input: { enable: 'hush-hush' } } })).status, 200);
    const moved = { data: { formId: 'two', input: { enable: '***' } } };
    assertProblem(await send('ann', 'PATCH', own, moved), 400, 'invalid-request');
    assertProblem(await send('eve', 'PATCH', `${automations}/none`, moved), 404, 'automation-not-found');
  });
});
