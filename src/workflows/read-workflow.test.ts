import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import { valueText } from '../../test/support/callers/json-text.ts';
import { operationsOf } from './call-operations.ts';
import { createExpressionPool } from './jq/expression-pool.ts';
import { readWorkflow, type WorkflowReading } from './read-workflow.ts';
import type { Task, Workflow } from './workflow.ts';

const pool = createExpressionPool({ threads: 2, timeLimit: 10_000 });
after(() => pool.close());

const head = 'document: { dsl: 1.0.3, namespace: lab, name: sync, version: 1.2.0 }\n';

const read = (text: string): Promise<WorkflowReading> =>
  readWorkflow({ text, known: { adapters: ['Local NSO', 'Core'] }, expressions: pool });

async function workflowOf(text: string): Promise<Workflow> {
  const reading = await read(text);
  assert.ok('workflow' in reading, JSON.stringify(reading));
  return reading.workflow;
}

/** The lines of the document begin behind its `document`. */
async function problemsOf(body: string): Promise<readonly string[]> {
  const reading = await read(head + body);
  assert.ok('problems' in reading, 'the document has no problem');
  return reading.problems.map(({ line, column, pointer, detail }) => `${line}:${column} ${pointer} ${detail}`);
}

async function taskOf(task: string): Promise<Task> {
  const [first] = (await workflowOf(`${head}do:\n  - first: ${task}\n`)).tasks;
  assert.ok(first !== undefined);
  return first;
}

async function valueOf(jq: string, dot: string, variables: Readonly<Record<string, string>> = {}): Promise<string> {
  const evaluated = await pool.evaluate({ expressions: [jq], dot, variables });
  assert.ok('results' in evaluated, JSON.stringify(evaluated));
  return String(evaluated.results[0]);
}

describe('a workflow', () => {
  test('is read with its identity, its flow and its digits', async () => {
    const workflow = await workflowOf(`${head}
input: { schema: { document: { type: object } }, from: .request }
output: { as: { done: "\${ .n }" } }
timeout: { after: { hours: 1, milliseconds: 1500 } }
do:
  - list:
      call: orchestratorQuery
      with: { adapter: Local NSO, params: { path: data, accept: application/json } }
      if: .wanted
      then: each
  - late: { wait: PT30S, then: exit }
  - each:
      for: { each: device, in: .devices }
      while: $index < 3
      do:
        - one: { set: { n: 18446744073709551615, share: 1.0, name: "\${ $device.name }" } }
      then: late
`);
    assert.deepEqual([workflow.id, workflow.version], ['lab.sync', '1.2.0']);
    assert.deepEqual(workflow.timeout, { iso: 'P0DT1H0M1.500S' });
    const [list, late, each] = workflow.tasks;
    assert.deepEqual([list?.then, late?.then, each?.then], [{ index: 2 }, 'exit', { index: 1 }]);
    assert.deepEqual(list?.if, { jq: '.wanted' });
    assert.ok(each?.kind === 'for');
    assert.deepEqual([each.each, each.at, each.in.jq, each.while?.jq], ['device', 'index', '.devices', '$index < 3']);
    const [one] = each.tasks;
    assert.equal(one?.reference, '/do/2/each/do/0/one');
    assert.ok(one?.kind === 'set');
    assert.equal(
      await valueOf(one.value.jq, 'null', { device: '{"name":"a"}' }),
      '{"n":18446744073709551615,"share":1.0,"name":"a"}',
    );
    assert.match(workflow.definition, /"n":18446744073709551615,"share":1\.0,/u);
    assert.equal(JSON.parse(one.definition).set.share, 1);
  });

  test('of JSON text is the same as its YAML text', async () => {
    const yaml = await workflowOf(`${head}do:\n  - a: { set: { n: 0x10, b: [1.50, .5, +7, 1e3, ~] } }\n`);
    assert.deepEqual(await workflowOf(yaml.definition), yaml);
    assert.match(yaml.definition, /"n":16,"b":\[1\.50,0\.5,7,1e3,null\]/u);
  });

  test('expands aliases, each of the last anchor of its name before it', async () => {
    const { definition } = await workflowOf(
      `${head}do:\n  - a: { set: { x: &v 1, y: *v } }\n  - b: { set: { x: &v 2, y: *v } }\n`,
    );
    assert.match(definition, /"x":1,"y":1.*"x":2,"y":2/u);
  });

  test('has the calls of its functions, error handlers and schemas among its operations', async () => {
    const workflow = await workflowOf(`${head}
input: { schema: { resource: { endpoint: https://example.net/schema.json } } }
use:
  functions:
    ask: { call: restCall, with: { uri: https://example.net, verb: GET } }
    twice: { do: [{ a: { call: ask } }, { b: { call: ask } }] }
do:
  - go:
      try: [{ a: { call: twice } }]
      catch: { do: [{ b: { run: { workflow: { namespace: lab, name: undo, version: latest } } } }] }
`);
    const { functions, workflows, calls } = operationsOf(workflow);
    assert.deepEqual([...functions].toSorted(), ['http', 'restCall']);
    assert.deepEqual(workflows, [{ id: 'lab.undo', version: 'latest', pointer: '/do/0/go/catch/do/0/b' }]);
    assert.deepEqual(calls, [
      { pointer: '/input/schema', function: 'http', method: 'GET', path: 'https://example.net/schema.json' },
      { pointer: '/use/functions/ask', function: 'restCall', method: 'GET', path: 'https://example.net' },
    ]);
  });

  test('has what it runs for each item of a batch among its operations', async () => {
    const workflow = await workflowOf(`${head}
do:
  - all: ${batch('items: "${ .devices }", stopAfter: 3,')}
  - few: ${batch('items: [1, "${ .two }"], parallel: 100, canary: 2, failures: count,')}
  - own: { run: { workflow: { namespace: lab, name: x, version: 1.0.0 } } }
`);
    const site = { id: 'lab.x', version: '1.0.0' };
    assert.deepEqual(operationsOf(workflow).workflows, [
      { ...site, pointer: '/do/2/own' },
      { ...site, pointer: '/do/1/few', batch: true },
    ]);
    const [all, few] = workflow.tasks;
    assert.ok(all?.kind === 'batch' && few?.kind === 'batch');
    assert.deepEqual([all.items.jq, all.parallel, all.canary, all.stopAfter, all.failures], ['.devices', 10, 0, 3, 'fault']);
    assert.deepEqual([few.parallel, few.canary, few.stopAfter, few.failures], [100, 2, undefined, 'count']);
    assert.equal(await valueOf(few.items.jq, '{"two":2}'), '[1,2]');
  });

  test('keeps a function of its own that is called batch', async () => {
    const workflow = await workflowOf(`${head}
use: { functions: { batch: { set: { a: 1 } } } }
do: [{ own: { call: batch } }]
`);
    assert.equal(workflow.tasks[0]?.kind, 'function');
  });

  test('has the literal arguments of its calls, and leaves out those that are expressions', async () => {
    const workflow = await workflowOf(`${head}
do:
  - a: { call: orchestratorRequest, with: { adapter: A, params: { method: PATCH, path: "\${ .path }", accept: a/b }, body: {} } }
  - b: { call: orchestratorAction, with: { adapter: "\${ .adapter }", params: { path: x, accept: a/b }, body: "\${ .all }" } }
  - c: { call: http, with: { method: get, endpoint: { uri: https://a.example/x } } }
  - d: { call: http, with: { method: POST, endpoint: "https://a.example/{id}" } }
  - e: { call: openapi, with: { document: { endpoint: https://a.example/api.json }, operationId: read } }
  - f: { call: approval, with: { message: Go?, approvers: { roles: [admin] } } }
`);
    assert.deepEqual(
      operationsOf(workflow).calls.toSorted((one, other) => one.pointer.localeCompare(other.pointer)),
      [
        { pointer: '/do/0/a', function: 'orchestratorRequest', adapter: 'A', method: 'PATCH' },
        { pointer: '/do/1/b', function: 'orchestratorAction', path: 'x' },
        { pointer: '/do/2/c', function: 'http', method: 'GET', path: 'https://a.example/x' },
        { pointer: '/do/3/d', function: 'http', method: 'POST' },
        { pointer: '/do/4/e', function: 'http', method: 'GET', path: 'https://a.example/api.json' },
        { pointer: '/do/4/e', function: 'openapi' },
      ],
    );
  });
});

describe('a template', () => {
  test('gives a value without expressions back to the last digit, as a constant', async () => {
    await fc.assert(
      fc.asyncProperty(valueText, async (text) => {
        const reading = await read(
          `{"document":{"dsl":"1.0.0","namespace":"a","name":"b","version":"1.0.0"},"do":[{"a":{"set":{"v":${text}}}}]}`,
        );
        // Lone surrogates, repeated members and texts like "${" are refused or expressions.
        fc.pre('workflow' in reading && !text.includes('$'));
        const [task] = reading.workflow.tasks;
        assert.ok(task?.kind === 'set');
        const constant = `{"v":${await valueOf('.', text)}}`;
        assert.equal(await valueOf(task.value.jq, 'null'), constant);
        assert.equal(await valueOf('.', task.value.constant ?? ''), constant);
      }),
      { numRuns: 60 },
    );
  });

  test('evaluates what is in ${ }, and never what is within a literal', async () => {
    const task = await taskOf(
      `{ set: { a: "\${ .x # comment }", b: '\\(.x)', c: ' \${ { "d": [.x] } } ', "k\\"\${ .x }": 1, n: -0, e: ["\${ .x }"] } }`,
    );
    assert.ok(task.kind === 'set');
    assert.equal(await valueOf(task.value.jq, '{"x":5}'), '{"a":5,"b":"\\\\(.x)","c":{"d":[5]},"k\\"${ .x }":1,"n":-0,"e":[5]}');
  });

  test('in loose mode evaluates a text that compiles, and keeps one that does not', async () => {
    const workflow = await workflowOf(
      `${head}evaluate: { mode: loose }\ndo:\n  - a: { set: { a: .x, b: plain text, c: .x.y, d: length, e: $nothing } }\n`,
    );
    const [task] = workflow.tasks;
    assert.ok(task?.kind === 'set');
    assert.equal(await valueOf(task.value.jq, '{"x":[1]}'), '{"a":[1],"b":"plain text","c":".x.y","d":1,"e":"$nothing"}');
  });
});

describe('an address', () => {
  const uriOf = async (endpoint: string, dot: string): Promise<string> => {
    const task = await taskOf(`{ call: http, with: { method: get, endpoint: ${endpoint} } }`);
    assert.ok(task.kind === 'call');
    return valueOf(`(${task.with.jq}) | .endpoint`, dot);
  };

  test('takes members of the input by {name}, percent-encoded', async () => {
    assert.equal(
      await uriOf('"https://example.net/{a}/{b}?c={c}&d={d}"', '{"a":"x y/é","b":18446744073709551615,"c":true}'),
      '"https://example.net/x%20y%2F%C3%A9/18446744073709551615?c=true&d="',
    );
    assert.equal(await uriOf('"https://example.net/?a={a}#{b}"', 'null'), '"https://example.net/?a=#"');
    assert.equal(await uriOf('"https://example.net/v{a}.{b}/"', '{"a":"..","b":"x..y"}'), '"https://example.net/v...x..y/"');
    assert.equal(await uriOf('\'${ "https://" + .h }\'', '{"h":"a{b}"}'), '"https://a{b}"');
  });

  test('has no value that leaves its segment of the path, in any spelling of dots', async () => {
    const climbing = [
      '',
      '.',
      '..',
      '%2e',
      '%2E.',
      '.%252e',
      '%25252e%2e',
      '%u002e%u002e',
      '../..',
      'a/../b',
      'a\\..\\b',
      '..;x',
      '..\0',
      '..?',
      '..#',
      '%2e%2e%2fadmin',
      '%c0%ae%c0%ae',
      '..%5cx',
      '.. ',
      ' ..',
      '..\n',
    ];
    for (const value of climbing) {
      for (const path of ['{a}', 'x/{a}/y', '{a}{b}', '.{a}{b}']) {
        const task = await taskOf(`{ call: http, with: { method: delete, endpoint: "https://example.net/api/${path}" } }`);
        assert.ok(task.kind === 'call');
        const dot = JSON.stringify({ a: value, b: value === '' ? 'b' : '' });
        const evaluated = await pool.evaluate({ expressions: [task.with.jq], dot, variables: {} });
        if (path.startsWith('.') && value !== '' && value !== '.') continue;
        assert.ok('detail' in evaluated, `${JSON.stringify(value)} in ${path}: ${JSON.stringify(evaluated)}`);
        assert.match(evaluated.detail, /the path segment .* would lead elsewhere/u);
      }
    }
    assert.equal(await uriOf('"https://example.net/{a}"', '{"a":"..a"}'), '"https://example.net/..a"');
    assert.equal(await uriOf('"https://example.net/{a}"', '{"a":"1.2.3/0"}'), '"https://example.net/1.2.3%2F0"');
  });

  test('with a member that is an object or a list is an error of the expression', async () => {
    const task = await taskOf('{ call: http, with: { method: get, endpoint: "https://example.net/{a}" } }');
    assert.ok(task.kind === 'call');
    const evaluated = await pool.evaluate({ expressions: [task.with.jq], dot: '{"a":[1]}', variables: {} });
    assert.ok('detail' in evaluated);
    assert.match(evaluated.detail, /^\{a\} of the address is an array; only text/u);
  });

  test('has the authentication that it refers to, and secrets by name', async () => {
    const workflow = await workflowOf(`${head}
use:
  secrets: [nso, key]
  authentications: { lab: { basic: { use: nso } } }
do:
  - a: { call: http, with: { method: get, endpoint: { uri: https://example.net, authentication: { use: lab } } } }
  - b: { call: http, with: { method: get, endpoint: { uri: https://example.net, authentication: { bearer: { use: key } } } } }
  - c: { call: http, with: { method: get, endpoint: { uri: https://example.net, authentication: { basic: { username: "\${ .u }", password: p } } } } }
`);
    const secrets = '{"nso":"p1","nso:basic":{"username":"p2","password":"p3"},"key":"p4"}';
    const found = await Promise.all(
      workflow.tasks.map(async (task) =>
        task.kind === 'call' ? await valueOf(`(${task.with.jq}) | .endpoint.authentication`, '{"u":"me"}', { secrets }) : '',
      ),
    );
    assert.deepEqual(found, [
      '{"basic":{"username":"p2","password":"p3"}}',
      '{"bearer":{"token":"p4"}}',
      '{"basic":{"username":"me","password":"p"}}',
    ]);
  });
});

test('a filter of events compares literals, regular expressions and expressions', async () => {
  const task = await taskOf(
    '{ listen: { to: { one: { with: { type: com.example.a, subject: "dev-[0-9]+", data: "${ .t > 38 }", source: "${ \\"https://\\" + $context.h }" } } } } }',
  );
  assert.ok(task.kind === 'listen' && task.to.kind === 'one');
  const { jq } = task.to.filter.matches;
  const event = { type: 'com.example.a', subject: 'dev-7', data: { t: 39 }, source: 'https://a' };
  const matches = (change: object): Promise<string> =>
    valueOf(jq, JSON.stringify({ ...event, ...change }), { context: '{"h":"a"}' });
  assert.equal(await matches({}), 'true');
  for (const change of [
    { type: 'comXexample.a' },
    { subject: 'x-dev-7' },
    { data: { t: 38 } },
    { source: 'https://b' },
    { subject: undefined },
  ])
    assert.equal(await matches(change), 'false', JSON.stringify(change));
});

function batch(members: string, version = '1.0.0'): string {
  return `{ call: batch, with: { ${members} workflow: { namespace: lab, name: x, version: ${version} } } }`;
}

describe('a document with problems', () => {
  test('names all of them, each with its place', async () => {
    assert.deepEqual(
      await problemsOf(`schedule: { cron: 0 0 * * * }
do:
  - first: { set: { a: 1 }, then: secnd }
  - second: { cal: http }
  - third: { call: http, with: { methd: get, endpoint: "ftp://x" } }
`),
      [
        '2:1 /schedule is not part of a workflow here: the automation that runs it has the schedule (repeatInterval or cron)',
        '4:35 /do/0/first/then "secnd": names no task of this list, and "then" cannot leave it; did you mean "second"?',
        '5:13 /do/1/second says nothing to do; did you mean "call"?',
        '6:32 /do/2/third/with needs "method": the HTTP method',
        '6:34 /do/2/third/with/methd is unknown here; did you mean "method"?',
        '6:56 /do/2/third/with/endpoint "ftp://x" is no address; write http:// or https:// and a host, or an expression in ${ }',
      ],
    );
  });

  const refusals: readonly (readonly [task: string, expected: RegExp])[] = [
    ['{ run: { shell: { command: ls } } }', /\/run\/shell is not supported: the gateway runs no programs/u],
    ['{ call: grpc, with: {} }', /\/call grpc is not supported/u],
    ['{ call: "log:1.0.0@shared" }', /is no known function; functions of catalogs/u],
    ['{ call: orchestratorQeury, with: {} }', /is no known function; did you mean "orchestratorQuery"/u],
    [
      '{ call: orchestratorQuery, with: { adapter: Core, params: { path: 5, accept: a } } }',
      /params\/path is a number; write text/u,
    ],
    ['{ call: orchestratorAction, with: { adapter: Core } }', /needs "params": path and accept/u],
    ['{ call: restCall, with: { uri: https://a.example, verb: get } }', /"get" is unknown here; .*did you mean "GET"/u],
    ['{ call: approval, with: { message: ok?, approvers: { rolls: [admin] } } }', /rolls is unknown here; did you mean "roles"/u],
    ['{ call: http, with: { method: get, endpoint: "https://a/{+x}" } }', /without an operator of RFC 6570/u],
    [
      '{ call: http, with: { method: get, endpoint: { uri: https://a, authentication: { oauth2: {} } } } }',
      /oauth2 is not supported/u,
    ],
    [
      '{ call: http, with: { method: get, endpoint: { uri: https://a, authentication: { use: lab } } } }',
      /"lab" is not defined in use.authentications/u,
    ],
    [
      '{ call: http, with: { method: get, endpoint: { uri: https://a, authentication: { bearer: { use: key } } } } }',
      /"key" is not listed in use.secrets/u,
    ],
    ['{ set: { a: "${ .x | }" } }', /set\/a is no valid jq expression: syntax error/u],
    ['{ set: { a: "${ .x) | (.y }" } }', /set\/a is no valid jq expression/u],
    ['{ set: { a: "${ .x } and ${ .y }" } }', /holds more than one/u],
    ['{ set: { a: "${ $ouput }" } }', /uses \$ouput, which is not defined here; did you mean "\$input"/u],
    ['{ set: { a: "${ $output }" } }', /uses \$output, which does not exist at this place/u],
    ['{ set: {}, }', /is empty; write the members/u],
    ['{ set: { a: 1 }, wait: PT1S }', /is set and wait at once/u],
    ['{ wait: 30s }', /"30s" is no ISO 8601 duration/u],
    ['{ wait: P1.5DT1H }', /is no ISO 8601 duration/u],
    ['{ for: { each: $x, in: .a }, do: [{ b: { set: { c: 1 } } }] }', /each "\$x" is no name of a variable/u],
    ['{ for: { each: input, in: .a }, do: [{ b: { set: { c: 1 } } }] }', /\$input has a meaning of its own/u],
    ['{ fork: { branches: [{ a: { wait: PT1S, then: b } }, { b: { wait: PT1S } }] } }', /here "then" leads to no other task/u],
    ['{ try: [{ a: { wait: PT1S } }], catch: { retry: fast } }', /"fast" is not defined in use.retries/u],
    ['{ raise: { error: { type: urn:x, status: 400 } } }', /"urn:x" is no URI with/u],
    ['{ emit: { event: { with: { type: a.b } } } }', /needs "source"/u],
    [
      '{ emit: { event: { with: { type: orchestration-gateway.x, source: "https://a" } } } }',
      /"type" begins with orchestration-gateway/u,
    ],
    [
      '{ emit: { event: { with: { type: io.serverlessworkflow.x, source: "https://a" } } } }',
      /"type" begins with io\.serverless/u,
    ],
    ['{ emit: { event: { with: { type: a.b, source: /runs/1 } } } }', /is no URI with "/u],
    [
      '{ emit: { event: { with: { type: a.b, source: "https://a", sender: ada } } } }',
      /"sender" is an attribute that the gateway sets/u,
    ],
    [
      '{ emit: { event: { with: { type: a.b, source: "https://a", workflow: "${ .x }" } } } }',
      /"workflow" is an attribute that/u,
    ],
    ['{ listen: { to: { any: [], until: { one: { with: { type: a } }, until: .x } } } }', /cannot be part of another "until"/u],
    ['{ switch: [{ a: { then: end } }, { b: { then: end } }] }', /only one can be the default/u],
    ['!!map { wait: PT1S }', /carries a YAML tag/u],
    ['{ <<: { wait: PT1S }, set: { a: 1 } }', /is a merge key/u],
    ['{ set: { a: .inf } }', /is a number that JSON does not have/u],
    ['{ set: { a: "\\uD800" } }', /half of a surrogate pair/u],
    ['{ wait: PT1S, wait: PT2S }', /is given twice/u],
    ['{ set: { a: *missing } }', /is an alias .* without its anchor/u],
    [
      '{ run: { workflow: { namespace: lab, name: x, version: newest } } }',
      /"newest" is none; write a version such as 1\.0\.0, or latest/u,
    ],
    ['{ call: batch }', /needs "with" next to it: items, and the workflow/u],
    ['{ call: batch, with: { items: .a } }', /with needs "workflow": namespace, name and version of the workflow that runs/u],
    [batch(''), /with needs "items": an expression that gives the list/u],
    [batch('items: 5,'), /items is a number; write an expression in quotes that gives a list/u],
    [batch('items: .a, parallel: 101,'), /parallel 101 is out of range; write a whole number from 1 to 100/u],
    [batch('items: .a, parallel: 0,'), /parallel "0" is out of range/u],
    [batch('items: .a, canary: -1,'), /canary "-1" is out of range; write a whole number of at least 0/u],
    [batch('items: .a, stopAfter: 0,'), /stopAfter "0" is out of range/u],
    [batch('items: .a, stopAfter: "${ .n }",'), /stopAfter is text/u],
    [batch('items: .a, failures: ignore,'), /"ignore" is unknown here; write one of fault and count/u],
    [batch('items: .a, paralel: 2,'), /paralel is unknown here; did you mean "parallel"/u],
    [batch('items: .a,', 'latest'), /"latest" is none; write an exact version such as 1\.0\.0/u],
    [batch('items: .a,', '"${ .v }"'), /is none; write an exact version/u],
    [
      '{ call: batch, with: { items: .a, workflow: { namespace: lab, name: x, version: 1.0.0, input: {} } } }',
      /input is unknown here/u,
    ],
  ];
  for (const [task, expected] of refusals)
    test(`says why it refuses ${task}`, async () => {
      const problems = await problemsOf(`do:\n  - first: ${task}\n`);
      assert.match(problems.join('\n'), expected);
      assert.equal(problems.length, 1, problems.join('\n'));
    });

  test('has a name that "then" could mean in two ways among them', async () => {
    for (const [list, expected] of [
      [
        '[{ a: { wait: PT1S, then: b } }, { b: { wait: PT1S } }, { b: { wait: PT2S } }]',
        /^\S+ \/do\/2\/b is the name of two tasks/u,
      ],
      [
        '[{ a: { wait: PT1S } }, { end: { wait: PT1S, then: end } }]',
        /^\S+ \/do\/1\/end has a meaning in "then", which this list uses/u,
      ],
      ['[{ exit: { switch: [{ x: { when: .x, then: exit } }] } }]', /^\S+ \/do\/0\/exit has a meaning/u],
    ] as const) {
      const problems = await problemsOf(`do: ${list}\n`);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', expected);
    }
  });

  test('has a function that calls itself, a definition that no task uses and a name of a function that exists', async () => {
    const problems = await problemsOf(`use:
  functions: { a: { call: b }, b: { call: a }, http: { wait: PT1S } }
  timeouts: { long: { after: soon } }
do: [{ c: { call: a } }]
`);
    assert.match(problems.join('\n'), /"a" calls itself/u);
    assert.match(problems.join('\n'), /use\/timeouts\/long\/after "soon" is no ISO 8601 duration/u);
    assert.match(problems.join('\n'), /use\/functions\/http is the name of a function that exists/u);
  });

  test('has broken expressions among many good ones, each at its own place', async () => {
    const tasks = Array.from(
      { length: 450 },
      (_, index) => `  - t${index}: { set: { a: "\${ .a${index}${index % 150 === 7 ? ' |' : ''} }" } }`,
    );
    assert.deepEqual(
      (await problemsOf(`do:\n${tasks.join('\n')}\n`)).map((problem) => problem.split(' ')[1]),
      ['/do/7/t7/set/a', '/do/157/t157/set/a', '/do/307/t307/set/a'],
    );
  });

  test('has a wrong identity', async () => {
    const reading = await read('document: { dsl: 1.1.0, namespace: a.b, name: -x, version: 1.0 }\ndo: []\n');
    assert.ok('problems' in reading);
    assert.deepEqual(
      reading.problems.map(({ pointer }) => pointer),
      ['/document/dsl', '/document/namespace', '/document/name', '/document/version', '/do'],
    );
  });

  test('that is no workflow, or no YAML, is refused in one sentence', async () => {
    for (const [text, expected] of [
      ['', /is empty; write a workflow/u],
      ['[]', /is a list; write a workflow/u],
      ['a: "', /is not valid YAML/u],
      ['a: 1\n---\nb: 2\n', /a second document begins here/u],
    ] as const) {
      const reading = await read(text);
      assert.ok('problems' in reading && reading.problems.length === 1, text);
      assert.match(reading.problems[0]?.detail ?? '', expected);
    }
  });
});

test('a warning says what may be a mistake, and the workflow is read', async () => {
  const reading = await read(
    `${head}do:\n  - a: { call: orchestratorQuery, with: { adapter: Local NOS, params: { path: "x/\${ .p }", accept: a } } }\n`,
  );
  assert.ok('workflow' in reading);
  assert.deepEqual(
    reading.warnings.map(({ pointer, detail }) => `${pointer} ${detail}`),
    [
      '/do/0/a/with/adapter "Local NOS" is no adapter instance of this gateway; did you mean "Local NSO"?; calls to it will fail',
      '/do/0/a/with/params/path has ${ } within a longer text, which stays as it is; write ${ "text \\(.name)" } to insert a value',
    ],
  );
});

describe('a warning', () => {
  const warningsOf = async (list: string): Promise<readonly string[]> => {
    const reading = await read(`${head}do: ${list}\n`);
    assert.ok('workflow' in reading, JSON.stringify(reading));
    return reading.warnings.map(({ pointer, detail }) => `${pointer} ${detail}`);
  };
  const wait = '{ wait: PT1S }';
  const post = '{ call: restCall, with: { uri: "http://a", verb: POST } }';
  const get = '{ call: http, with: { method: get, endpoint: "http://a" } }';
  const act = '{ call: orchestratorAction, with: { adapter: Local NSO, params: { path: x, accept: a } } }';
  const unknown = 'errors: { with: { type: "urn:orchestration-gateway:errors:outcome-unknown" } }';
  const around = (task: string, handling: string): string => `[{ a: { try: [{ b: ${task} }], catch: ${handling} } }]`;
  const cases: readonly (readonly [what: string, list: string, expected: readonly RegExp[]])[] = [
    ['a task that no way leads to', `[{ a: { wait: PT1S, then: end } }, { b: ${wait} }]`, [/^\/do\/1\/b can never be reached/u]],
    [
      'no task that a "then", an "if" or a case leads to',
      '[{ a: { if: .x, wait: PT1S, then: end } }, { b: { wait: PT1S } }]',
      [],
    ],
    ['no way back', '[{ a: { wait: PT1S, then: c } }, { b: { wait: PT1S, then: end } }, { c: { wait: PT1S, then: b } }]', []],
    ['a name of two tasks', `[{ a: ${wait} }, { a: ${wait} }]`, [/^\/do\/1\/a is the name of two tasks/u]],
    [
      'a name of two branches',
      `[{ f: { fork: { branches: [{ a: ${wait} }, { a: ${wait} }] } } }]`,
      [/branches\/1\/a is the name of two/u],
    ],
    ['a task named end', `[{ a: ${wait} }, { end: ${wait} }]`, [/^\/do\/1\/end has a meaning in "then"/u]],
    [
      'return of run: workflow',
      '[{ a: { run: { workflow: { namespace: n, name: w, version: 1.0.0 }, return: all } } }]',
      [/return has no effect/u],
    ],
    [
      'a path of jq as text',
      '[{ a: { set: { device: .name, list: [".[0]"], all: $context.all } } }]',
      [/device looks like/u, /list\/0/u, /all/u],
    ],
    [
      'no other text with a dot',
      '[{ a: { set: { a: "...", b: ".5", c: ". d", d: "${ .e }", e: x.y, f: ".htaccess file" } } }]',
      [],
    ],
    ['an assignment in a condition', `[{ a: { if: '.result = "in-sync"', wait: PT1S } }]`, [/^\/do\/0\/a\/if assigns/u]],
    ['no comparison', `[{ a: { if: '.a == "=" and .b >= 1 and .c != "x=y" # =', wait: PT1S } }]`, []],
    [
      'a catch that leaves unknown outcomes to people',
      around(act, '{}'),
      [/^\/do\/0\/a\/catch does not catch the unknown outcome/u],
    ],
    ['the same for a POST', around(post, '{ errors: { with: { status: 504 } } }'), [/does not catch the unknown outcome/u]],
    ['no catch of another type', around(act, '{ errors: { with: { type: "urn:other" } } }'), []],
    ['no catch that names the type', around(act, `{ ${unknown} }`), []],
    ['no catch around an action that reads', around(act.replace('adapter:', 'repeatable: true, adapter:'), '{ retry: {} }'), []],
    ['no catch around a query', around(get, '{ retry: { delay: PT1S } }'), []],
    ['a retry around a change', around(act, `{ ${unknown}, retry: {} }`), [/has a retry around a change/u]],
    [
      'the count of attempts',
      around(get, '{ retry: { limit: { attempt: { count: 5 } } } }'),
      [/count counts the attempts after .* at most 6$/u],
    ],
  ];
  for (const [what, list, expected] of cases)
    test(`is for ${what}`, async () => {
      const warnings = await warningsOf(list);
      assert.equal(warnings.length, expected.length, warnings.join('\n'));
      for (const [index, one] of expected.entries()) assert.match(warnings[index] ?? '', one);
    });
});

test('a secret that is not listed in use.secrets is a problem, and a document that was stored before is read', async () => {
  for (const named of ['$secrets.key', '$secrets["key"]', '$secrets."key"', '$secrets | .a, $secrets [ "key" ]']) {
    const text = `${head}do:\n  - b: { set: { t: '\${ ${named} }' } }\n`;
    const reading = await read(text);
    assert.ok('problems' in reading, named);
    assert.deepEqual(
      reading.problems.map(({ pointer, detail }) => `${pointer} ${detail}`),
      ['/do/0/b/set/t uses the secret "key", which is not listed in use.secrets'],
    );
    assert.ok('workflow' in (await readWorkflow({ text, known: {}, expressions: pool, isJudged: true })));
  }
});

describe('a hostile document', () => {
  const nested = (depth: number): string => `${head}do:\n  - a: { set: { v: ${'['.repeat(depth)}${']'.repeat(depth)} } }\n`;
  const bomb = Array.from({ length: 9 }, (_, index) => `  a${index + 1}: &a${index + 1} [${`*a${index},`.repeat(9)}]`).join('\n');
  const hostile: readonly (readonly [what: string, text: string, expected: RegExp])[] = [
    ['more than 1 MiB', `${head}# ${'x'.repeat(1024 ** 2)}`, /larger than 1 MiB/u],
    ['101 levels', nested(101), /nested deeper than 100 levels/u],
    ['a megabyte of brackets', '['.repeat(1_000_000), /nested deeper than 100 levels/u],
    ['a megabyte of dashes', '- '.repeat(500_000), /nested deeper than 100 levels/u],
    ['a megabyte of quotes', '"'.repeat(1_000_000), /nested deeper than 100 levels/u],
    ['a megabyte of short values', `[${'1,'.repeat(500_000)}1]`, /more than 400,000 tokens/u],
    [
      'a thousand levels of indentation',
      Array.from({ length: 1_000 }, (_, level) => `${' '.repeat(level)}a:`).join('\n'),
      /nested (?:deeper than 100 levels|too deeply)/u,
    ],
    ['an alias bomb', `x:\n  a0: &a0 [1]\n${bomb}\n`, /more than 100,000 values/u],
    ['an alias of itself', 'a: &a [*a]\n', /nested deeper than 100 levels/u],
  ];
  for (const [what, text, expected] of hostile)
    test(`with ${what} is refused`, async () => {
      const reading = await read(text);
      assert.ok('problems' in reading);
      assert.match(reading.problems.map(({ detail }) => detail).join('\n'), expected);
    });

  test('of functions that call each other a thousand levels deep is refused', async () => {
    const functions = Array.from({ length: 1_000 }, (_, index) => `    f${index}: { call: f${index + 1} }`).join('\n');
    const problems = await problemsOf(`use:\n  functions:\n${functions}\n    f1000: { wait: PT1S }\ndo: [{ a: { call: f0 } }]\n`);
    assert.match(problems.join('\n'), /calls itself/u);
  });

  test('of 90 levels and of 10,000 tasks is read', async () => {
    await workflowOf(nested(90));
    const tasks = Array.from({ length: 10_000 }, (_, index) => `  - t${index}: { set: { a: "\${ .a${index % 500} }" } }`);
    assert.equal((await workflowOf(`${head}do:\n${tasks.join('\n')}\n`)).tasks.length, 10_000);
  });
});
