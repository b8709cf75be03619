import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { agent, textOfAnswer } from './support/callers/agent.ts';
import { basic, startGateway, testPassword, testPasswordHash, testRoles } from './support/gateway/start-gateway.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Every role × every tool of agents, next to the route of the same operation: a tool refuses what HTTP refuses, and nothing else.

const far = await upstream({ after });
const users = [
  { username: 'roleless', passwordHash: testPasswordHash, roles: [], groups: [] },
  { username: 'custom', passwordHash: testPasswordHash, roles: ['reader'], groups: [] },
  { username: 'over-http', passwordHash: testPasswordHash, roles: ['over-http'], groups: [] },
  { username: 'over-mcp', passwordHash: testPasswordHash, roles: ['over-mcp'], groups: [] },
  { username: 'grouped', passwordHash: testPasswordHash, roles: [], groups: ['noc'] },
];
const everything = [
  'listAdapters',
  'restQuery',
  'preview',
  'restAction',
  'restRequest',
  'restCall',
  'listAutomations',
  'runAutomation',
  'cancelRun',
  'readRun',
  'readApproval',
  'listApprovals',
];
const roles = [
  { name: 'reader', allows: [{ routes: ['restQuery', 'listAutomations', 'preview'] }] },
  { name: 'over-http', allows: [{ routes: everything, via: ['http'] }] },
  { name: 'over-mcp', allows: [{ routes: everything, via: ['mcp'] }] },
];
const approvals = [{ name: 'asked', when: { paths: ['**/asked', 'asked'] }, approvers: { groups: ['leads'] } }];
const gateway = await startGateway(
  { after },
  {
    users,
    config: { access: { roles }, approvals, outbound: { allow: [far.authority] }, mcp: { enabled: true, readOnly: false } },
    adapters: [{ name: 'Local NSO', kind: 'restconf', url: far.url, auth: { type: 'none' } }],
  },
);
far.answer(() => jsonReply('{}'));

const accept = 'application/yang-data+json';
const params = { path: 'a', accept };
const relay = (route: string) => `/orchestrator_manager/${route}/Local%20NSO`;

interface Row {
  readonly tool: string;
  readonly given: object;
  readonly method: 'GET' | 'POST';
  readonly target: string;
  readonly body?: object;
}

const rows: readonly Row[] = [
  { tool: 'list_adapters', given: {}, method: 'GET', target: '/adapters' },
  {
    tool: 'orchestrator_query',
    given: { adapter: 'Local NSO', path: 'a' },
    method: 'POST',
    target: relay('restQuery'),
    body: { params },
  },
  {
    tool: 'preview_change',
    given: { adapter: 'Local NSO', path: 'a', method: 'PUT', body: {} },
    method: 'POST',
    target: relay('preview'),
    body: { params: { ...params, method: 'PUT' }, body: {} },
  },
  {
    tool: 'orchestrator_action',
    given: { adapter: 'Local NSO', path: 'a', body: {} },
    method: 'POST',
    target: relay('restAction'),
    body: { params, body: {} },
  },
  {
    tool: 'orchestrator_action',
    given: { adapter: 'Local NSO', path: 'a', method: 'PATCH', body: {} },
    method: 'POST',
    target: relay('restRequest'),
    body: { params: { ...params, method: 'PATCH' }, body: {} },
  },
  {
    tool: 'rest_call',
    given: { uri: far.url, verb: 'GET' },
    method: 'POST',
    target: '/tools/restCall',
    body: { uri: far.url, verb: 'GET', responseHeaders: false },
  },
  { tool: 'list_automations', given: {}, method: 'GET', target: '/automation_catalog/automations' },
  {
    tool: 'run_automation',
    given: { automation: 'none' },
    method: 'POST',
    target: '/automation_catalog/automations/none/run',
    body: {},
  },
  { tool: 'get_run', given: { run: 'none' }, method: 'GET', target: '/runs/none' },
  { tool: 'get_run', given: { approval: 'none' }, method: 'GET', target: '/approvals/none' },
];

const limited = ['over-http', 'over-mcp'];
const callers = [
  ...testRoles.map((role) => `${role}-user`),
  ...users.map(({ username }) => username).filter((name) => !limited.includes(name)),
];

for (const caller of callers)
  describe(caller, () => {
    const authorization = basic(caller, testPassword);
    const tools = agent(() => gateway, { authorization });
    for (const { tool, given, method, target, body } of rows)
      test(`${tool} ${JSON.stringify(given)} answers as ${method} ${target} does`, async () => {
        const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
        const sent = body === undefined ? {} : { body: JSON.stringify(body) };
        const reply = await gateway.send({ method, target, headers: { Authorization: authorization, ...type }, ...sent });
        const before = far.requests.length;
        const answer = await tools.tool(tool, given);
        const code = /^Error (\S+):/u.exec(textOfAnswer(answer))?.[1];
        assert.equal(code, reply.status < 300 ? undefined : (reply.json() as { readonly code: string }).code, reply.text);
        if (reply.status === 403) assert.equal(far.requests.length, before, 'nothing left');
      });

    test('a tool is listed only where one of its operations is allowed', async () => {
      const { tools: listed } = await tools.list();
      const names = new Set(listed.map(({ name }) => name));
      for (const { tool, given } of rows) {
        const answer = textOfAnswer(await tools.tool(tool, given));
        if (!names.has(tool)) assert.match(answer, /^Error (?:forbidden|automation-not-found)/u, tool);
        else if (tool !== 'orchestrator_action') assert.doesNotMatch(answer, /^Error forbidden/u, tool);
      }
    });
  });

test('a right counts at the entrances of its via alone, for every tool and for the object of each', async () => {
  const json = { 'Content-Type': 'application/json' };
  const made = async (target: string, body: object) =>
    (await gateway.send({ role: 'admin', method: 'POST', target, headers: json, body: JSON.stringify(body) })).json() as Readonly<
      Record<string, unknown>
    >;
  const document = { dsl: '1.0.3', namespace: 'lab', name: 'wait', version: '1.0.0' };
  await made('/automation_catalog/workflows', { document, do: [{ wait: { wait: 'PT1H' } }] });
  const automation = String(
    (await made('/automation_catalog/automations', { name: 'wait', data: { workflowId: 'lab.wait' } }))['_id'],
  );
  const run = String((await made(`/automation_catalog/automations/${automation}/run`, {}))['id']);
  const asked = (await made(relay('restAction'), { params: { path: 'asked', accept }, body: {} })) as {
    readonly approval?: { readonly id: string };
  };
  const approval = asked.approval?.id ?? '';
  const objects = [
    ...rows.filter(({ tool }) => !['run_automation', 'get_run'].includes(tool)),
    {
      tool: 'run_automation',
      given: { automation },
      method: 'POST',
      target: `/automation_catalog/automations/${automation}/run`,
      body: {},
    },
    { tool: 'get_run', given: { run }, method: 'GET', target: `/runs/${run}` },
    { tool: 'get_run', given: { approval }, method: 'GET', target: `/approvals/${approval}` },
  ] as const satisfies readonly Row[];
  const refusal = /^(?:adapter-not-found|approval-not-found|automation-not-found|forbidden|run-not-found)$/u;
  for (const caller of limited) {
    const authorization = basic(caller, testPassword);
    const tools = agent(() => gateway, { authorization });
    for (const { tool, given, method, target, body } of objects as readonly Row[]) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const reply = await gateway.send({ method, target, headers: { Authorization: authorization, ...(body && json) }, ...sent });
      const overHttp = reply.status < 300 ? undefined : (reply.json() as { readonly code: string }).code;
      const overMcp = /^Error (\S+):/u.exec(textOfAnswer(await tools.tool(tool, given)))?.[1];
      const [counts, not] = caller === 'over-http' ? [overHttp, overMcp] : [overMcp, overHttp];
      assert.doesNotMatch(counts ?? '', refusal, `${caller} ${tool} ${JSON.stringify(given)}`);
      // An automation without groups is listed as empty for those who may not see it.
      assert.match(not ?? '', refusal, `${caller} ${tool} ${JSON.stringify(given)}`);
    }
  }
});

test('a request without credentials, and one with a wrong token, get 401', async () => {
  for (const headers of [{}, { Authorization: 'Bearer none' }]) {
    const all = { 'Content-Type': 'application/json', ...headers };
    const reply = await gateway.send({ method: 'POST', target: '/mcp', headers: all, body: '{}' });
    assert.equal(reply.status, 401);
    assert.match(reply.header('www-authenticate') ?? '', /^Bearer /u, 'no Basic: clients of the protocol read one challenge');
    assert.doesNotMatch(reply.header('www-authenticate') ?? '', /resource_metadata/u, 'no issuer is configured');
  }
  assert.equal((await gateway.send({ method: 'GET', target: '/.well-known/oauth-protected-resource/mcp' })).status, 404);
});

test('another method and another site are refused as anywhere', async () => {
  assert.equal((await gateway.send({ role: 'admin', method: 'GET', target: '/mcp' })).status, 405);
  assert.equal((await gateway.send({ role: 'admin', method: 'DELETE', target: '/mcp' })).status, 405);
  const foreign = { Origin: 'https://evil.example', 'Content-Type': 'application/json' };
  assert.equal((await gateway.send({ role: 'admin', method: 'POST', target: '/mcp', headers: foreign, body: '{}' })).status, 403);
});
