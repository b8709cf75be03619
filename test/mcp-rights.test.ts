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
  { username: 'grouped', passwordHash: testPasswordHash, roles: [], groups: ['noc'] },
];
const roles = [{ name: 'reader', allows: [{ routes: ['restQuery', 'listAutomations', 'preview'] }] }];
const gateway = await startGateway(
  { after },
  {
    users,
    config: { access: { roles }, outbound: { allow: [far.authority] }, mcp: { enabled: true, readOnly: false } },
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

const callers = [...testRoles.map((role) => `${role}-user`), ...users.map(({ username }) => username)];

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
