import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CliRun, runCommandLine } from '../../test/support/gateway/run-command-line.ts';
import type { Owner } from '../../test/support/owner.ts';

const hash = `$argon2id$v=19$m=8192,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const configuration = `access:
  users:
    - { username: ann, passwordHash: '${hash}', roles: [noc] }
    - { username: boss, passwordHash: '${hash}', roles: [admin] }
  roles:
    - name: noc
      allows:
        - { routes: [restCall], methods: [GET] }
        - { routes: [restQuery], adapters: [Local NSO], paths: ["restconf/data/**"] }
outbound:
  deny: [203.0.113.7]
adapters:
  - name: Local NSO
    kind: nso
    url: https://nso.example.net
    denyPaths:
      queries: ["**/secret"]
`;

function explain(t: Owner, ...argv: readonly string[]): Promise<CliRun> {
  return runCommandLine(t, ['explain', ...argv], { files: { 'gateway.yaml': configuration } });
}

test('explain names the right that allows a call, and its line', async (t) => {
  const path = 'restconf/data/tailf-ncs:devices';
  const { code, out } = await explain(t, '--principal=ann', '--route=restQuery', '--adapter=Local NSO', `--path=${path}`);
  assert.equal(
    out,
    `allowed: role noc, allows[1]; allowPaths.queries
The role noc allows this restQuery by its right allows[1].
gateway.yaml:3:${`    - { username: ann, passwordHash: '${hash}', roles: `.length + 1}: access.users[0].roles
gateway.yaml:9:11: access.roles[0].allows[1]
gateway.yaml: adapters[0].allowPaths.queries (default)
`,
  );
  assert.equal(code, 0);
});

test('explain names the path right that refuses a call, and exits with 1', async (t) => {
  const { code, out } = await explain(
    t,
    '--roles=other,noc',
    '--route=restQuery',
    '--adapter=Local NSO',
    '--path=restconf/data/secret',
  );
  assert.match(out, /^denied: denyPaths\.queries has "\*\*\/secret"\nThe caller gets 403 path-denied: /u);
  assert.match(
    out,
    /\ngateway\.yaml:9:11: access\.roles\[0\]\.allows\[1\]\ngateway\.yaml:17:16: adapters\[0\]\.denyPaths\.queries\n$/u,
  );
  assert.equal(code, 1);
});

test('explain says which roles a refused principal has and needs', async (t) => {
  const { code, out } = await explain(t, '--principal=ann', '--route=restRequest', '--adapter=Local NSO', '--method=PATCH');
  assert.match(out, /^denied: roles of restRequest\nThe caller gets 403 forbidden: This needs the role admin; you have noc\./u);
  assert.match(out, /\ngateway\.yaml:3:\d+: access\.users\[0\]\.roles\n$/u);
  assert.equal(code, 1);
});

test('explain judges a restCall by the outbound policy, and says what it did not judge', async (t) => {
  const denied = await explain(t, '--principal=boss', '--route=restCall', '--path=http://203.0.113.7/x');
  assert.match(denied.out, /^denied: outbound\.deny has "203\.0\.113\.7"\n/u);
  assert.match(denied.out, /\ngateway\.yaml:11:9: outbound\.deny\n$/u);
  const { out } = await explain(t, '--principal=ann', '--route=restCall', '--path=/x');
  assert.match(out, /^allowed: role noc, allows\[0\]\n.*Not judged, because the question does not say it: host, method\./u);
});

test('explain reports every problem of its question, and exits with 2', async (t) => {
  const { code, out, err } = await explain(t, '--roles=nock', '--route=whoareyou', '--method=GETS', '--via=htp');
  assert.equal(out, '');
  assert.equal(
    err,
    `orchestration-gateway explain: --roles is no role; there are admin, engineering, other, readonly, apiread, noc
orchestration-gateway explain: --route is no operationId of /openapi.json
orchestration-gateway explain: --method is none of DELETE, GET, PATCH, POST, PUT
orchestration-gateway explain: --via is none of http, run, mcp
`,
  );
  assert.equal(code, 2);
  const both = await explain(t, '--roles=noc', '--principal=ann', '--route=restQuery', '--adapter=Other', '--method=POST');
  assert.match(both.err, /--principal or roles has to be given, and only one of the two\n$/u);
  const unknown = await explain(t, '--principal=ann', '--route=restQuery', '--adapter=Other', '--method=POST', '--path=a/../b');
  assert.match(
    unknown.err,
    /--adapter is no adapter instance; there are "Local NSO"\n.*--method is always GET.*\n.*--path has a \.\./u,
  );
});

test('explain judges an operation that relays no call, and a workflow with each call of it', async (t) => {
  const readable = await explain(t, '--roles=admin', '--route=listAudit');
  assert.match(readable.out, /^allowed: role admin\nThe role admin allows this\.\n/u);
  assert.equal(readable.code, 0);
  const denied = await explain(t, '--principal=ann', '--route=listAudit');
  assert.match(denied.out, /^denied: roles of listAudit\n.*No right of your own roles allows it: .* has another route\.\n/u);
  const workflow = `document: { dsl: 1.0.3, namespace: lab, name: a, version: 1.0.0 }
do: [{ a: { call: http, with: { method: GET, endpoint: https://a.example } } }, { b: { call: orchestratorAction, with: { adapter: A, params: { path: x, accept: a/b } } } }]
`;
  const files = { 'gateway.yaml': configuration, 'a.yaml': workflow };
  const judged = (roles: string) =>
    runCommandLine(t, ['explain', `--roles=${roles}`, '--route=createWorkflow', '--workflow=a.yaml'], { files });
  const refused = await judged('engineering');
  assert.match(
    refused.out,
    /^denied: role engineering\nThe caller gets 403 forbidden: \/do\/1\/b calls orchestratorAction: This needs the role admin/u,
  );
  assert.equal(refused.code, 1);
  assert.match((await judged('admin')).out, /^allowed: role admin\nEach call of the document is allowed in a run\.\n/u);
  const missing = await explain(t, '--roles=admin', '--route=createWorkflow', '--workflow=none.yaml');
  assert.match(missing.err, /^none\.yaml:1:1: the file .* does not exist\n$/u);
  assert.equal(missing.code, 2);
});

test('explain gives a user the roles of its groups, and knows none that is blocked', async (t) => {
  const user = (name: string): string => `    - { username: ${name}, passwordHash: '${hash}', roles: [], groups: [noc-leads] }\n`;
  const groups = `access:\n  users:\n${user('lea')}${user('leo')}  groupRoles: { noc-leads: [admin] }\n  blocked: [leo]\n`;
  const asked = (name: string): Promise<CliRun> =>
    runCommandLine(t, ['explain', `--principal=${name}`, '--route=listAudit'], { files: { 'gateway.yaml': groups } });
  assert.match((await asked('lea')).out, /^allowed: role admin\n/u);
  const { code, err } = await asked('leo');
  assert.notEqual(code, 0);
  assert.match(err, /is no user or client of the configuration, or is blocked/u);
});
