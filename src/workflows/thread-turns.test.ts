import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createExpressionPool } from './jq/expression-pool.ts';

const pool = createExpressionPool({ threads: 1 });
after(() => pool.close());

const slow = { expressions: ['[limit(200000; repeat(1))] | length'], dot: 'null', variables: {} };
const quick = { expressions: ['1'], dot: 'null', variables: {} };

test('an expression of one person waits for one of another person, and not for all of them', async () => {
  const ended: string[] = [];
  const hostile = Array.from({ length: 8 }, async (_, n) => {
    await pool.evaluate({ ...slow, dot: String(n), expressions: [`${n} | ${slow.expressions[0]}`], person: 'eve' });
    ended.push('eve');
  });
  const other = pool.evaluate({ ...quick, person: 'ann' }).then(() => ended.push('ann'));
  await Promise.all([...hostile, other]);
  assert.ok(ended.indexOf('ann') <= 2, ended.join(' '));
});

test('inputs of two persons are in no batch together, although their program is the same', async () => {
  const endless = { expressions: ['if . == 1 then last(range(1e12)) else . end'], variables: {} };
  const [first, second] = await Promise.all([
    pool.evaluate({ ...endless, dot: '1', person: 'eve' }),
    pool.evaluate({ ...endless, dot: '2', person: 'ann' }),
  ]);
  assert.ok('failed' in first);
  assert.deepEqual(second, { results: ['2'] });
});

test('an expression whose turn does not come within ten seconds is refused', async () => {
  const hostile = Array.from({ length: 14 }, (_, n) =>
    pool.evaluate({ expressions: [`${n} | last(range(1e12))`], dot: 'null', variables: {}, person: 'eve' }),
  );
  const ends = await Promise.allSettled(hostile);
  const refused = ends.filter((end) => end.status === 'rejected');
  assert.ok(refused.length >= 2);
  for (const { reason } of refused) assert.equal((reason as { readonly code: string }).code, 'overloaded');
});
