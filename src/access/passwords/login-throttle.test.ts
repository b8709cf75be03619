// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { noLog } from '#base/log.ts';
import { openDatabase } from '#database/database.ts';
import { eachStore } from '../../../test/support/stores/stores.ts';
import { addressGroup, createLoginThrottle, type LoginThrottle } from './login-throttle.ts';
import { createLoginThrottleStore } from './login-throttle-store.ts';

const clock: Clock & { time: number } = { time: 1_800_000_000_000, now: () => clock.time, monotonic: () => clock.time };

type Outcome = 'failed' | number;

/** Fails once. `failed`, or the seconds of Retry-After. */
async function wrong(throttle: LoginThrottle, name: string, sourceAddress: string): Promise<Outcome> {
  try {
    await throttle.admit({ kind: 'user', name, sourceAddress });
    return 'failed';
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'login-throttled');
    assert.equal(error.status, 429);
    return Number(error.headers['Retry-After']);
  }
}

async function wrongs(throttle: LoginThrottle, times: number, name: string, sourceAddress: string): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let count = 0; count < times; count += 1) outcomes.push(await wrong(throttle, name, sourceAddress));
  return outcomes;
}

eachStore((store) => {
  test('R89: an account has five failures from any addresses and then waits, also after the store is reopened', async (t) => {
    const options = await store.empty(t);
    const before = await openDatabase({ store: options, log: noLog });
    const first = createLoginThrottle({ store: createLoginThrottleStore(before), clock });
    const outcomes: Outcome[] = [];
    for (let count = 0; count < 7; count += 1) outcomes.push(await wrong(first, 'admin', `192.0.2.${count}`));
    assert.deepEqual(outcomes, ['failed', 'failed', 'failed', 'failed', 'failed', 1, 1]);
    await before.close();

    const after = await store.open(t, options);
    const second = createLoginThrottle({ store: createLoginThrottleStore(after), clock });
    assert.equal(await wrong(second, 'admin', '192.0.2.99'), 1);
    clock.time += 1_000;
    assert.deepEqual(await wrongs(second, 2, 'admin', '192.0.2.99'), ['failed', 2]);
    assert.equal(await wrong(second, 'someone else', '192.0.2.99'), 'failed');
  });

  test('a nearly full disk makes accounts and addresses share a few rows, and earlier waits stay', async (t) => {
    const database = await store.open(t);
    let isShort = false;
    const throttle = createLoginThrottle({ store: createLoginThrottleStore(database), clock, isShort: () => isShort });
    assert.deepEqual((await wrongs(throttle, 6, 'admin', '192.0.2.1')).at(-1), 1);
    const rows = async () => (await database.read.selectFrom('login_failure').select('subject').execute()).length;
    const before = await rows();
    isShort = true;
    await assert.rejects(throttle.refuse({ kind: 'user', name: 'admin', sourceAddress: '192.0.2.2' }), {
      code: 'login-throttled',
    });
    for (let count = 0; count < 300; count += 1) await wrong(throttle, `name ${count % 3}`, `198.51.100.${count % 2}`);
    assert.ok((await rows()) <= before + 5);
    const subjects = await database.read.selectFrom('login_failure').select('subject').where('subject', 'like', '@%').execute();
    assert.ok(subjects.every(({ subject }) => subject.length === 3));
    const shared = createLoginThrottle({ store: createLoginThrottleStore(database), clock, isShort: () => isShort });
    await assert.rejects(shared.refuse({ kind: 'user', name: 'name 1', sourceAddress: '203.0.113.9' }), {
      code: 'login-throttled',
    });
  });

  test('R89: an address has fifty failures on any accounts, and IPv6 addresses count by their /64', async (t) => {
    const database = await store.open(t);
    const throttle = createLoginThrottle({ store: createLoginThrottleStore(database), clock });
    for (let count = 0; count < 50; count += 1) {
      assert.equal(await wrong(throttle, `name${count}`, `2001:db8:1:2::${count.toString(16)}`), 'failed');
    }
    assert.equal(await wrong(throttle, 'name50', '2001:db8:1:2:ffff::1'), 1);
    assert.equal(await wrong(throttle, 'name50', '2001:db8:1:3::1'), 'failed');
  });

  test('concurrent guesses do not exceed the limit, on any number of gateways', async (t) => {
    const options = await store.empty(t);
    const gateways = [await store.open(t, options), await store.open(t, options)];
    const throttles = gateways.map((database) => createLoginThrottle({ store: createLoginThrottleStore(database), clock }));
    const racing = Array.from({ length: 15 }, (_, count) =>
      throttles.map((one) => wrong(one, 'raced', `192.0.2.${count}`)),
    ).flat();
    const outcomes = await Promise.all(racing);
    assert.equal(outcomes.filter((outcome) => outcome === 'failed').length, 5);
  });

  test('a success clears the failures of its account and leaves those of its address', async (t) => {
    const database = await store.open(t);
    const throttle = createLoginThrottle({ store: createLoginThrottleStore(database), clock });
    const sourceAddress = '192.0.2.7';
    assert.deepEqual(await wrongs(throttle, 4, 'user1', sourceAddress), ['failed', 'failed', 'failed', 'failed']);
    const right = await throttle.admit({ kind: 'user', name: 'user1', sourceAddress });
    await right.succeeded();
    assert.deepEqual((await wrongs(throttle, 6, 'user1', sourceAddress)).at(-1), 1);
    for (let count = 0; count < 40; count += 1) {
      assert.equal(await wrong(throttle, `other${count}`, sourceAddress), 'failed');
      const again = await throttle.admit({ kind: 'user', name: 'right', sourceAddress });
      await again.succeeded();
    }
    assert.equal(await wrong(throttle, 'last', sourceAddress), 'failed');
    assert.equal(await wrong(throttle, 'last', sourceAddress), 1);
  });

  test('an attempt whose password was never checked does not count', async (t) => {
    const database = await store.open(t);
    const throttle = createLoginThrottle({ store: createLoginThrottleStore(database), clock });
    for (let count = 0; count < 12; count += 1) {
      const attempt = await throttle.admit({ kind: 'client', name: 'reporting', sourceAddress: '192.0.2.8' });
      await attempt.abandoned();
    }
  });

  test('failures that no longer count are deleted, and no name is stored in clear text', async (t) => {
    const database = await store.open(t);
    const throttle = createLoginThrottle({ store: createLoginThrottleStore(database), clock });
    await wrong(throttle, 'geheim', '192.0.2.9');
    await throttle.purge();
    const rows = await database.query.selectFrom('login_failure').selectAll().execute();
    assert.equal(rows.length, 2);
    assert.doesNotMatch(JSON.stringify(rows), /geheim|192\.0\.2\.9/u);
    clock.time += 15 * 60_000 + 1;
    await throttle.purge();
    assert.equal((await database.query.selectFrom('login_failure').selectAll().execute()).length, 0);
  });
});

test('an IPv4 address is a group of its own, and an IPv6 address belongs to its /64', () => {
  assert.equal(addressGroup('192.0.2.1'), '192.0.2.1');
  assert.equal(addressGroup('::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(addressGroup('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  assert.equal(addressGroup('fe80::1%eth0'), 'fe80:0:0:0::/64');
  assert.equal(addressGroup('fe80::1%eth0.100'), 'fe80:0:0:0::/64');
  assert.equal(addressGroup('not an address'), 'not an address');
});
