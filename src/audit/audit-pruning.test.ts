// suite: long

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sql } from 'kysely';
import { noLog } from '#base/log.ts';
import type { Database } from '#database/database.ts';
import { eachStore } from '../../test/support/stores/stores.ts';
import type { AuditFacts } from './audit-entry.ts';
import { type AuditLog, createAuditLog } from './audit-log.ts';
import { createAuditPruning, entryOverhead } from './audit-pruning.ts';
import { createAuditReader } from './audit-reader.ts';
import { verifyAudit } from './chain/audit-verification.ts';
import { type Checkpoint, readWitness } from './chain/checkpoint.ts';

const day = 86_400_000;
const maxCallDuration = 300_000;
/** The age in milliseconds at which every call has ended. */
const endedAfter = maxCallDuration + 60_000;
const call: AuditFacts = { event: 'request', principal: 'ann', adapter: 'NSO', verb: 'POST', address: '/x' };

function clockAt(start = Date.UTC(2026, 10, 21)) {
  let now = start;
  return { now: () => now, monotonic: () => now, pass: (milliseconds: number) => (now += milliseconds) };
}

type TestClock = ReturnType<typeof clockAt>;

/** The log of a gateway. Collects its checkpoints. */
async function begin(database: Database, clock: TestClock, checkpoints: Checkpoint[] = []): Promise<AuditLog> {
  const always = (_message: string, { checkpoint = '' }: { readonly checkpoint?: string } = {}): void => {
    const read = readWitness(checkpoint);
    if (read !== undefined && 'seq' in read) checkpoints.push(read);
  };
  const config = { retention: 90 * day };
  return await createAuditLog({
    database,
    clock,
    log: { ...noLog, always },
    version: '1',
    config,
    maxCallDuration: () => maxCallDuration,
  });
}

async function act(log: AuditLog, requestId: string): Promise<void> {
  const intended = await log.intend({ ...call, requestId });
  await intended.outcome({ event: 'request', outcome: 'ok' });
}

/** Sums the sizes of all entries. */
async function sizeOf(database: Database): Promise<number> {
  const { rows } = await sql<{ size: number }>`
    select cast(coalesce(sum(length(facts) + ${sql.lit(entryOverhead)}), 0) as bigint) as size from audit_entry`.execute(
    database.read,
  );
  return rows[0]?.size ?? 0;
}

async function endedCalls(database: Database, clock: TestClock): Promise<number> {
  const { rows } = await sql<{ calls: number }>`select count(*) as calls from audit_entry
    where at < ${clock.now() - endedAfter} and kind not in ('step', 'outcome')`.execute(database.read);
  return rows[0]?.calls ?? 0;
}

eachStore((store) => {
  test('a log above its size loses the oldest calls of all gateways, and no more than necessary', async (t) => {
    const database = await store.open(t);
    const clock = clockAt();
    const logs = [await begin(database, clock), await begin(database, clock)];
    for (let count = 10; count < 50; count += 1) {
      await act(logs[count % 2] as AuditLog, `request ${count}`);
      clock.pass(1_000);
    }
    clock.pass(endedAfter);
    await act(logs[0] as AuditLog, 'request 50');
    const maxSize = Math.floor((await sizeOf(database)) / 2);
    let early = 0;
    await createAuditPruning({
      database,
      clock,
      retention: 90 * day,
      maxSize,
      maxCallDuration: () => maxCallDuration,
      early(entries) {
        early += entries;
      },
    })();
    assert.ok(early > 30, String(early));
    const { rows: orphans } = await sql`select * from audit_term t
      where not exists (select 1 from audit_entry e where e.chain = t.chain and e.seq = t.seq)`.execute(database.read);
    assert.deepEqual(orphans, []);
    const size = await sizeOf(database);
    assert.ok(size <= maxSize && size > maxSize - 1_500, `${size} of ${maxSize}`);
    const { list } = await createAuditReader({ database, clock, maxCallDuration: () => maxCallDuration }).list(
      { limit: 100, principal: 'ann' },
      'oldest',
    );
    const numbers = list.map(({ requestId }) => Number(requestId?.slice(-2)));
    const first = numbers[0] ?? 0;
    assert.deepEqual(
      numbers,
      Array.from({ length: 51 - first }, (_, index) => first + index),
    );
    for (const log of logs) await log.close();
    assert.deepEqual((await verifyAudit(database)).problems, []);
  });

  test('pruning stops at its next step when asked, and the log can be verified', async (t) => {
    const database = await store.open(t);
    const clock = clockAt();
    const log = await begin(database, clock);
    for (let count = 0; count < 2_500; count += 1) {
      log.record({ ...call, requestId: `request ${count}` });
      clock.pass(1);
    }
    await log.close();
    clock.pass(endedAfter + day);
    let steps = 0;
    await createAuditPruning({ database, clock, retention: 1, maxCallDuration: () => maxCallDuration })(() => {
      steps += 1;
      return steps > 1;
    });
    const { records, problems } = await verifyAudit(database);
    assert.ok(records > 1_000 && records < 2_500, `${records} are left`);
    assert.deepEqual(problems, []);
  });

  test('a call that may be in progress is not deleted, however small the size limit', async (t) => {
    const database = await store.open(t);
    const clock = clockAt();
    const log = await begin(database, clock);
    await log.intend({ ...call, requestId: 'under way' });
    const prune = createAuditPruning({ database, clock, retention: 1, maxSize: 1, maxCallDuration: () => maxCallDuration });
    clock.pass(maxCallDuration);
    await prune();
    assert.equal((await verifyAudit(database)).records, 1);
    clock.pass(60_001);
    await prune();
    assert.equal((await verifyAudit(database)).records, 0);
    await act(log, 'next');
    await log.close();
    assert.deepEqual((await verifyAudit(database)).problems, []);
  });

  test('two gateways that prune at the same time delete no more than one', async (t) => {
    const options = await store.empty(t);
    const [one, two] = [await store.open(t, options), await store.open(t, options)];
    const clock = clockAt();
    const log = await begin(one, clock);
    for (let count = 0; count < 40; count += 1) await act(log, `${count}`);
    await log.close();
    clock.pass(endedAfter + 1);
    const maxSize = Math.floor((await sizeOf(one)) / 2);
    const prunes = [one, two, one, two].map((database) =>
      createAuditPruning({ database, clock, retention: 90 * day, maxSize, maxCallDuration: () => maxCallDuration }),
    );
    await Promise.all(prunes.map((prune) => prune()));
    assert.ok((await sizeOf(one)) > maxSize - 1_500);
    assert.deepEqual((await verifyAudit(two)).problems, []);
  });

  test('a log after any pruning passes verification with all checkpoints, is within its limits, and accepts records', async (t) => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('act' as const), gateway: fc.nat(1), calls: fc.integer({ min: 1, max: 12 }) }),
      fc.record({ do: fc.constant('pass' as const), seconds: fc.constantFrom(1, 100, 400, 90_000) }),
      fc.record({ do: fc.constant('restart' as const), gateway: fc.nat(1) }),
      fc.record({
        do: fc.constant('prune' as const),
        retention: fc.constantFrom(1, 1_000_000, 2 * day),
        maxSize: fc.option(fc.integer({ min: 1, max: 30_000 }), { nil: undefined }),
      }),
    );
    const numRuns = 12;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const [clock, checkpoints] = [clockAt(), [] as Checkpoint[]];
        const database = await store.open(t);
        const logs = [await begin(database, clock, checkpoints), await begin(database, clock, checkpoints)];
        for (const [number, one] of steps.entries()) {
          if (one.do === 'pass') clock.pass(one.seconds * 1000);
          else if (one.do === 'act')
            await Promise.all(Array.from({ length: one.calls }, () => act(logs[one.gateway] as AuditLog, `step ${number}`)));
          else if (one.do === 'restart') {
            await logs[one.gateway]?.close();
            logs[one.gateway] = await begin(database, clock, checkpoints);
          } else {
            const { retention, maxSize } = one;
            await createAuditPruning({ database, clock, retention, maxSize, maxCallDuration: () => maxCallDuration })();
            const within = (await sizeOf(database)) <= (maxSize ?? Infinity) || (await endedCalls(database, clock)) === 0;
            assert.ok(within, 'more could have been pruned');
            assert.deepEqual((await verifyAudit(database, { checkpoints })).problems, []);
          }
        }
        for (const log of logs) await log.close();
        assert.deepEqual((await verifyAudit(database, { checkpoints })).problems, []);
        await database.close();
      }),
      { numRuns },
    );
  });
});
