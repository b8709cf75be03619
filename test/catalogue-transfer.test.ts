// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertProblem } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, type Gateway, startGateway, testPassword, testPasswordHash } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { runCaller } from './support/runs/run-caller.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';

// The whole catalogue from one gateway to another: forms, workflows and automations that name each other.

const catalogue = '/automation_catalog';

const roles = [
  {
    name: 'noc',
    allows: [
      {
        routes: [
          'importAutomations',
          'exportAutomations',
          'createAutomation',
          'replaceAutomation',
          'createWorkflow',
          'readWorkflow',
        ],
        workflows: ['noc.*'],
      },
    ],
  },
];
const users = [{ username: 'nora', passwordHash: testPasswordHash, roles: ['noc'] }];

async function opened(owner: Owner, store: TestStore): Promise<Gateway> {
  return startGateway(owner, { users, config: { store: { url: storeUrl(await store.fresh(owner)) }, access: { roles } } });
}

interface Sent {
  readonly method?: string;
  readonly type?: string;
  readonly as?: 'nora';
}

function send(gateway: Gateway, target: string, body?: string, { method = 'POST', type = 'application/json', as }: Sent = {}) {
  const Authorization = as === undefined ? gateway.basicFor('admin') : basic(as, testPassword);
  const headers = { Authorization, ...(body !== undefined && { 'Content-Type': type }) };
  return gateway.send({
    method: body === undefined ? 'GET' : method,
    target: catalogue + target,
    headers,
    ...(body !== undefined && { body }),
  });
}

async function made(reply: Promise<Reply>): Promise<void> {
  const { status, text } = await reply;
  assert.ok(status === 200 || status === 201, text);
}

const exported = async (gateway: Gateway, query = '', as?: 'nora'): Promise<string> => {
  const reply = await send(gateway, `/export${query}`, undefined, as && { as });
  assert.equal(reply.status, 200, reply.text);
  return reply.text;
};
const imported = (gateway: Gateway, lines: string, as?: 'nora'): Promise<Reply> =>
  send(gateway, '/import', lines, { type: 'application/x-ndjson', ...(as && { as }) });
const linesOf = (text: string): readonly string[] => text.trimEnd().split('\n');

const inner = `# The comment stays.\ndocument: { dsl: 1.0.3, namespace: noc, name: inner, version: 1.0.0 }\ndo:\n  - double: { set: { doubled: '\${ .number * 2 }' } }\n`;
const outer = `document: { dsl: 1.0.3, namespace: noc, name: outer, version: 1.0.0-rc.1 }\ndo:\n  - call: { run: { workflow: { namespace: noc, name: inner, version: 1.0.0, input: { number: '\${ .number }' } } } }\n`;
const alone = JSON.stringify({
  document: { dsl: '1.0.3', namespace: 'sec', name: 'alone', version: '2.0.0' },
  do: [{ only: { set: { a: 1 } } }],
});
const form = `{\n  "type": "object",\n  "properties": { "number": { "type": "integer", "minimum": 1.0 } }\n}\n`;

async function fill(gateway: Gateway): Promise<void> {
  const yaml = { type: 'application/yaml' };
  await made(send(gateway, '/workflows', inner, yaml));
  await made(send(gateway, '/workflows', outer, yaml));
  await made(send(gateway, '/workflows', alone));
  await made(send(gateway, '/forms/number', form, { method: 'PUT' }));
  const data = { workflowId: 'noc.outer', workflowVersion: '1.0.0-rc.1', formId: 'number' };
  await made(send(gateway, '/automations', JSON.stringify({ name: 'Double', data })));
  await made(send(gateway, '/automations', JSON.stringify({ name: 'Alone', data: { workflowId: 'sec.alone' } })));
}

eachStore((store) => {
  test('an export of a gateway, imported into an empty one, runs there, and that one exports the same bytes', async (t) => {
    const from = await opened(t, store);
    await fill(from);
    const lines = await exported(from);
    const kinds = linesOf(lines).map((line) => (JSON.parse(line) as { kind: string }).kind);
    assert.deepEqual(kinds, ['form', 'workflow', 'workflow', 'workflow', 'automation', 'automation']);
    const [formLine, workflowLine] = linesOf(lines);
    assert.equal(formLine, `{"kind":"form","id":"number","document":${form.trim().replaceAll(/\n\s*/gu, ' ')}}`);
    assert.deepEqual(JSON.parse(workflowLine ?? ''), {
      kind: 'workflow',
      id: 'noc.inner',
      version: '1.0.0',
      mediaType: 'application/yaml',
      text: inner,
    });
    for (const kind of ['form', 'workflow', 'automation'])
      assert.deepEqual(
        linesOf(await exported(from, `?kind=${kind}`)),
        linesOf(lines).filter((line) => line.startsWith(`{"kind":"${kind}"`)),
      );
    assertProblem(await send(from, '/export?kind=adapter'), 400, 'invalid-request');
    const to = await opened(t, store);
    // The order of the lines does not matter.
    const reply = await imported(to, linesOf(lines).toReversed().join('\n'));
    assert.deepEqual([reply.status, reply.json()], [200, { imported: 6, replaced: 0 }], reply.text);
    assert.equal(await exported(to), lines);
    assert.deepEqual((await imported(to, lines)).json(), { imported: 6, replaced: 6 });
    assert.equal(await exported(to), lines);
    const runs = runCaller(() => to, to.basicFor('admin'));
    const { _id } = (JSON.parse(linesOf(lines).at(-1) ?? '') as { document: { _id: string } }).document;
    const { id } = await runs.start(_id, { input: { number: 21 } });
    assert.deepEqual((await runs.reaches(id, 'completed', 'faulted')).output, { doubled: 42 });
  });

  test('one bad line of any kind keeps every document out, and each is named with its place', async (t) => {
    const gateway = await opened(t, store);
    const workflow = (text: string, more: object = {}) =>
      JSON.stringify({ kind: 'workflow', id: 'noc.inner', version: '1.0.0', mediaType: 'application/yaml', text, ...more });
    const bad = [
      '{"kind":"form","id":"good","document":{"type":"object","properties":{}}}',
      workflow(inner),
      '{"kind":"form","id":"../x","document":{"type":"object","properties":{}}}',
      '{"kind":"form","id":"bad","document":{"type":"object","properties":{"a":{"type":"strin"}}}}',
      workflow(inner.replace('1.0.0', '1.0.2').replace('set:', 'sett:'), { version: '1.0.2' }),
      workflow(inner, { version: '1.0.1' }),
      '{"kind":"adapter"}',
      '{"kind":"automation","document":{"name":7}}',
      '{"kind":"automation","document":{"name":"a","name":"b"}}',
      '{"kind":"form","id":"good","document":{"type":"object","properties":{}}}',
      '{"kind":"workflow","id":"noc.inner"}',
    ];
    const { errors = [], detail } = assertProblem(await imported(gateway, bad.join('\n')), 400, 'invalid-request');
    assert.match(detail, /^9 lines /u);
    const pointers = new Set(errors.map(({ pointer }) => pointer));
    assert.deepEqual(
      [...pointers].filter((pointer) => !pointer.startsWith('/11')),
      ['/3', '/4/document/properties/a/type', '/5/text', '/6', '/7/kind', '/8/document/name', '/9/document/name', '/10/id'],
    );
    assert.ok(pointers.has('/11/text') || pointers.has('/11'), [...pointers].join());
    assert.equal(await exported(gateway), '');
  });

  test('an import with a version of other bytes gets 409, and stores none of its other documents', async (t) => {
    const gateway = await opened(t, store);
    await fill(gateway);
    const before = await exported(gateway);
    const other = before.replace('# The comment stays.', '# Another comment.').replace('"minimum": 1.0', '"minimum": 2.0');
    assert.notEqual(other, before);
    const { errors = [] } = assertProblem(await imported(gateway, other), 409, 'workflow-exists');
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      ['/2'],
    );
    assert.equal(await exported(gateway), before);
  });

  test('a colleague exports and imports the workflows of a right alone, judged line by line like single writes', async (t) => {
    const from = await opened(t, store);
    await fill(from);
    const whole = await exported(from);
    const seen = await exported(from, '', 'nora');
    assert.deepEqual(
      linesOf(seen),
      linesOf(whole).filter((line) => !line.includes('sec.alone') && !line.startsWith('{"kind":"form"')),
    );
    const to = await opened(t, store);
    const { errors = [] } = assertProblem(await imported(to, whole, 'nora'), 403, 'forbidden');
    assert.deepEqual(
      errors.map(({ pointer }) => pointer),
      ['/1', '/4', '/5'],
    );
    assert.equal(await exported(to), '');
    // The automation names the form, which an admin brings.
    assert.equal((await imported(to, linesOf(whole)[0] ?? '')).status, 200);
    const reply = await imported(to, seen, 'nora');
    assert.deepEqual([reply.status, reply.json()], [200, { imported: 3, replaced: 0 }], reply.text);
    // A workflow that calls something needs the right to that call, as a single write does.
    const calling = inner
      .replace('1.0.0', '1.1.0')
      .replace(/do:[^]*/u, 'do: [{ a: { call: restCall, with: { uri: "https://a.example", verb: GET } } }]');
    const line = JSON.stringify({
      kind: 'workflow',
      id: 'noc.inner',
      version: '1.1.0',
      mediaType: 'application/yaml',
      text: calling,
    });
    assert.match(assertProblem(await imported(to, line, 'nora'), 403, 'forbidden').errors?.[0]?.detail ?? '', /calls restCall/u);
  });
});
