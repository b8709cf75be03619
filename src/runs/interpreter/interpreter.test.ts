import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Directive, Workflow } from '#workflows/workflow.ts';
import { undecidedCalls } from './pending.ts';
import { crashed, failure, ok, TestRun, unknown, type World } from './run-harness.test-support.ts';
import type { RunEvent } from './state/run-events.ts';
import { writeState } from './state/run-state.ts';
import {
  attempt,
  batch,
  call,
  callFunction,
  child,
  choose,
  constant,
  type Draft,
  emit,
  fork,
  jq,
  listen,
  loop,
  perform,
  raise,
  set,
  wait,
  when,
  workflowOf,
} from './workflow-builders.test-support.ts';

const directive = fc.oneof(
  { weight: 20, arbitrary: fc.constant<Directive>('continue') },
  fc.constantFrom<Directive>('exit', 'end'),
);
const plain = fc.constant({});
const special = fc.record(
  {
    if: fc.constantFrom(constant(true), constant(false), jq('true')),
    input: fc.constantFrom({}, { from: jq('[.]') }, { schema: { pointer: '/s', document: '{}' } }),
    output: fc.constantFrom({}, { as: jq('[.]') }),
    export: fc.constantFrom({}, { as: jq('[$output]') }),
    timeout: fc.constantFrom({ iso: 'PT2S' }, { iso: 'PT1H' }),
    next: directive,
  },
  { requiredKeys: [] },
);
const common = fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: special });
const short = { iso: 'PT1S' };
const policies = [
  {},
  { errors: { status: 503 } },
  { when: jq('$error.status != 400') },
  { retry: { backoff: 'linear', delay: short, limit: { count: 2, attemptDuration: { iso: 'PT3S' } } } },
  { tasks: [call('handler')] },
  { tasks: [set('handler', jq('$error.status'))], retry: { backoff: 'constant', limit: { count: 1 } } },
] as const;
const everyEvent = { kind: 'any', filters: [] } as const;

type Common = Parameters<typeof set>[2];
const simple = (weight: number, make: (more: Common) => Draft) => ({ weight, arbitrary: common.map(make) });
const nested = <Inner>(weight: number, inner: fc.Arbitrary<Inner>, make: (inner: Inner, more: Common) => Draft) => ({
  weight,
  arbitrary: fc.tuple(inner, common).map(([tasks, more]) => make(tasks, more)),
});

const { task } = fc.letrec<{ task: Draft; list: readonly Draft[] }>((tie) => ({
  task: fc.oneof(
    { maxDepth: 3, depthSize: 'medium' },
    simple(4, (more) => set('set', constant(1), more)),
    simple(6, (more) => call('call', { ...more, with: jq('{ dot: . }') })),
    simple(6, (more) => call('action', { ...more, function: 'orchestratorAction' })),
    simple(4, (more) => wait('wait', short, more)),
    simple(1, (more) => raise('raise', constant({ type: 'urn:x', status: 400 }), more)),
    simple(2, (more) => child('child', more)),
    simple(2, (more) => batch('batch', constant([1, 2]), more)),
    simple(1, (more) => emit('emit', constant({ source: 's', type: 't' }), more)),
    simple(2, (more) => listen('listen', everyEvent, more)),
    simple(1, (more) => choose('choose', [when('a', jq('false'), 'end'), when('b', undefined, 'continue')], more)),
    nested(6, tie('list'), (inner, more) => perform('do', inner, more)),
    nested(6, tie('list'), (inner, more) => loop('for', constant([1, 2]), inner, more)),
    nested(9, fc.tuple(tie('list'), fc.boolean()), ([inner, compete], more) => fork('fork', inner, { ...more, compete })),
    nested(9, fc.tuple(tie('list'), fc.constantFrom(...policies)), ([inner, policy], more) =>
      attempt('try', inner, policy, more),
    ),
    nested(2, tie('task'), (inner, more) => callFunction('function', inner, more)),
    nested(3, tie('list'), (tasks, more) => listen('hear', everyEvent, { ...more, foreach: { tasks } })),
  ),
  list: fc.array(tie('task'), { minLength: 1, maxLength: 3 }),
}));

const workflows = fc
  .tuple(
    fc.array(task, { minLength: 1, maxLength: 3 }),
    fc.constantFrom({}, { timeout: { iso: 'PT10S' } }, { output: { as: jq('[.]') } }),
  )
  .map(([drafts, more]) => workflowOf(drafts, more));

interface Script {
  readonly results: readonly (ReturnType<typeof ok> | undefined)[];
  readonly order: readonly number[];
}

/** How calls end, by turns; undefined: never, unless it is aborted. And the order in which effects end. */
const results = fc.array(fc.constantFrom(ok(1), ok(2), failure(503), failure(404), unknown, undefined), {
  minLength: 1,
  maxLength: 6,
});
const scripts = fc.record({ results, order: fc.array(fc.nat(5), { minLength: 1, maxLength: 7 }) });

function worldOf({ results, order }: Script, more: World = {}): World {
  return {
    order,
    events: [
      { type: 'a', data: 1 },
      { type: 'b', data: 2 },
    ],
    maxSteps: 3_000,
    calls: ({ abort, activity, attempt }) => {
      const result = results[(activity + attempt) % results.length];
      return abort && result === undefined ? { kind: activity % 2 === 0 ? 'unknown' : 'aborted', detail: 'aborted' } : result;
    },
    ...more,
  };
}

/** Decides what people have to decide, so that a run does not stay suspended. */
function decision(run: TestRun): RunEvent | undefined {
  if (run.state.status !== 'suspended') return undefined;
  const [open] = undecidedCalls(run.workflow, run.state);
  return open === undefined ? undefined : { kind: 'decided', at: run.now, activity: open.activity, as: 'done', reason: 'looked' };
}

const ends = new Set(['skipped', 'cancelled', 'faulted', 'completed']);

function assertEachTaskEndsOnce(run: TestRun): void {
  const ended = new Map<number, number>();
  for (const note of run.notes) {
    if (note.of !== 'task') continue;
    if (note.kind === 'created') ended.set(note.activity, 0);
    else assert.equal(ended.get(note.activity), 0, `${note.kind} of ${note.name} comes after its end`);
    if (ends.has(note.kind)) ended.set(note.activity, 1);
  }
  assert.deepEqual(
    [...ended.values()].filter((count) => count !== 1),
    [],
    'a task did not end',
  );
  assert.equal(ended.size, run.state.tasks);
}

const isOver = ({ state }: TestRun): boolean => ['completed', 'faulted', 'cancelled'].includes(state.status);

function resumeOnceIdle(run: TestRun): RunEvent | undefined {
  const comes = run.effects.some((effect) => effect.kind !== 'timer' && run.answer(effect) !== undefined);
  return comes ? undefined : { kind: 'resume', at: run.now + 5_000 };
}

function assertEndsOrWaits(run: TestRun): void {
  if (isOver(run)) assertEachTaskEndsOnce(run);
  else assert.ok(run.effects.length > 0, 'the run waits for nothing');
}

test('any run ends or waits for what does not come, and each of its tasks ends once', () => {
  fc.assert(
    fc.property(workflows, scripts, (workflow, script) => {
      const run = new TestRun(workflow, worldOf(script, { interfere: decision })).go();
      if (!isOver(run)) {
        assert.ok(run.effects.length > 0, 'the run waits for nothing');
        run.send({ kind: 'cancel', at: run.now });
      }
      assertEachTaskEndsOnce(run);
      assert.deepEqual(run.effects, []);
    }),
    { numRuns: 150 },
  );
});

test('a crash between any two steps changes nothing of any run', () => {
  fc.assert(
    fc.property(workflows, scripts, (workflow, script) => {
      const outcome = (crashes: boolean) => {
        const run = new TestRun(workflow, worldOf(script, { interfere: decision, crashes })).go();
        const notes = run.notes.map((note) => JSON.stringify(note));
        return { state: writeState(run.state).text, effects: run.effects, steps: run.steps, notes };
      };
      assert.deepEqual(outcome(true), outcome(false));
    }),
    { numRuns: 100 },
  );
});

test('a run that is cancelled at any moment has no effect left', () => {
  fc.assert(
    fc.property(workflows, scripts, fc.nat(40), (workflow, script, moment) => {
      const interfere = (run: TestRun): RunEvent | undefined =>
        run.steps === moment ? { kind: 'cancel', at: run.now } : decision(run);
      const run = new TestRun(workflow, worldOf(script, { interfere })).go();
      if (!isOver(run)) return;
      assertEachTaskEndsOnce(run);
      assert.deepEqual(run.effects, []);
    }),
    { numRuns: 100 },
  );
});

test('a run that is suspended at any moment begins nothing before it is resumed, and then goes on', () => {
  fc.assert(
    fc.property(workflows, scripts, fc.nat(20), (workflow, script, moment) => {
      let before: ReadonlySet<string> = new Set();
      let tasks = 0;
      const interfere = (run: TestRun): RunEvent | undefined => {
        if (run.steps === moment && run.state.suspension === undefined) {
          before = new Set(run.effects.map(({ key }) => key));
          tasks = run.state.tasks;
          return { kind: 'suspend', at: run.now };
        }
        if (run.state.suspension?.by !== 'people') return decision(run);
        assert.equal(run.state.tasks, tasks, 'a task began');
        for (const { key } of run.effects) assert.ok(before.has(key), `${key} is new`);
        return resumeOnceIdle(run);
      };
      assertEndsOrWaits(new TestRun(workflow, worldOf(script, { interfere })).go());
    }),
    { numRuns: 100 },
  );
});

test('a call that is held at any moment is suspended with its run, and begins once the run is resumed', () => {
  fc.assert(
    fc.property(workflows, scripts, fc.nat(20), (workflow, script, moment) => {
      let held: string | undefined;
      const interfere = (run: TestRun): RunEvent | undefined => {
        const call = run.effects.find(({ kind }) => kind === 'call' || kind === 'child');
        if (held === undefined && run.steps >= moment && call !== undefined && run.state.suspension === undefined) {
          held = call.key;
          return { kind: 'held', at: run.now, key: call.key, by: 'delegation-lost' };
        }
        if (run.state.suspension?.by !== 'delegation-lost') return decision(run);
        assert.equal(run.state.status, 'suspended');
        assert.ok(!run.effects.some(({ key }) => key === held), 'the call is pending');
        return resumeOnceIdle(run);
      };
      assertEndsOrWaits(new TestRun(workflow, worldOf(script, { interfere })).go());
    }),
    { numRuns: 100 },
  );
});

test('a run that is cancelled once it is settled begins nothing, and ends cancelled after the decisions about its calls', () => {
  fc.assert(
    fc.property(workflows, scripts, fc.nat(20), (workflow, script, moment) => {
      let isCancelled = false;
      const interfere = (run: TestRun): RunEvent | undefined => {
        if (!isCancelled && run.steps < moment) return decision(run);
        if (!isCancelled) {
          isCancelled = true;
          return isOver(run) ? undefined : { kind: 'cancel', at: run.now, settles: true };
        }
        for (const effect of run.effects) if ('abort' in effect) assert.ok(effect.abort, `${effect.key} begins after the cancel`);
        return decision(run);
      };
      const run = new TestRun(workflow, worldOf(script, { interfere })).go();
      if (run.state.cancels === true) assert.equal(run.state.status, 'cancelled');
      assert.deepEqual(undecidedCalls(workflow, run.state), []);
    }),
    { numRuns: 300 },
  );
});

test('the key of an effect stays with what it is for', () => {
  fc.assert(
    fc.property(workflows, scripts, (workflow, script) => {
      const seen = new Map<string, string>();
      const interfere = (run: TestRun): RunEvent | undefined => {
        for (const effect of run.effects) {
          const text = JSON.stringify({ ...effect, abort: undefined, items: undefined });
          assert.equal(seen.get(effect.key) ?? text, text);
          seen.set(effect.key, text);
        }
        return decision(run);
      };
      assert.ok(new TestRun(workflow, worldOf(script, { interfere })).go());
    }),
    { numRuns: 100 },
  );
});

test('a state that is read is the state that was written', () => {
  fc.assert(
    fc.property(workflows, scripts, fc.nat(10), (workflow: Workflow, script, moment) => {
      const run = new TestRun(workflow, worldOf(script, { maxSteps: 3_000 }));
      for (let count = 0; count < moment && !isOver(run); count += 1) run.send({ kind: 'timePassed', at: run.now });
      assert.deepEqual(writeState(crashed(run.state)), writeState(run.state));
    }),
    { numRuns: 50 },
  );
});
