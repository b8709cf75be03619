import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogueLedger, type Entry, type Shown } from './support/catalogue/catalogue-ledger.ts';

// The proofs of the catalogue rest on the ledger: it must see what it is there to see.

function entry(name: string, description = 'as first written'): Entry {
  return { name, description, read: [], repeatInterval: '5 minutes' };
}

function shown({ name, description, repeatInterval }: Entry, _id = `id-${name}`): Shown {
  return { _id, name, data: { description, gbac: { read: [] } }, repeatInterval };
}

function change(...entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  return new Map(entries.map((one) => [one.name, one]));
}

test('what was acknowledged and is there is in order', () => {
  const ledger = new CatalogueLedger();
  ledger.acknowledge(change(entry('a'), entry('b')));
  ledger.acknowledge(new Map([['a', undefined]]));
  ledger.settle([shown(entry('b'))]);
  assert.equal(ledger.entry('b')?.id, 'id-b');
});

test('what is lost, not as acknowledged, back again or of another identity is told', () => {
  const acknowledged = (): CatalogueLedger => {
    const ledger = new CatalogueLedger();
    ledger.acknowledge(change({ ...entry('a'), id: 'id-a' }));
    return ledger;
  };
  acknowledged().settle([shown(entry('a'))]);
  assert.throws(() => acknowledged().settle([]), /a is lost/u);
  assert.throws(() => acknowledged().settle([shown(entry('a', 'as before'))]), /not as acknowledged/u);
  assert.throws(() => acknowledged().settle([shown(entry('a'), 'id-other')]), /not as acknowledged/u);
  assert.throws(() => acknowledged().settle([shown(entry('a')), shown(entry('b'))]), /b is there again/u);
  assert.throws(() => acknowledged().settle([shown(entry('a')), shown(entry('a'), 'id-2')]), /have one name/u);
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
  happened.settle(after.map((one) => shown(one)));
  assert.deepEqual(happened.names(), ['a', 'b', 'c']);
  const left = unanswered();
  left.settle(before.map((one) => shown(one)));
  assert.deepEqual(left.names(), ['a', 'b']);
  const [first = entry('a')] = after;
  assert.throws(() => unanswered().settle([shown(first), shown(entry('b'))]), /there in part: 1 changed/u);
});
