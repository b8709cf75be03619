import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { temporaryFile } from '../../test/support/temporary-file.ts';
import { ConfigError, type LoadedConfig, loadConfig } from './load-config.ts';

const hash = `$argon2id$v=19$m=8192,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;

function load(t: TestContext, rule: string): Promise<LoadedConfig> {
  const text = `access:
  users: [{ username: ann, passwordHash: '${hash}', roles: [admin], groups: [board] }]
approvals:
  - { name: freeze, approvers: { groups: [board] }, ${rule} }
`;
  return loadConfig({ file: temporaryFile(t, 'gateway.yaml', text), cwd: '/', env: {} });
}

async function problem(loaded: Promise<LoadedConfig>): Promise<string> {
  const error = await loaded.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ConfigError);
  return error.problems.map(({ line, path, message }) => `${line} ${path}: ${message}`).join('\n');
}

test('an approval rule has entrances, times as milliseconds, and says who of the people of a call may grant', async (t) => {
  const times = 'from: 2026-12-20T00:00:00+01:00, until: 2999-01-04T00:00:00Z';
  const { config, warnings } = await load(t, `when: { via: [run, mcp], ${times} }, selfApproval: authors`);
  const [rule] = config.approvals;
  assert.deepEqual(rule?.when, {
    routes: [],
    adapters: [],
    paths: [],
    methods: [],
    roles: [],
    via: ['run', 'mcp'],
    from: Date.UTC(2026, 11, 19, 23),
    until: Date.UTC(2999, 0, 4),
  });
  assert.deepEqual([rule.selfApproval, warnings], ['authors', []]);
});

test('an entrance, a time or a word that an approval rule cannot have is a problem with its place', async (t) => {
  for (const [rule, expected] of [
    ['when: { via: [ftp] }', /^4 approvals\[0\]\.when\.via\[0\]: "ftp" is unknown here; write one of http, run(?:,| and) mcp/u],
    ['when: { from: 2026-12-20 }', /^4 approvals\[0\]\.when\.from: "2026-12-20" is no time of RFC 3339/u],
    ['when: { until: 2026-12-20T00:00:00 }', /^4 approvals\[0\]\.when\.until: .* is no time of RFC 3339/u],
    [
      'when: { from: 2999-12-20T00:00:00Z, until: 2999-12-20T01:00:00+02:00 }',
      /^4 approvals\[0\]\.when\.until: is not after from, so the times match nothing$/u,
    ],
    ['covers: batches', /^4 approvals\[0\]\.covers: "batches" is unknown here; write one of call(?:,| and) batch/u],
    ['covers: true', /^4 approvals\[0\]\.covers: /u],
    [
      'when: { via: [http, mcp] }, covers: batch',
      /^4 approvals\[0\]\.when\.via: leaves out run, so the rule matches no call of a batch; add run, or leave covers out$/u,
    ],
    ['selfApproval: writers', /^4 approvals\[0\]\.selfApproval: .*true or false without quotes, or authors/u],
  ] as const)
    assert.match(await problem(load(t, rule)), expected, rule);
});

test('a rule covers a call unless it says batch, and one for batches is for calls of runs', async (t) => {
  assert.equal((await load(t, 'count: 1')).config.approvals[0]?.covers, 'call');
  for (const when of ['{}', '{ via: [run] }', '{ via: [http, run] }', '{ methods: [PUT], paths: ["**/act"] }'])
    assert.equal((await load(t, `when: ${when}, covers: batch`)).config.approvals[0]?.covers, 'batch', when);
});

test('an approval rule whose time has passed gets a warning', async (t) => {
  const { warnings } = await load(t, 'when: { until: 2020-01-04T00:00:00Z }');
  assert.deepEqual(
    warnings.map(({ path, message }) => [path, message]),
    [['approvals[0].when.until', 'has passed, so the times match nothing any more']],
  );
});
