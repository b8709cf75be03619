import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Clock } from '#base/clock.ts';
import { noLog } from '#base/log.ts';
import { StoreSteadiness } from '#base/store-steadiness.ts';
import { anyText } from '#base/text/any-text.test-support.ts';
import type { Database } from '#database/database.ts';
import { eachStore } from '../../../test/support/stores/stores.ts';
import type { AuditFacts } from '../audit-entry.ts';
import { type AuditLog, createAuditLog } from '../audit-log.ts';
import type { Intended } from '../calls/audit-calls.ts';
import type { EarlierReply } from './idempotency-keys.ts';
import { forgetKeys } from './idempotency-store.ts';
import { type IdempotentRequest, idempotentRequest, sealed, unsealed } from './idempotent-request.ts';

const day = 86_400_000;
let longest = 60_000;
const call: AuditFacts = { event: 'request', principal: 'ann', outcome: 'ok' };
const request = { caller: 'ann', route: 'POST /x', key: 'secret-key', payload: [Buffer.from('{"password":"hush"}')] };

function isCall(intended: Intended | EarlierReply): asserts intended is Intended {
  assert.ok(!('earlierReply' in intended), 'the earlier reply');
}

async function make(log: AuditLog, one: IdempotentRequest, reply: string): Promise<void> {
  const intended = await log.intendOnce(call, one);
  isCall(intended);
  await intended.outcome(call, { kind: 'end', state: 'done', reply: sealed(one, Buffer.from(reply)) });
}

async function twoGateways(
  database: Database,
  clock: Clock,
  steady = new StoreSteadiness(clock, { dialect: 'sqlite' }),
): Promise<readonly [AuditLog, AuditLog]> {
  const config = { retention: 90 * day };
  const options = { database, clock, log: noLog, version: '1', config, maxCallDuration: () => longest, steady };
  return [await createAuditLog(options), await createAuditLog(options)];
}

eachStore((store) => {
  test('a key is kept for 24 hours, also by other gateways and after its own gateway has ended', async (t) => {
    const database = await store.open(t);
    let now = Date.UTC(2026, 10, 21);
    const clock = { now: () => now, monotonic: () => now };
    const [first, second] = await twoGateways(database, clock);
    const one = idempotentRequest(request);
    await make(first, one, 'the reply');
    await first.close();
    t.after(() => second.close());
    now += day - 1;
    await forgetKeys(database, now);
    assert.deepEqual(await second.intendOnce(call, one), { earlierReply: Buffer.from('the reply') });
    now += 2;
    await make(second, one, 'a new one');
    assert.deepEqual(await second.intendOnce(call, one), { earlierReply: Buffer.from('a new one') });
    now += day + 1;
    await forgetKeys(database, now);
    assert.deepEqual(await database.read.selectFrom('idempotency_key').selectAll().execute(), []);
  });

  test('a key whose gateway was killed is in use while the gateway counts as alive, then its outcome is unknown', async (t) => {
    const database = await store.open(t);
    let now = Date.UTC(2026, 10, 21);
    const clock = { now: () => now, monotonic: () => now };
    const steady = new StoreSteadiness(clock, { dialect: 'postgres' });
    const [killed, other] = await twoGateways(database, clock, steady);
    t.after(() => Promise.all([killed.close(), other.close()]));
    const one = idempotentRequest(request);
    isCall(await killed.intendOnce(call, one));
    await assert.rejects(other.intendOnce(call, one), { code: 'idempotency-key-in-use', status: 409 });
    now += 10_001;
    // The store may have been away: a living gateway has the time of a lease to say so.
    for (let passed = 0; passed < 10_000; passed += 2_500) {
      steady.wrote();
      await assert.rejects(other.intendOnce(call, one), { code: 'idempotency-key-in-use' });
      now += 2_500;
    }
    await assert.rejects(other.intendOnce(call, one), { code: 'outcome-unknown', status: 409 });
    await assert.rejects(killed.intendOnce(call, one), { code: 'idempotency-key-in-use' });
    now += 120_000;
    // A reload may make the longest call longer.
    longest = 180_000;
    await assert.rejects(killed.intendOnce(call, one), { code: 'idempotency-key-in-use' });
    longest = 60_000;
    await assert.rejects(killed.intendOnce(call, one), { code: 'outcome-unknown' });
  });

  test('a call that is new takes its key without a look-up, and gets the reply of an earlier call where there is one', async (t) => {
    const database = await store.open(t);
    let reads = 0;
    const counted = new Proxy(database, {
      get(target, name) {
        if (name === 'read') reads += 1;
        return Reflect.get(target, name) as unknown;
      },
    });
    const clock = { now: () => Date.UTC(2026, 10, 21), monotonic: () => 0 };
    const [log, other] = await twoGateways(counted, clock);
    t.after(() => Promise.all([log.close(), other.close()]));
    const one = { ...idempotentRequest(request), isNew: true };
    reads = 0;
    await make(log, one, 'the reply');
    assert.equal(reads, 0);
    const askPermit = () => assert.fail('the permit was asked');
    for (const gateway of [log, other]) {
      assert.deepEqual(await gateway.intendOnce(call, one), { earlierReply: Buffer.from('the reply') });
      assert.deepEqual(await gateway.intendOnce(call, one, askPermit), { earlierReply: Buffer.from('the reply') });
    }
  });

  test('a call that only reads is made again once its gateway counts as dead', async (t) => {
    const database = await store.open(t);
    let now = Date.UTC(2026, 10, 21);
    const clock = { now: () => now, monotonic: () => now };
    const [killed, other] = await twoGateways(database, clock);
    t.after(() => Promise.all([killed.close(), other.close()]));
    const [one, reading] = [idempotentRequest(request), { ...call, verb: 'GET' }];
    isCall(await killed.intendOnce(reading, one));
    await assert.rejects(other.intendOnce(reading, one), { code: 'idempotency-key-in-use' });
    now += 10_001;
    isCall(await other.intendOnce(reading, one));
    await assert.rejects(killed.intendOnce(reading, one), { code: 'idempotency-key-in-use' });
  });

  test('a call recorded after a long outage of the store is in progress for other gateways too', async (t) => {
    const database = await store.open(t);
    let now = Date.UTC(2026, 10, 21);
    const clock = { now: () => now, monotonic: () => now };
    const [back, other] = await twoGateways(database, clock);
    t.after(() => Promise.all([back.close(), other.close()]));
    // The chain was not updated meanwhile.
    now += 11_000;
    const one = idempotentRequest(request);
    isCall(await back.intendOnce(call, one));
    await assert.rejects(other.intendOnce(call, one), { code: 'idempotency-key-in-use' });
  });

  test('the store contains no key, payload or reply in clear text', async (t) => {
    const database = await store.open(t);
    const clock = { now: () => Date.UTC(2026, 10, 21), monotonic: () => 0 };
    const config = { retention: 90 * day };
    const log = await createAuditLog({ database, clock, log: noLog, version: '1', config, maxCallDuration: () => longest });
    await make(log, idempotentRequest(request), 'the token is 12345');
    await log.close();
    const kept = JSON.stringify(await database.read.selectFrom('idempotency_key').selectAll().execute());
    for (const secret of ['secret-key', 'hush', '12345', Buffer.from('12345').toString('base64')])
      assert.ok(!kept.includes(secret), kept);
  });
});

test('R96: different requests have different fingerprints, cannot open each other’s replies, and a changed reply cannot be opened', () => {
  const parts = fc.record({
    caller: fc.string(),
    route: fc.string(),
    key: fc.string(),
    payload: fc.array(fc.string(), { minLength: 1, maxLength: 3 }),
  });
  fc.assert(
    fc.property(parts, parts, anyText(), (left, right, reply) => {
      const [one, other] = [idempotentRequest(left), idempotentRequest(right)];
      const seal = sealed(one, Buffer.from(reply));
      assert.deepEqual(unsealed(one, seal), Buffer.from(reply));
      if (JSON.stringify(left) === JSON.stringify(right)) return;
      assert.notEqual(one.fingerprint, other.fingerprint);
      assert.throws(() => unsealed(other, seal));
    }),
  );
  const one = idempotentRequest(request);
  const bytes = Buffer.from(sealed(one, Buffer.from('the reply')), 'base64');
  for (let length = 0; length < bytes.length; length += 1)
    assert.throws(() => unsealed(one, bytes.toString('base64', 0, length)), `cut to ${length} bytes`);
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    assert.throws(() => unsealed(one, changed.toString('base64')), `byte ${at} was changed`);
  }
  // The boundary between two parts is part of the digest.
  assert.notEqual(
    idempotentRequest({ ...request, caller: 'a', route: 'bc' }).id,
    idempotentRequest({ ...request, caller: 'ab', route: 'c' }).id,
  );
});
