import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Operation, operationNames, operations } from '../src/access/rights/operations.ts';

import type { Reply } from './support/callers/http-client.ts';
import { basic, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Every operation × a principal whose only right is that operation (access.roles). The table of requests has one for each operationId:
// the compiler refuses a table without the operation of a new route.

const far = await upstream({ after });
far.answer(() => jsonReply('{}'));

/** A preview makes its call, so that it needs the right to that too. */
const further: Partial<Record<Operation, readonly Operation[]>> = { preview: ['restRequest'], previewTask: ['decideRun'] };
const roles = [
  ...operationNames.map((operation) => ({
    name: `only-${operation}`,
    allows: [{ routes: [operation, ...(further[operation] ?? [])] }],
  })),
  { name: 'elsewhere', allows: [{ routes: ['whoami'] }] },
];
const users = roles.map(({ name }) => ({ username: name, passwordHash: testPasswordHash, roles: [name], groups: [] }));
const gateway = await startGateway(
  { after },
  {
    users,
    config: {
      outbound: { allow: [far.authority] },
      access: { roles },
      approvals: [{ name: 'all', when: { paths: ['asked'] }, approvers: { roles: ['admin'] } }],
    },
    adapters: [{ name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' } }],
  },
);

interface Asked {
  readonly method?: string;
  readonly target: string;
  readonly body?: object | string;
  readonly mediaType?: string;
}

function send(user: string, { method = 'GET', target, body, mediaType = 'application/json' }: Asked): Promise<Reply> {
  const Authorization = user === 'admin' ? gateway.basicFor('admin') : basic(user, testPassword);
  if (body === undefined) return gateway.send({ method, target, headers: { Authorization } });
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return gateway.send({ method, target, headers: { Authorization, 'Content-Type': mediaType }, body: text });
}

const document = (name: string) => ({
  document: { dsl: '1.0.3', namespace: 'lab', name, version: '1.0.0' },
  do: [{ only: { set: { a: 1 } } }],
});
const catalogue = '/automation_catalog';
const form = { type: 'object', properties: { a: { type: 'string' } } };
const params = { path: 'a', accept: 'application/yang-data+json' };
const decision = { task: '1', as: 'done', reason: 'x' };
const ids = { automation: '', replaced: '', patched: '', deleted: '', run: '', approval: '' };

before(async () => {
  const made = async (asked: Asked, status = 201): Promise<{ readonly _id: string; readonly id: string }> => {
    const reply = await send('admin', asked);
    assert.equal(reply.status, status, reply.text);
    return reply.json() as { readonly _id: string; readonly id: string };
  };
  for (const name of ['kept', 'deleted']) await made({ method: 'POST', target: `${catalogue}/workflows`, body: document(name) });
  for (const name of ['automation', 'replaced', 'patched', 'deleted'] as const) {
    // What names a workflow may be changed by those alone who may write that workflow.
    const body = { name, ...(name === 'automation' && { data: { workflowId: 'lab.kept' } }) };
    ids[name] = (await made({ method: 'POST', target: `${catalogue}/automations`, body }))._id;
  }
  for (const name of ['kept', 'deleted']) await made({ method: 'PUT', target: `${catalogue}/forms/${name}`, body: form });
  ids.run = (await made({ method: 'POST', target: `${catalogue}/automations/${ids.automation}/run`, body: {} })).id;
  await until(
    'the run ended',
    async () => ((await send('admin', { target: `/runs/${ids.run}` })).json() as { status: string }).status === 'completed',
  );
  const asked = {
    method: 'POST',
    target: '/orchestrator_manager/restQuery/Local%20NSO',
    body: { params: { ...params, path: 'asked' } },
  };
  const refused = (await send('admin', asked)).json() as { readonly approval: { readonly id: string } };
  ids.approval = refused.approval.id;
});

const post = (target: string, body?: object | string, mediaType?: string): Asked => ({
  method: 'POST',
  target,
  ...(body !== undefined && { body }),
  ...(mediaType !== undefined && { mediaType }),
});

/** A request that succeeds where it is allowed, or fails for a reason that is no right. */
const requests: Readonly<Record<Operation, () => Asked>> = {
  restCall: () => post('/tools/restCall', { uri: far.url, verb: 'GET', responseHeaders: false }),
  restAction: () => post('/orchestrator_manager/restAction/Local%20NSO', { params, body: {} }),
  restQuery: () => post('/orchestrator_manager/restQuery/Local%20NSO', { params }),
  restRequest: () => post('/orchestrator_manager/restRequest/Local%20NSO', { params: { ...params, method: 'GET' } }),
  preview: () => post('/orchestrator_manager/preview/Local%20NSO', { params: { ...params, method: 'PUT' } }),
  listAdapters: () => ({ target: '/adapters' }),
  testAdapter: () => post('/adapters/Local%20NSO/test'),
  reloadAdapters: () => post('/adapters/reload'),
  listAutomations: () => ({ target: `${catalogue}/automations` }),
  createAutomation: () => post(`${catalogue}/automations`, { name: 'created' }),
  previewAutomation: () => post(`${catalogue}/automations/preview`, { name: 'previewed' }),
  readAutomationHistory: () => ({ target: `${catalogue}/automations/${ids.automation}/history` }),
  readAutomation: () => ({ target: `${catalogue}/automations/${ids.automation}` }),
  replaceAutomation: () => ({ method: 'PUT', target: `${catalogue}/automations/${ids.replaced}`, body: { name: 'replaced' } }),
  patchAutomation: () => ({
    method: 'PATCH',
    target: `${catalogue}/automations/${ids.patched}`,
    body: { data: { description: 'x' } },
  }),
  deleteAutomation: () => ({ method: 'DELETE', target: `${catalogue}/automations/${ids.deleted}` }),
  takeAutomation: () => post(`${catalogue}/automations/${ids.patched}/take`),
  importAutomations: () => post(`${catalogue}/import`, '', 'application/x-ndjson'),
  exportAutomations: () => ({ target: `${catalogue}/export` }),
  listWorkflows: () => ({ target: `${catalogue}/workflows` }),
  createWorkflow: () => post(`${catalogue}/workflows`, document('created')),
  checkWorkflow: () => post(`${catalogue}/workflows/check`, document('created')),
  readWorkflow: () => ({ target: `${catalogue}/workflows/lab.kept` }),
  deleteWorkflow: () => ({ method: 'DELETE', target: `${catalogue}/workflows/lab.deleted` }),
  takeWorkflow: () => post(`${catalogue}/workflows/lab.kept/take`),
  readWorkflowLanguage: () => ({ target: `${catalogue}/workflows/language` }),
  listForms: () => ({ target: `${catalogue}/forms` }),
  readForm: () => ({ target: `${catalogue}/forms/kept` }),
  putForm: () => ({ method: 'PUT', target: `${catalogue}/forms/put`, body: form }),
  deleteForm: () => ({ method: 'DELETE', target: `${catalogue}/forms/deleted` }),
  runAutomation: () => post(`${catalogue}/automations/${ids.automation}/run`, {}),
  readRunStatistics: () => ({ target: '/statistics/runs' }),
  readCallStatistics: () => ({ target: '/statistics/calls' }),
  listRuns: () => ({ target: '/runs' }),
  listBatchItems: () => ({ target: `/runs/${ids.run}/tasks/1/items` }),
  readRun: () => ({ target: `/runs/${ids.run}` }),
  listRunTasks: () => ({ target: `/runs/${ids.run}/tasks` }),
  readTask: () => ({ target: `/runs/${ids.run}/tasks/1` }),
  readTaskData: () => ({ target: `/runs/${ids.run}/tasks/1/data` }),
  previewTask: () => post(`/runs/${ids.run}/tasks/1/preview`),
  listRunCalls: () => ({ target: `/runs/${ids.run}/calls` }),
  followRun: () => ({ target: `/runs/${ids.run}/events` }),
  cancelRun: () => post(`/runs/${ids.run}/cancel`),
  suspendRun: () => post(`/runs/${ids.run}/suspend`),
  resumeRun: () => post(`/runs/${ids.run}/resume`, {}),
  rerunRun: () => post(`/runs/${ids.run}/rerun`),
  releaseRuns: () => post('/runs/release', { reason: 'r' }),
  decideRun: () => post(`/runs/${ids.run}/decide`, decision),
  // A stream would not end: the wrong parameter is found after the right.
  followEvents: () => ({ target: '/events?x=1' }),
  sendEvents: () =>
    post('/events', { specversion: '1.0', id: '1', source: 'https://a.example', type: 'a.b' }, 'application/cloudevents+json'),
  listApprovals: () => ({ target: '/approvals' }),
  readApproval: () => ({ target: `/approvals/${ids.approval}` }),
  grantApproval: () => post(`/approvals/${ids.approval}/grant`, { reason: 'x' }),
  rejectApproval: () => post(`/approvals/${ids.approval}/reject`, { reason: 'x' }),
  previewApproval: () => post(`/approvals/${ids.approval}/preview`),
  listNotifications: () => ({ target: '/notifications' }),
  listAudit: () => ({ target: '/audit' }),
  readAuditBody: () => ({ target: '/audit/none_1/body' }),
  verifyAudit: () => post('/audit/verify'),
  explainAccess: () => post('/access/explain', { roles: [], route: 'restQuery' }),
  login: () => post('/login', { username: 'elsewhere', password: testPassword }),
  logout: () => post('/logout'),
  whoami: () => ({ target: '/whoami' }),
  issueToken: () => post('/oauth/token', 'grant_type=client_credentials', 'application/x-www-form-urlencoded'),
  listLoginIssuers: () => ({ target: '/login/issuers' }),
  beginIssuerLogin: () => ({ target: '/login/oidc' }),
  endIssuerLogin: () => ({ target: '/login/oidc/callback' }),
  healthz: () => ({ target: '/healthz' }),
  readyz: () => ({ target: '/readyz' }),
  metrics: () => ({ target: '/metrics' }),
  openapi: () => ({ target: '/openapi.json' }),
  docs: () => ({ target: '/docs' }),
};

/** A right replaces the role, and never who approves. */
const ofApprovers: ReadonlySet<Operation> = new Set<Operation>(['grantApproval', 'rejectApproval']);
const lists: ReadonlySet<Operation> = new Set<Operation>(['listApprovals', 'listRuns', 'readRunStatistics']);

/** The entries that show something of an object. */
function shownIn(reply: Reply): readonly object[] {
  const { list } = reply.json() as { readonly list: readonly { readonly counts?: object }[] };
  return list.filter(({ counts }) => counts === undefined || Object.keys(counts).length > 0);
}

/** What a principal without the right gets where every caller may ask: its object is not there, or its list is empty. */
function assertHidden(operation: Operation, reply: Reply): void {
  const { status, text } = reply;
  if (lists.has(operation)) assert.deepEqual(shownIn(reply), [], text);
  else assert.equal(status, 404, text);
}

const ofEveryCaller: ReadonlySet<Operation> = new Set<Operation>(['followEvents', 'logout', 'readWorkflowLanguage', 'whoami']);

for (const operation of operationNames) {
  describe(operation, () => {
    const access: unknown = operations[operation];
    test(`${operation} is denied to a principal with a right to something else`, async () => {
      const reply = await send('elsewhere', requests[operation]());
      // Every caller may ask for a patch, since one that may run an automation may pause it. This patch does not pause.
      if (Array.isArray(access) || operation === 'patchAutomation') assert.equal(reply.status, 403, reply.text);
      else if (access === 'callers' && !ofEveryCaller.has(operation)) assertHidden(operation, reply);
      else assert.notEqual(reply.status, 403, reply.text);
    });

    test(`${operation} is allowed to a principal with that right alone`, async () => {
      const reply = await send(`only-${operation}`, requests[operation]());
      const { status, text } = reply;
      if (ofApprovers.has(operation) || operation === 'readAuditBody') assert.equal(status, 404, text);
      else
        assert.ok(access === 'everyone' ? status !== 403 : ![401, 403, 404].includes(status), `${status} ${text.slice(0, 500)}`);
      if (lists.has(operation)) assert.notDeepEqual(shownIn(reply), []);
    });

    test(`${operation} is among the operations that whoami lists for a principal with that right`, async () => {
      const { operations: usable } = (await send(`only-${operation}`, { target: '/whoami' })).json() as {
        operations: Operation[];
      };
      assert.ok(usable.includes(operation), usable.join());
      const others = usable.filter((each) => each !== operation && Array.isArray(operations[each]));
      assert.deepEqual(others, further[operation] ?? []);
    });
  });
}

test('the table of operations has every operationId of /openapi.json, and no other', async () => {
  const { paths } = (await send('admin', { target: '/openapi.json' })).json() as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  };
  const documented = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId));
  assert.deepEqual(documented.toSorted(), [...operationNames].toSorted());
});
