import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunTask } from '#client/gateway.ts';
import { graphStatesOf, hasText, isInTrouble, onlyWanted, type TaskNode, treeOf, turnCounts, turnStatus } from './task-tree.ts';

let count = 0;
const task = (reference: string, more: Partial<RunTask> = {}): RunTask => {
  count += 1;
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return { id: `${count}`, reference, name, attempt: 1, status: 'completed', begin: '2026-03-01T22:00:00.000Z', ...more };
};
const names = (nodes: readonly TaskNode[]): unknown =>
  nodes.map(({ task: { name }, parts, turns }) => {
    if (turns.length > 0) return [name, turns.map(({ number, label, nodes: inside }) => [number, label, names(inside)])];
    return parts.length > 0 ? [name, names(parts)] : name;
  });

test('the tree has tasks below the task that they are in, and the turns of a loop with their labels', () => {
  const tree = treeOf([
    task('/do/0/first'),
    task('/do/1/each'),
    task('/do/1/each/do/0/check', { iteration: 0, label: 'ce0' }),
    task('/do/1/each/do/1/fix', { iteration: 0, label: 'ce0' }),
    task('/do/1/each/do/0/check', { iteration: 1, label: 'ce1' }),
    task('/do/2/guarded'),
    task('/do/2/guarded/try/0/act'),
    task('/do/2/guarded/catch/do/0/undo'),
  ]);
  assert.deepEqual(names(tree), [
    'first',
    [
      'each',
      [
        [0, 'ce0', ['check', 'fix']],
        [1, 'ce1', ['check']],
      ],
    ],
    ['guarded', ['act', 'undo']],
  ]);
});

test('a group of tasks in a turn is no loop, and a loop in a turn is one', () => {
  const tree = treeOf([
    task('/do/0/each'),
    task('/do/0/each/do/0/group', { iteration: 3 }),
    task('/do/0/each/do/0/group/do/0/a', { iteration: 3 }),
    task('/do/0/each/do/1/inner', { iteration: 3 }),
    task('/do/0/each/do/1/inner/do/0/b', { iteration: 0 }),
    task('/do/0/each/do/1/inner/do/0/b', { iteration: 1 }),
  ]);
  const inner = [
    'inner',
    [
      [0, undefined, ['b']],
      [1, undefined, ['b']],
    ],
  ];
  assert.deepEqual(names(tree), [['each', [[3, undefined, [['group', ['a']], inner]]]]]);
});

test('a filter keeps what fits, with what is around it', () => {
  const tree = treeOf([
    task('/do/0/each'),
    task('/do/0/each/do/0/check', { iteration: 0, label: 'ce0' }),
    task('/do/0/each/do/0/check', { iteration: 1, label: 'ce1', status: 'faulted' }),
    task('/do/1/last'),
  ]);
  assert.deepEqual(names(onlyWanted(tree, isInTrouble)), [['each', [[1, 'ce1', ['check']]]]]);
  assert.deepEqual(names(onlyWanted(tree, (one) => hasText(one, 'CE0'))), [['each', [[0, 'ce0', ['check']]]]]);
  assert.deepEqual(
    onlyWanted(tree, (one) => hasText(one, 'nothing')),
    [],
  );
});

test('a turn whose failed attempt was repeated successfully is completed', () => {
  const [node] = treeOf([
    task('/do/0/each'),
    task('/do/0/each/do/0/a', { iteration: 0, status: 'faulted' }),
    task('/do/0/each/do/0/a', { iteration: 0, attempt: 2 }),
    task('/do/0/each/do/0/a', { iteration: 1, status: 'running' }),
  ]);
  const turns = node?.turns ?? [];
  assert.deepEqual(turns.map(turnStatus), ['completed', 'running']);
  assert.equal(turnCounts(turns), '1 running, 1 completed');
});

test('twenty thousand tasks of a loop are its turns', () => {
  const turns = Array.from({ length: 20_000 }, (_, at) => task('/do/0/each/do/0/check', { iteration: at }));
  const [node] = treeOf([task('/do/0/each'), ...turns]);
  assert.equal(node?.turns.length, 20_000);
  assert.equal(turnCounts(node.turns), '20000 completed');
});

test('a graph has the most urgent state of the turns of a task, of each the last attempt', () => {
  const items = { parallel: 2, total: 5, completed: 3, failed: 0, unknown: 0, cancelled: 0, notStarted: 0 };
  const states = graphStatesOf([
    task('/do/0/each', { status: 'running' }),
    task('/do/0/each/do/0/a', { iteration: 0, status: 'faulted' }),
    task('/do/0/each/do/0/a', { iteration: 0, attempt: 2 }),
    task('/do/0/each/do/0/a', { iteration: 1, status: 'running' }),
    task('/do/1/all', { status: 'running', items }),
  ]);
  assert.deepEqual(
    [...states],
    [
      ['/do/0/each', { status: 'running' }],
      ['/do/0/each/do/0/a', { status: 'running', label: '1 of 2' }],
      ['/do/1/all', { status: 'running', label: '3 of 5' }],
    ],
  );
});
