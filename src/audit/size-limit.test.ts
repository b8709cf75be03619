import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noLog } from '#base/log.ts';
import { eachStore } from '../../test/support/stores/stores.ts';
import type { AuditFacts } from './audit-entry.ts';
import { type AuditLog, createAuditLog } from './audit-log.ts';
import { verifyAudit } from './chain/audit-verification.ts';
import { idempotentRequest, sealed } from './idempotency/idempotent-request.ts';

const call: AuditFacts = { event: 'request', principal: 'ann', adapter: 'NSO', verb: 'POST', address: '/x' };
const clock = { now: () => Date.UTC(2026, 10, 21), monotonic: () => performance.now() };

eachStore((store) => {
  const begin = async (t: Parameters<typeof store.open>[0], maxSize: number, isShort = () => false) => {
    const database = await store.open(t);
    const config = { retention: 1e10, maxSize };
    const log = await createAuditLog({
      database,
      clock,
      log: noLog,
      version: '1',
      config,
      maxCallDuration: () => 300_000,
      isShort,
    });
    t.after(() => log.close());
    const count = async (): Promise<number> => {
      const rows = await database.read.selectFrom('audit_entry').select('seq').execute();
      return rows.length;
    };
    return { database, log, count };
  };
  const act = async (log: AuditLog): Promise<void> => {
    const intended = await log.intend(call);
    await intended.outcome({ event: 'request', outcome: 'ok' });
  };

  test('calls that have ended are deleted while others are written, and those in progress stay', async (t) => {
    const { database, log, count } = await begin(t, 20_000);
    for (let calls = 0; calls < 100; calls += 1) await act(log);
    assert.ok((await count()) < 80, `${await count()} entries`);
    const underWay = await log.intend({ ...call, requestId: 'under way' });
    for (let calls = 0; calls < 100; calls += 1) await act(log);
    await underWay.outcome({ event: 'request', outcome: 'ok' });
    const rows = await database.read.selectFrom('audit_entry').select('facts').execute();
    assert.ok(rows.some(({ facts }) => facts.includes('under way')));
    assert.deepEqual((await verifyAudit(database)).problems, []);
  });

  test('replies take a quarter of the size at most, and none without room', async (t) => {
    let isShort = false;
    const { database, log } = await begin(t, 40_000, () => isShort);
    const made = async (key: string): Promise<boolean> => {
      const request = idempotentRequest({ caller: 'ann', route: 'POST /x', key, payload: [] });
      const intended = await log.intendOnce(call, request);
      assert.ok(!('earlierReply' in intended));
      const reply = sealed(request, Buffer.alloc(3_000, 'x'));
      const keeps = log.keepsReply(reply.length);
      await intended.outcome(call, { kind: 'end', state: 'done', ...(keeps && { reply }) });
      return keeps;
    };
    assert.deepEqual([await made('1'), await made('2'), await made('3')], [true, true, false]);
    const again = idempotentRequest({ caller: 'ann', route: 'POST /x', key: '3', payload: [] });
    await assert.rejects(log.intendOnce(call, again), { code: 'reply-not-kept' });
    const second = await createAuditLog({
      database,
      clock,
      log: noLog,
      version: '1',
      config: { retention: 1e10, maxSize: 40_000 },
      maxCallDuration: () => 300_000,
    });
    assert.equal(second.keepsReply(4_000), false, 'a gateway that starts measures what is there');
    await second.close();
    isShort = true;
    assert.equal(log.keepsReply(1), false);
  });
});
