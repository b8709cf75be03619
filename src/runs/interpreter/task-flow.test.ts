import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure, ok, performed, start } from './run-harness.test-support.ts';
import * as make from './workflow-builders.test-support.ts';
import {
  call,
  choose,
  constant,
  fork,
  jq,
  loop,
  perform,
  raise,
  set,
  when,
  workflowOf,
} from './workflow-builders.test-support.ts';

const add = (name: string, common: make.Common = {}) => set(name, jq(`{ colors: ((.colors // []) + ["${name}"]) }`), common);

test('tasks run in their order, each on the output of the one before', () => {
  const run = performed(workflowOf([add('red'), add('green'), add('blue')]));
  assert.equal(run.state.status, 'completed');
  assert.deepEqual(run.output, { colors: ['red', 'green', 'blue'] });
  assert.deepEqual(run.timeline.slice(0, 4), ['created red', 'started red', 'completed red', 'created green']);
  assert.deepEqual(run.runNotes, ['started', 'completed']);
});

test('a directive names the task that follows', () => {
  const run = performed(
    workflowOf([add('red', { next: { index: 2 } }), add('blue', { next: 'end' }), add('green', { next: { index: 1 } })]),
  );
  assert.deepEqual(run.output, { colors: ['red', 'green', 'blue'] });
});

test('exit ends the list of its task, and end ends the run', () => {
  const exit = perform('outer', [add('red', { next: 'exit' }), add('never')]);
  assert.deepEqual(performed(workflowOf([exit, add('blue')])).output, { colors: ['red', 'blue'] });
  const end = perform('outer', [
    perform('inner', [add('red', { next: 'end' }), add('never')], { output: { as: jq('error("no")') } }),
  ]);
  const run = performed(workflowOf([end, add('blue')], { output: { as: jq('.colors') } }));
  assert.deepEqual(run.output, ['red']);
  assert.deepEqual(run.timeline.slice(-3), ['completed red', 'completed inner', 'completed outer']);
});

test('a task whose if is false is skipped with its directive', () => {
  const skipped = set('skipped', jq('error("no")'), { if: jq('.go'), next: 'end', input: { from: jq('error("no")') } });
  const run = performed(workflowOf([skipped, add('red')]), { input: { go: false } });
  assert.deepEqual(run.output, { colors: ['red'] });
  assert.deepEqual(run.timeline.slice(0, 3), ['created skipped', 'skipped skipped', 'created red']);
  assert.equal(performed(workflowOf([set('a', constant(1), { if: constant(false) })]), { input: 7 }).output, 7);
});

test('input.from, output.as and export.as see the arguments that the DSL gives them', () => {
  const task = set('a', jq('{ dot: ., input: $input, context: $context, raw: $task.input, ref: $task.reference }'), {
    input: { from: jq('.inner') },
    output: { as: jq('{ raw: $task.output.dot, input: $input, all: . }') },
    export: { as: jq('{ output: $output.raw, input: $input, before: $context }') },
  });
  const after = set(
    'b',
    jq('{ context: $context, first: . , id: $workflow.id, name: $runtime.name, at: $workflow.startedAt.epoch.milliseconds }'),
  );
  const run = performed(workflowOf([task, after]), { input: { inner: { n: 1 } } });
  assert.deepEqual(run.output, {
    context: { output: { n: 1 }, input: { n: 1 }, before: { inner: { n: 1 } } },
    first: {
      raw: { n: 1 },
      input: { n: 1 },
      all: { dot: { n: 1 }, input: { n: 1 }, context: { inner: { n: 1 } }, raw: { inner: { n: 1 } }, ref: '/do/0/a' },
    },
    id: 'run-1',
    name: 'gateway',
    at: start,
  });
});

test('all expressions of one moment are in one evaluation', () => {
  const task = set('a', jq('$input + 1'), { if: jq('.go'), input: { from: jq('.n') }, timeout: { expression: jq('"PT1M"') } });
  const run = performed(workflowOf([task]), { input: { go: true, n: 2 } });
  assert.equal(run.output, 3);
  assert.equal(run.steps, 2);
});

test('$input does not exist for if and input.from', () => {
  for (const common of [{ if: jq('$input') }, { input: { from: jq('$input') } }]) {
    const run = performed(workflowOf([set('a', jq('.'), common)]));
    assert.equal(run.state.status, 'faulted');
    assert.equal(run.error?.type, 'https://serverlessworkflow.io/spec/1.0.0/errors/expression');
    assert.equal(run.error?.instance, '/do/0/a');
  }
});

test('an expression with no result, or with two, faults its task', () => {
  for (const text of ['empty', '1, 2']) {
    const run = performed(workflowOf([set('a', jq(text))]));
    assert.equal(run.error?.status, 400);
    assert.match(run.error?.detail ?? '', /^set: /u);
    assert.deepEqual(run.timeline, ['created a', 'started a', 'faulted a']);
    assert.deepEqual(run.runNotes, ['started', 'faulted']);
  }
});

test('digits of numbers pass through tasks', () => {
  const workflow = workflowOf([set('a', jq('{ big: .big }')), set('b', jq('.')), set('c', jq('.big'))], {
    input: { from: jq('.x') },
  });
  const run = performed(workflow, { input: 0 });
  assert.equal(run.state.status, 'faulted');
  const kept = performed(workflowOf([set('a', jq('{ one: 1.0, big: 18446744073709551615 }')), set('b', jq('[.one, .big]'))]));
  assert.equal(kept.state.output?.text, '[1.0,18446744073709551615]');
});

test('schemas are checked before the input is transformed, and after the output and the context are', () => {
  const seen: string[] = [];
  const validate = (schema: string, value: string) => {
    seen.push(`${schema} ${value}`);
    return [];
  };
  const schema = (name: string) => ({ pointer: `/${name}`, document: `"${name}"` });
  const task = set('a', jq('. + 1'), {
    if: jq('.go'),
    input: { schema: schema('in'), from: jq('.n') },
    output: { schema: schema('out'), as: jq('[.]') },
    export: { schema: schema('context'), as: jq('{ x: $output }') },
  });
  const workflow = workflowOf([task], {
    input: { schema: schema('first') },
    output: { schema: schema('last'), as: jq('$context') },
  });
  const run = performed(workflow, { input: { go: true, n: 1 }, validate });
  assert.deepEqual(run.output, { x: [2] });
  assert.deepEqual(seen, [
    '"first" {"go":true,"n":1}',
    '"in" {"go":true,"n":1}',
    '"out" [2]',
    '"context" {"x":[2]}',
    '"last" {"x":[2]}',
  ]);
});

test('a value that violates its schema is a validation error with all problems', () => {
  const schema = { pointer: '/input/schema', document: '{}' };
  const run = performed(workflowOf([add('red')], { input: { schema } }), { validate: () => ['one', 'two'] });
  assert.deepEqual(run.error, {
    type: 'https://serverlessworkflow.io/spec/1.0.0/errors/validation',
    status: 400,
    title: 'Data does not satisfy its schema',
    detail: 'one; two',
    instance: '/input',
  });
});

test('an external schema is fetched once for a run', () => {
  const endpoints: unknown[] = [];
  const schema = { pointer: '/do/0/a/input/schema', resource: { endpoint: jq('{ uri: "https://x.example/\\($workflow.id)" }') } };
  const each = set('a', jq('.'), { input: { schema } });
  const run = performed(workflowOf([loop('all', jq('[1, 2, 3]'), [each])]), {
    fetch: (endpoint) => {
      endpoints.push(endpoint);
      return '{"type":"object"}';
    },
    validate: (document) => (document === '{"type":"object"}' ? [] : ['another schema']),
  });
  assert.equal(run.state.status, 'completed');
  assert.deepEqual(endpoints, [{ uri: 'https://x.example/run-1' }]);
});

test('a loop hands the output of each iteration to the next', () => {
  const mark = set('mark', jq('{ colors: (.colors + [$color]), at: (.at + [$index]) }'));
  const run = performed(workflowOf([loop('all', jq('.in'), [mark], { each: 'color' })]), {
    input: { in: ['red', 'grün', '青'] },
  });
  assert.deepEqual(run.output, { colors: ['red', 'grün', '青'], at: [0, 1, 2] });
  const iterations = run.notes.flatMap((note) => (note.of === 'task' && note.kind === 'created' ? [note.iteration] : []));
  assert.deepEqual(iterations, [undefined, 0, 1, 2]);
});

test('a loop without items gives its input, and while ends a loop', () => {
  assert.deepEqual(performed(workflowOf([loop('all', jq('[]'), [add('red')])]), { input: 5 }).output, 5);
  const limited = loop('all', jq('[1, 2, 3]'), [set('sum', jq('. + $item'))], { while: jq('. < 3 and $index < 9') });
  assert.equal(performed(workflowOf([limited]), { input: 0 }).output, 3);
  const fault = performed(workflowOf([loop('all', jq('{}'), [add('red')])]));
  assert.match(fault.error?.detail ?? '', /^for\.in: gives \{\}, which is no array/u);
});

test('exit ends an iteration, and the loop goes on', () => {
  const each = [set('a', jq('. + [$item]'), { next: 'exit' }), set('b', constant('never'))];
  assert.deepEqual(performed(workflowOf([loop('all', jq('[1, 2]'), each)]), { input: [] }).output, [1, 2]);
});

test('a switch takes the first case that is true, else the one without a condition', () => {
  const cases = [
    when('r', jq('.c == "red"'), { index: 1 }),
    when('other', undefined, { index: 3 }),
    when('g', jq('.c == "green"'), { index: 2 }),
  ];
  const tasks = [choose('which', cases), ...['red', 'green', 'other'].map((name) => set(name, constant(name), { next: 'end' }))];
  for (const c of ['red', 'green', 'other']) assert.equal(performed(workflowOf(tasks), { input: { c } }).output, c);
  const none = choose('which', [when('r', jq('false'), 'end')], { next: 'exit' });
  assert.deepEqual(performed(workflowOf([none, set('x', constant(1))]), { input: { c: 1 } }).output, { c: 1 });
});

test('a fork gives the outputs of its branches in their order', () => {
  const branches = [call('a'), set('b', jq('.n + 1')), call('c')];
  const run = performed(workflowOf([fork('all', branches)]), {
    input: { n: 1 },
    calls: ({ reference }) => ok(reference.slice(-1)),
  });
  assert.deepEqual(run.output, ['a', 2, 'c']);
});

test('the first branch of a race that ends gives the output, and the others are given up', () => {
  const run = performed(workflowOf([fork('all', [call('a'), call('b'), set('c', jq('3'))], { compete: true })]), {
    calls: ({ reference }) => (reference.endsWith('b') ? ok('b') : undefined),
  });
  assert.equal(run.output, 'b');
  assert.deepEqual(run.timeline.slice(-4), ['completed b', 'cancelled a', 'cancelled c', 'completed all']);
  const fault = performed(workflowOf([fork('all', [call('a'), call('b')], { compete: true })]), {
    calls: ({ reference }) => (reference.endsWith('a') ? failure(503) : undefined),
  });
  assert.equal(fault.error?.status, 503);
});

test('a fault or the directive end in a branch gives up the other branches', () => {
  const fault = performed(workflowOf([fork('all', [call('a'), raise('b', constant({ type: 'urn:x', status: 400 }))])]), {
    calls: () => undefined,
  });
  assert.deepEqual(fault.error, {
    type: 'urn:x',
    status: 400,
    title: undefined,
    detail: undefined,
    instance: '/do/0/all/fork/branches/1/b',
  });
  assert.deepEqual(fault.timeline.slice(-3), ['faulted b', 'cancelled a', 'faulted all']);
  const end = performed(workflowOf([fork('all', [call('a'), set('b', constant(2), { next: 'end' })]), set('c', constant(3))]), {
    calls: () => undefined,
  });
  assert.equal(end.output, 2);
});

test('a function has its arguments as input, and no variable of its caller', () => {
  const body = set('body', jq('{ a: .a, item: ($item // "no") }'));
  const loopOf = (inner: make.Draft) =>
    workflowOf([loop('all', jq('[1]'), [make.callFunction('f', inner, { with: jq('{ a: $item }') })])]);
  assert.equal(performed(loopOf(body)).state.status, 'faulted');
  assert.deepEqual(performed(loopOf(set('body', jq('{ got: .a }')))).output, { got: 1 });
});

test('an emitted event gets the attributes that it lacks', () => {
  const run = performed(workflowOf([make.emit('tell', jq('{ source: "https://x.example", type: "t.v1", data: { n: .n } }'))]), {
    input: { n: 1 },
  });
  const event = run.output as Record<string, unknown>;
  assert.deepEqual(
    { ...event, id: '' },
    { specversion: '1.0', id: '', time: '2026-01-31T12:00:00.000Z', source: 'https://x.example', type: 't.v1', data: { n: 1 } },
  );
  assert.match(String(event['id']), /^[0-9a-f]{32}$/u);
  const own = performed(
    workflowOf([make.emit('tell', constant({ id: 'mine', time: 't', specversion: '1.0', source: 's', type: 't' }))]),
  );
  assert.deepEqual(own.output, { id: 'mine', time: 't', specversion: '1.0', source: 's', type: 't' });
});

test("an event that looks like one of the gateway's own is not emitted, also where expressions made it", () => {
  for (const [text, problem] of [
    ['{ source: "s", type: ("orchestration-" + "gateway.run.ended.v1") }', /type begins with orchestration-gateway\./u],
    ['{ source: "s", type: "io.serverlessworkflow.task.completed.v1" }', /type begins with io\.serverlessworkflow\./u],
    ['{ source: ("/" + "runs"), type: "t" }', /source begins with \//u],
    ['{ source: ["/runs"], type: "t" }', /source is no text/u],
    ['{ source: "s", type: null }', /type is no text/u],
    ['{ source: "s", type: "t", sender: "ada" }', /sender is an attribute that the gateway sets/u],
    ['{ source: "s", type: "t", workflow: "a.b" }', /workflow is an attribute that the gateway sets/u],
  ] as const) {
    const { error } = performed(workflowOf([make.emit('tell', jq(text))]));
    assert.match(error?.detail ?? '', problem);
    assert.equal(error?.type.endsWith('/validation'), true);
  }
});

test('the run of another workflow gives its output, or its error', () => {
  const workflow = workflowOf([make.child('other', { with: jq('{ n: .n }') })]);
  const run = performed(workflow, { input: { n: 1 }, calls: (effect, args) => ok({ args, kind: effect.kind }) });
  assert.deepEqual(run.output, { args: { n: 1 }, kind: 'child' });
  assert.equal(performed(workflow, { calls: () => failure(418) }).error?.instance, '/do/0/other');
  const begun = workflowOf([make.child('other', { await: false })]);
  assert.deepEqual(performed(begun, { input: 7, calls: () => ok('an id') }).output, 7);
});
