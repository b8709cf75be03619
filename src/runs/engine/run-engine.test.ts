// suite: waiting

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eachStoreWith } from '../../../test/support/stores/stores.ts';
import { until } from '../../../test/support/until.ts';
import { eventNamed, released, stepOf } from '../journal/run-records.test-support.ts';
import type { RunCommand } from '../journal/run-records.ts';
import type { RunStore } from '../journal/run-store.ts';
import { runWorld } from './run-engine.test-support.ts';

const call = (name: string, at = '1'): string => `  - ${name}:
      call: restCall
      with: { uri: 'http://far.side/x', verb: POST, body: { at: ${at} } }
`;

eachStoreWith({ concurrency: 4 }, (store) => {
  test('a run with three calls ends with the output of the last, and its timeline has each task', async (t) => {
    const world = await runWorld(t, store);
    const at = '"${ .at }"';
    await world.workflow('three', `do:\n${call('one', at)}${call('two', at)}${call('three', at)}`);
    world.answer(({ activity }) => ({ kind: 'ok', output: `{"at":1.0,"call":${activity}}` }));
    await world.gateway();
    const id = await world.begin('three', { input: '{"at":18446744073709551615}' });
    const run = await world.reaches(id, 'completed', 'faulted');
    assert.equal(run.output, '{"at":1.0,"call":3}');
    assert.deepEqual(
      world.calls.map(({ args }) => args),
      ['18446744073709551615', '1.0', '1.0'].map((at) => `{"uri":"http://far.side/x","verb":"POST","body":{"at":${at}}}`),
    );
    const tasks = await world.tasks(id);
    assert.deepEqual(
      tasks.map(({ reference, name, status, requestId }) => [reference, name, status, requestId]),
      ['one', 'two', 'three'].map((name, index) => [`/do/${index}/${name}`, name, 'completed', `request-${index + 1}`]),
    );
    assert.ok(tasks.every(({ begin, end }) => end !== undefined && end >= begin));
    const types = (await world.store.events({ after: 0, run: id, limit: 100 })).map(
      ({ event }) => (JSON.parse(event) as { readonly type: string }).type,
    );
    assert.equal(types[0], 'io.serverlessworkflow.workflow.started.v1');
    assert.equal(types.at(-1), 'io.serverlessworkflow.workflow.completed.v1');
    assert.equal(types.filter((type) => type === 'io.serverlessworkflow.task.completed.v1').length, 3);
  });

  test('the state of a run is in the store before its call begins', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('one', `do:\n${call('act')}`);
    const states: (string | undefined)[] = [];
    world.answer(async ({ run }) => {
      states.push((await world.store.readState(run.id))?.text);
      return { kind: 'ok', output: '1' };
    });
    await world.gateway();
    await world.reaches(await world.begin('one'), 'completed');
    assert.match(states[0] ?? '', /"kind":"outside"/u);
  });

  test('a run that another gateway held goes on where it was, and its calls keep their identity', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('two', `do:\n${call('first')}${call('second')}`);
    let answered = false;
    world.answer(({ activity }, signal) => {
      if (activity === 1 || answered) return { kind: 'ok', output: '2' };
      answered = true;
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ kind: 'aborted' })));
    });
    const first = await world.gateway();
    const id = await world.begin('two');
    await until('the second call is in flight', () => world.calls.length === 2);
    first.abort();
    await first.stop();
    assert.equal(first.held(), 0);
    await world.gateway();
    assert.equal((await world.reaches(id, 'completed', 'faulted')).output, '2');
    const names = world.calls.map(({ activity, attempt }) => `${activity}.${attempt}`);
    assert.deepEqual(names, ['1.1', '2.1', '2.1']);
    assert.ok((world.calls[2]?.begunAt ?? 0) > 0, 'the second holder knows that the call may have been made');
  });

  test('a gateway that stops waits for its call in flight, begins no other, and hands the run on', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('drain', `do:\n${call('first')}${call('second')}`);
    const { promise, resolve } = Promise.withResolvers<void>();
    world.answer(async ({ activity }) => {
      if (activity === 1) await promise;
      return { kind: 'ok', output: String(activity) };
    });
    const first = await world.gateway();
    const id = await world.begin('drain');
    await until('the call is in flight', () => world.calls.length === 1);
    const stopped = first.stop();
    resolve();
    await stopped;
    assert.equal(world.calls.length, 1);
    assert.equal((await world.read(id)).status, 'running');
    await world.gateway();
    assert.equal((await world.reaches(id, 'completed')).output, '2');
    assert.deepEqual(
      world.calls.map(({ activity }) => activity),
      [1, 2],
    );
  });

  test('an unknown outcome suspends the run until people decide, and only the first decision counts', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('unknown', `do:\n${call('act')}  - after: { set: { got: '\${ . }' } }\n`);
    world.answer(() => ({ kind: 'unknown', detail: 'the connection broke' }));
    await world.gateway();
    const id = await world.begin('unknown');
    await world.reaches(id, 'suspended');
    const [task] = await world.tasks(id);
    assert.deepEqual(
      [task?.status, task?.error?.type, task?.error?.detail],
      ['suspended', 'urn:orchestration-gateway:errors:outcome-unknown', 'the connection broke'],
    );
    const decide = {
      kind: 'decide',
      activity: 1,
      as: 'done',
      output: '{"found":1.0}',
      reason: 'seen',
      principal: 'ada',
    } as const;
    assert.equal(await world.store.command(id, decide, 'decide 1 1'), true);
    assert.equal(await world.store.command(id, decide, 'decide 1 1'), false);
    assert.equal((await world.reaches(id, 'completed')).output, '{"got":{"found":1.0}}');
    assert.equal((await world.tasks(id))[0]?.error, undefined);
    assert.equal(world.calls.length, 1);
  });

  test('a cancelled run aborts its call, and ends', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('cancel', `do:\n${call('act')}${call('never')}`);
    let aborted = false;
    world.answer(
      (_call, signal) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => {
            aborted = true;
            resolve({ kind: 'unknown', detail: 'aborted' });
          }),
        ),
    );
    await world.gateway();
    const id = await world.begin('cancel');
    await until('the call is in flight', () => world.calls.length === 1);
    assert.equal(await world.store.command(id, { kind: 'cancel' }), true);
    await world.reaches(id, 'cancelled');
    await until('the call is aborted', () => aborted);
    assert.equal(world.calls.length, 1);
    assert.equal(await world.store.command(id, { kind: 'cancel' }), false, 'a run that has ended takes no command');
  });

  test('a run that waits is held by no gateway, and goes on at its time', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('waits', 'do:\n  - pause: { wait: { seconds: 3 } }\n  - done: { set: { is: over } }\n');
    const engine = await world.gateway();
    const id = await world.begin('waits');
    await until('no gateway holds it', async () => (await world.read(id)).status === 'waiting' && engine.held() === 0);
    assert.equal((await world.reaches(id, 'completed')).output, '{"is":"over"}');
  });

  test('a run that listens takes an event that came before its listen and one that comes later', async (t) => {
    const world = await runWorld(t, store);
    const listen = (name: string, type: string): string =>
      `  - ${name}:\n      listen: { to: { one: { with: { type: ${type} } } } }\n      output: { as: '\${ .[0].n }' }\n`;
    await world.workflow('listens', `do:\n${listen('early', 'early')}${listen('late', 'late')}`);
    const message = (type: string, n: number) => ({
      at: Date.now(),
      kind: 'message' as const,
      event: JSON.stringify({ specversion: '1.0', id: `${type}-${n}`, source: '/t', type, data: { n } }),
    });
    const id = await world.begin('listens');
    await world.store.publish([message('other', 1), message('early', 2)]);
    const engine = await world.gateway();
    await until('the run waits for the second event', async () => (await world.tasks(id)).length === 2 && engine.held() === 0);
    await world.store.publish([message('other', 3), message('late', 4)]);
    assert.equal((await world.reaches(id, 'completed', 'faulted')).output, '4');
  });

  test('a listen that began after the last release finds its event also where the gateway dies or drains', async (t) => {
    const world = await runWorld(t, store);
    const listen = (type: string): string => `  - ${type}: { listen: { to: { one: { with: { type: ${type} } } } } }\n`;
    await world.workflow('turns', `do:\n${listen('early')}${listen('late')}`);
    const publish = (type: string) =>
      world.store.publish([
        {
          at: Date.now(),
          kind: 'message',
          event: JSON.stringify({ specversion: '1.0', id: `${type} ${id}`, source: '/t', type }),
        },
      ]);
    let id = '';
    for (const ends of ['dies', 'drains']) {
      id = await world.begin('turns');
      await publish('late');
      const first = await world.gateway();
      await until('it waits', async () => (await world.read(id)).status === 'waiting' && first.held() === 0);
      await first.stop();
      await publish('early');
      const stuck = Promise.withResolvers<never[]>();
      let isDead = false;
      const second = await world.gateway({
        // Long enough to begin the second listen on a busy machine.
        lease: 3_000,
        changed: (own) => ({
          messages: async (range) => ((await world.tasks(id)).length < 2 ? await own.messages(range) : await stuck.promise),
          ...(ends === 'dies' && { renew: () => Promise.reject(new Error('it is dead')) }),
          claim: async (options) => (isDead ? [] : await own.claim(options)),
        }),
      });
      await until('the second listen began', async () => (await world.tasks(id)).length === 2);
      isDead = true;
      if (ends === 'drains') await second.stop();
      const third = await world.gateway();
      await world.reaches(id, 'completed');
      await third.stop();
      stuck.resolve([]);
    }
  });

  test('a run that listens stays at rest while only older messages are there', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('rests', 'do:\n  - hear: { listen: { to: { one: { with: { type: told } } } } }\n');
    const old = { ...eventNamed('old'), at: Date.now() - 3_600_000 };
    await world.store.publish([old]);
    const engine = await world.gateway();
    const id = await world.begin('rests');
    await until('no gateway holds it', async () => (await world.read(id)).status === 'waiting' && engine.held() === 0);
    assert.equal(await world.store.nextWake(), undefined);
    await world.store.publish([
      { at: Date.now(), kind: 'message', event: '{"specversion":"1.0","id":"1","source":"/t","type":"told"}' },
    ]);
    await world.reaches(id, 'completed');
  });

  test('a run whose call is put before people while its state is written is held by no gateway', async (t) => {
    const world = await runWorld(t, store);
    const hear = '{ hear: { listen: { to: { one: { with: { type: told } } } } } }';
    const act = "{ act: { call: http, with: { method: post, endpoint: 'https://a.example' } } }";
    await world.workflow('both', `do:\n  - both: { fork: { branches: [${hear}, ${act}] } }\n`);
    const [saving, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    world.answer(async (): Promise<'waiting'> => {
      if (world.calls.length === 1) return 'waiting';
      await saving.promise;
      setImmediate(answered.resolve);
      return 'waiting';
    });
    const changed = (own: RunStore): Partial<RunStore> => ({
      async save(write) {
        const outcome = await own.save(write);
        if (world.calls.length < 2 || write.release !== undefined) return outcome;
        saving.resolve();
        await answered.promise;
        return outcome;
      },
    });
    const engine = await world.gateway({ changed });
    const id = await world.begin('both');
    await until('it waits', async () => (await world.read(id)).status === 'waiting' && engine.held() === 0);
    await world.store.publish([
      { at: Date.now(), kind: 'message', event: '{"specversion":"1.0","id":"1","source":"/t","type":"told"}' },
    ]);
    await until('its call was made again', () => world.calls.length === 2);
    await answered.promise;
    await until('it waits again', async () => (await world.read(id)).status === 'waiting' && engine.held() === 0);
  });

  test('an emitted event reaches another run that listens, once', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow(
      'emits',
      "do:\n  - tell: { emit: { event: { with: { source: 'http://t', type: told, data: { n: 1.0 } } } } }\n",
    );
    const from = 'type: told, sender: ada, workflow: test.emits';
    await world.workflow('hears', `do:\n  - hear: { listen: { to: { one: { with: { ${from} } } } } }\n`);
    await world.workflow('strange', `do:\n  - hear: { listen: { to: { one: { with: { type: told, sender: eve } } } } }\n`);
    await world.gateway();
    const strange = await world.begin('strange');
    await world.reaches(strange, 'waiting');
    const hearing = await world.begin('hears');
    await world.reaches(hearing, 'waiting');
    await world.reaches(await world.begin('emits'), 'completed');
    assert.equal((await world.reaches(hearing, 'completed')).output, '[{"n":1.0}]');
    assert.equal((await world.store.messages({ after: 0, limit: 10 })).length, 1);
    assert.equal((await world.read(strange)).status, 'waiting', 'the event has another sender than it waits for');
  });

  test('a workflow runs another one and takes its output; a fault of it is an error that can be caught', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('child', `do:\n${call('act')}`);
    await world.workflow('faulty', 'do:\n  - no: { raise: { error: { type: "https://t/e", status: 418, title: No } } }\n');
    const run = (name: string): string => `run: { workflow: { namespace: test, name: ${name}, version: 1.0.0 } }`;
    await world.workflow(
      'parent',
      `do:
  - calls: { ${run('child')} }
  - tries:
      try:
        - fails: { ${run('faulty')} }
      catch: { errors: { with: { status: 418 } }, do: [{ caught: { set: { title: '\${ $error.title }' } } }] }
`,
    );
    await world.gateway();
    const id = await world.begin('parent');
    assert.equal((await world.reaches(id, 'completed', 'faulted')).output, '{"title":"No"}');
    const children = await world.store.list({ parent: id }, { limit: 10 });
    assert.deepEqual(children.map(({ workflow, status }) => `${workflow} ${status}`).toSorted(), [
      'test.child completed',
      'test.faulty faulted',
    ]);
  });

  test('a cancelled run cancels the runs in it, and a workflow that runs itself comes to an end', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('waiting', 'do:\n  - pause: { wait: { hours: 1 } }\n');
    await world.workflow('around', 'do:\n  - run: { run: { workflow: { namespace: test, name: waiting, version: 1.0.0 } } }\n');
    await world.workflow('itself', 'do:\n  - again: { run: { workflow: { namespace: test, name: itself, version: 1.0.0 } } }\n');
    await world.gateway();
    const id = await world.begin('around');
    await until(
      'the inner run waits',
      async () => (await world.store.list({ parent: id, status: 'waiting' }, { limit: 1 })).length === 1,
    );
    await world.store.command(id, { kind: 'cancel' });
    await world.reaches(id, 'cancelled');
    await until(
      'the inner run is cancelled',
      async () => (await world.store.list({ parent: id, status: 'cancelled' }, { limit: 1 })).length === 1,
    );
    const endless = await world.reaches(await world.begin('itself'), 'completed', 'faulted');
    assert.match(endless.error?.detail ?? '', /More than 20 runs/u);
  });

  test('cancel, suspend and resume reach runs that are not awaited, and runs inside these', async (t) => {
    const world = await runWorld(t, store);
    const run = (name: string, more = ''): string =>
      `{ run: { workflow: { namespace: test, name: ${name}, version: 1.0.0 }${more} } }`;
    await world.workflow('inner', 'do:\n  - pause: { wait: { hours: 1 } }\n');
    await world.workflow('middle', `do:\n  - in: ${run('inner')}\n`);
    await world.workflow('outer', `do:\n  - apart: ${run('middle', ', await: false')}\n  - stay: { wait: { hours: 1 } }\n`);
    await world.gateway();
    const outer = await world.begin('outer');
    const childOf = async (parent: string): Promise<string> => {
      await until(`${parent} has a child`, async () => (await world.store.children(parent)).length === 1);
      return (await world.store.children(parent))[0] ?? '';
    };
    const middle = await childOf(outer);
    const inner = await childOf(middle);
    const all = [outer, middle, inner];
    await world.reaches(inner, 'waiting');
    for (const [kind, status] of [
      ['suspend', 'suspended'],
      ['resume', 'waiting'],
      ['suspend', 'suspended'],
      ['cancel', 'cancelled'],
    ] as const) {
      await world.store.command(outer, { kind });
      for (const id of all) assert.equal((await world.reaches(id, status)).status, status, id);
    }
  });

  test('suspend and resume pass through a run that the gateway holds, to the runs inside it', async (t) => {
    const world = await runWorld(t, store);
    const run = (name: string): string =>
      `{ run: { await: false, workflow: { namespace: test, name: ${name}, version: 1.0.0 } } }`;
    const stay = '  - stay: { wait: { hours: 1 } }\n';
    await world.workflow('inner', `do:\n${stay}`);
    await world.workflow('middle', `do:\n  - in: ${run('inner')}\n${stay}`);
    await world.workflow('outer', `do:\n  - in: ${run('middle')}\n${stay}`);
    await world.gateway();
    const outer = await world.begin('outer');
    const [middle, inner] = [`${outer}.1.1`, `${outer}.1.1.1.1`];
    await until('all of them are there', async () => (await world.store.children(middle)).includes(inner));
    for (const id of [outer, middle, inner]) await world.reaches(id, 'waiting');
    // As the gateway does it itself.
    await world.store.command(middle, { kind: 'suspend', by: 'person-gone' } as RunCommand);
    assert.equal((await world.reaches(middle, 'suspended')).suspendedBy, 'person-gone');
    for (const [kind, status] of [
      ['suspend', 'suspended'],
      ['resume', 'waiting'],
      ['suspend', 'suspended'],
    ] as const) {
      await world.store.command(outer, { kind });
      for (const id of [outer, inner]) await world.reaches(id, status);
      assert.equal((await world.read(middle)).suspendedBy, 'person-gone');
    }
  });

  const deadly = {
    query: `do:
  - look:
      call: orchestratorQuery
      with: { adapter: Far, params: { path: x, accept: application/json } }
`,
    // A `retry` would make the action again.
    action: `do:
  - attempt:
      try:
      ${call('act').replaceAll('\n', '\n      ')}
      catch: { errors: { with: { type: 'https://serverlessworkflow.io/spec/1.0.0/errors/runtime' } }, retry: { limit: { attempt: { count: 5 } } } }
`,
  } as const;

  /** A run whose gateways die at its call three times. */
  async function deadRun(t: TestContext, tasks: string) {
    const world = await runWorld(t, store);
    await world.workflow('deadly', tasks);
    const first = await world.gateway();
    world.answer(
      (_call, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve({ kind: 'aborted' }))),
    );
    const id = await world.begin('deadly');
    await until('the call is in flight', () => world.calls.length === 1);
    first.abort();
    await first.stop();
    for (const owner of ['one', 'two', 'three']) {
      await until('the run can be claimed', async () => (await world.store.claim({ owner, limit: 1, lease: 200 })).length === 1);
    }
    await world.gateway();
    const run = await world.reaches(id, 'faulted', 'completed', 'suspended');
    assert.equal(world.calls.length, 1);
    return { run, error: (await world.tasks(id)).at(-1)?.error };
  }

  test('a task at which gateways died three times fails, and is not tried again', async (t) => {
    const { run } = await deadRun(t, deadly.query);
    assert.equal(run.status, 'faulted');
    assert.match(run.error?.detail ?? '', /^3 gateways ended/u);
  });

  test('an action at which gateways died three times has an unknown outcome, which no retry takes', async (t) => {
    const { run, error } = await deadRun(t, deadly.action);
    assert.equal(run.status, 'suspended');
    assert.match(error?.type ?? '', /outcome-unknown$/u);
    assert.match(error?.detail ?? '', /3 gateways ended/u);
  });

  test('a run that never got beyond its beginning is faulted after three deaths', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('deadly', `do:\n${call('act')}`);
    const id = await world.begin('deadly');
    for (const owner of ['one', 'two', 'three']) {
      await until('the run can be claimed', async () => (await world.store.claim({ owner, limit: 1, lease: 200 })).length === 1);
    }
    await world.gateway();
    const run = await world.reaches(id, 'faulted', 'completed');
    assert.match(run.error?.detail ?? '', /^3 gateways ended/u);
  });

  test('a run whose state cannot be read ends with an error that says so', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('broken', `do:\n${call('act')}`);
    const id = await world.begin('broken');
    const [claimed] = await world.store.claim({ owner: 'one', limit: 1, lease: 10_000 });
    assert.ok(claimed !== undefined);
    const state = { text: '{"format":1,"root":{"apart":"gone"}}', values: new Map<string, string>() };
    await world.store.save(stepOf(claimed, { state, ...released({ wakeAt: 0 }) }));
    await world.gateway();
    const run = await world.reaches(id, 'faulted', 'completed');
    assert.equal(run.error?.title, 'The state of the run cannot be read');
  });

  test('a gateway whose lease another one took over writes nothing more', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('lost', `do:\n${call('act')}${call('next')}`);
    const first = await world.gateway({
      // Long enough to begin the call on a busy machine: this gateway cannot renew it.
      lease: 3_000,
      changed: () => ({ renew: () => Promise.reject(new Error('it is stopped')) }),
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    world.answer(async () => {
      if (world.calls.length > 1) return { kind: 'ok', output: '"second"' };
      await promise;
      return { kind: 'ok', output: '"first"' };
    });
    const id = await world.begin('lost');
    await until('the call is in flight', () => world.calls.length === 1);
    await world.gateway();
    assert.equal((await world.reaches(id, 'completed')).output, '"second"');
    resolve();
    await until('the first gateway lets go', () => first.held() === 0);
    assert.equal((await world.read(id)).output, '"second"');
    assert.equal(world.calls.length, 3);
  });

  test('a call of a gateway that lost its run goes on, and its outcome decides the task that another one suspended', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('late', `do:\n${call('act')}`);
    const first = await world.gateway({
      lease: 3_000,
      changed: () => ({ renew: () => Promise.reject(new Error('it is stopped')) }),
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    let aborted = false;
    world.answer(async (_call, signal) => {
      signal.addEventListener('abort', () => (aborted = true));
      if (world.calls.length > 1) return { kind: 'unknown', detail: 'its gateway looks dead' };
      await promise;
      return { kind: 'ok', output: '"late"' };
    });
    const id = await world.begin('late');
    await until('the call is in flight', () => world.calls.length === 1);
    await world.gateway();
    assert.equal((await world.reaches(id, 'suspended')).suspendedBy, 'unknown-outcome');
    assert.equal(first.held(), 1);
    resolve();
    assert.equal((await world.reaches(id, 'completed')).output, '"late"');
    assert.equal(aborted, false);
    assert.equal(world.calls.length, 2);
    assert.equal((await world.tasks(id))[0]?.error, undefined);
  });

  test('a run that is claimed while the leases are renewed is not given up', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('one', `do:\n${call('act')}`);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const aborted: string[] = [];
    world.answer(async ({ run }, signal) => {
      signal.addEventListener('abort', () => aborted.push(run.id));
      await answered;
      return { kind: 'ok', output: '1' };
    });
    let renewals = 0;
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
    await world.gateway({
      lease: 10_000,
      changed: (own) => ({
        async renew(options) {
          const renewed = await own.renew(options);
          renewals += 1;
          await goesOn;
          return renewed;
        },
      }),
    });
    const ids = [await world.begin('one')];
    await until('the lease of the first run is renewed', () => renewals === 1);
    ids.push(await world.begin('one'));
    await until('both calls are in flight', () => world.calls.length === 2);
    goOn();
    await until('the leases of both are renewed', () => renewals === 2);
    answer();
    for (const id of ids) await world.reaches(id, 'completed');
    assert.deepEqual(aborted, []);
    assert.equal(world.calls.length, 2);
  });

  test('a gateway does not take a run from itself after its lease has ended', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('one', `do:\n${call('act')}`);
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    world.answer(async () => {
      await answered;
      return { kind: 'ok', output: '1' };
    });
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
    let looks = 0;
    await world.gateway({
      lease: 3_000,
      changed: (own) => ({
        async renew(options) {
          await goesOn;
          return await own.renew(options);
        },
        async claim(options) {
          looks += 1;
          return await own.claim(options);
        },
      }),
    });
    const id = await world.begin('one');
    await until('the call is in flight', () => world.calls.length === 1);
    await until('the lease has ended', async () => ((await world.store.nextWake()) ?? Infinity) < Date.now() - 100);
    const before = looks;
    await until('the gateway looks for runs', () => looks >= before + 2);
    goOn();
    answer();
    await world.reaches(id, 'completed');
    assert.equal(world.calls.length, 1);
  });

  test('a loop over 100 items runs in two gateways with others, and only its last state is kept', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow(
      'loop',
      `do:
  - each:
      for: { each: n, in: '\${ [range(100)] }' }
      do: [{ add: { set: { sum: '\${ (.sum // 0) + $n }' } } }]
`,
    );
    await world.gateway({ tasks: 2 });
    await world.gateway({ tasks: 2 });
    const ids = await Promise.all(Array.from({ length: 4 }, () => world.begin('loop')));
    for (const id of ids) assert.equal((await world.reaches(id, 'completed', 'faulted')).output, '{"sum":4950}');
    assert.equal((await world.store.tasks(ids[0] ?? '', { limit: 1_000 })).length, 101);
  });

  test('a call gets a placeholder of the secret, and readers get *** in its place', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow(
      'secret',
      `use: { secrets: [key] }
do:
  - act: { call: restCall, with: { uri: 'http://far.side/', verb: POST, body: { key: '\${ $secrets.key }' } } }
`,
    );
    world.answer(({ args }) => ({ kind: 'ok', output: JSON.stringify({ sent: /"key":"s[a-z0-9]{39}"/u.test(args) }) }));
    await world.gateway();
    const run = await world.reaches(await world.begin('secret'), 'completed', 'faulted');
    assert.equal(run.output, '{"sent":true}');
    const events = await world.store.events({ after: 0, limit: 100 });
    assert.doesNotMatch(JSON.stringify([run, events]), /secret-key/u);
  });

  test('a message event is of no use to a run that does not listen', async (t) => {
    const world = await runWorld(t, store);
    await world.workflow('deaf', 'do:\n  - pause: { wait: { hours: 1 } }\n');
    const engine = await world.gateway();
    const id = await world.begin('deaf');
    await until('no gateway holds it', async () => (await world.read(id)).status === 'waiting' && engine.held() === 0);
    await world.store.publish([eventNamed('x')]);
    assert.equal((await world.read(id)).status, 'waiting');
  });
});
