import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeUnknown, type Retry } from '#workflows/workflow.ts';
import { undecidedCalls } from './pending.ts';
import { failure, ok, performed, start, TestRun, unknown } from './run-harness.test-support.ts';
import {
  attempt,
  call,
  constant,
  fork,
  jq,
  loop,
  perform,
  raise,
  set,
  wait,
  workflowOf,
} from './workflow-builders.test-support.ts';

const standard = (name: string) => `https://serverlessworkflow.io/spec/1.0.0/errors/${name}`;
const retry = (more: Partial<Retry> = {}): Retry => ({ backoff: 'constant', limit: {}, ...more });

test('a raised error has the reference of its task as instance, unless it says another', () => {
  const run = performed(workflowOf([raise('a', constant({ type: 'urn:x', status: 400, title: 'Wrong' }))]));
  assert.deepEqual(run.error, { type: 'urn:x', status: 400, title: 'Wrong', detail: undefined, instance: '/do/0/a' });
  const own = performed(workflowOf([raise('a', constant({ type: 'urn:x', status: 400, instance: '/mine' }))]));
  assert.equal(own.error?.instance, '/mine');
  const none = performed(workflowOf([raise('a', jq('{ status: 400 }'))]));
  assert.equal(none.error?.type, standard('configuration'));
});

test('a catch takes an error, and its tasks see it as a variable', () => {
  const handler = attempt('try', [call('a')], { as: 'err', tasks: [set('b', jq('{ err: $err, dot: . }'))] });
  const run = performed(workflowOf([handler]), { input: { n: 1 }, calls: () => failure(404) });
  assert.deepEqual(run.output, {
    err: { type: standard('communication'), status: 404, title: 'It failed', instance: '/do/0/try/try/0/a' },
    dot: { n: 1 },
  });
  assert.deepEqual(run.timeline, [
    'created try',
    'started try',
    'created a',
    'started a',
    'faulted a',
    'created b',
    'started b',
    'completed b',
    'completed try',
  ]);
});

test('a catch without tasks ends with the input of its try', () => {
  assert.deepEqual(performed(workflowOf([attempt('try', [call('a')])]), { input: 3, calls: () => failure(500) }).output, 3);
});

test('a filter takes the three spellings of a standard type as one, and all else exactly', () => {
  const spellings = [
    'https://serverlessworkflow.io/dsl/errors/types/communication',
    'https://serverlessworkflow.io/errors/types/communication',
    standard('communication'),
  ];
  const caught = (filter: object) =>
    performed(workflowOf([attempt('try', [call('a')], { errors: filter })]), { calls: () => failure(503) }).state.status;
  for (const type of spellings) assert.equal(caught({ type, status: 503 }), 'completed', type);
  for (const filter of [
    { type: standard('timeout') },
    { status: 500 },
    { instance: '/do/0/try' },
    { title: 'no' },
    { type: `${standard('communication')}/` },
  ]) {
    assert.equal(caught(filter), 'faulted', JSON.stringify(filter));
  }
  assert.equal(caught({ instance: '/do/0/try/try/0/a', title: 'It failed' }), 'completed');
});

test('conditions of a catch are evaluated with the error, and exceptWhen takes precedence', () => {
  const caught = (when: string, exceptWhen: string) =>
    performed(workflowOf([attempt('try', [call('a')], { when: jq(when), exceptWhen: jq(exceptWhen) })]), {
      calls: () => failure(503),
    }).state.status;
  assert.equal(caught('$error.status == 503 and $input == {}', '$error.status == 1'), 'completed');
  assert.equal(caught('$error.status == 500', 'false'), 'faulted');
  assert.equal(caught('true', '$error.status > 500'), 'faulted');
  assert.equal(caught('.status == 503 and .instance == "/do/0/try/try/0/a"', '.status == 1'), 'completed');
  assert.equal(caught('true', '.status == 503'), 'faulted');
});

test('the conditions of a retry see the error as ".", and its delay sees the input of the try', () => {
  const times: number[] = [];
  const policy = retry({
    when: jq('.status == 503'),
    exceptWhen: jq('.status == 500'),
    delay: { expression: jq('.pause') },
    limit: { count: 5 },
  });
  const run = new TestRun(workflowOf([attempt('try', [call('a')], { retry: policy })]), {
    input: { pause: 'PT2S' },
    calls: () => {
      times.push((run.now - start) / 1_000);
      return times.length < 3 ? failure(503) : failure(500);
    },
  });
  run.go();
  assert.deepEqual(times, [0, 2, 4]);
  assert.equal(run.error?.status, 500);
});

test('a retry performs the tasks again after its delay, as often as its count says', () => {
  const policy = retry({ delay: { iso: 'PT3S' }, backoff: 'exponential', limit: { count: 3 } });
  const times: number[] = [];
  const workflow = workflowOf([attempt('try', [call('a')], { retry: policy })]);
  const run = new TestRun(workflow, {
    calls: () => {
      times.push((run.now - start) / 1_000);
      return failure(503);
    },
  });
  run.go();
  assert.deepEqual(times, [0, 3, 9, 21]);
  assert.equal(run.error?.status, 503);
  assert.deepEqual(
    run.notes.flatMap((note) => (note.of === 'task' && note.kind === 'faulted' ? [note.attempt] : [])),
    [1, 2, 3, 4, 1],
  );
  assert.deepEqual(
    run.notes.flatMap((note) => (note.of === 'task' && note.kind === 'retried' ? [note.attempt] : [])),
    [2, 3, 4],
  );
});

test('a linear backoff adds the delay, and a jitter lies in its range and is the same in each replay', () => {
  const timesOf = (policy: Retry) => {
    const times: number[] = [];
    const run = new TestRun(workflowOf([attempt('try', [call('a')], { retry: policy })]), {
      crashes: true,
      calls: () => {
        times.push(run.now - start);
        return failure(503);
      },
    });
    run.go();
    return times;
  };
  assert.deepEqual(timesOf(retry({ delay: { iso: 'PT1S' }, backoff: 'linear', limit: { count: 3 } })), [0, 1_000, 3_000, 6_000]);
  const jitter = retry({ jitter: { from: { iso: 'PT1S' }, to: { expression: jq('"PT2S"') } }, limit: { count: 2 } });
  const [, first = 0, second = 0] = timesOf(jitter);
  for (const delay of [first, second - first]) assert.ok(delay >= 1_000 && delay <= 2_000, String(delay));
  assert.notEqual(first, second - first);
  assert.deepEqual(timesOf(jitter), [0, first, second]);
});

test('a retry that no longer fits its duration, or that its condition denies, leaves the error to the tasks of the catch', () => {
  const limited = retry({ delay: { iso: 'PT10S' }, limit: { duration: { iso: 'PT25S' } } });
  let calls = 0;
  const count = () => {
    calls += 1;
    return failure(503);
  };
  const run = performed(workflowOf([attempt('try', [call('a')], { retry: limited, tasks: [set('b', jq('$error.status'))] })]), {
    calls: count,
  });
  assert.deepEqual([run.output, calls], [503, 3]);
  calls = 0;
  const denied = retry({ when: jq('$error.status == 500'), limit: { count: 9 } });
  const fault = performed(workflowOf([attempt('try', [call('a')], { retry: denied })]), { calls: count });
  assert.deepEqual([fault.error?.status, calls], [503, 1]);
});

test('an attempt that takes too long is an error that is retried', () => {
  const policy = retry({ limit: { count: 1, attemptDuration: { iso: 'PT5S' } } });
  const run = performed(workflowOf([attempt('try', [wait('a', { iso: 'PT1H' })], { retry: policy })]));
  assert.equal(run.error?.type, standard('timeout'));
  assert.equal(run.now - start, 10_000);
  assert.deepEqual(
    run.timeline.filter((note) => note.endsWith(' a')),
    ['created a', 'started a', 'cancelled a', 'created a', 'started a', 'cancelled a'],
  );
});

test('a timeout of a task interrupts it, and a catch around it takes the error', () => {
  const slow = perform('slow', [wait('a', { iso: 'P1M' })], { timeout: { iso: 'PT5S' } });
  const run = performed(
    workflowOf([attempt('try', [slow], { errors: { type: standard('timeout'), status: 408 } }), set('b', constant('on'))]),
  );
  assert.equal(run.output, 'on');
  assert.deepEqual(run.timeline.slice(4, 8), ['created a', 'started a', 'cancelled a', 'faulted slow']);
});

test('a timeout of the workflow faults the run', () => {
  const run = performed(
    workflowOf([loop('all', jq('[1, 2, 3]'), [wait('a', { iso: 'PT2S' })])], { timeout: { expression: jq('"PT5S"') } }),
  );
  assert.equal(run.error?.instance, '/timeout');
  assert.equal(run.state.status, 'faulted');
  assert.equal(run.now - start, 5_000);
});

test('an unknown outcome that no catch takes suspends the run until people decide', () => {
  const workflow = workflowOf([call('a', { function: 'orchestratorAction' }), set('b', jq('{ got: . }'))]);
  const decided = (as: 'done' | 'failed' | 'again') => {
    const attempts: number[] = [];
    const run = performed(workflow, {
      crashes: true,
      calls: (effect) => {
        attempts.push(effect.attempt);
        return effect.attempt === 1 ? unknown : ok('second');
      },
    });
    assert.equal(run.state.status, 'suspended');
    assert.deepEqual(run.effects, []);
    const [open] = undecidedCalls(workflow, run.state);
    assert.equal(open?.reference, '/do/0/a');
    assert.equal(open.error.type, outcomeUnknown);
    run.now += 60_000;
    run.send({ kind: 'decided', at: run.now, activity: open.activity, as, output: '"by people"', reason: 'looked' });
    return { run: run.go(), attempts };
  };
  const done = decided('done');
  assert.deepEqual(done.run.output, { got: 'by people' });
  assert.deepEqual(done.run.runNotes, ['started', 'suspended', 'resumed', 'completed']);
  assert.deepEqual(done.run.timeline.slice(0, 5), ['created a', 'started a', 'suspended a', 'resumed a', 'completed a']);
  const again = decided('again');
  assert.deepEqual([again.run.output, again.attempts], [{ got: 'second' }, [1, 2]]);
  const failed = decided('failed');
  assert.deepEqual([failed.run.error?.type, failed.run.error?.status], [standard('communication'), 500]);
});

/** The filter of a `catch` that takes an unknown outcome. */
const errors = { type: outcomeUnknown };

test('an unknown outcome is taken by a catch that names its type, and never retried', () => {
  let calls = 0;
  const world = {
    calls: () => {
      calls += 1;
      return unknown;
    },
  };
  const tasks = [set('b', jq('$error.type'))];
  const handler = attempt('try', [call('a')], { errors, retry: retry({ limit: { count: 5 } }), tasks });
  const run = performed(workflowOf([handler]), world);
  assert.deepEqual([run.output, calls], [outcomeUnknown, 1]);
  assert.deepEqual(
    run.timeline.filter((note) => note.endsWith(' a')),
    ['created a', 'started a', 'faulted a'],
  );
  const statusWith = (handling: Parameters<typeof attempt>[2]) =>
    performed(workflowOf([attempt('try', [call('a')], handling)]), world).state.status;
  assert.equal(statusWith({ errors }), 'completed');
  assert.equal(statusWith({ errors, retry: retry() }), 'suspended', 'a retry alone may not repeat it, so that people decide');
  for (const others of [
    {},
    { tasks },
    { errors: { status: 504 } },
    { errors: { type: standard('timeout') } },
    { when: jq('true') },
  ])
    assert.equal(statusWith(others), 'suspended', JSON.stringify(others));
});

test('conditions of a catch are asked about an unknown outcome before people are', () => {
  const handler = (when: string) =>
    workflowOf([attempt('try', [fork('both', [call('a'), call('b')])], { errors, when: jq(when) })]);
  const world = { calls: ({ reference }: { readonly reference: string }) => (reference.endsWith('a') ? unknown : undefined) };
  const caught = performed(handler('$error.status == 504'), world);
  assert.equal(caught.state.status, 'completed');
  assert.deepEqual(
    caught.timeline.filter((note) => /^(?:faulted|cancelled)/u.test(note)),
    ['faulted a', 'cancelled b', 'cancelled both'],
  );
  const run = performed(handler('false'), world);
  assert.equal(run.state.status, 'suspended');
  assert.deepEqual(
    run.effects.map(({ kind }) => kind),
    ['call'],
    'the call in flight goes on',
  );
  const failed = performed(handler('error("no")'), world);
  assert.equal(failed.state.status, 'suspended');
});

test('people who resume a run do not take the place of a catch that is asked about an unknown outcome', () => {
  const workflow = workflowOf([attempt('try', [call('a')], { errors, when: jq('$error.status == 504') })]);
  const run = performed(workflow, { calls: () => undefined });
  run.send({ kind: 'suspend', at: start });
  const [effect] = run.effects;
  run.send({ kind: 'callEnded', at: start, key: effect?.key ?? '', result: unknown });
  assert.deepEqual(undecidedCalls(workflow, run.state), []);
  run.send({ kind: 'resume', at: start });
  assert.equal(run.go().state.status, 'completed');
});

test('a timeout around a call in flight aborts the call, and raises what its end says', () => {
  const slow = perform('slow', [call('a'), set('never', constant(1))], { timeout: { iso: 'PT5S' } });
  const tasks = [set('b', jq('$e | { type, instance }'))];
  const handled = attempt('unknown', [slow], { errors, as: 'e', tasks });
  const workflow = workflowOf([attempt('try', [handled], { as: 'e', tasks })]);
  for (const [result, expected] of [
    [unknown, { type: outcomeUnknown, instance: '/do/0/try/try/0/unknown/try/0/slow/do/0/a' }],
    [{ kind: 'aborted' }, { type: standard('timeout'), instance: '/do/0/try/try/0/unknown/try/0/slow' }],
    [ok(1), { type: standard('timeout'), instance: '/do/0/try/try/0/unknown/try/0/slow' }],
  ] as const) {
    const run = performed(workflow, { crashes: true, calls: ({ abort }) => (abort ? result : undefined) });
    assert.deepEqual(run.output, expected);
  }
});

test('an unknown outcome after a timeout waits for people where no catch outside takes it', () => {
  const inner = attempt('inner', [fork('both', [call('a'), call('b')])]);
  const workflow = workflowOf([perform('slow', [inner], { timeout: { iso: 'PT5S' } }), set('c', jq('{ got: . }'))]);
  const run = performed(workflow, {
    crashes: true,
    calls: ({ abort, reference }) => (abort ? (reference.endsWith('a') ? unknown : ok('b')) : undefined),
  });
  assert.equal(run.state.status, 'suspended');
  const [open] = undecidedCalls(workflow, run.state);
  assert.equal(open?.reference.at(-1), 'a');
  run.send({ kind: 'decided', at: run.now + 1, activity: open.activity, as: 'done', output: '"a"', reason: 'looked' });
  assert.deepEqual(run.go().output, { got: ['a', 'b'] });
});

test('a timeout of an attempt around a call in flight is judged by its own catch', () => {
  const policy = retry({ limit: { count: 2, attemptDuration: { iso: 'PT5S' } } });
  const handling = { retry: policy, tasks: [set('b', jq('$error.type'))] };
  const workflowWith = (filter: Parameters<typeof attempt>[2]) =>
    workflowOf([attempt('try', [call('a')], { ...handling, ...filter })]);
  const run = performed(workflowWith({ errors }), { calls: ({ abort }) => (abort ? unknown : undefined) });
  assert.equal(run.output, outcomeUnknown);
  const safe = performed(workflowWith({}), { calls: ({ abort }) => (abort ? { kind: 'aborted' } : undefined) });
  assert.deepEqual([safe.output, safe.now - start], [standard('timeout'), 15_000]);
});

test('an effect that cannot be done raises its error at the task', () => {
  const run = performed(workflowOf([set('a', jq('.'), { output: { as: jq('1 + 1') } })]), {
    interfere: ({ effects, now }) => {
      const effect = effects.find(({ kind }) => kind === 'evaluate');
      if (effect === undefined) return undefined;
      return { kind: 'failed', at: now, key: effect.key, error: { type: standard('authorization'), status: 403 } };
    },
  });
  assert.deepEqual([run.error?.status, run.error?.instance], [403, '/do/0/a']);
});
