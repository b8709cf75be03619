import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Reply } from './support/callers/http-client.ts';
import { startGatewayProcess } from './support/gateway/start-gateway.ts';
import { plantSecrets, textOfStore } from './support/planted-secrets.ts';
import { runCaller, type SeenRun, type TaskDocument } from './support/runs/run-caller.ts';
import { secretConfig } from './support/runs/sealed-secret.ts';
import { closedPort, type FarRequest, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Row 93 of docs/security.md for runs: workflows send their secrets in every way, and an upstream echoes them. Then all that people see of
// runs, the log and the store are searched for the secrets.

const secret = plantSecrets();
const token = secret('token');
const pair = `pair-user:${secret('password of a pair')}`;
const login = JSON.stringify({ username: 'object-user', password: secret('password of an object') });
const wrapped = JSON.stringify({ token: secret('token of an object') });

/** Tells the caller all that it sent. */
function echo({ target, head, body }: FarRequest): string {
  const authorization = /^authorization: (?:basic|bearer) (.*)$/imu.exec(head)?.[1] ?? '';
  return JSON.stringify({ target, head, body: body.toString(), decoded: Buffer.from(authorization, 'base64').toString() });
}

const far = await upstream({ after }, (request) => {
  if (request.target.startsWith('/fails')) return jsonReply(echo(request), { status: 500 });
  if (request.target.startsWith('/text')) return httpReply({ headers: { 'Content-Type': 'text/plain' }, body: echo(request) });
  return jsonReply(echo(request));
});
const refusing = await closedPort();
/** May go to both of them in every place, so that only what the gateway does with the values keeps them secret. */
const sealed = (name: string): object =>
  secretConfig(
    { env: name },
    {
      destinations: [`${far.url}/`, `http://127.0.0.1:${refusing}/`],
      adapters: ['Far'],
      places: ['authentication', 'header:X-Key', 'query', 'path', 'body'],
    },
  );
const gateway = await startGatewayProcess(
  { after },
  {
    adapters: [{ name: 'Far', kind: 'rest', url: far.url, auth: { type: 'none' } }],
    environment: { TOKEN: token, PAIR: pair, LOGIN: login, WRAPPED: wrapped },
    config: {
      server: { logLevel: 'trace' },
      outbound: { allow: [far.authority, `127.0.0.1:${refusing}`] },
      automations: {
        secrets: { token: sealed('TOKEN'), pair: sealed('PAIR'), login: sealed('LOGIN'), wrapped: sealed('WRAPPED') },
      },
    },
  },
);
const authorization = `Bearer ${await gateway.tokenFor('admin')}`;
const runs = runCaller(() => gateway, authorization);
const send = (method: string, target: string, body?: object): Promise<Reply> =>
  gateway.send({
    method,
    target,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

const http = (path: string, more: object = {}): TaskDocument => ({
  ask: { call: 'http', with: { method: 'post', endpoint: `${far.url}${path}`, ...more } },
});
const authenticated = (path: string, authentication: object): TaskDocument => ({
  ask: { call: 'http', with: { method: 'get', endpoint: { uri: `${far.url}${path}`, authentication } } },
});
const everywhere = {
  headers: { 'X-Key': '${ $secrets.token }' },
  query: { key: '${ $secrets.token }' },
  body: {
    all: '${ $secrets }',
    member: '${ $secrets.login.password }',
  },
};
const params = { path: '${ "echo/" + $secrets.token }', accept: 'application/json' };
const error = { type: 'https://example.net/failed', status: 500, title: 'failed', detail: '${ "no " + $secrets.token }' };

/** Workflows by name. Each sends secrets, or lets an expression have them. */
const workflows: Readonly<Record<string, readonly TaskDocument[]>> = {
  bearer: [authenticated('/echo', { bearer: { use: 'token' } })],
  'bearer-object': [authenticated('/echo', { bearer: { use: 'wrapped' } })],
  basic: [authenticated('/echo', { basic: { use: 'pair' } })],
  'basic-object': [authenticated('/echo', { basic: { use: 'login' } })],
  'basic-fails': [authenticated('/fails', { basic: { use: 'login' } })],
  call: [http('/echo', everywhere)],
  'call-response': [http('/echo', { ...everywhere, output: 'response' })],
  'call-text': [http('/text', everywhere)],
  'call-fails': [http('/fails', everywhere)],
  'call-refused': [
    { ask: { call: 'http', with: { method: 'get', endpoint: `\${ "http://127.0.0.1:${refusing}/" + $secrets.token }` } } },
  ],
  'call-denied': [{ ask: { call: 'http', with: { method: 'get', endpoint: '${ "http://10.0.0.1/" + $secrets.token }' } } }],
  'call-nonsense': [{ ask: { call: 'http', with: { method: 'get', endpoint: '${ $secrets.token }' } } }],
  action: [{ ask: { call: 'orchestratorAction', with: { adapter: 'Far', params, body: { key: '${ $secrets.token }' } } } }],
  'no-adapter': [{ ask: { call: 'orchestratorQuery', with: { adapter: '${ $secrets.token }', params } } }],
  set: [{ set: { set: { all: '${ $secrets }', member: '${ $secrets.login.password }' } } }],
  export: [{ set: { set: { a: 1 }, export: { as: '{ key: $secrets.token }' } } }],
  raise: [{ fail: { raise: { error } } }],
  'jq-error': [{ set: { set: { a: '${ $secrets.token | error }' } } }],
  'jq-type': [{ set: { set: { a: '${ $secrets.token + 1 }' } } }],
  emit: [
    {
      tell: {
        emit: { event: { with: { source: 'https://example.net', type: 'told.v1', data: { key: '${ $secrets.token }' } } } },
      },
    },
  ],
  question: [
    {
      ask: {
        call: 'approval',
        with: { message: '${ $secrets.token }', approvers: { roles: ['admin'] }, expires: 'PT1S' },
      },
    },
  ],
};

/** Stores a workflow with these tasks, runs it to its end, and answers the run. */
async function ended(name: string, tasks: readonly TaskDocument[]): Promise<SeenRun> {
  const document = { dsl: '1.0.3', namespace: 'secrets', name, version: '1.0.0' };
  const use = { secrets: ['token', 'pair', 'login', 'wrapped'] };
  const stored = await send('POST', '/automation_catalog/workflows', { document, use, do: tasks });
  assert.equal(stored.status, 201, stored.text);
  const made = await send('POST', '/automation_catalog/automations', { name, data: { workflowId: `secrets.${name}` } });
  const { id } = await runs.start((made.json() as { readonly _id: string })._id);
  return await runs.reaches(id, 'completed', 'faulted', 'suspended');
}

const seen = new Map<string, SeenRun>();

test('R93: the upstream gets the secrets of workflows, as the workflows send them', async () => {
  const waiting = Object.entries(workflows).values();
  // All at once would wait too long for the threads that read workflows on a busy machine.
  const few = Array.from({ length: 4 }, async () => {
    for (const [name, tasks] of waiting) seen.set(name, await ended(name, tasks));
  });
  await Promise.all(few);
  const failing = [
    'basic-fails',
    'call-fails',
    'call-refused',
    'call-denied',
    'call-nonsense',
    'no-adapter',
    'raise',
    'question',
    'jq-error',
    'jq-type',
  ];
  for (const [name, { status, error: fault }] of seen)
    assert.equal(status, failing.includes(name) ? 'faulted' : 'completed', `${name}: ${JSON.stringify(fault)}`);
  const heard = far.requests.map((request) => `${request.head}\n${echo(request)}`).join('\n');
  assert.deepEqual(secret.foundIn(heard), secret.places);
  for (const credentials of [pair, 'object-user:' + secret('password of an object')])
    assert.ok(heard.includes(Buffer.from(credentials).toString('base64')), `${credentials} is sent as Basic credentials`);
  assert.match(heard, new RegExp(`^authorization: bearer ${secret('token of an object')}\\r?$`, 'imu'));
});

test('R93: no secret of a workflow is in a run, its tasks, calls and events, in the audit log, a message or a metric', async () => {
  const targets = [...seen.values()].flatMap(({ id }) => ['', '/tasks', '/calls', '/events'].map((part) => `/runs/${id}${part}`));
  for (const target of [...targets, '/runs', '/audit?limit=1000', '/approvals', '/notifications', '/metrics']) {
    const reply = await send('GET', target);
    assert.ok([200, 204].includes(reply.status), `${target}: ${reply.head}`);
    const [, , id] = target.split('/');
    const name = [...seen].find(([, run]) => run.id === id)?.[0] ?? '';
    assert.deepEqual(secret.foundIn(reply.text), [], `${name} ${target}: ${reply.text}`);
  }
  for (const name of ['bearer', 'bearer-object', 'basic', 'basic-object', 'call', 'call-text', 'action', 'set'])
    assert.match(JSON.stringify(seen.get(name)?.output), /\*\*\*/u, name);
});

test('R93: no secret of a workflow is in the log at level trace, nor in the files of the store', async () => {
  await gateway.stop('SIGTERM');
  assert.ok(gateway.stderr.length > 50);
  for (const line of [...gateway.stderr, ...gateway.stdout]) assert.deepEqual(secret.foundIn(line), [], line);
  assert.deepEqual(secret.foundIn(textOfStore(gateway.directory)), []);
});
