import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Note, TaskNote } from '../interpreter/state/run-events.ts';
import type { NewEvent } from '../journal/run-records.ts';
import { createTimeline, maxCompleted } from './run-timeline.ts';

const workflow = { id: 'a.b', name: 'b', namespace: 'a', version: '1.0.0' };

function note(activity: number, kind: TaskNote['kind'], isPlain = true): Note {
  const place = { reference: '/do/0/a', name: 'a', attempt: 1 };
  return { of: 'task', kind, at: 1, activity, createdAt: 1, isPlain, ...place };
}

const whole = (activity: number, isPlain = true): readonly Note[] =>
  (['created', 'started', 'completed'] as const).map((kind) => note(activity, kind, isPlain));

const countOf = (rows: readonly NewEvent[]): number => rows.reduce((sum, { packed }) => sum + (packed?.count ?? 0), 0);

const full = { completed: maxCompleted, tasks: 5, events: 15 };

test('a timeline stores 20,000 completed tasks that only compute, and counts the later ones', () => {
  const timeline = createTimeline(workflow, { ...full, completed: maxCompleted - 1, tasks: 0, events: 0 });
  timeline.add([...whole(1), ...whole(2), note(3, 'skipped')]);
  const { tasks, events, counted, leftOut } = timeline.take(false);
  assert.deepEqual([tasks.map(({ activity }) => activity), countOf(events)], [[1], 3]);
  assert.deepEqual([counted, leftOut], [{ completed: maxCompleted, tasks: 2, events: 3 }, true]);
  assert.equal(timeline.take(false).leftOut, false);
});

test('tasks that call, fail or are cancelled, and all that is under way while the run waits, are stored in a full timeline too', () => {
  const timeline = createTimeline(workflow, full);
  timeline.add([
    ...whole(1, false),
    note(2, 'created'),
    note(2, 'started'),
    note(2, 'faulted'),
    note(3, 'created'),
    note(3, 'cancelled'),
  ]);
  timeline.add([{ of: 'run', kind: 'faulted', at: 1 }]);
  const first = timeline.take(false);
  assert.deepEqual(
    first.tasks.map(({ activity, status }) => [activity, status]),
    [
      [1, 'completed'],
      [2, 'faulted'],
      [3, 'cancelled'],
    ],
  );
  assert.equal(countOf(first.events), 3 + 3 + 2 + 1);
  timeline.add([note(4, 'created'), note(4, 'started')]);
  assert.deepEqual(timeline.take(false).tasks, []);
  const resting = timeline.take(true);
  assert.deepEqual([resting.tasks.map(({ status }) => status), countOf(resting.events)], [['running'], 2]);
  timeline.add([note(4, 'completed')]);
  assert.deepEqual(
    timeline.take(false).tasks.map(({ status }) => status),
    ['completed'],
    'what is stored as running is not left so',
  );
});
