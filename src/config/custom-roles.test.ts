import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { temporaryFile } from '../../test/support/temporary-file.ts';
import { ConfigError } from './config-problem.ts';
import { type LoadedConfig, loadConfig } from './load-config.ts';

const hash = `$argon2id$v=19$m=8192,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

function load(t: TestContext, roles: string, userRoles = '[noc]'): Promise<LoadedConfig> {
  const text = `access:
  users:
    - { username: ann, passwordHash: '${hash}', roles: ${userRoles} }
  roles:
    ${roles}
adapters:
  - { name: Local NSO, kind: nso, url: "https://nso.example.net:8888" }
`;
  return loadConfig({ file: temporaryFile(t, 'gateway.yaml', text), cwd: '/', env: {} });
}

async function problems(loaded: Promise<LoadedConfig>): Promise<readonly string[]> {
  try {
    await loaded;
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
}

test('a role of the operator is read, with empty lists where a right names none', async (t) => {
  const right = '{ routes: [restQuery], adapters: [Local NSO], paths: ["restconf/data/**"], methods: [GET] }';
  const { config, warnings } = await load(t, `- { name: noc, allows: [${right}, {}] }`, '[readonly, noc]');
  assert.deepEqual(config.access.roles, [
    {
      name: 'noc',
      allows: [
        { routes: ['restQuery'], adapters: ['Local NSO'], paths: ['restconf/data/**'], methods: ['GET'] },
        { routes: [], adapters: [], paths: [], methods: [] },
      ],
    },
  ]);
  assert.deepEqual(config.access.users[0]?.roles, ['readonly', 'noc']);
  assert.deepEqual(warnings, []);
});

test('an unknown role is a problem that names the nearest known one, of the operator or of the specification', async (t) => {
  assert.deepEqual(await problems(load(t, '- { name: noc }', '[nock, readnly]')), [
    'access.users[0].roles[0]: "nock" is unknown here; write one of admin, engineering, other, readonly, apiread and noc; did you mean "noc"?',
    'access.users[0].roles[1]: "readnly" is unknown here; write one of admin, engineering, other, readonly, apiread and noc; did you mean "readonly"?',
  ]);
});

test('a role of the specification cannot be defined again, in any case of letters', async (t) => {
  const found = await problems(load(t, '- { name: noc }\n    - { name: admin }\n    - { name: ReadOnly }'));
  assert.deepEqual(
    found.map((problem) => problem.slice(0, problem.indexOf(','))),
    [
      'access.roles[1].name: "admin" is a role of the specification',
      'access.roles[2].name: "ReadOnly" is a role of the specification',
    ],
  );
});

test('a role has a unique name without spaces or commas, and rights with known words', async (t) => {
  const found = await problems(
    load(
      t,
      `- { name: noc, allows: [{ routes: [restQeury], methods: [get], paths: ["a?b"], adapters: [Local NS0] }] }
    - { name: noc }
    - { name: "a,b" }`,
    ),
  );
  assert.match(found.join('\n'), /routes\[0\]: "restQeury" is unknown here.*did you mean "restQuery"/u);
  assert.match(found.join('\n'), /methods\[0\]: "get" is unknown here/u);
  assert.match(found.join('\n'), /paths\[0\]: has a "\?"/u);
  assert.match(found.join('\n'), /adapters\[0\]: is no adapter instance; there are Local NSO; did you mean "Local NSO"/u);
  assert.match(found.join('\n'), /roles\[1\]\.name: is the same as access\.roles\[0\]\.name/u);
  assert.match(found.join('\n'), /roles\[2\]\.name: is no role name/u);
  assert.equal(found.length, 6);
});

test('a right for restCall alone that names adapter instances gets a warning, because it allows nothing', async (t) => {
  const { warnings } = await load(t, '- { name: noc, allows: [{ routes: [restCall], adapters: [Local NSO] }] }');
  assert.deepEqual(
    warnings.map(({ path, message }) => `${path}: ${message}`),
    ['access.roles[0].allows[0]: allows nothing: restCall has no adapter instance; remove adapters, or add a route'],
  );
});
