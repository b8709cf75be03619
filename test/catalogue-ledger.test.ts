import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogueLedger, type Entry, type Shown } from './support/catalogue/catalogue-ledger.ts';

// The proofs of the catalogue depend on the ledger: these tests show that it finds faults.

function entry(name: string, description = 'as first written'): Entry {
  return { name, description, read: [], repeatInterval: '5 minutes' };
}

function shown({ name, description, repeatInterval }: Entry, _id = `id-${name}`): Shown {
  return { _id, name, data: { description, gbac: { read: [] } }, repeatInterval };
}

function change(...entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  return new Map(entries.map((one) => [one.name, one]));
}

test('an acknowledged automation that is there is no fault', () => {
  const ledger = new CatalogueLedger();
  ledger.acknowledge(change(entry('a'), entry('b')));
  ledger.acknowledge(new Map([['a', undefined]]));
  ledger.reconcile([shown(entry('b'))]);
  assert.equal(ledger.entry('b')?.id, 'id-b');
});

test('the ledger finds what is lost, not as acknowledged, back again or of another identity', () => {
  const acknowledged = (): CatalogueLedger => {
    const ledger = new CatalogueLedger();
    ledger.acknowledge(change({ ...entry('a'), id: 'id-a' }));
    return ledger;
  };
  acknowledged().reconcile([shown(entry('a'))]);
  assert.throws(() => acknowledged().reconcile([]), /a is lost/u);
  assert.throws(() => acknowledged().reconcile([shown(entry('a', 'as before'))]), /not as acknowledged/u);
  assert.throws(() => acknowledged().reconcile([shown(entry('a'), 'id-other')]), /not as acknowledged/u);
  assert.throws(() => acknowledged().reconcile([shown(entry('a')), shown(entry('b'))]), /b is there again/u);
  assert.throws(() => acknowledged().reconcile([shown(entry('a')), shown(entry('a'), 'id-2')]), /have one name/u);
});

test('a write that was not answered may be there or not, but not in part', () => {
  const before = [entry('a'), entry('b')];
  const after = [entry('a', 'new'), entry('b', 'new'), entry('c', 'new')];
  const unanswered = (): CatalogueLedger => {
    const ledger = new CatalogueLedger();
    ledger.acknowledge(change(...before));
    ledger.leaveOpen(change(...after));
    return ledger;
  };
  assert.deepEqual(unanswered().names(), [], 'its names are left alone');
  const happened = unanswered();
  happened.reconcile(after.map((one) => shown(one)));
  assert.deepEqual(happened.names(), ['a', 'b', 'c']);
  const left = unanswered();
  left.reconcile(before.map((one) => shown(one)));
  assert.deepEqual(left.names(), ['a', 'b']);
  const [first = entry('a')] = after;
  assert.throws(() => unanswered().reconcile([shown(first), shown(entry('b'))]), /there in part: 1 changed/u);
});
