import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Applied, type CallRecord, contradictions, type Told } from './support/histories/history-checker.ts';

// A checker that cannot fail would hold everything to be well: each violation is planted here.

const answers = ['acknowledged 200 done', 'upstream-error 500 broken'];
const acknowledged: Told = { as: 'acknowledged', text: '200 done' };
const problem = (code: string, text?: string): Told => ({ as: 'problem', code, ...(text === undefined ? {} : { text }) });

function action(told: Told): CallRecord {
  return { id: 'h1', changes: true, attempts: 1, answers, told };
}

function query(told: Told): CallRecord {
  return { id: 'h1', changes: false, attempts: 3, answers, told };
}

/** The call, read so many times by the far sides. */
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

describe('of a call that changes something', () => {
  for (const [allowed, list] of [
    [[0], [...notAtAll, { as: 'left', asked: false } as const]],
    [[1], exactlyOnce],
    [[0, 1], perhapsOnce],
  ] as const) {
    for (const told of list) {
      test(`${JSON.stringify(told)} allows that it was applied ${allowed.join(' or ')} times, and nothing else`, () => {
        for (const times of [0, 1, 2, 3]) {
          const expected = (allowed as readonly number[]).includes(times) ? 0 : 1;
          assert.equal(found(action(told), times).length, expected, `${times} times`);
        }
      });
    }
  }

  for (const code of ['upstream-closed', 'upstream-protocol-error', 'internal-error', 'invalid-request', 'no-such-code']) {
    test(`${code} may not be told`, () => {
      assert.equal(found(action(problem(code)), 0).length, 1);
      assert.equal(found(action(problem(code)), 2).length, 2);
    });
  }
});

describe('of a query', () => {
  test('three readings are the most, whatever was told', () => {
    for (const told of [
      acknowledged,
      problem('upstream-error', '500 broken'),
      problem('upstream-closed'),
      ...perhapsOnce.slice(1),
    ]) {
      assert.deepEqual(found(query(told), 3), []);
      assert.equal(found(query(told), 4).length, 1);
    }
  });

  test('an answer needs a reading', () => {
    for (const told of exactlyOnce.filter((one) => one !== exactlyOnce[2])) assert.equal(found(query(told), 0).length, 1);
    assert.deepEqual(found(query(problem('upstream-connect-failed')), 0), []);
  });

  test('a refusal before anything is tried allows none', () => {
    assert.equal(found(query(problem('path-denied')), 1).length, 1);
    assert.equal(found(query(problem('adapter-busy')), 1).length, 1);
  });

  test('its outcome is never unknown, and no error is the gateway’s own', () => {
    for (const code of ['outcome-unknown', 'internal-error', 'no-such-code']) {
      assert.equal(found(query(problem(code)), 1).length, 1);
    }
  });
});

describe('of any call', () => {
  for (const [name, make] of [
    ['an action', action],
    ['a query', query],
  ] as const) {
    test(`${name} that hears nothing, or whose connection ends without a reply, is named`, () => {
      assert.match(found(make({ as: 'silent' }), 1).join(), /hangs/);
      assert.match(found(make({ as: 'no-reply' }), 1).join(), /without a reply/);
      assert.match(found(make({ as: 'broken-off', status: 502 }), 1).join(), /502 broke off/);
    });

    test(`${name} is not told what no far side answered`, () => {
      assert.match(found(make({ as: 'acknowledged', text: '200 other' }), 1).join(), /no far side answered so/);
      assert.match(found(make({ as: 'acknowledged', text: '500 broken' }), 1).join(), /no far side answered so/);
      assert.match(found(make(problem('upstream-error', '200 done')), 1).join(), /no far side answered so/);
      assert.match(found(make(problem('upstream-error')), 1).join(), /no far side answered so/);
    });

    test(`${name} arrives with its own bytes`, () => {
      const applied = [{ id: 'h1', intact: false }];
      assert.match(contradictions({ calls: [make(acknowledged)], applied }).join(), /other bytes/);
    });
  }

  test('nothing is applied that nobody asked for', () => {
    assert.match(contradictions({ calls: [], applied: [{ id: 'h9', intact: true }] }).join(), /nobody asked/);
  });

  test('readings of one call do not excuse another', () => {
    const calls = [action(acknowledged), { ...action(acknowledged), id: 'h2' }];
    const applied = [
      { id: 'h1', intact: true },
      { id: 'h1', intact: true },
    ];
    assert.equal(contradictions({ calls, applied }).length, 2);
    assert.deepEqual(contradictions({ calls, applied: calls.map(({ id }) => ({ id, intact: true })) }), []);
  });

  test('two calls of one id are not judged', () => {
    assert.match(contradictions({ calls: [query(acknowledged), query(acknowledged)], applied: [] }).join(), /one id/);
  });
});
