/* oxlint-disable unicorn/no-thenable -- a task of a workflow has the member `then` */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Box, Drawing, Line } from './graph-geometry.ts';
import { layOut } from './graph-layout.ts';
import { graphContent, shownTasks } from './graph-tasks.ts';

function drawn(document: unknown, hasStates = false): Drawing {
  return layOut(graphContent(document), { hasStates });
}

function isInside(inner: Box, outer: Box): boolean {
  return (
    inner.left >= outer.left &&
    inner.top >= outer.top &&
    inner.left + inner.width <= outer.left + outer.width &&
    inner.top + inner.height <= outer.top + outer.height
  );
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;
}

/** Whether a line passes through the box, and does not only touch its edge. */
function crosses({ points }: Line, { left, top, width, height }: Box): boolean {
  return points.slice(1).some(([x, y], at) => {
    const [fromX, fromY] = points[at] ?? [x, y];
    const [low, high] = [Math.min(x, fromX), Math.max(x, fromX)];
    const [first, last] = [Math.min(y, fromY), Math.max(y, fromY)];
    return high > left + 0.5 && low < left + width - 0.5 && last > top + 0.5 && first < top + height - 0.5;
  });
}

const solid = ({ kind }: Box): boolean => kind !== 'part';

/** What holds for each drawing: no box on another, no line through a box, all within its size. */
function judge(drawing: Drawing): void {
  const boxes = drawing.boxes.filter(solid);
  for (const [at, box] of boxes.entries()) {
    for (const other of boxes.slice(at + 1)) assert.equal(overlap(box, other), false, `${box.reference} ${other.reference}`);
    for (const line of drawing.lines)
      assert.equal(crosses(line, box), false, `${line.kind} ${JSON.stringify(line)} ${box.reference}`);
  }
  const paper: Box = { kind: 'part', reference: '', words: [], left: 0, top: 0, width: drawing.width, height: drawing.height };
  for (const box of drawing.boxes) assert.ok(isInside(box, paper), box.reference);
  for (const { points } of drawing.lines)
    for (const [x, y] of points) assert.ok(x >= 0 && y >= 0 && x <= drawing.width && y <= drawing.height, `${x},${y}`);
}

const call = {
  call: 'orchestratorAction',
  with: { adapter: 'NSO', params: { path: 'restconf/operations/x', accept: 'application/json' } },
};

function hundredTasks(): object {
  const tasks = Array.from({ length: 20 }, (_, at) => [
    { [`check${at}`]: call },
    { [`decide${at}`]: { switch: [{ good: { when: '.ok', then: `done${at}` } }, { bad: { then: `check${at}` } }] } },
    { [`each${at}`]: { for: { in: '.devices' }, do: [{ inner: call }] } },
    { [`done${at}`]: { set: { a: 1 } } },
  ]);
  return { do: tasks.flat() };
}

test('a hundred tasks are drawn in order, without a box on another or a line through one', () => {
  const drawing = drawn(hundredTasks());
  const tasks = drawing.boxes.filter(({ kind }) => kind === 'task');
  assert.equal(tasks.length, 100);
  judge(drawing);
  const outer = tasks.filter(({ reference }) => reference.split('/').length === 4);
  assert.deepEqual(
    outer.map(({ top }) => top),
    outer.map(({ top }) => top).sort((a, b) => a - b),
  );
  // Readable: a column, and not a line as long as the list.
  assert.ok(drawing.width < 500, `${drawing.width} pixels wide`);
});

const all = {
  use: { functions: { greet: { set: { text: 'hello' } } } },
  do: [
    { first: { set: { a: 1 }, if: '.a', then: 'last' } },
    {
      choose: { switch: [{ a: { when: '.a', then: 'end' } }, { b: { when: '.b', then: 'first' } }, { c: { then: 'continue' } }] },
    },
    { both: { fork: { compete: true, branches: [{ one: call }, { two: { do: [{ in: { wait: 'PT1S' } }] } }] } } },
    {
      safe: {
        try: [{ change: { ...call, timeout: { after: 'PT5S' } } }],
        catch: {
          errors: { with: { type: 'https://serverlessworkflow.io/spec/1.0.0/errors/timeout', status: 408 } },
          retry: { delay: { seconds: 5 }, backoff: { exponential: {} }, limit: { attempt: { count: 3 } } },
          do: [{ 'te/ll': { call: 'greet', then: 'exit' } }],
        },
      },
    },
    { wait: { listen: { to: { any: [{ with: { type: 'x.y' } }] } }, foreach: { do: [{ take: { set: { a: 1 } } }] } } },
    { last: { run: { workflow: { namespace: 'a', name: 'b', version: 'latest' } } } },
  ],
};

test('each kind of task is drawn with what is in it, by the reference that runs name', () => {
  const drawing = drawn(all, true);
  judge(drawing);
  assert.deepEqual(
    drawing.boxes.filter(({ kind }) => kind === 'task').map(({ reference, words }) => [reference, ...words]),
    [
      ['/do/0/first', 'a', 'only if .a'],
      ['/do/1/choose'],
      ['/do/2/both', 'the first branch that ends wins'],
      ['/do/2/both/fork/branches/0/one', 'orchestratorAction · NSO', 'restconf/operations/x'],
      ['/do/2/both/fork/branches/1/two'],
      ['/do/2/both/fork/branches/1/two/do/0/in', 'PT1S'],
      ['/do/3/safe'],
      ['/do/3/safe/try/0/change', 'orchestratorAction · NSO', 'restconf/operations/x', 'at most PT5S'],
      ['/do/3/safe/catch/do/0/te~1ll', 'greet'],
      ['/do/4/wait', 'any of x.y'],
      ['/do/4/wait/foreach/do/0/take', 'a'],
      ['/do/5/last', 'a.b latest'],
      ['/use/functions/greet', 'text'],
    ],
  );
  const handler = drawing.boxes.find(({ kind }) => kind === 'catch');
  assert.deepEqual(handler?.words, ['timeout 408', 'retry up to 3 times, after 5 seconds, exponential']);
  const count = (wanted: Line['kind']): number => drawing.lines.filter(({ kind }) => kind === wanted).length;
  // A retry, and the turn of the events with the way to it.
  assert.deepEqual([count('error'), count('again')], [1, 3]);
  // By `then`: to the last task, to the first, and to the two ends.
  assert.equal(count('jump'), 4);
  assert.deepEqual(
    drawing.boxes.filter(({ kind }) => kind === 'stop').map(({ reference, words }) => [reference, ...words]),
    [
      ['/do/1/choose', 'End'],
      ['/do/3/safe/catch/do/0/te~1ll', 'Exit'],
    ],
  );
});

test('a document that is no workflow, or is hostile, has a drawing within the limits', () => {
  for (const document of [
    undefined,
    null,
    7,
    'text',
    [],
    { do: 'x' },
    { do: [null, 1, {}, { a: null }, { b: [] }] },
    { use: [] },
  ])
    judge(drawn(document));
  const jumps = { do: Array.from({ length: shownTasks }, (_, at) => ({ [`t${at}`]: { set: {}, then: 't0' } })) };
  const begin = performance.now();
  const drawing = drawn(jumps);
  assert.equal(drawing.lines.filter(({ kind }) => kind === 'jump').length, shownTasks);
  assert.ok(performance.now() - begin < 5_000);
  const many = { do: Array.from({ length: 100_000 }, (_, at) => ({ [`t${at}`]: { set: {} } })) };
  const content = graphContent(many);
  assert.deepEqual([content.tasks.length, content.isCut], [shownTasks, true]);
  let deep: object = { set: {} };
  for (let level = 0; level < 100; level += 1) deep = { do: [{ d: deep }] };
  judge(drawn({ do: [{ deep }] }));
});

const task = fc.letrec<{ readonly task: object; readonly list: readonly object[] }>((tie) => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const then = fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'end', 'exit', 'continue'), { nil: undefined });
  const list = fc.array(
    fc.tuple(name, tie('task')).map(([key, value]) => ({ [key]: value })),
    { minLength: 1, maxLength: 5 },
  );
  return {
    list,
    task: fc.oneof(
      { maxDepth: 3 },
      fc.record({ set: fc.constant({ a: 1 }), then }),
      fc.record({ if: fc.constant('.a'), wait: fc.constant('PT1S'), then }),
      fc.record({ do: list, then }),
      fc.record({ for: fc.constant({ in: '.a' }), do: list, then }),
      fc.record({ fork: fc.record({ branches: list }), then }),
      fc.record({ try: list, catch: fc.record({ do: list, retry: fc.constant({}) }, { requiredKeys: [] }), then }),
      fc.record({
        switch: fc.array(
          then.map((way) => ({ case: { when: '.a', then: way } })),
          { minLength: 1, maxLength: 3 },
        ),
        then,
      }),
    ),
  };
});

test('random documents are drawn without a box on another or a line through one', () => {
  fc.assert(
    fc.property(task.list, fc.boolean(), (list, hasStates) => judge(drawn({ do: list }, hasStates))),
    { numRuns: 200 },
  );
});
