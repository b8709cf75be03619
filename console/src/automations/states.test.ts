import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AutomationState, differencesOf, putBackText } from './states.ts';

const now = Date.parse('2026-03-10T12:00:00Z');
const state = (text: string): AutomationState => ({ text, document: JSON.parse(text) as AutomationState['document'] });
const daily = state(
  '{"_id":"a","name":"Check","repeatInterval":"1 day","nextRunAt":"2026-03-01T05:00:00.000Z","lastModifiedBy":"ann","data":{"scheduleFrom":"2026-01-01T05:00:00.000Z","lastUpdated":"2026-03-01T00:00:00.000Z","owner":"ann","workflowId":"w","input":{"limit":18446744073709551615,"devices":["ce0","ce1"]}}}',
);

test('two states differ in the parts that people see, and a number keeps its digits', () => {
  const changed = state(
    '{"_id":"a","name":"Check","data":{"cron":"30 2 * * *","workflowId":"w","input":{"limit":7,"devices":["ce0"],"deep":"7"}}}',
  );
  assert.deepEqual(differencesOf(daily, changed), [
    { part: 'Input limit', before: '18446744073709551615', after: '7' },
    { part: 'Input devices', before: 'ce0, ce1', after: 'ce0' },
    { part: 'Input deep', before: undefined, after: '7' },
    { part: 'Schedule', before: 'every day', after: 'every day at 02:30, UTC (paused)' },
    {
      part: 'First at',
      before: differencesOf(undefined, daily).find(({ part }) => part === 'First at')?.after,
      after: undefined,
    },
  ]);
  assert.deepEqual(differencesOf(daily, daily), []);
});

test('a text and a number of the same digits are shown as what they are', () => {
  const of = (value: string): AutomationState => state(`{"_id":"a","name":"x","data":{"input":{"n":${value}}}}`);
  assert.deepEqual(differencesOf(of('7'), of('"7"')), [{ part: 'Input n', before: '7', after: '"7"' }]);
});

test('a state that is put back keeps the next time of now where its rule did not change', () => {
  const current = {
    ...daily.document,
    name: 'Renamed',
    nextRunAt: '2026-03-11T05:00:00.000Z',
    lastRunAt: '2026-03-10T05:00:00.000Z',
  };
  const text = putBackText(daily, current, [], now);
  assert.deepEqual(JSON.parse(text.replace('18446744073709551615', '1')), {
    name: 'Check',
    repeatInterval: '1 day',
    nextRunAt: '2026-03-11T05:00:00.000Z',
    lastRunAt: '2026-03-10T05:00:00.000Z',
    data: { workflowId: 'w', input: { limit: 1, devices: ['ce0', 'ce1'] } },
  });
  assert.match(text, /"limit":18446744073709551615/u);
});

test('a state that is put back is due at no time of the past', () => {
  const current = { ...daily.document, repeatInterval: '2 hours' };
  const next = ['2026-03-01T05:00:00.000Z', '2026-03-11T05:00:00.000Z', '2026-03-12T05:00:00.000Z'];
  assert.match(putBackText(daily, current, next, now), /"nextRunAt":"2026-03-11T05:00:00.000Z"/u);
  const once = state('{"_id":"a","name":"Check","nextRunAt":"2026-03-01T05:00:00.000Z"}');
  assert.doesNotMatch(putBackText(once, daily.document, ['2026-03-01T05:00:00.000Z'], now), /nextRunAt/u);
});

test('a pause stays a pause when a state of the same rule comes back', () => {
  const { nextRunAt: _next, ...paused } = daily.document;
  assert.doesNotMatch(putBackText(daily, paused, [], now), /nextRunAt/u);
});
