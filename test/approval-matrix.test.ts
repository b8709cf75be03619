// suite: long

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Every entrance to the path of a call, with every state of an approval: what its caller gets, and what arrives at the upstream.

const far = await upstream({ after });
far.answer(() => jsonReply('{"done":true}'));
const approvers = { groups: ['noc-leads'] };
const gateway = await startGateway(
  { after },
  {
    users: [...people],
    config: {
      outbound: { allow: [far.authority] },
      approvals: [
        { name: 'asked', when: { paths: ['**/asked/**'] }, approvers },
        { name: 'brief', when: { paths: ['**/brief/**'] }, approvers, expires: '1s' },
      ],
    },
    adapters: [{ name: 'NSO', kind: 'nso', url: far.url, auth: { type: 'none' } }],
  },
);
const { send, needed, grant, decide, read, list } = approvalCaller(() => gateway);
const runs = runCaller(() => gateway, gateway.basicFor('admin'));
const accept = 'application/json';

type Headers = Readonly<Record<string, string>>;

/** The routes that relay calls, each with the path that it calls. */
const routes: Readonly<Record<string, (path: string, headers?: Headers) => Promise<Reply>>> = {
  restCall: (path, headers) =>
    send('ann', 'POST', '/tools/restCall', { uri: `${far.url}/${path}`, verb: 'GET', responseHeaders: false }, headers),
  restAction: (path, headers) =>
    send('ann', 'POST', '/orchestrator_manager/restAction/NSO', { params: { path, accept }, body: {} }, headers),
  restQuery: (path, headers) => send('ann', 'POST', '/orchestrator_manager/restQuery/NSO', { params: { path, accept } }, headers),
  restRequest: (path, headers) =>
    send('ann', 'POST', '/orchestrator_manager/restRequest/NSO', { params: { method: 'DELETE', path, accept } }, headers),
};

/** The functions of a workflow that make calls. */
const functions: Readonly<Record<string, (path: string) => object>> = {
  restCall: (path) => ({ call: 'restCall', with: { uri: `${far.url}/${path}`, verb: 'PUT' } }),
  http: (path) => ({ call: 'http', with: { method: 'get', endpoint: `${far.url}/${path}` } }),
  orchestratorAction: (path) => ({ call: 'orchestratorAction', with: { adapter: 'NSO', params: { path, accept } } }),
  orchestratorQuery: (path) => ({ call: 'orchestratorQuery', with: { adapter: 'NSO', params: { path, accept } } }),
  orchestratorRequest: (path) => ({
    call: 'orchestratorRequest',
    with: { adapter: 'NSO', params: { method: 'PATCH', path, accept }, body: {} },
  }),
};

/** Calls of this path at the upstream. */
function arrived(path: string): number {
  return far.requests.filter(({ target }) => target === `/${path}`).length;
}

async function outcome(asked: Promise<Reply>): Promise<string | number> {
  const reply = await asked;
  return reply.status === 200 ? 200 : (reply.json() as { readonly code: string }).code;
}

for (const [name, call] of Object.entries(routes)) {
  describe(`the route ${name}`, () => {
    test('lets a call that no rule matches pass without an approval', async () => {
      assert.deepEqual([await outcome(call(`open/${name}`)), arrived(`open/${name}`)], [200, 1]);
    });

    for (const [state, bring, expected] of [
      ['none', async () => undefined, 'approval-required'],
      ['waiting', async () => undefined, 'approval-required'],
      ['granted', async (id: string) => void (await grant('lea', id)), 200],
      ['rejected', async (id: string) => void (await decide('lea', id, 'reject')), 'approval-rejected'],
    ] as const)
      test(`answers a call whose approval is ${state} with ${expected}`, async () => {
        const path = `asked/${name}/${state}`;
        const id = needed(await call(path));
        await bring(id);
        assert.equal(await outcome(call(path, state === 'none' ? {} : { Approval: id })), expected);
        assert.equal(arrived(path), expected === 200 ? 1 : 0);
        if (expected !== 200) return;
        assert.equal(await outcome(call(path, { Approval: id })), 'approval-used');
        assert.equal(arrived(path), 1);
      });

    test('answers a call whose approval has expired with approval-expired', async () => {
      const id = needed(await call(`brief/${name}`));
      await grant('lea', id);
      await until('it has expired', async () => (await read('ann', id)).status === 'expired');
      assert.deepEqual(
        [await outcome(call(`brief/${name}`, { Approval: id })), arrived(`brief/${name}`)],
        ['approval-expired', 0],
      );
    });
  });
}

for (const [name, task] of Object.entries(functions)) {
  describe(`the function ${name} of a workflow`, () => {
    test('waits for its approval, and makes its call once it is granted', async () => {
      const path = `asked/run/${name}`;
      const { id } = await runs.start(await runs.automation(`granted-${name}`, [{ call: task(path) }]));
      const approval = await openOf(id);
      assert.equal(arrived(path), 0);
      await grant('lea', approval);
      const { status, error } = await runs.reaches(id, 'completed', 'faulted');
      assert.deepEqual([status, arrived(path)], ['completed', 1], JSON.stringify(error));
    });

    test('fails where its approval is rejected or expires, and makes no call', async () => {
      const rejected = await runs.start(await runs.automation(`rejected-${name}`, [{ call: task(`asked/no/${name}`) }]));
      const late = await runs.start(await runs.automation(`late-${name}`, [{ call: task(`brief/run/${name}`) }]));
      await decide('lea', await openOf(rejected.id), 'reject');
      for (const [run, code] of [
        [rejected, 'rejected'],
        [late, 'expired'],
      ] as const) {
        const { status, error } = await runs.reaches(run.id, 'completed', 'faulted');
        assert.deepEqual([status, error?.type], ['faulted', `urn:orchestration-gateway:errors:approval-${code}`]);
      }
      assert.deepEqual([arrived(`asked/no/${name}`), arrived(`brief/run/${name}`)], [0, 0]);
    });
  });
}

/** The approval that a run waits for. */
async function openOf(run: string): Promise<string> {
  let id: string | undefined;
  await until('the run waits for people', async () => {
    [id] = (await list('lea', `?status=waiting&run=${run}`)).map((approval) => approval.id);
    return id !== undefined;
  });
  return id ?? '';
}
