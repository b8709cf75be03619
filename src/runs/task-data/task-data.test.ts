import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTimeline } from '../engine/run-timeline.ts';
import { JsonValue } from '../interpreter/state/json-value.ts';
import type { TaskNote } from '../interpreter/state/run-events.ts';
import type { TaskRecord } from '../journal/run-records.ts';
import { createDataMask } from './data-mask.ts';
import { createTaskDataKeeper, readPart } from './task-data.ts';

const workflow = { id: 'lab.a', name: 'a', namespace: 'lab', version: '1.0.0' };

function note(activity: number, kind: TaskNote['kind'], parts: Partial<TaskNote> = {}): TaskNote {
  const data = { input: new JsonValue('{"a":1}') };
  const task = { activity, createdAt: 1, reference: '/do/0/a', name: 'a', isPlain: true, attempt: 1 };
  return { of: 'task', kind, at: 1, ...task, data, ...parts };
}

function keeperOf(options: Partial<Parameters<typeof createTaskDataKeeper>[0]> = {}) {
  const reached: string[] = [];
  const limitReached = (limit: string): void => void reached.push(limit);
  return {
    reached,
    keeper: createTaskDataKeeper({ keeps: () => true, shown: (text) => text, limitReached, bytes: 0, ...options }),
  };
}

const row = ({ activity }: TaskNote): TaskRecord => ({ activity }) as TaskRecord;

test('a part is written once, and a later write has what has changed alone', () => {
  const { keeper } = keeperOf();
  const input = { input: new JsonValue('{"a":1}') };
  const begun = note(1, 'started', { data: input });
  keeper.note(begun);
  keeper.called(1, new JsonValue('{"with":1}'));
  assert.deepEqual(keeper.take([row(begun)]).data, [{ activity: 1, input: '{"a":1}', arguments: '{"with":1}' }]);
  keeper.note(note(1, 'completed', { data: input, output: new JsonValue('2') }));
  assert.deepEqual(keeper.take([row(begun)]).data, [{ activity: 1, output: '2' }]);
  assert.equal(keeper.bytes, 7 + 10 + 1);
});

test('beyond 64 MiB of a run the rows have no data and say so, also at the next holder', () => {
  const before = 64 * 1024 ** 2 - 100;
  const { keeper, reached } = keeperOf({ bytes: before });
  const long = note(1, 'completed', { output: new JsonValue(`"${'x'.repeat(200)}"`) });
  const short = note(2, 'completed');
  keeper.note(long);
  keeper.note(short);
  const { tasks, data } = keeper.take([row(long), row(short)]);
  assert.deepEqual([tasks.map(({ noData }) => noData), data, reached.length], [['limit', 'limit'], [], 2]);
  const next = keeperOf({ bytes: keeper.bytes }).keeper;
  next.note(short);
  assert.deepEqual(next.take([row(short)]).tasks[0]?.noData, 'limit');
});

test('arguments of a task whose data is not kept are dropped, before and after a takeover', () => {
  const { keeper } = keeperOf();
  const begun = note(1, 'started');
  const { data: _, ...secret } = begun;
  keeper.called(1, new JsonValue('{"with":1}'));
  const more = keeper.note(secret);
  assert.deepEqual([more, keeper.take([{ ...row(begun), ...more }]).data], [{ noData: 'off' }, []]);
  keeper.called(1, new JsonValue('{"with":1}'));
  assert.deepEqual(keeper.take([{ ...row(begun), noData: 'off' }]).data, []);
});

test('of 25,000 tasks that compute, those that the timeline leaves out leave no data', () => {
  const { keeper } = keeperOf();
  const timeline = createTimeline(workflow, undefined, keeper);
  let [tasks, parts] = [0, 0];
  for (let activity = 1; activity <= 25_000; activity += 1) {
    timeline.add([note(activity, 'created'), note(activity, 'started')]);
    timeline.add([note(activity, 'completed', { output: new JsonValue('1') })]);
    if (activity % 500 !== 0) continue;
    const taken = timeline.take(false);
    tasks += taken.tasks.length;
    parts += taken.data.length;
  }
  assert.deepEqual([tasks, parts, timeline.take(true).tasks.length], [20_000, 20_000, 0]);
});

test('a label is cut after 80 characters, and is masked', () => {
  const shown = createDataMask({ hide: (text) => text, passwords: { fields: ['pin'], values: ['correct-horse'] } });
  const { keeper } = keeperOf({ shown });
  const label = (text: string) =>
    keeper.note(note(1, 'started', { data: { input: new JsonValue('1'), label: () => text } })).label;
  assert.equal(label(JSON.stringify('💡'.repeat(100))), '💡'.repeat(80));
  assert.equal(label('"r7 correct-horse"'), 'r7 ***');
  assert.equal(label('{"pin":1,"b":2}'), '{"pin":"***","b":2}');
  assert.equal(label('17'), '17');
});

test('a mask finds names of credentials in any case, with a prefix and with escapes, and leaves all else as it is written', () => {
  const mask = createDataMask({ hide: (text) => text, passwords: { fields: [], values: [] } });
  assert.equal(mask('{"Authorization": "x", "n": 1.50}'), '{"Authorization": "***", "n": 1.50}');
  assert.equal(mask('[{"ncs:password":{"deep":[1]}}]'), '[{"ncs:password":"***"}]');
  assert.equal(mask('{"pass\\u0077ord":"x"}'), '{"pass\\u0077ord":"***"}');
  assert.equal(mask('{"passwords":"x"}'), '{"passwords":"x"}');
});

test('a cut part says so, and one that fits does not', () => {
  const { keeper } = keeperOf();
  const long = note(1, 'completed', { output: new JsonValue(`"${'€'.repeat(30_000)}"`) });
  keeper.note(long);
  const [data] = keeper.take([row(long)]).data;
  const { text, isCut } = readPart(data?.output ?? '');
  assert.deepEqual([isCut, text.length, Buffer.byteLength(text)], [true, 1 + 21_845, 1 + 3 * 21_845]);
  assert.deepEqual(readPart(data?.input ?? ''), { text: '{"a":1}', isCut: false });
});
