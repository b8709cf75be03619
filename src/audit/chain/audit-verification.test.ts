import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noLog } from '#base/log.ts';
import type { Database } from '#database/database.ts';
import { eachStore } from '../../../test/support/stores/stores.ts';
import { createAuditLog } from '../audit-log.ts';
import { createAuditPruning } from '../audit-pruning.ts';
import {
  type AuditVerdict,
  readVerifiedPlace,
  type VerificationOptions,
  verifyAudit,
  writeVerifiedPlace,
} from './audit-verification.ts';

const maxCallDuration = 300_000;

/** Two chains, each of four hundred entries at least, an hour apart. */
async function twoChains(database: Database) {
  let now = Date.UTC(2026, 10, 21);
  const clock = { now: () => now, monotonic: () => now };
  const config = { retention: 90 * 86_400_000 };
  for (let chain = 0; chain < 2; chain += 1) {
    const log = await createAuditLog({
      database,
      clock,
      log: noLog,
      version: '1',
      config,
      maxCallDuration: () => maxCallDuration,
    });
    const acts = Array.from({ length: 200 }, async () => {
      const intended = await log.intend({ event: 'request', principal: 'ann' });
      await intended.outcome({ event: 'request', outcome: 'ok' });
    });
    await Promise.all(acts);
    await log.close();
    now += 3_600_000;
  }
  return clock;
}

/** One page. */
const part = (database: Database, after?: VerificationOptions['after']): Promise<AuditVerdict> =>
  verifyAudit(database, { after, mayGoOn: () => false });

eachStore((store) => {
  test('R95: the parts of a verification have together what one verification has', async (t) => {
    const database = await store.open(t);
    await twoChains(database);
    const whole = await verifyAudit(database);
    assert.deepEqual([whole.chains, whole.records, whole.problems, whole.next], [2, 804, [], undefined]);
    assert.deepEqual([whole.from, whole.to], [Date.UTC(2026, 10, 21), Date.UTC(2026, 10, 21, 1)]);
    let [parts, chains, records] = [0, 0, 0];
    for (let place: VerificationOptions['after']; ; ) {
      const found = await part(database, place);
      [parts, chains, records] = [parts + 1, chains + found.chains, records + found.records];
      assert.deepEqual(found.problems, []);
      if (found.next === undefined) break;
      place = readVerifiedPlace(writeVerifiedPlace(found.next));
      assert.deepEqual(place, found.next);
    }
    assert.deepEqual([parts, chains, records], [4, 2, 804]);
  });

  test('R95: a verification goes on over a place that was pruned meanwhile, and reports one that was removed', async (t) => {
    const database = await store.open(t);
    const clock = await twoChains(database);
    const { next } = await part(database);
    assert.ok(next !== undefined && 'seq' in next && next.seq > 0);
    const { chain, seq } = next;
    await database.records
      .updateTable('audit_entry')
      .set({ mac: 'changed' })
      .where('chain', '=', chain)
      .where('seq', '=', seq + 1)
      .execute();
    assert.deepEqual((await part(database, next)).problems, [`${chain}/${seq + 1} was changed`]);
    await database.records.deleteFrom('audit_entry').where('chain', '=', chain).where('seq', '=', seq).execute();
    assert.deepEqual((await part(database, next)).problems, [`${chain}/${seq} was removed while the log was verified`]);
    // Everything of the first chain, whose gateway has ended.
    await createAuditPruning({ database, clock, retention: 5_400_000, maxCallDuration: () => maxCallDuration })();
    const rest = await verifyAudit(database, { after: next });
    assert.deepEqual([rest.problems, rest.chains, rest.records], [[], 2, 402]);
  });
});

test('a text that no part of a verification wrote is no place to go on from', () => {
  const place = (...members: readonly unknown[]) => readVerifiedPlace(Buffer.from(JSON.stringify(members)).toString('base64url'));
  assert.deepEqual(place('a', 0), { chain: 'a', seq: 0 });
  for (const members of [[], ['a'], ['a', -1], ['a', 0.5], [1, 1], ['nul \0', 1], ['half \ud800', 1], ['a', 1, 1]])
    assert.equal(place(...members), undefined);
  assert.equal(readVerifiedPlace('no JSON'), undefined);
});
