import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { temporaryFile } from '../../test/support/temporary-file.ts';
import { ConfigError, type LoadedConfig, loadConfig } from './load-config.ts';

const hash = `$argon2id$v=19$m=8192,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
const at = (subject: string): string => `oidc:["https://idp.example.net","${subject}"]`;

/** `access` with a user `ann`, a client `robot`, an issuer, and these lines. */
function load(t: TestContext, lines: readonly string[], ofIssuer = '', ofClient = ''): Promise<LoadedConfig> {
  const text = `access:
  users: [{ username: ann, passwordHash: '${hash}', roles: [admin] }]
  clients: [{ clientId: robot, secretHash: '${hash}', roles: []${ofClient} }]
  oidc: [{ issuer: "https://idp.example.net", audience: gateway${ofIssuer} }]
  ${lines.join('\n  ')}
`;
  return loadConfig({ file: temporaryFile(t, 'gateway.yaml', text), cwd: '/', env: { SECRET: 'shh' } });
}

async function problems(loaded: Promise<LoadedConfig>): Promise<readonly string[]> {
  try {
    return (await loaded).warnings.map(({ path, message }) => `${path}: ${message}`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
}

test('ids of principals are read in the form that principals have', async (t) => {
  const { config, warnings } = await load(t, [
    `blocked: [ann, '${at('4711')}', 'oidc: [ "https://idp.example.net" , "47 12" ]']`,
    `persons: { Ann Miller: [ann, robot] }`,
    'groupRoles: { noc leads: [engineering] }',
  ]);
  assert.deepEqual(config.access.blocked, ['ann', at('4711'), at('47 12')]);
  assert.deepEqual(config.access.persons, { 'Ann Miller': ['ann', 'robot'] });
  assert.deepEqual(config.access.groupRoles, { 'noc leads': ['engineering'] });
  // The only admin of the file is blocked.
  assert.deepEqual(
    warnings.map(({ message }) => message),
    ['no user and no client has the role admin: an admin has to come from an issuer'],
  );
});

test('what is no id of a principal is a problem that shows the forms', async (t) => {
  const ids = ['', ' ann', 'a:b', 'oidc:', 'oidc:["https://idp.example.net"]', 'oidc:["a","b","c"]', 'oidc:{}', 'oidc:[1,2]'];
  const found = await problems(load(t, [`blocked: [${ids.map((id) => `'${id}'`).join(', ')}]`]));
  assert.equal(found.length, ids.length, found.join('\n'));
  for (const problem of found)
    assert.match(problem, /is no id of a principal; write a user name, a client id, or 'oidc:\["ISSUER","SUBJECT"\]' in quotes/u);
});

test('an id that no principal can have is a warning, because it may be a slip', async (t) => {
  const slip = 'names no user and no client, and no issuer that is configured';
  const found = await problems(load(t, ['blocked: [anne]', `persons: { ann: [ann, 'oidc:["https://other","4711"]'] }`]));
  assert.deepEqual(found.toSorted(), [`access.blocked[0]: ${slip}`, `access.persons.ann[1]: ${slip}`]);
});

test('an id is in one person alone, however it is written', async (t) => {
  const spaced = `'oidc: ["https://idp.example.net", "4711"]'`;
  assert.deepEqual(await problems(load(t, [`persons: { ann: [ann, '${at('4711')}'], bob: [robot, ${spaced}], none: [] }`])), [
    'access.persons.bob[1]: belongs to "ann" already; a principal is one person',
    'access.persons.none: needs at least 1 entry',
  ]);
});

test('an unknown role of a group is a problem that names the nearest known one', async (t) => {
  assert.deepEqual(await problems(load(t, ['groupRoles: { noc: [admin, enginering] }'])), [
    'access.groupRoles.noc[1]: "enginering" is unknown here; write one of admin, engineering, other, readonly and apiread; did you mean "engineering"?',
  ]);
});

test('a name that no group can have is a problem', async (t) => {
  const found = await problems(load(t, [`groupRoles: { ' noc': [admin] }`], `, groupNames: { '': noc, x: ' noc' }`));
  assert.deepEqual(
    found.map((problem) => problem.slice(0, problem.indexOf(';'))),
    [
      'access.oidc[0].groupNames: holds a name that no group can have',
      'access.oidc[0].groupNames.x: begins or ends with white space',
      'access.groupRoles: holds a name that no group can have',
    ].map((line) => (line.includes('white space') ? line.slice(0, line.indexOf(';')) : line)),
  );
});

test('a secret of the console needs its client id, and is a secret', async (t) => {
  const secret = ', consoleClientSecret: { env: SECRET }';
  assert.deepEqual(await problems(load(t, [], secret)), ['access.oidc[0].consoleClientSecret: needs consoleClientId']);
  const { config } = await load(t, [], `${secret}, consoleClientId: console`);
  assert.equal(config.access.oidc[0]?.consoleClientSecret?.reveal(), 'shh');
  assert.ok(!JSON.stringify(config).includes('shh'));
});

test('tokens of a client last for at most 90 days', async (t) => {
  assert.equal((await load(t, [], '', ', tokenLifetime: 90d')).config.access.clients[0]?.tokenLifetime, 90 * 86_400_000);
  assert.deepEqual(await problems(load(t, [], '', ', tokenLifetime: 91d')), [
    'access.clients[0].tokenLifetime: "91d" is too large; write at most 90d',
  ]);
});
