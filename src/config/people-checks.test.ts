import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hash, load } from './load-config.test-support.ts';
import { formatConfigProblem } from './load-config.ts';

type Context = Parameters<typeof load>[0];

async function warningsFor(
  t: Context,
  approvals: string,
  { users = 'roles: [admin]', more = '' } = {},
): Promise<readonly string[]> {
  const text = `access:
  users: [{ username: ann, passwordHash: '${hash}', ${users} }]
${more}approvals:
  - { name: changes, ${approvals} }
`;
  return (await load(t, text)).warnings.map(formatConfigProblem).map((line) => line.replace(/^gateway\.yaml:\d+:\d+: /u, ''));
}

const issuer = '  oidc: [{ issuer: "https://login.example.net", audience: gateway }]\n';

test('a group of approvers that no principal of the file has is a warning, which says where its members can come from', async (t) => {
  const rule = 'approvers: { roles: [admin], groups: [noc] }';
  assert.deepEqual(await warningsFor(t, rule), [
    'approvals[0].approvers.groups[0]: no user and no client of this file is in this group: it lets no person approve',
  ]);
  assert.deepEqual(await warningsFor(t, rule, { more: issuer }), [
    'approvals[0].approvers.groups[0]: no user and no client of this file is in this group: its members have to come from an issuer',
  ]);
  assert.deepEqual(await warningsFor(t, rule, { users: 'roles: [admin], groups: [noc]' }), []);
});

test('a count of more people than the file has is a warning', async (t) => {
  const rule = 'approvers: { roles: [admin] }, count: 2';
  assert.deepEqual(await warningsFor(t, rule), [
    'approvals[0].count: 2 people have to approve, and 1 of the users and clients of this file can approve: the calls of this rule never leave',
  ]);
  assert.match((await warningsFor(t, rule, { more: issuer })).join(), /the others have to come from an issuer$/u);
  const client = `  clients: [{ clientId: bot, secretHash: '${hash}', roles: [admin] }]\n`;
  assert.deepEqual(await warningsFor(t, rule, { more: client }), []);
});

test('a file without an admin is a warning', async (t) => {
  const rule = 'approvers: { roles: [other] }';
  const users = 'roles: [other]';
  const alone = 'access: no user and no client has the role admin: no caller can see the audit log or decide about runs';
  assert.deepEqual(await warningsFor(t, rule, { users }), [alone]);
  assert.deepEqual(await warningsFor(t, rule, { users, more: issuer }), [
    'access: no user and no client has the role admin: an admin has to come from an issuer',
  ]);
});

test('a role that a group gives counts, and a principal that is blocked does not', async (t) => {
  const rule = 'approvers: { roles: [admin] }';
  const users = 'roles: [], groups: [leads]';
  assert.deepEqual(await warningsFor(t, rule, { users, more: '  groupRoles: { leads: [admin] }\n' }), []);
  assert.equal((await warningsFor(t, rule, { more: '  blocked: [ann]\n' })).length, 1);
});

test('a path glob with a scheme is a warning', async (t) => {
  const rule = 'when: { paths: ["https://nso.example.net/restconf/**", "restconf/**"] }, approvers: { roles: [admin] }';
  assert.deepEqual(await warningsFor(t, rule), [
    'approvals[0].when.paths[0]: begins with a scheme, and no path does: write the path alone, such as restconf/data/**',
  ]);
});
