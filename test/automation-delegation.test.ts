import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { type Gateway, startGateway, type TestRole } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';

// Who may choose the workflow of an automation, and the input of its scheduled runs.

const automations = '/automation_catalog/automations';

const orchestratorCall = 'call: orchestratorQuery, with: { adapter: A, params: { path: x, accept: application/json } }';
const runs = (name: string): string => `run: { workflow: { namespace: lab, name: ${name}, version: 1.0.0 } }`;

function yaml(name: string, version: string, task: string): string {
  return `document: { dsl: 1.0.3, namespace: lab, name: ${name}, version: ${version} }\ndo:\n  - only: { ${task} }\n`;
}

eachStore((store) => {
  let gateway: Gateway;
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    const owner = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) };
    gateway = await startGateway(owner, { config: { store: { url: storeUrl(await store.empty(owner)) } } });
    await stored(yaml('plain', '1.0.0', 'set: { a: 1 }'));
    await stored(yaml('calls', '1.0.0', orchestratorCall));
    await stored(yaml('runs', '1.0.0', runs('calls')));
    await stored(yaml('older', '1.0.0', orchestratorCall));
    await stored(yaml('older', '2.0.0', 'set: { a: 1 }'));
  });
  after(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  });

  async function stored(body: string): Promise<void> {
    const target = '/automation_catalog/workflows';
    const headers = { 'Content-Type': 'application/yaml' };
    const reply = await gateway.send({ role: 'admin', method: 'POST', target, headers, body });
    assert.equal(reply.status, 201, reply.text);
  }

  function send(method: string, target: string, body: object, role: TestRole = 'engineering'): Promise<Reply> {
    const headers = { 'Content-Type': 'application/json' };
    return gateway.send({ role, method, target, headers, body: JSON.stringify(body) });
  }

  let count = 0;
  /** A new automation, made by an admin. */
  async function created(data: object): Promise<{ readonly target: string; readonly name: string }> {
    count += 1;
    const name = `automation ${count}`;
    const reply = await send('POST', automations, { name, data }, 'admin');
    assert.equal(reply.status, 201, reply.text);
    return { target: reply.header('location') ?? '', name };
  }

  describe('a workflow that calls an orchestrator', () => {
    test('cannot be chosen by engineering for a new automation, and the reply says why', async () => {
      for (const [workflowId, reason] of [
        ['lab.calls', /"lab\.calls".*version 1\.0\.0 calls orchestratorQuery: .*role admin/u],
        ['lab.runs', /runs lab\.calls 1\.0\.0: it calls orchestratorQuery/u],
      ] as const) {
        const name = `new ${workflowId}`;
        const problem = assertProblem(await send('POST', automations, { name, data: { workflowId } }), 403, 'forbidden');
        assert.match(problem.detail, reason);
        assert.equal((await send('POST', automations, { name, data: { workflowId } }, 'admin')).status, 201);
      }
    });

    test('may be chosen by engineering where the version that would run has no call, and in no other version', async () => {
      const older = { workflowId: 'lab.older', workflowVersion: '1.0.0' };
      const newest = { workflowId: 'lab.older' };
      const allowed = await send('POST', automations, { name: 'newest', data: newest });
      assert.equal(allowed.status, 201, allowed.text);
      const problem = assertProblem(await send('POST', automations, { name: 'older', data: older }), 403, 'forbidden');
      assert.match(problem.detail, /its version 1\.0\.0 calls orchestratorQuery/u);
      const target = allowed.header('location') ?? '';
      assertProblem(await send('PATCH', target, { data: older }), 403, 'forbidden');
      // What would run before the change counts, too, and so does what may be stored later.
      assertProblem(await send('PATCH', (await created(older)).target, { data: { workflowVersion: null } }), 403, 'forbidden');
      const later = { workflowId: 'lab.older', workflowVersion: '3.0.0' };
      assertProblem(await send('PATCH', target, { data: later }), 403, 'forbidden');
      assert.equal((await send('PATCH', target, { data: { ...newest, input: { a: 1 } } })).status, 200);
      const unreleased = { workflowId: 'lab.calls', workflowVersion: '1.0.0-rc.1' };
      assertProblem(await send('POST', automations, { name: 'unreleased', data: unreleased }), 403, 'forbidden');
    });

    test('cannot be chosen by engineering in a change', async () => {
      const { target, name } = await created({ workflowId: 'lab.plain' });
      const data = { workflowId: 'lab.calls' };
      assertProblem(await send('PATCH', target, { data }), 403, 'forbidden');
      assertProblem(await send('PUT', target, { name, data }), 403, 'forbidden');
      const read = await gateway.send({ role: 'admin', target });
      assert.equal((read.json() as { data: { workflowId: string } }).data.workflowId, 'lab.plain');
    });

    test('gets no other input from engineering, and keeps the same input through other changes', async () => {
      const data = { workflowId: 'lab.calls', input: { vlan: 1.0 } };
      const { target, name } = await created(data);
      const problem = assertProblem(await send('PATCH', target, { data: { input: { vlan: 2 } } }), 403, 'forbidden');
      assert.match(problem.detail, /^Setting data\.input needs/u);
      assertProblem(await send('PATCH', target, { data: { input: null } }), 403, 'forbidden');
      assertProblem(await send('PUT', target, { name, data: { workflowId: 'lab.calls' } }), 403, 'forbidden');
      for (const [method, body] of [
        ['PUT', { name, data: { ...data, description: 'changed' } }],
        ['PATCH', { data: { ...data, description: 'again' } }],
      ] as const) {
        const reply = await send(method, target, body);
        assert.equal(reply.status, 200, reply.text);
      }
      assert.equal((await send('PATCH', target, { data: { input: { vlan: 2 } } }, 'admin')).status, 200);
    });

    test('cannot be taken away by engineering', async () => {
      const { target } = await created({ workflowId: 'lab.calls' });
      assertProblem(await send('PATCH', target, { data: { workflowId: null } }), 403, 'forbidden');
      assertProblem(await send('PATCH', target, { data: { workflowId: 'lab.plain' } }), 403, 'forbidden');
    });
  });

  test('engineering may choose a workflow that it may write, one that does not exist, and their inputs', async () => {
    for (const workflowId of ['lab.plain', 'lab.none', 'any text']) {
      const reply = await send('POST', automations, { name: `allowed ${workflowId}`, data: { workflowId, input: { a: 1 } } });
      assert.equal(reply.status, 201, reply.text);
      const target = reply.header('location') ?? '';
      assert.equal((await send('PATCH', target, { data: { input: { a: 2 } } })).status, 200);
    }
  });

  test('an import by an admin may choose any workflow', async () => {
    const reply = await gateway.send({
      role: 'admin',
      method: 'POST',
      target: '/automation_catalog/import',
      headers: { 'Content-Type': 'application/x-ndjson' },
      body: `${JSON.stringify({ name: 'imported', data: { workflowId: 'lab.calls' } })}\n`,
    });
    assert.equal(reply.status, 200, reply.text);
  });
});
