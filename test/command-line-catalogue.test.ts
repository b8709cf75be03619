// suite: long

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, beforeEach, describe, test } from 'node:test';
import { type CliRun, runCommandLine } from './support/gateway/run-command-line.ts';
import { type Gateway, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { upstream } from './support/upstreams/upstream.ts';

// Commands about workflows, automations, forms, runs and the whole catalogue at a running gateway.

const far = await upstream({ after });
let gateway: Gateway;
beforeEach(async (t) => {
  gateway = await startGateway(t as unknown as Parameters<typeof startGateway>[0], {
    config: { outbound: { allow: [far.authority] } },
  });
});

interface Typing {
  readonly files?: Readonly<Record<string, string>>;
  readonly role?: string;
  readonly stdin?: Readable;
  readonly columns?: number;
}

function typed(argv: readonly string[], { files, role = 'admin', stdin, columns }: Typing = {}): Promise<CliRun> {
  const env = { GATEWAY_URL: gateway.url, GATEWAY_USER: `${role}-user`, GATEWAY_PASSWORD: testPassword };
  const terminal = columns === undefined ? {} : { printsToTerminal: true, outputColumns: columns };
  return runCommandLine({ after }, argv, { env, ...terminal, ...(files && { files }), ...(stdin && { stdin }) });
}

async function done(argv: readonly string[], typing?: Typing): Promise<string> {
  const { code, out, err } = await typed(argv, typing);
  assert.equal(code, 0, `${argv.join(' ')}\n${out}${err}`);
  return out;
}

const workflow = (name: string, version = '1.0.0', tasks = '[{ only: { set: { a: 1 } } }]'): string =>
  `document: { dsl: 1.0.3, namespace: lab, name: ${name}, version: ${version} }\ndo: ${tasks}\n`;
const stored = (name: string, ...more: [version?: string, tasks?: string]): Promise<string> =>
  done(['workflows', 'store', 'w.yaml'], { files: { 'w.yaml': workflow(name, ...more) } });
const created = (document: object): Promise<string> =>
  done(['automations', 'create', '-'], { stdin: Readable.from([JSON.stringify(document)]) });
const json = async <T>(argv: readonly string[]): Promise<T> => JSON.parse(await done([...argv, '--json'])) as T;

describe('a list', () => {
  test('is a table on a terminal, NDJSON in a pipe or with --ndjson, and one array with --json', async () => {
    for (const name of ['b', 'a']) await stored(name);
    assert.match(
      await done(['workflows', 'list'], { columns: 60 }),
      /^WORKFLOW {2}VERSION .*\nlab\.a {5}1\.0\.0 .*\nlab\.b {5}1\.0\.0 /u,
    );
    for (const [words, typing] of [
      [['workflows', 'list'], {}],
      [['workflows', 'list', '--ndjson'], { columns: 60 }],
    ] as const) {
      const lines = (await done(words, typing)).trim().split('\n');
      assert.deepEqual(
        lines.map((line) => (JSON.parse(line) as { id: string }).id),
        ['lab.a', 'lab.b'],
      );
    }
    const list = await json<readonly { id: string }[]>(['workflows', 'list', '--limit', '1']);
    assert.deepEqual(
      list.map(({ id }) => id),
      ['lab.a'],
    );
    for (const what of ['forms', 'automations', 'runs', 'approvals']) {
      assert.deepEqual(await json([what, 'list']), [], what);
      assert.equal((await typed([what, 'list'], { columns: 60 })).err, `no ${what}\n`);
    }
    const wrong = await typed(['workflows', 'list', '--limit', 'few']);
    assert.deepEqual(
      [wrong.code, wrong.err],
      [2, 'orchestration-gateway workflows list: --limit is neither a whole number of at least 1 nor "all"\n'],
    );
  });
});

describe('workflows', () => {
  test('are shown as they were written, and deleted one version at a time', async () => {
    await stored('a');
    await stored('a', '1.1.0');
    assert.equal(await done(['workflows', 'show', 'lab.a', '--version', '1.0.0']), workflow('a'));
    assert.deepEqual((await json<{ document: object }>(['workflows', 'show', 'lab.a'])).document, {
      dsl: '1.0.3',
      namespace: 'lab',
      name: 'a',
      version: '1.1.0',
    });
    const all = await typed(['workflows', 'delete', 'lab.a']);
    assert.deepEqual([all.code, all.err], [2, 'orchestration-gateway workflows delete: give either --version or --all\n']);
    assert.equal(await done(['workflows', 'delete', 'lab.a', '--version', '1.1.0']), 'deleted lab.a 1.1.0\n');
    assert.equal(await done(['workflows', 'delete', 'lab.a', '--all']), 'deleted lab.a\n');
  });

  test('a file that cannot be stored does not keep the others out, and other content of a version is refused', async () => {
    const files = {
      'good.yaml': workflow('good'),
      'bad.json': '{"document": 5}',
      'again.yaml': workflow('good', '1.0.0', '[{ other: { set: { b: 1 } } }]'),
    };
    const { code, out, err } = await typed(['workflows', 'store', 'bad.json', 'good.yaml', 'again.yaml'], { files });
    assert.deepEqual([code, out], [1, 'lab.good 1.0.0\n']);
    assert.match(err, /^bad\.json:1:14: \/document: .*\n {4}\{"document": 5\}\n {17}\^\n/mu);
    assert.match(err, /again\.yaml: The version 1\.0\.0 of lab\.good has other content/u);
  });

  test('a trial takes the next free number where a number was deleted or another person took it', async () => {
    await stored('a');
    const files = { 'w.yaml': workflow('a', '7.0.0') };
    for (const number of [1, 2]) {
      const { err } = await typed(['workflows', 'try', 'w.yaml'], { files });
      assert.match(err, new RegExp(`^Stored lab\\.a 1\\.0\\.1-dev\\.${number}\\.$`, 'mu'));
    }
    await until('the runs ended', async () =>
      (await json<{ status: string }[]>(['runs', 'list'])).every(({ status }) => status === 'completed'),
    );
    await done(['automations', 'delete', 'lab.a']);
    await done(['workflows', 'delete', 'lab.a', '--version', '1.0.1-dev.2']);
    // The tombstone of dev.2 keeps its bytes: the same ones come back.
    assert.match((await typed(['workflows', 'try', 'w.yaml'], { files })).err, /Stored lab\.a 1\.0\.1-dev\.2\./u);
    await until('the run ended', async () =>
      (await json<{ status: string }[]>(['runs', 'list'])).every(({ status }) => status === 'completed'),
    );
    await done(['automations', 'delete', 'lab.a']);
    await done(['workflows', 'delete', 'lab.a', '--version', '1.0.1-dev.2']);
    const other = { 'w.yaml': workflow('a', '7.0.0', '[{ other: { set: { b: 1 } } }]') };
    assert.match((await typed(['workflows', 'try', 'w.yaml'], { files: other })).err, /Stored lab\.a 1\.0\.1-dev\.3\./u);
  });
});

describe('automations', () => {
  test('set changes fields by their names, keeps digits, and removes a field with an empty value', async () => {
    await stored('a');
    await created({ name: 'One', data: { workflowId: 'lab.a', input: { old: 1 } } });
    await done([
      'automations',
      'set',
      'One',
      'cron=30 6 * * 1-5',
      'timeZone=Europe/Berlin',
      'input.serial=18446744073709551615',
      'input.tags=[a, b]',
      'gbac.read=[noc]',
      'description=a=b',
    ]);
    const { data } = await json<{ data: Record<string, unknown> }>(['automations', 'show', 'One']);
    assert.deepEqual(
      [data['cron'], data['timeZone'], data['gbac'], data['description'], data['workflowId']],
      ['30 6 * * 1-5', 'Europe/Berlin', { read: ['noc'] }, 'a=b', 'lab.a'],
    );
    assert.match(await done(['automations', 'show', 'One', '--json']), /"serial": 18446744073709551615,/u);
    assert.match(await done(['automations', 'list']), /"serial":18446744073709551615,/u);
    await done(['automations', 'set', 'One', 'name=Two', 'cron=', 'timeZone=', 'input.old=']);
    const two = await json<{ data: { cron?: string; input: object } }>(['automations', 'show', 'Two']);
    assert.deepEqual([two.data.cron, Object.keys(two.data.input)], [undefined, ['serial', 'tags']]);
    for (const [words, why] of [
      [['cron'], /"cron" is no KEY=VALUE/u],
      [['input.a=[1'], /the value of "input\.a" is no YAML or JSON/u],
      [['input.a=1', 'input.a.b=2'], /"input\.a\.b" is given twice, or is a part of another key/u],
    ] as const) {
      const { code, err } = await typed(['automations', 'set', 'Two', ...words]);
      assert.deepEqual([code, why.test(err)], [2, true], err);
    }
    const unknown = await typed(['automations', 'set', 'Two', 'corn=1', 'timeZone=Mars/Base']);
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /\/data\/corn/u);
    assert.match(unknown.err, /\/data\/timeZone/u);
  });

  test('a name in another case is enough where it means one, and several end the command with exit code 2', async () => {
    await created({ name: 'Backup' });
    assert.match(await done(['automations', 'show', 'backup']), /^automation {2}Backup$/mu);
    await created({ name: 'BACKUP' });
    const { code, err } = await typed(['automations', 'delete', 'backup']);
    assert.deepEqual(
      [code, err],
      [2, 'orchestration-gateway automations delete: "backup" may mean several automations:\n  "BACKUP"\n  "Backup"\n'],
    );
    assert.equal(await done(['automations', 'delete', 'Backup']), 'deleted Backup\n');
    assert.equal(await done(['automations', 'delete', 'backup']), 'deleted BACKUP\n');
  });

  test('a schedule whose workflow is missing is stored with a warning', async () => {
    const document = JSON.stringify({ name: 'Later', data: { workflowId: 'lab.none', cron: '0 6 * * *' } });
    const { code, err } = await typed(['automations', 'create', 'a.json'], { files: { 'a.json': document } });
    assert.equal(code, 0, err);
    assert.match(err, /^warning: /u);
  });
});

test('forms are stored byte for byte, listed, shown and deleted', async () => {
  const form = '{ "type": "object",\n "properties": { "n": { "type": "integer", "minimum": 1.0 } } }\n';
  assert.equal(await done(['forms', 'store', 'n', 'f.json'], { files: { 'f.json': form } }), 'created n\n');
  assert.equal(await done(['forms', 'store', 'n', 'f.json'], { files: { 'f.json': form } }), 'replaced n\n');
  assert.equal(await done(['forms', 'show', 'n']), form);
  assert.match(await done(['forms', 'list'], { columns: 80 }), /^FORM .*\nn {5}/u);
  const bad = await typed(['forms', 'store', 'n', 'f.json'], {
    files: { 'f.json': '{"type":"object","properties":{"a":{},"b":5}}' },
  });
  assert.deepEqual(
    [bad.code, /\/properties\/a\/type/u.test(bad.err), /\/properties\/b/u.test(bad.err)],
    [1, true, true],
    bad.err,
  );
  assert.equal(await done(['forms', 'delete', 'n']), 'deleted n\n');
});

describe('runs', () => {
  const push = '[{ push: { call: restCall, with: { uri: "${ .uri }", verb: POST, body: {} } } }, { then: { wait: PT1M } }]';

  test('are named by their automation: suspended, decided by the name of a task, run on and repeated', async () => {
    await stored('push', '1.0.0', push);
    await created({ name: 'Push', data: { workflowId: 'lab.push', input: { uri: `${far.url}/x` } } });
    far.answer((_request, socket) => void socket.destroy());
    assert.equal((await typed(['run', 'Push', '--follow'])).code, 3);
    const unknown = await typed(['runs', 'decide', 'Push', '--task', 'then', '--as', 'done', '--reason', 'r']);
    assert.deepEqual([unknown.code, /no task "then"/u.test(unknown.err)], [1, true], unknown.err);
    for (const missing of [
      ['--task', 'push', '--as', 'done'],
      ['--task', 'push', '--as', 'perhaps', '--reason', 'r'],
    ])
      assert.equal((await typed(['runs', 'decide', 'Push', ...missing])).code, 2);
    await done(['runs', 'decide', 'push', '--task', 'push', '--as', 'done', '--reason', 'It is there.']);
    await until('the run goes on', async () => (await json<{ status: string }>(['runs', 'show', 'Push'])).status === 'waiting');
    await until('the run is suspended', async () => (await typed(['runs', 'suspend', 'Push'])).code === 0);
    assert.match(await done(['runs', 'show', 'Push']), /^A person suspended the run\. It goes on after: .* runs resume /mu);
    await done(['runs', 'resume', 'Push']);
    const { id, input } = await json<{ id: string; input: object }>(['runs', 'rerun', 'Push']);
    assert.deepEqual(input, { uri: `${far.url}/x` });
    // Two are under way now.
    const several = await typed(['runs', 'cancel', 'Push']);
    assert.deepEqual([several.code, several.err.includes(id)], [2, true], several.err);
    await until('the run is cancelled', async () => {
      const { code, err } = await typed(['runs', 'cancel', id]);
      return code === 0 || err.includes('has ended already');
    });
  });
});

describe('import', () => {
  const line = (index: number): string => `{"_id":"n${index}","name":"n${String(index).padStart(5, '0')}"}\n`;

  test('takes what export wrote in any order, and more than a request holds in several requests', async (t) => {
    await stored('b');
    await stored('a', '1.0.0', '[{ call: { run: { workflow: { namespace: lab, name: b, version: 1.0.0 } } } }]');
    await done(['forms', 'store', 'n', 'f.json'], { files: { 'f.json': '{"type":"object","properties":{}}' } });
    await created({ name: 'A', data: { workflowId: 'lab.a', formId: 'n' } });
    const exported = await typed(['export']);
    assert.deepEqual([exported.code, exported.err], [0, 'exported 4 documents\n']);
    assert.equal((await done(['export', '--kind', 'form'])).split('\n').length, 2);
    assert.equal((await typed(['export', '--kind', 'adapter'])).code, 2);
    const many = Array.from({ length: 20_001 }, (_, index) => line(index)).join('');
    gateway = await startGateway(t);
    const reversed = exported.out.trim().split('\n').toReversed().join('\r\n\n');
    const files = { 'all.ndjson': `${many}${reversed}` };
    assert.equal(await done(['import', 'all.ndjson'], { files }), 'imported 20,005 documents, 0 of them replaced\n');
    assert.equal(await done(['export', '--kind', 'workflow']), exported.out.split('\n').slice(1, 3).join('\n').concat('\n'));
    const again = await typed(['import', '-', '--json'], { stdin: Readable.from([exported.out]) });
    assert.deepEqual(JSON.parse(again.out), { imported: 4, replaced: 4 });
  });

  test('names each bad line of the file, and the last line stored before it', async () => {
    const bad = [
      '',
      '{"name":7}',
      '{"kind":"form","id":"f","document":{"type":"object","properties":{}}}',
      '{"name":"x\\u001b","a":1}',
    ];
    const { code, out, err } = await typed(['import', 'bad.ndjson'], { files: { 'bad.ndjson': bad.join('\n') } });
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /^bad\.ndjson:2: \/name: .*$/mu);
    assert.match(err, /^bad\.ndjson:4: \/a: .*$/mu);
    assert.match(err, /nothing was stored\n.*2 lines cannot be imported; nothing was changed\.\n$/u);
    assert.equal(await done(['export']), '');
    const many = `${Array.from({ length: 20_000 }, (_, index) => line(index)).join('')}{"name":5}\n`;
    const second = await typed(['import', '-'], { stdin: Readable.from([many]) });
    assert.match(second.err, /^<stdin>:20001: \/name: .*\n.*the last line stored is 20000\n/u);
    const missing = await typed(['import', 'none.ndjson']);
    assert.match(missing.err, /none\.ndjson cannot be read \(ENOENT\)/u);
  });

  test('needs the rights of single writes: a colleague without them gets the words of the gateway', async () => {
    const { code, err } = await typed(['import', '-'], { role: 'engineering', stdin: Readable.from([line(1)]) });
    assert.equal(code, 1);
    assert.match(err, /the user engineering-user may not do this/u);
  });
});

test('explain asks the gateway: allowed ends with 0, denied with 1 and the calls of the document, a wrong question with 2', async () => {
  assert.match(await done(['explain', '--roles', 'admin', '--route', 'listAudit']), /^allowed: role admin\n/u);
  const files = {
    'w.yaml': workflow(
      'w',
      '1.0.0',
      '[{ a: { call: orchestratorQuery, with: { adapter: A, params: { path: x, accept: a/b } } } }]',
    ),
  };
  const denied = await typed(['explain', '--roles', 'engineering', '--route', 'createWorkflow', '--workflow', 'w.yaml'], {
    files,
  });
  assert.equal(denied.code, 1);
  assert.match(denied.out, /^denied: /u);
  assert.match(denied.out, /^w\.yaml:2:\d+: .*\n {4}.*\n {4} *\^$/mu);
  const wrong = await typed(['explain', '--roles', 'nock', '--route', 'whoareyou']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /--roles .*\n.*--route is no operationId/u);
  assert.equal((await typed(['explain', '--roles', 'admin'])).code, 2);
});
