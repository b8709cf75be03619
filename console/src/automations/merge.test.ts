import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedParts, putOver } from './merge.ts';

const base =
  '{"_id":"a","name":"Check","repeatInterval":"1 day","nextRunAt":"2026-03-01T05:00:00.000Z","data":{"scheduleFrom":"2026-01-01T05:00:00.000Z","workflowId":"w","description":"old","gbac":{"read":["noc"]},"input":{"limit":18446744073709551615,"devices":["ce0"],"deep":true}}}';
const theirs = base
  .replace('"old"', '"theirs"')
  .replace('"deep":true', '"deep":false,"added":1.0')
  .replace('["noc"]', '["noc","lab"]');
const mine =
  '{"name":"Check","repeatInterval":"2 days","nextRunAt":"2026-03-01T05:00:00.000Z","data":{"workflowId":"w","description":"mine","gbac":{"read":["noc"],"write":[]},"input":{"limit":18446744073709551615,"devices":["ce0","ce1"],"deep":true}}}';

test('the changes of one person go over those of another, and what only one changed stays', () => {
  const { data, ...merged } = JSON.parse(putOver({ base, theirs, mine })) as Record<string, Record<string, unknown>>;
  assert.deepEqual(merged, { _id: 'a', name: 'Check', repeatInterval: '2 days', nextRunAt: '2026-03-01T05:00:00.000Z' });
  assert.equal(data?.['description'], 'mine');
  assert.deepEqual(data?.['gbac'], { read: ['noc', 'lab'], write: [] });
  assert.match(
    putOver({ base, theirs, mine }),
    /"input":\{"limit":18446744073709551615,"devices":\["ce0","ce1"\],"deep":false,"added":1\.0\}\}\}$/u,
  );
});

test('a member that one person takes away is away, unless the other changed it', () => {
  const without = mine.replace(',"deep":true', '').replace('"limit":18446744073709551615,', '');
  assert.match(
    putOver({ base, theirs, mine: without }),
    /"input":\{"added":1\.0,"devices":\["ce0","ce1"\]\}|"input":\{"devices":\["ce0","ce1"\],"added":1\.0\}/u,
  );
  const same = putOver({ base, theirs, mine: base });
  assert.deepEqual(JSON.parse(same), {
    ...JSON.parse(theirs),
    data: { ...JSON.parse(theirs).data, gbac: { read: ['noc', 'lab'], write: [] } },
  });
});

test('the parts that one of both changed are named, and a schedule that stays is none of them', () => {
  assert.deepEqual(
    changedParts({ base, theirs, mine: mine.replace('2 days', '1 day') }).map(({ part }) => part),
    ['Description', 'Input devices', 'Input deep', 'Groups that read it', 'Input added'],
  );
});
