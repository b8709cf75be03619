import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Consumption, EventFilter } from '#workflows/workflow.ts';
import { failure, ok, performed, start, TestRun } from './run-harness.test-support.ts';
import type { RunEvent } from './state/run-events.ts';
import { call, constant, fork, jq, listen, raise, set, wait, workflowOf } from './workflow-builders.test-support.ts';

const filter = (matches: string, correlate: EventFilter['correlate'] = []): EventFilter => ({ matches: jq(matches), correlate });
const type = (name: string, correlate: EventFilter['correlate'] = []): EventFilter => filter(`.type == "${name}"`, correlate);
const one = (only: EventFilter): Consumption => ({ kind: 'one', filter: only });
const event = (name: string, data: unknown, more: object = {}) => ({
  specversion: '1.0',
  id: `${name}-1`,
  source: 's',
  type: name,
  data,
  ...more,
});

test('a listen for one event gives an array with its data', () => {
  const run = performed(workflowOf([listen('hear', one(type('b')))]), {
    events: [event('a', 1), event('b', { n: 2 }), event('b', 3)],
  });
  assert.deepEqual(run.output, [{ n: 2 }]);
});

test('a listen asks for the events of the last five minutes, and for none from before the run', () => {
  const sinceAfter = (iso: string) => {
    const run = performed(workflowOf([wait('first', { iso }), listen('hear', one(type('b')))]), { events: [] });
    assert.equal(run.state.status, 'waiting');
    const [effect] = run.effects;
    return effect?.kind === 'listen' && effect.since - start;
  };
  assert.equal(sinceAfter('PT1M'), 0);
  assert.equal(sinceAfter('PT20M'), 900_000);
});

test('an event is read as data, envelope or raw', () => {
  const events = [event('b', { n: 18 }, { subject: 'x' })];
  const read = (how: 'data' | 'envelope' | 'raw') =>
    performed(workflowOf([listen('hear', one(type('b')), { read: how })]), { events }).output;
  assert.deepEqual(read('data'), [{ n: 18 }]);
  assert.deepEqual(read('envelope'), events);
  assert.deepEqual(read('raw'), ['{"n":18}']);
});

test('a filter that fails on an event does not match it', () => {
  const run = performed(workflowOf([listen('hear', one(filter('.data.n > 1 and (.data.n | error)')))]), {
    events: [event('a', { n: 2 })],
  });
  assert.equal(run.state.status, 'waiting');
});

test('a listen for all events takes one for each filter', () => {
  const all: Consumption = { kind: 'all', filters: [type('a'), type('b'), type('a')] };
  const events = [event('b', 1), event('b', 2), event('a', 3), event('a', 4), event('a', 5)];
  assert.deepEqual(performed(workflowOf([listen('hear', all)]), { events, crashes: true }).output, [1, 3, 4]);
});

test('a listen for any event takes the first of each filter, and without filters the first of all', () => {
  const events = [event('x', 0), event('b', 1)];
  assert.deepEqual(
    performed(workflowOf([listen('hear', { kind: 'any', filters: [type('a'), type('b')] })]), { events }).output,
    [1],
  );
  assert.deepEqual(performed(workflowOf([listen('hear', { kind: 'any', filters: [] })]), { events }).output, [0]);
});

test('until as a condition sees the events so far', () => {
  const to: Consumption = { kind: 'any', filters: [], until: jq('length == $input.n') };
  const run = performed(workflowOf([listen('hear', to)]), {
    input: { n: 3 },
    events: [1, 2, 3, 4].map((n) => event('a', n)),
    crashes: true,
  });
  assert.deepEqual(run.output, [1, 2, 3]);
});

test('the event that ends a listen is not among its events', () => {
  const to: Consumption = { kind: 'any', filters: [], until: { kind: 'all', filters: [type('stop'), type('halt')] } };
  const names = ['a', 'halt', 'b', 'halt', 'stop', 'c'];
  const run = performed(workflowOf([listen('hear', to, { read: 'envelope', output: { as: jq('map(.type)') } })]), {
    events: names.map((name) => event(name, 0)),
  });
  assert.deepEqual(run.output, ['a', 'b', 'halt']);
});

test('a correlation links events by the first value that it finds, or by what it expects', () => {
  const byOrder = (expect?: string) => [
    { name: 'order', from: jq('.data.order'), ...(expect === undefined ? {} : { expect: jq(expect) }) },
  ];
  const all: Consumption = { kind: 'all', filters: [type('a', byOrder()), type('b', byOrder())] };
  const events = [event('b', {}), event('a', { order: 7 }), event('b', { order: 8 }), event('b', { order: 7, last: true })];
  const run = performed(workflowOf([listen('hear', all)]), { events, crashes: true });
  assert.deepEqual(run.output, [{ order: 7 }, { order: 7, last: true }]);
  const notes = run.notes.flatMap((note) =>
    note.of === 'correlation' ? [[note.kind, ...note.keys.map(({ name, value }) => name + value.text)]] : [],
  );
  assert.deepEqual(notes, [['started'], ['completed', 'order7']]);
  const expected = performed(workflowOf([listen('hear', one(type('b', byOrder('.want'))))]), { input: { want: 8 }, events });
  assert.deepEqual(expected.output, [{ order: 8 }]);
});

test('foreach performs its tasks for one event after the other, and keeps those that come meanwhile', () => {
  const to: Consumption = { kind: 'any', filters: [], until: jq('length == 3') };
  const foreach = {
    item: 'e',
    tasks: [call('tell', { with: jq('{ e: $e, at: $index }') })],
    output: { as: jq('[.sent, $context.count]') },
    export: { as: jq('{ count: (($context.count // 0) + 1) }') },
  };
  const sent: unknown[] = [];
  const run = performed(workflowOf([listen('hear', to, { foreach })]), {
    events: [1, 2, 3, 4].map((n) => event('a', n)),
    crashes: true,
    calls: (_effect, args) => {
      sent.push(args);
      return { kind: 'ok', output: JSON.stringify({ sent: (args as { readonly e: number }).e }) };
    },
  });
  assert.deepEqual(sent, [
    { e: 1, at: 0 },
    { e: 2, at: 1 },
    { e: 3, at: 2 },
  ]);
  assert.deepEqual(run.output, [
    [1, null],
    [2, 1],
    [3, 2],
  ]);
  const toStop: Consumption = { ...to, until: { kind: 'one', filter: type('stop') } };
  const held = performed(workflowOf([listen('hear', toStop, { foreach })]), {
    events: [event('a', 1), event('a', 2)],
    calls: () => undefined,
  });
  assert.deepEqual(held.effects.map(({ kind }) => kind).toSorted(), ['call', 'listen']);
});

test('an event after the one with which a condition ends a listen is for the next listen, also where foreach is slow', () => {
  const to: Consumption = { kind: 'any', filters: [], until: jq('length == 1') };
  const slow = listen('slow', to, { foreach: { item: 'e', tasks: [call('act', { with: jq('$e') })] } });
  const run = performed(workflowOf([slow, listen('next', one(type('a')))]), {
    events: [event('a', 1), event('a', 2)],
    crashes: true,
    // The effect that began last ends first.
    order: [1],
  });
  assert.deepEqual(run.output, [2]);
});

test('a fault in foreach faults the listen', () => {
  const foreach = { tasks: [raise('bad', constant({ type: 'urn:x', status: 400 }))] };
  const run = performed(workflowOf([listen('hear', { kind: 'any', filters: [] }, { foreach })]), { events: [event('a', 1)] });
  assert.equal(run.error?.type, 'urn:x');
  assert.deepEqual(run.timeline.slice(-3), ['faulted bad', 'faulted foreach', 'faulted hear']);
});

test('no two listens of a run get one event, also at the same time', () => {
  const hear = (name: string) => listen(name, one(type('vote')));
  const votes = ['a', 'b', 'c'].map((data) => event('vote', data));
  const inTurn = performed(workflowOf([hear('first'), set('kept', jq('.[0]'), { export: { as: jq('.') } }), hear('second')]), {
    events: votes,
  });
  assert.deepEqual(inTurn.output, ['b']);
  const waiting = performed(workflowOf([hear('first'), hear('second')]), { events: votes.slice(0, 1), crashes: true });
  assert.equal(waiting.state.status, 'waiting');
  const atOnce = performed(workflowOf([fork('both', [hear('a'), hear('b'), hear('c')])]), { events: votes, crashes: true });
  assert.deepEqual((atOnce.output as readonly string[][]).flat().toSorted(), ['a', 'b', 'c']);
});

test('a suspended run begins nothing new, and goes on where it was', () => {
  const workflow = workflowOf([call('a'), set('b', jq('{ got: . }'))]);
  const run = new TestRun(workflow, { crashes: true });
  run.send({ kind: 'timePassed', at: start });
  run.send({ kind: 'suspend', at: start });
  assert.equal(run.state.status, 'suspended');
  assert.deepEqual(
    run.effects.map(({ kind }) => kind),
    ['call'],
    'what began goes on',
  );
  run.go();
  assert.deepEqual(run.effects, []);
  assert.equal(run.state.status, 'suspended');
  assert.equal(run.timeline.at(-1), 'completed a');
  run.send({ kind: 'resume', at: start + 60_000 });
  assert.deepEqual(run.go().output, { got: { ok: true } });
  assert.deepEqual(run.runNotes, ['started', 'suspended', 'resumed', 'completed']);
  assert.deepEqual(
    run.timeline.filter((note) => /suspended|resumed/u.test(note)),
    ['suspended a'],
  );
});

test('a suspended run whose last task ends stays suspended, and ends once it is resumed', () => {
  for (const [answer, expected] of [
    [ok('last'), ['completed', 'last', undefined]],
    [failure(503), ['faulted', undefined, 503]],
  ] as const) {
    const run = new TestRun(workflowOf([call('a')]), { crashes: true, calls: () => answer });
    run.send({ kind: 'timePassed', at: start });
    run.send({ kind: 'suspend', at: start });
    run.go();
    assert.deepEqual([run.state.status, run.effects, run.runNotes], ['suspended', [], ['started', 'suspended']]);
    run.send({ kind: 'resume', at: start + 60_000 });
    assert.deepEqual([run.state.status, run.output, run.error?.status], expected);
    assert.deepEqual(run.runNotes, ['started', 'suspended', 'resumed', expected[0]]);
  }
});

test('a suspended run whose last task has ended can be cancelled', () => {
  const run = new TestRun(workflowOf([call('a')]), { crashes: true });
  run.send({ kind: 'timePassed', at: start });
  run.send({ kind: 'suspend', at: start });
  run.go();
  run.send({ kind: 'cancel', at: start });
  assert.equal(run.state.status, 'cancelled');
});

test('a run that its parent suspended is resumed with the parent, and one that is held for a reason of its own is not', () => {
  const statusAfter = (...events: readonly RunEvent[]) => {
    const run = new TestRun(workflowOf([wait('a', { iso: 'PT1H' })]), { crashes: true });
    run.send({ kind: 'timePassed', at: start });
    for (const event of events) run.send(event);
    return run.state.status;
  };
  const inherited = { at: start, inherited: true } as const;
  const suspend = { kind: 'suspend', at: start } as const;
  const [suspendParent, resumeParent] = [{ kind: 'suspend', ...inherited } as const, { kind: 'resume', ...inherited } as const];
  assert.equal(statusAfter(suspendParent), 'suspended');
  assert.equal(statusAfter(suspendParent, resumeParent), 'waiting');
  assert.equal(statusAfter(suspendParent, { kind: 'resume', at: start }), 'waiting');
  assert.equal(statusAfter(suspend, suspendParent, resumeParent), 'suspended');
  assert.equal(statusAfter(suspendParent, suspend, resumeParent), 'suspended');
  assert.equal(statusAfter({ ...suspend, by: 'person-gone' }, suspendParent, resumeParent), 'suspended');
});

test('a run that the gateway holds notes that its parent is suspended, until people suspend it themselves', () => {
  const passesAfter = (...events: readonly RunEvent[]) => {
    const run = new TestRun(workflowOf([wait('a', { iso: 'PT1H' })]), { crashes: true });
    run.send({ kind: 'timePassed', at: start });
    for (const event of events) run.send(event);
    return run.state.suspension?.passes === true;
  };
  const held = { kind: 'suspend', at: start, by: 'delegation-lost' } as const;
  const suspend = { kind: 'suspend', at: start } as const;
  const suspendParent = { ...suspend, inherited: true } as const;
  assert.equal(passesAfter(held, suspendParent), true);
  assert.equal(passesAfter(held, suspendParent, { kind: 'resume', at: start, inherited: true }), false);
  assert.equal(passesAfter(held, suspendParent, suspend), false);
  assert.equal(passesAfter(suspend, suspendParent), false);
});

test('a run whose call is held says why it is suspended, and makes the call under the same attempt once it is resumed', () => {
  const run = new TestRun(workflowOf([call('a')]), { crashes: true });
  run.send({ kind: 'timePassed', at: start });
  const callOf = () => run.effects.find((effect) => effect.kind === 'call');
  const before = callOf();
  assert.ok(before?.kind === 'call');
  run.send({ kind: 'held', at: start, key: before.key, by: 'person-gone' });
  assert.deepEqual([run.state.status, run.state.suspension?.by, run.effects], ['suspended', 'person-gone', []]);
  const [suspension] = run.notes.filter((note) => note.of === 'run' && note.kind === 'suspended');
  assert.ok(suspension?.of === 'run' && suspension.suspendedBy === 'person-gone');
  run.send({ kind: 'resume', at: start });
  const after = callOf();
  assert.deepEqual([after?.kind === 'call' && after.attempt, after?.key === before.key], [before.attempt, false]);
  assert.equal(run.go().state.status, 'completed');
});

test('the clock of a suspended run is stopped', () => {
  const workflow = workflowOf([wait('a', { iso: 'PT1H' })], { timeout: { iso: 'PT2H' } });
  const run = new TestRun(workflow);
  run.send({ kind: 'timePassed', at: start });
  run.send({ kind: 'suspend', at: start + 1_800_000 });
  assert.equal(run.effects.length, 0);
  run.send({ kind: 'resume', at: start + 90_000_000 });
  assert.deepEqual(
    run.effects.map((effect) => (effect.kind === 'timer' ? effect.at - start : effect.kind)),
    [91_800_000],
  );
  assert.equal(run.go().state.status, 'completed');
});

test('a run can be suspended before it starts', () => {
  const run = new TestRun(workflowOf([set('a', constant(1))]));
  run.send({ kind: 'suspend', at: start });
  assert.deepEqual(run.effects, []);
  run.send({ kind: 'timePassed', at: start + 1 });
  run.send({ kind: 'resume', at: start + 2 });
  assert.equal(run.state.status, 'pending');
  assert.equal(run.go().output, 1);
});

test('a wait counts months of the calendar', () => {
  const run = performed(workflowOf([wait('a', { iso: 'P1M' })]));
  assert.equal(new Date(run.now).toISOString(), '2026-02-28T12:00:00.000Z');
  const wrong = performed(workflowOf([wait('a', { expression: jq('"-PT1S"') })]));
  assert.match(wrong.error?.detail ?? '', /-PT1S is no ISO 8601 duration/u);
});
