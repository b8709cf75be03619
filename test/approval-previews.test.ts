import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDemoOrchestrator } from '../demo/demo-orchestrator.ts';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { approvalCaller, people, type SeenApproval } from './support/approvals/approval-caller.ts';
import { assertProblem } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { NsoNode, yang } from './support/upstreams/nso-node.ts';

// What an approver sees of a call: the dry run of the orchestrator, taken before anybody has granted anything.

const demo = await startDemoOrchestrator();
after(() => demo.close());
const other = await NsoNode.start({ after }, 'other');
const gateway = await startGateway(
  { after },
  {
    users: [...people],
    config: { approvals: [{ name: 'all-changes', when: { methods: ['POST', 'PUT'] }, approvers: { groups: ['noc-leads'] } }] },
    adapters: [
      { name: 'demo', kind: 'nso', url: demo.url, auth: { type: 'basic', username: 'admin', password: 'admin' } },
      { name: 'other', kind: 'nso', url: other.far.url },
    ],
  },
);
const { send, read, needed, grant, list } = approvalCaller(() => gateway);

const hostname = 'restconf/data/tailf-ncs:devices/device=ce0/config/tailf-ned-cisco-ios:hostname';

function change(adapter: string, name: string, headers = {}) {
  const params = { method: 'PUT', path: hostname, accept: yang };
  const body = { params, body: { 'tailf-ned-cisco-ios:hostname': name } };
  return send('ann', 'POST', `/orchestrator_manager/restRequest/${adapter}`, body, headers);
}

async function previewed(id: string): Promise<NonNullable<SeenApproval['preview']>> {
  let found: SeenApproval['preview'];
  await until('the preview is there', async () => (found = (await read('lea', id)).preview) !== undefined);
  assert.ok(found !== undefined);
  return found;
}

test('an approver sees the dry run of a call, and can take it again after the orchestrator has changed', async () => {
  const id = needed(await change('demo', 'renamed'));
  const { kind, text } = await previewed(id);
  assert.deepEqual([kind, text], ['native', 'hostname renamed\n']);
  await grant('lea', id);
  assert.equal((await change('demo', 'renamed', { Approval: id })).status, 200);
  const next = needed(await change('demo', 'renamed'));
  assert.equal((await previewed(next)).text, '');
  const meanwhile = needed(await change('demo', 'another'));
  await grant('lea', meanwhile);
  assert.equal((await change('demo', 'another', { Approval: meanwhile })).status, 200);
  const again = await send('lea', 'POST', `/approvals/${next}/preview`);
  assert.equal((again.json() as SeenApproval).preview?.text, 'hostname renamed\n');
  for (const [target, body] of [
    [`/approvals/${next}/preview?format=cli`, undefined],
    [`/approvals/${next}/preview`, { format: 'cli' }],
  ] as const) {
    const { preview } = (await send('lea', 'POST', target, body)).json() as SeenApproval;
    assert.match(preview?.text ?? '', /^\+ +hostname renamed;$/mu);
  }
  assertProblem(await send('lea', 'POST', `/approvals/${next}/preview?format=json`), 400, 'invalid-request');
});

test('the preview of an action is its own dry run, also where a run makes the call', async () => {
  const path = 'restconf/data/tailf-ncs:devices/device=ce22/sync-to';
  const params = { path, accept: yang };
  const id = needed(await send('ann', 'POST', '/orchestrator_manager/restAction/demo', { params, body: {} }));
  const { kind, text } = await previewed(id);
  assert.deepEqual([kind, text], ['native', 'hostname ce22\n']);
  const document = { dsl: '1.0.3', namespace: 'lab', name: 'sync', version: '1.0.0' };
  const call = { call: 'orchestratorAction', with: { adapter: 'demo', params, body: {} } };
  const stored = await send('ann', 'POST', '/automation_catalog/workflows', { document, do: [{ sync: call }] });
  assert.equal(stored.status, 201, stored.text);
  const made = await send('ann', 'POST', '/automation_catalog/automations', { name: 'sync', data: { workflowId: 'lab.sync' } });
  const { _id: automation } = made.json() as { readonly _id: string };
  const run = await send('ann', 'POST', `/automation_catalog/automations/${automation}/run`, {});
  assert.equal(run.status, 201, run.text);
  let waiting: SeenApproval | undefined;
  await until('the run waits for an approval', async () => {
    waiting = (await list('lea', '?status=waiting')).find((one) => one.workflow !== undefined);
    return waiting !== undefined;
  });
  assert.equal((await previewed(waiting?.id ?? '')).text, 'hostname ce22\n');
});

test('an approval that is over gets no new preview', async () => {
  const used = needed(await change('demo', 'over'));
  await grant('lea', used);
  assert.equal((await change('demo', 'over', { Approval: used })).status, 200);
  assertProblem(await send('lea', 'POST', `/approvals/${used}/preview`), 409, 'approval-used');
  const rejected = needed(await change('demo', 'not wanted'));
  await previewed(rejected);
  assert.equal((await send('lea', 'POST', `/approvals/${rejected}/reject`, { reason: 'no' })).status, 200);
  assertProblem(await send('lea', 'POST', `/approvals/${rejected}/preview`), 409, 'approval-rejected');
});

test('a preview of an approval counts towards the rate limit of who asks for it', async (t) => {
  const limited = await startGateway(t, {
    users: [...people],
    config: {
      server: { rateLimit: { calls: 6, per: '1h' } },
      approvals: [{ name: 'all', when: { methods: ['PUT'] }, approvers: { groups: ['noc-leads'] } }],
    },
    adapters: [{ name: 'demo', kind: 'nso', url: demo.url, auth: { type: 'basic', username: 'admin', password: 'admin' } }],
  });
  const caller = approvalCaller(() => limited);
  const body = { params: { method: 'PUT', path: hostname, accept: yang }, body: { 'tailf-ned-cisco-ios:hostname': 'x' } };
  const ask = () => caller.send('ann', 'POST', '/orchestrator_manager/restRequest/demo', body);
  const id = needed(await ask());
  const replies = [];
  for (let count = 0; count < 8; count += 1) replies.push(await caller.send('lea', 'POST', `/approvals/${id}/preview`));
  assertProblem(replies.at(-1) ?? assert.fail(), 429, 'too-many-requests');
  assert.equal(needed(await ask()), id, 'the caller of the approval can go on');
});

test('the record of a dry run names the approval, and who asked for the call', async () => {
  const id = needed(await change('demo', 'recorded'));
  await previewed(id);
  let found: readonly AuditRecord[] = [];
  await until('the record', async () => {
    const reply = await gateway.send({ target: '/audit?limit=100', role: 'admin' });
    const { list } = reply.json() as { readonly list: readonly AuditRecord[] };
    found = list.filter(({ approval, preview }) => approval?._id === id && preview !== undefined);
    return found.length > 0;
  });
  assert.deepEqual(
    found.map(({ route, principal, outcome, preview }) => [route, principal, outcome, preview]),
    [['preview restRequest', 'ann', 'ok', 'native']],
  );
});

test('an upstream that may ignore dry-run gets nothing before the call is approved', async () => {
  const id = needed(await change('other', 'renamed'));
  const { kind, reason = '' } = await previewed(id);
  assert.equal(kind, 'none');
  assert.match(reason, /does not prove that it is NSO/u);
  await send('lea', 'POST', `/approvals/${id}/preview`);
  assert.deepEqual([other.calls.length, other.changes], [0, 0]);
});

test('the preview route needs no approval, because nothing but a dry run leaves', async () => {
  const body = { params: { method: 'PUT', path: hostname, accept: yang }, body: { 'tailf-ned-cisco-ios:hostname': 'shown' } };
  const shown = await send('ann', 'POST', '/orchestrator_manager/preview/demo', body);
  assert.deepEqual([shown.status, shown.json()], [200, { kind: 'native', text: 'hostname shown\n' }]);
  const none = await send('ann', 'POST', '/orchestrator_manager/preview/other', body);
  assert.equal((none.json() as { readonly kind: string }).kind, 'none');
  assert.equal(other.changes, 0);
});
