import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Principal } from '#access/principal.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { createTestClock } from '../../test/support/gateway/access.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';

function caller(id: string): Principal {
  return { id, username: 'a', roles: [], groups: [] };
}

/** Undefined where the call is let through, otherwise the seconds to wait. */
function waitOf(limit: RateLimit, by: Principal): number | undefined {
  try {
    limit.count(by);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'too-many-requests');
    return Number(error.headers['Retry-After']);
  }
}

describe('the rate limit', () => {
  test('lets all calls of a period go at once, and then one for each that comes back', () => {
    const clock = createTestClock();
    const limit = createRateLimit({ calls: 3, per: 60_000, clock });
    assert.deepEqual(
      Array.from({ length: 4 }, () => waitOf(limit, caller('a'))),
      [undefined, undefined, undefined, 20],
    );
    clock.advance(19_999);
    assert.equal(waitOf(limit, caller('a')), 1);
    clock.advance(1);
    assert.equal(waitOf(limit, caller('a')), undefined);
    assert.equal(waitOf(limit, caller('a')), 20);
    clock.advance(3_600_000);
    assert.deepEqual(
      Array.from({ length: 4 }, () => waitOf(limit, caller('a'))),
      [undefined, undefined, undefined, 20],
    );
  });

  test('counts the calls of each principal by its id, not by its user name or its roles', () => {
    const limit = createRateLimit({ calls: 1, per: 1_000, clock: createTestClock() });
    const callers = [caller('a'), caller('oidc:["https://one","a"]'), caller('oidc:["https://two","a"]')];
    for (const each of callers) assert.equal(waitOf(limit, each), undefined);
    for (const each of callers) assert.equal(waitOf(limit, { ...each, roles: ['admin'] }), 1);
  });

  test('says in words what is used up and what to do', () => {
    const limit = createRateLimit({ calls: 1, per: 90_000, clock: createTestClock() });
    limit.count(caller('a'));
    assert.throws(() => limit.count(caller('a')), /server\.rateLimit: calls 1, per 90 s\): wait 90 s/u);
  });

  test('remembers as many principals as it may, and forgets the one counted longest ago', () => {
    const limit = createRateLimit({ calls: 1, per: 1_000, clock: createTestClock(), principals: 2 });
    for (const name of ['a', 'b']) assert.equal(waitOf(limit, caller(name)), undefined);
    assert.equal(waitOf(limit, caller('a')), 1);
    assert.equal(waitOf(limit, caller('c')), undefined);
    assert.equal(waitOf(limit, caller('a')), 1, 'a was seen after b');
    assert.equal(waitOf(limit, caller('b')), undefined, 'b was forgotten');
  });

  test('admits a call exactly where, from every earlier one on, there are no more than the budget and what came back', () => {
    const step = fc.record({ by: fc.constantFrom('a', 'b', 'c'), after: fc.integer({ min: 0, max: 3_000 }) });
    const sizes = [fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 5_000 })] as const;
    fc.assert(
      fc.property(...sizes, fc.array(step, { maxLength: 200 }), (calls, per, steps) => {
        const clock = createTestClock(0);
        const limit = createRateLimit({ calls, per, clock });
        const admitted: Record<string, number[]> = { a: [], b: [], c: [] };
        for (const { by, after } of steps) {
          clock.advance(after);
          const now = clock.monotonic();
          const times = admitted[by] ?? [];
          const fits = times.every((time, at) => (times.length - at + 1) * per <= calls * per + (now - time) * calls);
          const wait = waitOf(limit, caller(by));
          assert.equal(wait === undefined, fits);
          if (wait === undefined) times.push(now);
        }
      }),
    );
  });

  test('never asks for a wait that is too short', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 86_400_000 }), (calls, per) => {
        const clock = createTestClock(0);
        const limit = createRateLimit({ calls, per, clock });
        for (let call = 0; call < calls; call += 1) limit.count(caller('a'));
        clock.advance((waitOf(limit, caller('a')) ?? 0) * 1000);
        assert.equal(waitOf(limit, caller('a')), undefined);
      }),
    );
  });
});
