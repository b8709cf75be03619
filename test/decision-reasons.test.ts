// suite: waiting

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approvalCaller, type Person, people } from './support/approvals/approval-caller.ts';
import { assertProblem } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { type RunCaller, runCaller, type SeenTask } from './support/runs/run-caller.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { NsoNode, yang } from './support/upstreams/nso-node.ts';
import { jsonReply } from './support/upstreams/upstream.ts';

// What people decided about tasks and why, and what they can know before: docs/guides/operating-runs.md.

interface DecidedTask extends SeenTask {
  readonly decisions?: readonly {
    readonly as: string;
    readonly principal: string;
    readonly at: string;
    readonly reason: string;
  }[];
}

const path = 'restconf/data/tailf-ncs:devices/device=r7/config';
const change = {
  change: {
    call: 'orchestratorRequest',
    with: { adapter: 'NSO', params: { method: 'PATCH', path, accept: yang }, body: { 'a:host': '${ .name }' } },
  },
};

async function lab(owner: Owner, store: TestStore, approvals: readonly object[] = []) {
  const nso = await NsoNode.start(owner, 'rfc8525');
  const gateway = await startGateway(owner, {
    users: [...people],
    config: { approvals, store: { url: storeUrl(await store.fresh(owner)) } },
    adapters: [{ name: 'NSO', kind: 'nso', url: nso.far.url, auth: { type: 'none' } }],
  });
  const runs = runCaller(() => gateway, gateway.basicFor('admin'));
  const decisions = async (run: string, name = 'change') => {
    const task = (await runs.tasks(run)).find((one): one is DecidedTask => one.name === name);
    return (task?.decisions ?? []).map(({ as, principal, at, reason }) => {
      assert.ok(Math.abs(Date.parse(at) - Date.now()) < 120_000, at);
      return [as, principal, reason];
    });
  };
  return { nso, gateway, runs, decisions, ...approvalCaller(() => gateway) };
}

/** A run whose only call left, and got no answer. */
async function unknownRun(nso: NsoNode, runs: RunCaller, name: string): Promise<string> {
  nso.answer = (_request, socket) => void socket.destroy();
  const run = (await runs.start(await runs.automation(name, [change]), { input: { name: 'edge' } })).id;
  await runs.reaches(run, 'suspended');
  return run;
}

const dryRun = (native: string) => () =>
  jsonReply(`{"dry-run-result":{"native":{"device":[{"name":"r7","data":${JSON.stringify(native)}}]}}}`, { type: yang });

eachStore((store) => {
  test('each decision about an unknown outcome is in the timeline with its reason, also where it is made again', async (t) => {
    const { nso, runs, decisions } = await lab(t, store);
    const run = await unknownRun(nso, runs, 'again');
    assert.equal((await runs.change(run, 'decide', { task: '1', as: 'again', reason: 'the device has nothing' })).status, 200);
    await until('it is unknown again', async () => nso.changes === 2 && (await runs.read(run)).status === 'suspended');
    const resumed = await runs.change(run, 'resume', { task: '1', as: 'done', reason: 'show run, 22:04' });
    assert.equal(resumed.status, 200, resumed.text);
    await runs.reaches(run, 'completed');
    assert.deepEqual(await decisions(run), [
      ['again', 'admin-user', 'the device has nothing'],
      ['done', 'admin-user', 'show run, 22:04'],
    ]);
  });

  test('a run that people resume has their reason on its tasks and on record, and needs none', async (t) => {
    const { runs, decisions, send } = await lab(t, store);
    const pause = { wait: { seconds: 2 } };
    const run = (await runs.start(await runs.automation('paused', [{ pause }]))).id;
    await runs.reaches(run, 'waiting');
    await runs.change(run, 'suspend');
    await runs.reaches(run, 'suspended');
    assertProblem(await runs.change(run, 'resume', { reason: 'x', as: 'done' }), 400, 'invalid-request');
    assert.equal((await runs.change(run, 'resume', { reason: 'the storm is over' })).status, 200);
    await runs.reaches(run, 'completed');
    assert.deepEqual(await decisions(run, 'pause'), [['resumed', 'admin-user', 'the storm is over']]);
    await until('it is on record', async () => {
      const { list } = (await send('ann', 'GET', '/audit?limit=100')).json() as {
        readonly list: readonly { readonly route?: string; readonly reason?: string }[];
      };
      return list.some(({ route, reason }) => route === 'POST /runs/:id/resume' && reason === 'the storm is over');
    });
  });

  test('grants and rejections are in the timeline of the run with their reasons', async (t) => {
    const rule = { name: 'two', when: { paths: ['restconf/**'] }, approvers: { groups: ['noc-leads'] }, count: 2 };
    const { nso, runs, decisions, send, list } = await lab(t, store, [rule]);
    const automation = await runs.automation('asked', [change]);
    const waiting = async (run: string): Promise<string> => {
      let id = '';
      await until(
        'the run waits',
        async () => ([{ id } = { id: '' }] = await list('lea', `?status=waiting&run=${run}`))[0] !== undefined,
      );
      return id;
    };
    const decide = async (person: Person, id: string, as: string, reason: string): Promise<void> => {
      const reply = await send(person, 'POST', `/approvals/${id}/${as}`, { reason });
      assert.equal(reply.status, 200, reply.text);
    };
    const { id: run } = await runs.start(automation, { input: { name: 'edge' } });
    const approval = await waiting(run);
    await decide('lea', approval, 'grant', 'board of Tuesday');
    await until('the first grant is there', async () => (await decisions(run)).length === 1);
    assert.equal(nso.changes, 0);
    await decide('leo', approval, 'grant', 'seen as well');
    await runs.reaches(run, 'completed');
    assert.deepEqual(await decisions(run), [
      ['granted', 'lea', 'board of Tuesday'],
      ['granted', 'leo', 'seen as well'],
    ]);
    const { id: second } = await runs.start(automation, { input: { name: 'core' } });
    await decide('lea', await waiting(second), 'reject', 'not tonight');
    await runs.reaches(second, 'faulted');
    assert.deepEqual(await decisions(second), [['rejected', 'lea', 'not tonight']]);
  });

  test('who may decide about an unknown outcome gets a fresh preview, and an empty one says that the change is there', async (t) => {
    const { nso, runs, send } = await lab(t, store);
    const run = await unknownRun(nso, runs, 'preview');
    const target = `/runs/${run}/tasks/1/preview`;
    nso.answer = dryRun('hostname edge\n');
    assert.deepEqual((await send('ann', 'POST', target)).json(), { kind: 'native', text: 'hostname edge\n' });
    const sent = nso.calls.at(-1);
    assert.match(
      `${sent?.method} ${sent?.target}`,
      /^PATCH \/restconf\/data\/tailf-ncs:devices\/device=r7\/config\?dry-run=native/u,
    );
    assert.equal(sent?.body.toString(), '{"a:host":"edge"}');
    nso.answer = () => jsonReply('{"dry-run-result":{"native":{}}}', { type: yang });
    assert.deepEqual((await send('ann', 'POST', target)).json(), {
      kind: 'native',
      text: '',
      explanation: 'the orchestrator has it already',
    });
    assert.equal(nso.changes, 1);
    assertProblem(await send('eve', 'POST', target), 403, 'forbidden');
    assertProblem(await send('lea', 'POST', target), 404, 'run-not-found');
    assertProblem(await send('ann', 'POST', `/runs/${run}/tasks/9/preview`), 404, 'task-not-found');
    nso.library = 'other';
    await runs.change(run, 'decide', { task: '1', as: 'done', reason: 'the preview is empty' });
    await runs.reaches(run, 'completed');
    assertProblem(await send('ann', 'POST', target), 409, 'run-conflict');
  });

  test('an unknown call with a password of a form has no fresh preview, and its reason has no password', async (t) => {
    const { nso, runs, gateway, send } = await lab(t, store);
    const form = { type: 'object', properties: { name: { type: 'string', format: 'password' } } };
    const write = async (method: string, target: string, body: object): Promise<void> => {
      const headers = { 'content-type': 'application/json' };
      const { status, text } = await gateway.send({ method, target, body: JSON.stringify(body), headers, role: 'admin' });
      assert.ok(status < 300, text);
    };
    await write('PUT', '/automation_catalog/forms/login', form);
    const id = await runs.automation('login', [change]);
    await write('PATCH', `/automation_catalog/automations/${id}`, { data: { formId: 'login' } });
    nso.answer = (_request, socket) => void socket.destroy();
    const run = (await runs.start(id, { input: { name: 'edge-password' } })).id;
    await runs.reaches(run, 'suspended');
    nso.answer = dryRun('hostname edge-password\n');
    const { status, text } = await send('ann', 'POST', `/runs/${run}/tasks/1/preview`);
    assert.equal(status, 200, text);
    assert.match(text, /passwords of a form, which a preview does not carry/u);
    assert.ok(!text.includes('edge-password'), text);
  });
});
