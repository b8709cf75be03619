import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ApprovalRule } from '#access/rights/approval-options.ts';
import type { ApprovalGate } from '#calls/approval-check.ts';
import { eachStore, type TestStore } from '../../../test/support/stores/stores.ts';
import { approvers, caller, callTo, callWith, hour, leaves, openGateways } from './gateways.test-support.ts';

const when = { routes: [], adapters: [], methods: [], paths: [], roles: [], via: [] };
const people = { approvers: { roles: [], groups: ['leads'] }, count: 1, selfApproval: false };
const rule: ApprovalRule = { name: 'once', when, ...people, expires: hour, covers: 'batch' };

/** The call of an item. `activity`: a new one for each attempt that the workflow makes. */
function callOf(
  index: number,
  { activity = 1, attempt = 1, turn = ['all', 0], digest = 'd1', batch = 3, rules = [rule] } = {},
): Parameters<ApprovalGate['admit']>[0] {
  const item = { run: 'parent', activity: batch, attempt: 1, index, digest, turn };
  const task = { run: `child-${index}`, activity, attempt, reference: '/do/0/act', item };
  return { principal: caller, call: callWith(`{"item":${index}}`), rules, reference: { task } };
}

const [lea, leo] = approvers;

async function opened(t: TestContext, store: TestStore) {
  const gateways = await openGateways(t, store);
  const [one, other] = gateways.gates;
  assert.ok(one && other && lea && leo);
  const grant = (id: unknown, principal = lea) => gateways.catalogue.grant({ principal, id: String(id), reason: 'x' });
  return { ...gateways, one, other, grant };
}

function suiteOf(store: TestStore): void {
  test('calls of many items ask once, and each item leaves once, although two gateways send it at the same moment', async (t) => {
    const { one, other, grant, approvals } = await opened(t, store);
    const asked = await Promise.all([0, 1, 2].map((index) => leaves(index === 1 ? other : one, callOf(index))));
    const [id] = asked;
    assert.deepEqual(new Set(asked).size, 1, 'one approval');
    await grant(id);
    assert.deepEqual(await Promise.all([0, 1].map((index) => leaves(one, callOf(index)))), [true, true]);
    const both = await Promise.all([leaves(one, callOf(2)), leaves(other, callOf(2))]);
    assert.equal(both.filter((result) => result === true).length, 1, 'one of two');
    const again = await leaves(one, callOf(1, { activity: 2 }));
    assert.ok(typeof again === 'string' && again !== id, 'a repetition asks by itself');
    assert.equal((await approvals.readFacts(again))?.batch, undefined);
    assert.equal(
      await leaves(one, callOf(1, { activity: 3, turn: ['all', 0, 1] })),
      true,
      'another turn of a loop has its own use',
    );
    assert.equal((await approvals.readFacts(String(id)))?.status, 'granted');
  });

  test('a grant is for one batch under the bytes that its run pinned', async (t) => {
    const { one, grant } = await opened(t, store);
    const id = await leaves(one, callOf(0));
    await grant(id);
    assert.equal(await leaves(one, callOf(0)), true);
    const others = [await leaves(one, callOf(1, { digest: 'd2' })), await leaves(one, callOf(1, { batch: 4 }))];
    assert.ok(others.every((other) => typeof other === 'string' && other !== id));
    assert.notEqual(others[0], others[1]);
    assert.equal(await leaves(one, callOf(1)), true);
  });

  test('a grant for calls by TLS is none for calls to the same host without it', async (t) => {
    const { one, grant } = await opened(t, store);
    const safe = { ...callOf(0), call: callTo('https://tickets.example.net/a') };
    const id = await leaves(one, safe);
    await grant(id);
    assert.equal(await leaves(one, safe), true);
    const plain = await leaves(one, { ...callOf(1), call: callTo('http://tickets.example.net/a') });
    assert.ok(typeof plain === 'string' && plain !== id);
  });

  test('the grant holds for a day from its first use on, and the wait and the first use have the time of the rule', async (t) => {
    const { one, grant, clock, approvals } = await opened(t, store);
    const late = await leaves(one, callOf(0));
    clock.advance(hour);
    assert.equal(await leaves(one, callOf(0)), late, 'the call that waited learns that the time is over');
    const id = await leaves(one, callOf(1));
    assert.notEqual(id, late);
    await grant(id);
    clock.advance(hour - 1_000);
    assert.equal(await leaves(one, callOf(1)), true);
    clock.advance(23 * hour);
    assert.equal(await leaves(one, callOf(2)), true);
    clock.advance(hour);
    const next = await leaves(one, callOf(3));
    assert.ok(typeof next === 'string' && next !== id);
    await approvals.endUsed(10);
    assert.equal((await approvals.readFacts(String(id)))?.status, 'used');
  });

  test('a use that let nothing leave is free again, and one that was taken out of the store is not', async (t) => {
    const { one, grant, database } = await opened(t, store);
    const id = await leaves(one, callOf(0));
    await grant(id);
    const permit = await one.gate.admit(callOf(0));
    await permit?.release();
    assert.equal(await leaves(one, callOf(0)), true);
    await database.records.deleteFrom('approval_use').execute();
    assert.notEqual(await leaves(one, callOf(0, { activity: 2 })), true, 'the audit log has the use');
    assert.equal(await leaves(one, callOf(1)), true);
  });

  test('who grants what the calls need more than before, and a rejection ends all', async (t) => {
    const { one, grant, catalogue } = await opened(t, store);
    const id = await leaves(one, callOf(0));
    await grant(id);
    assert.equal(await leaves(one, callOf(0)), true);
    const stricter = [{ ...rule, count: 2 }];
    const more = await leaves(one, callOf(1, { rules: stricter }));
    assert.ok(typeof more === 'string' && more !== id, 'the rule of now asks for two people');
    await grant(more);
    assert.equal(await leaves(one, callOf(1, { rules: stricter })), more);
    await grant(more, leo);
    assert.equal(await leaves(one, callOf(1, { rules: stricter })), true);
    assert.ok(lea);
    await catalogue.reject({ principal: lea, id: more, reason: 'x' });
    assert.equal(await leaves(one, callOf(2, { rules: stricter })), more);
  });
}

eachStore(suiteOf);
