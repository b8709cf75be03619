import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import {
  basic,
  startGateway,
  type TestRole,
  testPassword,
  testPasswordHash,
  testRoles,
} from './support/gateway/start-gateway.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Every role × every route of the gateway (docs/reference/http-api.md).

const far = await upstream({ after });
const users = [
  { username: 'roleless', passwordHash: testPasswordHash, roles: [], groups: ['noc'] },
  { username: 'both', passwordHash: testPasswordHash, roles: ['other', 'engineering'], groups: [] },
];
const gateway = await startGateway(
  { after },
  {
    users,
    config: { outbound: { allow: [far.authority] } },
    adapters: [{ name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' } }],
  },
);

interface Row {
  readonly method: string;
  /** As OpenAPI writes it. */
  readonly path: string;
  readonly target?: string;
  readonly body?: object;
  /** Where absent, application/json. */
  readonly mediaType?: string;
  /** The status for a caller who may call it; where absent, any 2xx. */
  readonly answers?: number;
  /** Roles that may call it; `all`: every authenticated caller, with or without a role; `open`: every caller. */
  readonly may: readonly TestRole[] | 'all' | 'open';
}

const params = { path: 'a', accept: 'application/yang-data+json' };
const rows: readonly Row[] = [
  {
    method: 'POST',
    path: '/tools/restCall',
    body: { uri: far.url, verb: 'GET', responseHeaders: false },
    may: ['admin', 'engineering'],
  },
  {
    method: 'POST',
    path: '/orchestrator_manager/preview/{adapterId}',
    target: '/orchestrator_manager/preview/Local%20NSO',
    body: { params: { ...params, method: 'PUT' } },
    may: ['admin'],
  },
  { method: 'GET', path: '/notifications', may: ['admin'] },
  ...(['restAction', 'restQuery', 'restRequest'] as const).map((route) => ({
    method: 'POST',
    path: `/orchestrator_manager/${route}/{adapterId}`,
    target: `/orchestrator_manager/${route}/Local%20NSO`,
    body: { restAction: { params, body: {} }, restQuery: { params }, restRequest: { params: { ...params, method: 'GET' } } }[
      route
    ],
    may: ['admin'] as const,
  })),
  { method: 'GET', path: '/automation_catalog/automations', may: ['admin', 'other', 'readonly', 'apiread'] },
  {
    method: 'POST',
    path: '/automation_catalog/automations',
    body: { name: '' },
    answers: 400,
    may: ['admin', 'engineering'],
  },
  {
    method: 'POST',
    path: '/automation_catalog/automations/preview',
    body: { name: 'previewed' },
    may: ['admin', 'engineering'],
  },
  {
    method: 'GET',
    path: '/automation_catalog/automations/{id}/history',
    target: '/automation_catalog/automations/none/history',
    answers: 404,
    may: ['admin', 'engineering', 'other', 'readonly', 'apiread'],
  },
  {
    method: 'GET',
    path: '/automation_catalog/automations/{id}',
    target: '/automation_catalog/automations/none',
    answers: 404,
    may: ['admin', 'engineering', 'other', 'readonly', 'apiread'],
  },
  ...(['PUT', 'PATCH', 'DELETE'] as const).map((method) => ({
    method,
    path: '/automation_catalog/automations/{id}',
    target: '/automation_catalog/automations/none',
    ...(method === 'DELETE' ? {} : { body: { name: 'n' } }),
    ...(method === 'PATCH' ? { mediaType: 'application/merge-patch+json' } : {}),
    answers: 404,
    may: ['admin', 'engineering'] as const,
  })),
  {
    method: 'POST',
    path: '/automation_catalog/automations/{id}/take',
    target: '/automation_catalog/automations/none/take',
    answers: 404,
    may: ['admin', 'engineering'],
  },
  {
    method: 'POST',
    path: '/automation_catalog/import',
    body: { name: '' },
    mediaType: 'application/x-ndjson',
    answers: 400,
    may: ['admin'],
  },
  { method: 'GET', path: '/automation_catalog/export', may: ['admin'] },
  { method: 'GET', path: '/automation_catalog/workflows', may: ['admin', 'other', 'readonly', 'apiread'] },
  { method: 'POST', path: '/automation_catalog/workflows', body: {}, answers: 400, may: ['admin', 'engineering'] },
  { method: 'POST', path: '/automation_catalog/workflows/check', body: {}, may: ['admin', 'engineering'] },
  { method: 'GET', path: '/automation_catalog/workflows/language', may: 'all' },
  {
    method: 'GET',
    path: '/automation_catalog/workflows/{id}',
    target: '/automation_catalog/workflows/none',
    answers: 404,
    may: ['admin', 'engineering', 'other', 'readonly', 'apiread'],
  },
  {
    method: 'DELETE',
    path: '/automation_catalog/workflows/{id}',
    target: '/automation_catalog/workflows/none',
    answers: 404,
    may: ['admin', 'engineering'],
  },
  {
    method: 'POST',
    path: '/automation_catalog/workflows/{id}/take',
    target: '/automation_catalog/workflows/none/take',
    answers: 404,
    may: ['admin', 'engineering'],
  },
  { method: 'GET', path: '/automation_catalog/forms', may: ['admin', 'other', 'readonly', 'apiread'] },
  {
    method: 'GET',
    path: '/automation_catalog/forms/{id}',
    target: '/automation_catalog/forms/none',
    answers: 404,
    may: ['admin', 'engineering', 'other', 'readonly', 'apiread'],
  },
  {
    method: 'PUT',
    path: '/automation_catalog/forms/{id}',
    target: '/automation_catalog/forms/none',
    body: {},
    answers: 400,
    may: ['admin', 'engineering'],
  },
  {
    method: 'DELETE',
    path: '/automation_catalog/forms/{id}',
    target: '/automation_catalog/forms/none',
    answers: 404,
    may: ['admin', 'engineering'],
  },
  {
    method: 'POST',
    path: '/automation_catalog/automations/{id}/run',
    target: '/automation_catalog/automations/none/run',
    body: {},
    answers: 404,
    may: 'all',
  },
  { method: 'GET', path: '/statistics/runs', may: 'all' },
  { method: 'GET', path: '/statistics/calls', may: ['admin', 'readonly', 'apiread'] },
  { method: 'GET', path: '/runs', may: 'all' },
  ...['', '/tasks', '/tasks/{taskId}', '/tasks/{taskId}/data', '/tasks/{taskId}/items', '/calls', '/events'].map((of) => ({
    method: 'GET',
    path: `/runs/{id}${of}`,
    target: `/runs/none${of.replace('{taskId}', '1')}`,
    answers: 404,
    may: 'all' as const,
  })),
  {
    method: 'POST',
    path: '/runs/{id}/tasks/{taskId}/preview',
    target: '/runs/none/tasks/1/preview',
    answers: 404,
    may: 'all',
  },
  { method: 'POST', path: '/runs/release', body: { reason: 'r' }, may: ['admin'] },
  ...['cancel', 'suspend', 'resume', 'rerun'].map((change) => ({
    method: 'POST',
    path: `/runs/{id}/${change}`,
    target: `/runs/none/${change}`,
    ...(change === 'resume' ? { body: {} } : {}),
    answers: 404,
    may: 'all' as const,
  })),
  {
    method: 'POST',
    path: '/runs/{id}/decide',
    target: '/runs/none/decide',
    body: { task: '1', as: 'done', reason: 'x' },
    answers: 404,
    may: ['admin'],
  },
  { method: 'GET', path: '/approvals', may: 'all' },
  { method: 'GET', path: '/approvals/{id}', target: '/approvals/none', answers: 404, may: 'all' },
  ...['grant', 'reject', 'preview'].map((change) => ({
    method: 'POST',
    path: `/approvals/{id}/${change}`,
    target: `/approvals/none/${change}`,
    ...(change === 'preview' ? {} : { body: { reason: 'x' } }),
    answers: 404,
    may: 'all' as const,
  })),
  // A stream would not end: the wrong parameter is found after the role.
  { method: 'GET', path: '/events', target: '/events?x=1', answers: 400, may: 'all' },
  {
    method: 'POST',
    path: '/events',
    body: {},
    mediaType: 'application/cloudevents+json',
    answers: 400,
    may: ['admin', 'engineering'],
  },
  { method: 'GET', path: '/adapters', may: ['admin'] },
  { method: 'POST', path: '/adapters/{adapterId}/test', target: '/adapters/none/test', answers: 404, may: ['admin'] },
  { method: 'GET', path: '/audit', may: ['admin'] },
  { method: 'GET', path: '/audit/{id}/body', target: '/audit/none_1/body', answers: 404, may: ['admin'] },
  { method: 'POST', path: '/audit/verify', may: ['admin'] },
  { method: 'GET', path: '/metrics', may: ['admin', 'readonly', 'apiread'] },
  { method: 'POST', path: '/adapters/reload', may: ['admin'] },
  { method: 'POST', path: '/access/explain', body: { roles: [], route: 'restQuery' }, may: ['admin'] },
  { method: 'GET', path: '/whoami', may: 'all' },
  { method: 'POST', path: '/logout', may: 'all' },
  { method: 'GET', path: '/healthz', may: 'open' },
  { method: 'GET', path: '/readyz', may: 'open' },
  { method: 'GET', path: '/openapi.json', may: 'open' },
  { method: 'GET', path: '/docs', answers: 302, may: 'open' },
  { method: 'GET', path: '/login/issuers', may: 'open' },
  { method: 'GET', path: '/login/oidc', answers: 302, may: 'open' },
  { method: 'GET', path: '/login/oidc/callback', answers: 302, may: 'open' },
  { method: 'POST', path: '/login', body: { username: 'roleless', password: testPassword }, may: 'open' },
];

function ask(row: Row, headers: Readonly<Record<string, string>>): Promise<Reply> {
  const request = { method: row.method, target: row.target ?? row.path };
  if (row.body === undefined) return gateway.send({ ...request, headers });
  return gateway.send({
    ...request,
    headers: { 'Content-Type': row.mediaType ?? 'application/json', ...headers },
    body: JSON.stringify(row.body),
  });
}

function assertPassed({ answers }: Row, { status, text }: Reply): void {
  const expected = answers === undefined ? status >= 200 && status < 300 : status === answers;
  assert.ok(expected, `${status} ${text.slice(0, 500)}`);
}

const ways: readonly (readonly [string, (role: TestRole) => Promise<string> | string])[] = [
  ['Basic', (role) => gateway.basicFor(role)],
  ['a token', async (role) => `Bearer ${await gateway.tokenFor(role)}`],
];

for (const row of rows) {
  const name = `${row.method} ${row.path}`;
  describe(`R81: ${name}`, () => {
    for (const role of testRoles) {
      const allowed = row.may === 'open' || row.may === 'all' || row.may.includes(role);
      for (const [way, credentials] of ways) {
        // A logout revokes the token that the other routes need.
        if (way === 'a token' && row.path === '/logout') continue;
        test(`${role} by ${way} is ${allowed ? 'allowed' : 'denied'}`, async () => {
          far.answer(() => jsonReply('{}'));
          const reply = await ask(row, { Authorization: await credentials(role) });
          if (allowed) {
            assertPassed(row, reply);
          } else {
            assertProblem(reply, 403, 'forbidden');
            assert.equal(far.connections, 0);
          }
        });
      }
    }

    test(`a caller without a role is ${row.may === 'all' || row.may === 'open' ? 'allowed' : 'denied'}`, async () => {
      far.answer(() => jsonReply('{}'));
      const reply = await ask(row, { Authorization: basic('roleless', testPassword) });
      if (row.may === 'all' || row.may === 'open') assertPassed(row, reply);
      else assertProblem(reply, 403, 'forbidden');
    });

    test('a caller with several roles has the rights of all of them', async () => {
      far.answer(() => jsonReply('{}'));
      const reply = await ask(row, { Authorization: basic('both', testPassword) });
      const { may } = row;
      if (may === 'open' || may === 'all' || may.includes('other') || may.includes('engineering')) assertPassed(row, reply);
      else assertProblem(reply, 403, 'forbidden');
    });

    for (const [what, headers] of [
      ['a caller without credentials', {}],
      ['a wrong token', { Authorization: 'Bearer wrong' }],
      ['an empty cookie', { Cookie: 'session=; gateway_session=' }],
    ] as const) {
      if (row.may === 'open' && what !== 'a caller without credentials') continue;
      test(`${what} is ${row.may === 'open' ? 'allowed' : '401'}`, async () => {
        far.answer(() => jsonReply('{}'));
        const reply = await ask(row, headers);
        if (row.may === 'open') {
          assert.equal(reply.status, row.answers ?? 200, reply.text.slice(0, 500));
          return;
        }
        assertProblem(reply, 401, 'unauthenticated');
        assert.ok(reply.header('www-authenticate'));
        assert.equal(far.connections, 0);
      });
    }
  });
}

test('the matrix has every route that the gateway documents, and no other', async () => {
  const reply = await gateway.send({ target: '/openapi.json' });
  const document = reply.json() as { readonly openapi: string; readonly paths: Readonly<Record<string, object>> };
  assert.match(document.openapi, /^3\.1\./);
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => ['get', 'put', 'post', 'delete', 'patch', 'options', 'head'].includes(method))
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  const known = [...rows.map((row) => `${row.method} ${row.path}`), 'POST /oauth/token'];
  assert.deepEqual(documented.sort(), known.sort());
});

test('/oauth/token asks for the credentials of a client, and for no others', async () => {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const reply = await gateway.send({ method: 'POST', target: '/oauth/token', headers, body: 'grant_type=password' });
  assert.equal(reply.status, 400);
});

test('/metrics is open to every caller with server.openMetrics', async (t) => {
  const open = await startGateway(t, { config: { server: { openMetrics: true } } });
  const reply = await open.send({ target: '/metrics' });
  assert.equal(reply.status, 200);
  assert.match(reply.header('content-type') ?? '', /^text\/plain/);
});
