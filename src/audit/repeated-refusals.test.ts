import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuditFacts } from './audit-entry.ts';
import { RepeatedRefusals } from './repeated-refusals.ts';

const minute = 60_000;
const refusal: AuditFacts = {
  event: 'request',
  requestId: 'one',
  sourceAddress: '192.0.2.1',
  route: 'GET /audit',
  address: '/audit?x=***',
  status: 401,
  code: 'unauthenticated',
  outcome: 'refused',
};

function counting() {
  const state = { now: 0, isShort: false };
  const clock = { now: () => state.now, monotonic: () => state.now };
  const written: AuditFacts[] = [];
  const refusals = new RepeatedRefusals({ clock, write: (facts) => written.push(facts), isShort: () => state.isShort });
  const pass = (milliseconds: number): void => {
    state.now += milliseconds;
    refusals.recordCounts();
  };
  return { state, written, refusals, pass, total: () => written.reduce((sum, { count = 1 }) => sum + count, 0) };
}

test('the first refusal of a kind is written at once, and those of the next minute as one count', () => {
  const { written, refusals, pass } = counting();
  for (let count = 0; count < 10; count += 1) refusals.add({ ...refusal, requestId: `${count}` }, '192.0.2.1');
  refusals.add({ ...refusal, route: 'GET /whoami' }, '192.0.2.1');
  refusals.add(refusal, '192.0.2.2');
  pass(minute - 1);
  assert.equal(written.length, 3);
  pass(1);
  const { requestId: _request, address: _address, ...common } = refusal;
  assert.deepEqual(written.slice(3), [{ ...common, count: 9 }]);
  refusals.add(refusal, '192.0.2.1');
  pass(minute);
  pass(minute);
  refusals.add(refusal, '192.0.2.1');
  assert.deepEqual(
    written.slice(4).map(({ count }) => count),
    [1, undefined],
  );
});

test('refusals of any number of sources take a few records a minute, and every one is counted', () => {
  const { written, refusals, pass, total } = counting();
  let sent = 0;
  for (let minutes = 0; minutes < 60; minutes += 1) {
    for (let source = 0; source < 3_000; source += 1) {
      for (let times = 0; times < 2; times += 1) refusals.add(refusal, `${source}`);
      sent += 2;
    }
    pass(minute);
  }
  refusals.recordCounts({ all: true });
  assert.ok(written.length < 240 + 60 * 11 + 10, `${written.length} records`);
  assert.equal(total(), sent);
});

test('a source with many kinds of refusals leaves others their records', () => {
  const { written, refusals } = counting();
  for (let kind = 0; kind < 1_000; kind += 1) refusals.add({ ...refusal, route: `GET /${kind}` }, '192.0.2.1');
  assert.equal(written.length, 16);
  refusals.add(refusal, '192.0.2.2');
  assert.equal(written.length, 17);
});

test('refusals without room are counted and not written, and their number is written once there is room', () => {
  const { state, written, refusals, pass } = counting();
  refusals.add(refusal, '192.0.2.1');
  refusals.add(refusal, '192.0.2.1');
  state.isShort = true;
  refusals.add(refusal, '192.0.2.1');
  refusals.addKnown({ ...refusal, principal: 'ann' });
  pass(minute);
  refusals.recordCounts({ all: true });
  assert.equal(written.length, 1);
  assert.deepEqual(refusals.counts(), { repeated: 1, withoutRoom: 2 });
  state.isShort = false;
  pass(0);
  assert.deepEqual(
    written.slice(1).map(({ event, count }) => [event, count]),
    [
      ['dropped', undefined],
      ['request', 1],
    ],
  );
  assert.match(written[1]?.detail ?? '', /^2 refusals were counted and not stored/);
});
