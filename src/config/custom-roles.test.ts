import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { temporaryFile } from '../../test/support/temporary-file.ts';
import { ConfigError, type LoadedConfig, loadConfig } from './load-config.ts';

const hash = `$argon2id$v=19$m=8192,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

function load(t: TestContext, roles: string, userRoles = '[noc]'): Promise<LoadedConfig> {
  const text = `access:
  users:
    - { username: ann, passwordHash: '${hash}', roles: ${userRoles} }
    - { username: root, passwordHash: '${hash}', roles: [admin] }
  roles:
    ${roles}
adapters:
  - { name: Local NSO, kind: nso, url: "https://nso.example.net:8888" }
`;
  return loadConfig({ file: temporaryFile(t, 'gateway.yaml', text), cwd: '/', env: {} });
}

const any = { routes: [], adapters: [], paths: [], methods: [], destinations: [], workflows: [], via: [] };

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
      allows: [{ ...any, routes: ['restQuery'], adapters: ['Local NSO'], paths: ['restconf/data/**'], methods: ['GET'] }, any],
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
  assert.match(found.join('\n'), /routes\[0\]: "restQeury" is no operationId.*did you mean "restQuery"/u);
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

test('a right takes every operationId, and reads destinations in the form that URLs have', async (t) => {
  const rights = `- name: noc
      allows:
        - { routes: [restCall, restQuery, createWorkflow, decideRun, listAudit], methods: [GET] }
        - { routes: [restCall], destinations: [Tickets.example.net, "HTTPS://tickets.example.net:443", "http://10.0.0.1:8080/"], via: [run, mcp] }
        - { routes: [listAutomations, runAutomation], workflows: ["noc.*", "*.check"] }`;
  const { config } = await load(t, rights.replace('8080/', '8080'));
  const [role] = config.access.roles;
  assert.deepEqual(role?.allows[1]?.destinations, ['tickets.example.net', 'https://tickets.example.net', 'http://10.0.0.1:8080']);
  assert.deepEqual(role?.allows[1]?.via, ['run', 'mcp']);
  assert.deepEqual(role?.allows[2]?.workflows, ['noc.*', '*.check']);
  assert.deepEqual(await problems(load(t, rights)), [
    'access.roles[0].allows[1].destinations[2]: "http://10.0.0.1:8080/" is no host and no origin; write tickets.example.net, or https://tickets.example.net:8443',
  ]);
});

test('a list of a right that limits nothing of what the right names is a problem', async (t) => {
  const limits = await problems(
    load(
      t,
      `- name: noc
      allows:
        - { routes: [listAudit], adapters: [Local NSO], paths: [a], methods: [GET], destinations: [a.example] }
        - { routes: [createWorkflow, listAudit, restQuery], workflows: [noc.*] }
        - { workflows: [noc.*] }
        - { routes: [listForms], workflows: [noc.*] }`,
    ),
  );
  const one = 'limits relayed calls alone; remove it, or name one of restCall, restAction, restQuery and restRequest in routes';
  assert.deepEqual(limits, [
    ...['adapters', 'paths', 'methods', 'destinations'].map((key) => `access.roles[0].allows[0].${key}: ${one}`),
    'access.roles[0].allows[1].workflows: cannot limit listAudit and restQuery, which have no workflow; put them into another right',
    'access.roles[0].allows[2].workflows: cannot limit restCall, restAction, restQuery and restRequest, which have no workflow; put them into another right',
    'access.roles[0].allows[3].workflows: cannot limit listForms, which has no workflow; put it into another right',
  ]);
});

test('destinations, workflow globs and entrances that mean nothing are problems', async (t) => {
  const found = await problems(
    load(
      t,
      '- { name: noc, allows: [{ destinations: ["a.example:80", "ftp://a.example", "a b"], workflows: ["a?"], via: [htp] }] }',
    ),
  );
  assert.equal(found.filter((problem) => problem.includes('is no host and no origin')).length, 3);
  assert.match(found.join('\n'), /workflows\[0\]: is no glob of workflow ids/u);
  assert.match(found.join('\n'), /via\[0\]: "htp" is unknown here.*did you mean "http"/u);
});

test('a right with destinations that no restCall can use gets a warning', async (t) => {
  for (const right of [
    '{ routes: [restQuery], destinations: [a.example] }',
    '{ adapters: [Local NSO], destinations: [a.example] }',
  ]) {
    const { warnings } = await load(t, `- { name: noc, allows: [${right}] }`);
    assert.deepEqual(
      warnings.map(({ message }) => message),
      ['allows no relayed call: restCall alone has a destination, and it has no adapter instance'],
    );
  }
});
