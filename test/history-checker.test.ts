import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Applied, type CallRecord, contradictions, type Received } from './support/histories/history-checker.ts';

// Each test plants a violation that the checker must find.

const answers = ['acknowledged 200 done', 'upstream-error 500 broken'];
const acknowledged: Received = { as: 'acknowledged', text: '200 done' };
const problem = (code: string, text?: string): Received => ({ as: 'problem', code, ...(text === undefined ? {} : { text }) });

function action(received: Received): CallRecord {
  return { id: 'h1', changes: true, attempts: 1, answers, received };
}

function query(received: Received): CallRecord {
  return { id: 'h1', changes: false, attempts: 3, answers, received };
}

/** The contradictions where the upstreams read the call `times` times. */
function found(call: CallRecord, times: number): readonly string[] {
  const applied = Array.from({ length: times }, (): Applied => ({ id: call.id, intact: true }));
  return contradictions({ calls: [call], applied });
}

const notAtAll = [
  'upstream-connect-failed',
  'upstream-dns-failed',
  'upstream-tls-failed',
  'upstream-timeout',
  'adapter-busy',
  'adapter-unavailable',
  'credentials-refused',
  'path-denied',
  'destination-denied',
  'overloaded',
].map((code) => problem(code));
const exactlyOnce = [
  acknowledged,
  problem('upstream-error', '500 broken'),
  problem('response-too-large'),
  { as: 'broken-off', status: 200 } as const,
];
const perhapsOnce = [problem('outcome-unknown'), { as: 'left', asked: true } as const];

describe('an action', () => {
  for (const [allowed, list] of [
    [[0], [...notAtAll, { as: 'left', asked: false } as const]],
    [[1], exactlyOnce],
    [[0, 1], perhapsOnce],
  ] as const) {
    for (const received of list) {
      test(`with ${JSON.stringify(received)} may have been applied ${allowed.join(' or ')} times, and no other number`, () => {
        for (const times of [0, 1, 2, 3]) {
          const expected = (allowed as readonly number[]).includes(times) ? 0 : 1;
          assert.equal(found(action(received), times).length, expected, `${times} times`);
        }
      });
    }
  }

  for (const code of ['upstream-closed', 'upstream-protocol-error', 'internal-error', 'invalid-request', 'no-such-code']) {
    test(`with ${code} is a contradiction`, () => {
      assert.equal(found(action(problem(code)), 0).length, 1);
      assert.equal(found(action(problem(code)), 2).length, 2);
    });
  }
});

describe('a query', () => {
  test('may be read three times at most, with any result', () => {
    for (const received of [
      acknowledged,
      problem('upstream-error', '500 broken'),
      problem('upstream-closed'),
      ...perhapsOnce.slice(1),
    ]) {
      assert.deepEqual(found(query(received), 3), []);
      assert.equal(found(query(received), 4).length, 1);
    }
  });

  test('with an answer must have been read', () => {
    for (const received of exactlyOnce.filter((one) => one !== exactlyOnce[2])) assert.equal(found(query(received), 0).length, 1);
    assert.deepEqual(found(query(problem('upstream-connect-failed')), 0), []);
  });

  test('that was refused before its first attempt may not have been read', () => {
    assert.equal(found(query(problem('path-denied')), 1).length, 1);
    assert.equal(found(query(problem('adapter-busy')), 1).length, 1);
  });

  test('with outcome-unknown, internal-error or an unknown code is a contradiction', () => {
    for (const code of ['outcome-unknown', 'internal-error', 'no-such-code']) {
      assert.equal(found(query(problem(code)), 1).length, 1);
    }
  });
});

describe('any call', () => {
  for (const [name, make] of [
    ['an action', action],
    ['a query', query],
  ] as const) {
    test(`as ${name} without a reply, or with an error that broke off, is a contradiction`, () => {
      assert.match(found(make({ as: 'silent' }), 1).join(), /hangs/);
      assert.match(found(make({ as: 'no-reply' }), 1).join(), /without a reply/);
      assert.match(found(make({ as: 'broken-off', status: 502 }), 1).join(), /502 broke off/);
    });

    test(`as ${name} with an answer that no upstream gave is a contradiction`, () => {
      assert.match(found(make({ as: 'acknowledged', text: '200 other' }), 1).join(), /no upstream answered so/);
      assert.match(found(make({ as: 'acknowledged', text: '500 broken' }), 1).join(), /no upstream answered so/);
      assert.match(found(make(problem('upstream-error', '200 done')), 1).join(), /no upstream answered so/);
      assert.match(found(make(problem('upstream-error')), 1).join(), /no upstream answered so/);
    });

    test(`as ${name} with other bytes at the upstream is a contradiction`, () => {
      const applied = [{ id: 'h1', intact: false }];
      assert.match(contradictions({ calls: [make(acknowledged)], applied }).join(), /other bytes/);
    });
  }

  test('that no caller made and an upstream read is a contradiction', () => {
    assert.match(contradictions({ calls: [], applied: [{ id: 'h9', intact: true }] }).join(), /no caller asked/);
  });

  test('must be read itself: two readings of another call do not count', () => {
    const calls = [action(acknowledged), { ...action(acknowledged), id: 'h2' }];
    const applied = [
      { id: 'h1', intact: true },
      { id: 'h1', intact: true },
    ];
    assert.equal(contradictions({ calls, applied }).length, 2);
    assert.deepEqual(contradictions({ calls, applied: calls.map(({ id }) => ({ id, intact: true })) }), []);
  });

  test('with the id of another call is reported', () => {
    assert.match(contradictions({ calls: [query(acknowledged), query(acknowledged)], applied: [] }).join(), /one id/);
  });
});
