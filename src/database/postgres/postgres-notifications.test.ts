import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { foundPostgres } from '../../../test/support/stores/stores.ts';
import { until } from '../../../test/support/until.ts';
import type { Database } from '../database.ts';

const skip = foundPostgres === undefined && process.env['CI'] !== 'true' ? 'no PostgreSQL answers' : false;

/** What a listener learned, and how to wait for more. */
function createListener() {
  const seen: string[] = [];
  let wake = (): void => {};
  const note = (text: string): void => {
    seen.push(text);
    wake();
  };
  const until = async (text: string): Promise<void> => {
    while (!seen.includes(text)) await new Promise<void>((resolve) => (wake = resolve));
    seen.length = 0;
  };
  return { seen, until, received: note, missed: () => note('missed') };
}

function send({ query, notifications }: Database, channel: string, ...payloads: string[]): Promise<void> {
  return query.transaction().execute((transaction) => notifications.notify(transaction, channel, payloads));
}

async function openTwo(t: TestContext): Promise<readonly [Database, Database]> {
  assert.ok(foundPostgres !== undefined, 'with CI=true this test must run');
  const options = await foundPostgres.fresh(t);
  return [await foundPostgres.open(t, options), await foundPostgres.open(t, options)];
}

test('a committed notification arrives in every gateway of the store, and on its channel alone', { skip }, async (t) => {
  const [one, two] = await openTwo(t);
  const [stranger] = await openTwo(t);
  const [mine, other, far] = [createListener(), createListener(), createListener()];
  one.notifications.listen('a', mine);
  const silence = two.notifications.listen('a', far);
  two.notifications.listen('b', other);
  // Each listener learns that its connection is there.
  await Promise.all([mine.until('missed'), other.until('missed'), far.until('missed')]);
  const rolledBack = one.query.transaction().execute(async (transaction) => {
    await one.notifications.notify(transaction, 'a', ['never']);
    throw new Error('undone');
  });
  await assert.rejects(rolledBack, /undone/u);
  await send(stranger, 'a', 'of another store');
  await send(one, 'a', 'x', 'y y');
  await send(one, 'b', 'z');
  await Promise.all([mine.until('y y'), other.until('z')]);
  assert.ok(!far.seen.includes('never') && !far.seen.includes('of another store'));
  silence();
  far.seen.length = 0;
  await send(one, 'a', 'after');
  await mine.until('after');
  await send(one, 'b', 'fence');
  await other.until('fence');
  assert.deepEqual(far.seen, []);
});

test('a listening connection that the server ends is made again, and the listener learns that it may have missed some', {
  skip,
}, async (t) => {
  const [one, two] = await openTwo(t);
  const listener = createListener();
  one.notifications.listen('a', listener);
  for (let round = 0; round < 3; round += 1) {
    await listener.until('missed');
    await send(two, 'a', 'x');
    await listener.until('x');
    const { rows } = await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where query like 'listen %' || md5(current_schema()) || '%'`.execute(two.query);
    assert.equal(rows.length, 1);
  }
  await listener.until('missed');
});

test('a store that closes while it connects for a second channel is closed', { skip }, async (t) => {
  const [database] = await openTwo(t);
  const [one, two] = [createListener(), createListener()];
  database.notifications.listen('a', one);
  // The connection that is being made is given up for one that listens to both.
  database.notifications.listen('b', two);
  let isClosed = false;
  void database.close().then(() => (isClosed = true));
  await until('the store is closed', () => isClosed);
  assert.deepEqual([one.seen, two.seen], [[], []]);
});
