// suite: long

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { childEnvironment } from './support/gateway/gateway-process.ts';
import { type Nginx, noNginx, startNginx } from './support/gateway/nginx.ts';
import { type Gateway, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { missing } from './support/installed.ts';
import { suiteOwner } from './support/owner.ts';
import { closedPort, jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// Clients of other projects, as Debian packages them: HTTPie and Ansible's module uri, each directly and through nginx.

const directory = mkdtempSync(join(tmpdir(), 'gateway-clients-'));
writeFileSync(join(directory, 'config.json'), '{"disable_update_warnings": true}');

const owner = suiteOwner();
let [far, gateway] = [] as unknown as [Upstream, Gateway];
let nginx: Nginx | undefined;
before(async () => {
  far = await upstream(owner, ({ method }) =>
    jsonReply(method === 'GET' ? '{"name":"ce0","serial":18446744073709551615}' : '{}'),
  );
  gateway = await startGateway(owner, {
    adapters: [{ name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'none' } }],
  });
  if (noNginx === false) nginx = await startNginx(owner, [await closedPort(), gateway.port], 'guide');
});
after(() => rmSync(directory, { recursive: true, force: true }));

const catalogue = '/automation_catalog/automations';
const routes = {
  query: '/orchestrator_manager/restQuery/Local%20NSO',
  action: '/orchestrator_manager/restAction/Local%20NSO',
};
const params = { path: 'restconf/data/x', accept: 'application/yang-data+json' };
const answered = '{"result":[{"instance_data":{"name":"ce0"}},{"instance_data":{"serial":"18446744073709551615"}}]}';

interface Ran {
  readonly code: number;
  readonly text: string;
}

/** Runs a client to its end: its exit code and what it printed. */
function run(program: string, given: readonly string[]): Promise<Ran> {
  const ansible = { ANSIBLE_NOCOLOR: '1', ANSIBLE_PIPELINING: '1', ANSIBLE_LOCAL_TEMP: directory };
  const environment = { HOME: directory, HTTPIE_CONFIG_DIR: directory, ...ansible };
  return new Promise((resolve) => {
    execFile(program, given, { cwd: directory, env: childEnvironment(environment) }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : 255;
      resolve({ code, text: `${stdout}${code === 0 ? '' : stderr}` });
    });
  });
}

/** Each start of such a client takes seconds on a busy machine. */
const patience = { timeout: 300_000 };

describe('HTTPie', { timeout: 600_000, skip: missing('http', '--version', 'httpie') }, () => {
  /** Exits with 4 for a status of 400 and above. */
  const http = (...given: readonly string[]): Promise<Ran> =>
    run('http', ['--ignore-stdin', '--check-status', '--pretty=format', ...given]);
  const asAdmin = ['--auth', `admin-user:${testPassword}`];

  test('logs in, queries and acts with the token', patience, async () => {
    const login = await http('--body', 'POST', `${gateway.url}/login`, 'username=admin-user', `password=${testPassword}`);
    assert.equal(login.code, 0, login.text);
    const { token } = JSON.parse(login.text) as { readonly token: string };
    const bearer = ['--body', '--auth-type', 'bearer', '--auth', token];
    const json = JSON.stringify;
    const query = await http(...bearer, '--pretty=none', '--raw', json({ params }), 'POST', `${gateway.url}${routes.query}`);
    assert.deepEqual(query, { code: 0, text: answered });
    const body = json({ params, body: { a: 1 } });
    const action = await http(...bearer, '--pretty=none', '--raw', body, 'POST', `${gateway.url}${routes.action}`);
    assert.deepEqual(action, { code: 0, text: '[{"result":"{}"}]' });
    assert.equal(far.requests.at(-1)?.body.toString(), '{"a":1}');
  });

  test('creates, changes and deletes an automation with Basic and If-Match', patience, async () => {
    const created = await http(...asAdmin, 'POST', `${gateway.url}${catalogue}`, 'name=by HTTPie', 'repeatInterval=1 day');
    assert.equal(created.code, 0, created.text);
    const made = await gateway.send({ target: `${catalogue}?equals=by%20HTTPie`, role: 'admin' });
    const [{ _id: id }] = (made.json() as { readonly list: readonly [{ readonly _id: string }] }).list;
    const one = `${gateway.url}${catalogue}/${id}`;
    const tag = (await gateway.send({ target: `${catalogue}/${id}`, role: 'admin' })).header('etag') ?? '';
    // HTTPie sends application/json with every JSON body.
    const changed = await http(...asAdmin, '--body', 'PATCH', one, `If-Match:${tag}`, 'repeatInterval:=null');
    assert.equal(changed.code, 0, changed.text);
    assert.ok(!changed.text.includes('repeatInterval'), changed.text);
    const stale = await http(...asAdmin, '--print=hb', 'DELETE', one, `If-Match:${tag}`);
    assert.equal(stale.code, 4);
    assert.match(stale.text, /^HTTP\/1\.1 412 [^]*application\/problem\+json[^]*"code": "precondition-failed"/u);
    assert.equal((await http(...asAdmin, 'DELETE', one)).code, 0);
  });

  test('shows the problem of a refused request', patience, async () => {
    const refused = await http(...asAdmin, '--body', 'POST', `${gateway.url}${routes.query}`, 'params:={}');
    assert.equal(refused.code, 4);
    assert.match(refused.text, /"code": "invalid-request"[^]*"pointer": "\/params\/accept"/u);
  });

  test('reads an export through nginx, and notices a password that is wrong', { ...patience, skip: noNginx }, async () => {
    const { url, caFile } = nginx ?? assert.fail('nginx does not run');
    const made = await http(...asAdmin, '--verify', caFile, 'POST', `${url}${catalogue}`, 'name=exported by HTTPie');
    assert.equal(made.code, 0, made.text);
    const exported = await http(...asAdmin, '--verify', caFile, '--body', `${url}/automation_catalog/export`);
    assert.equal(exported.code, 0, exported.text);
    assert.match(exported.text, /exported by HTTPie/u);
    const wrong = await http('--auth', 'admin-user:wrong', '--verify', caFile, '--body', `${url}/automation_catalog/export`);
    assert.equal(wrong.code, 4);
    assert.match(wrong.text, /"code": "unauthenticated"/u);
  });
});

describe('Ansible’s module uri', { timeout: 600_000, skip: missing('ansible-playbook', '--version', 'ansible-core') }, () => {
  /** A task that sends a request as the admin, and registers its reply under `name`. */
  const send = (name: string, options: Readonly<Record<string, unknown>>): object => ({
    name,
    'ansible.builtin.uri': {
      url_username: 'admin-user',
      url_password: testPassword,
      force_basic_auth: true,
      body_format: 'json',
      return_content: true,
      ...options,
    },
    register: name,
  });
  const check = (...that: readonly string[]): object => ({ 'ansible.builtin.assert': { that } });

  async function play(tasks: readonly object[]): Promise<void> {
    const file = join(directory, `${crypto.randomUUID()}.yml`);
    const vars = { ansible_python_interpreter: 'auto_silent', ansible_remote_tmp: directory };
    // JSON is valid YAML.
    writeFileSync(file, JSON.stringify([{ hosts: 'localhost', connection: 'local', gather_facts: false, vars, tasks }]));
    const { code, text } = await run('ansible-playbook', ['-i', 'localhost,', file]);
    assert.equal(code, 0, text);
  }

  test('logs in, queries, acts, and shows the problem of a refused request', patience, async () => {
    await play([
      send('session', {
        url: `${gateway.url}/login`,
        method: 'POST',
        force_basic_auth: false,
        url_username: '',
        body: { username: 'admin-user', password: testPassword },
      }),
      send('query', {
        url: `${gateway.url}${routes.query}`,
        method: 'POST',
        force_basic_auth: false,
        url_username: '',
        headers: { Authorization: 'Bearer {{ session.json.token }}' },
        body: { params },
      }),
      check('query.json.result[0].instance_data.name == "ce0"', "'18446744073709551615' in query.content"),
      send('action', { url: `${gateway.url}${routes.action}`, method: 'POST', body: { params, body: { a: 1 } } }),
      check('action.json[0].result == "{}"'),
      send('refused', { url: `${gateway.url}${routes.query}`, method: 'POST', body: { params: {} }, status_code: 400 }),
      check("'problem+json' in refused.content_type", "'invalid-request' in refused.content"),
    ]);
    assert.deepEqual(JSON.parse(far.requests.at(-1)?.body.toString() ?? ''), { a: 1 });
  });

  test('creates, changes and deletes an automation with If-Match', patience, async () => {
    const url = `${gateway.url}${catalogue}`;
    const one = `${url}/{{ made.json._id }}`;
    const headers = { 'If-Match': '{{ made.etag }}' };
    await play([
      send('made', { url, method: 'POST', body: { name: 'by Ansible', repeatInterval: '1 day' }, status_code: 201 }),
      // The module sends application/json with every JSON body.
      send('changed', { url: one, method: 'PATCH', headers, body: { data: { workflowId: 'w' } } }),
      check('changed.json.data.workflowId == "w"', 'changed.json.repeatInterval == "1 day"'),
      send('stale', { url: one, method: 'DELETE', headers, status_code: 412 }),
      send('gone', { url: one, method: 'DELETE', headers: { 'If-Match': '{{ changed.etag }}' }, status_code: 204 }),
    ]);
  });

  test('reads an export through nginx', { ...patience, skip: noNginx }, async () => {
    const { url, caFile } = nginx ?? assert.fail('nginx does not run');
    await play([
      send('made', { url: `${url}${catalogue}`, ca_path: caFile, method: 'POST', body: { name: 'exported' }, status_code: 201 }),
      send('export', { url: `${url}/automation_catalog/export`, ca_path: caFile }),
      check('\'"name":"exported"\' in export.content'),
    ]);
  });
});
