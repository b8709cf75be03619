import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#base/clock.ts';
import { noLog } from '#base/log.ts';
import type { Database } from '#database/database.ts';
import { eachStore } from '../../test/support/stores/stores.ts';
import type { LostEntries } from './audit-entry.ts';
import { type AuditLog, createAuditLog } from './audit-log.ts';
import { createAuditReader } from './audit-reader.ts';
import { storedAuditKey } from './audit-store.ts';
import { verifyAudit } from './chain/audit-verification.ts';
import { readWitness, type Witness } from './chain/checkpoint.ts';
import { chained } from './chain/hash-chain.ts';
import { idempotentRequest } from './idempotency/idempotent-request.ts';

interface Begun {
  readonly log: AuditLog;
  readonly chain: string;
  readonly witnesses: readonly Witness[];
  readonly lost: readonly LostEntries[];
}

async function begin(database: Database): Promise<Begun> {
  const [witnesses, lost] = [[] as Witness[], [] as LostEntries[]];
  const always = (_message: string, { checkpoint = '' }: { readonly checkpoint?: string } = {}): void => {
    const read = readWitness(checkpoint);
    if (read !== undefined) witnesses.push(read);
  };
  const log = await createAuditLog({
    database,
    clock: systemClock,
    log: { ...noLog, always },
    version: '1',
    config: { retention: 86_400_000 },
    maxCallDuration: () => 300_000,
    lost: async (found) => void lost.push(found),
  });
  const rows = await database.read.selectFrom('audit_chain').select('chain').orderBy('started_at', 'desc').execute();
  return { log, chain: rows[0]?.chain ?? '', witnesses, lost };
}

/** What an asynchronous failover does: the entries after this number are gone, and the keys of their calls. */
async function lose(database: Database, chain: string, after: number): Promise<void> {
  await database.records.deleteFrom('audit_entry').where('chain', '=', chain).where('seq', '>', after).execute();
  await database.records.deleteFrom('idempotency_key').where('chain', '=', chain).execute();
  if (after === 0) await database.records.deleteFrom('audit_chain').where('chain', '=', chain).execute();
}

const request = { event: 'request', verb: 'POST', principal: 'ann' } as const;
const keyed = idempotentRequest({ caller: 'ann', route: 'r', key: 'k', payload: [] });

eachStore((store) => {
  for (const kept of [0, 1])
    test(`a log of which the store kept ${kept} entries marks the loss, and records the call in flight again`, async (t) => {
      const database = await store.open(t);
      const { log, chain, lost, witnesses } = await begin(database);
      const call = await log.intendOnce({ ...request, requestId: 'in flight' }, keyed);
      assert.ok('outcome' in call);
      await lose(database, chain, kept);
      await assert.rejects(log.intend(request), { code: 'audit-unavailable' });
      await log.check();
      assert.deepEqual(lost, [{ chain, from: kept + 1, to: 2, records: 2 - kept }]);
      // Its key is taken again, too.
      await assert.rejects(log.intendOnce(request, keyed), { code: 'idempotency-key-in-use' });
      await call.outcome({ ...request, requestId: 'in flight', outcome: 'ok' });
      await log.close();
      const { problems, lost: found } = await verifyAudit(database, { checkpoints: witnesses });
      assert.deepEqual([problems, found], [[], [{ chain, from: kept + 1, to: 2 }]]);
      const { list } = await createAuditReader({ database, clock: systemClock, maxCallDuration: () => 300_000 }).list({
        limit: 100,
      });
      assert.equal(list.find(({ requestId }) => requestId === 'in flight')?.outcome, 'ok');
      assert.deepEqual(list.filter(({ event }) => event === 'lost').length, 1);
    });

  test('a forged mark of a loss hides the deletion from the log alone, and not from the checkpoints', async (t) => {
    const database = await store.open(t);
    const { log, chain, witnesses } = await begin(database);
    await (await log.intend(request)).outcome({ ...request, outcome: 'ok' });
    await log.close();
    const key = await storedAuditKey(database.read);
    const head = await database.read.selectFrom('audit_entry').selectAll().where('seq', '=', 1).executeTakeFirstOrThrow();
    await lose(database, chain, 1);
    await database.records.updateTable('audit_chain').set({ ended_at: null }).execute();
    const facts = JSON.stringify({ event: 'lost', lost: { chain, from: 2, to: 4, records: 3 } });
    const mark = { kind: 'record' as const, call: 0, at: head.at, facts };
    assert.ok(key !== undefined);
    const { entries } = chained({ key: key.macKey, chain, head: { ...head, seq: 4 }, entries: [mark] });
    await database.records
      .insertInto('audit_entry')
      .values([...entries])
      .execute();
    const alone = await verifyAudit(database);
    assert.deepEqual([alone.problems, alone.lost], [[], [{ chain, from: 2, to: 4 }]]);
    const { problems } = await verifyAudit(database, { checkpoints: witnesses });
    assert.match(problems.join('\n'), /\/2 to \S+\/4 were cut off: the checkpoint of /u);
    // Without the key there is no mark.
    await database.records.updateTable('audit_entry').set({ mac: 'forged' }).where('seq', '=', 5).execute();
    assert.deepEqual((await verifyAudit(database)).problems, [`${chain}/2 to ${chain}/4 were removed`]);
  });
});
