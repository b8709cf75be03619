import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { noLog } from '#base/log.ts';
import type { Database } from '#database/database.ts';
import { eachStore, sqliteStore, type TestStore } from '../../test/support/stores/stores.ts';
import type { AuditFacts } from './audit-entry.ts';
import { type AuditLog, createAuditLog } from './audit-log.ts';
import { createAuditPruning } from './audit-pruning.ts';
import { readCursor } from './audit-query.ts';
import { type AuditRecord, createAuditReader } from './audit-reader.ts';
import { verifyAudit } from './chain/audit-verification.ts';
import { type Checkpoint, readWitness } from './chain/checkpoint.ts';

const day = 86_400_000;
const maxCallDuration = 300_000;
const call: AuditFacts = { event: 'request', principal: 'ann', adapter: 'NSO', verb: 'POST', address: '/restconf/operations/x' };

/** `tick`: milliseconds by which each read of the time advances the clock. */
function clockAt(start = Date.UTC(2026, 10, 21), tick = 0) {
  let now = start;
  return { now: () => (now += tick), monotonic: () => now, pass: (milliseconds: number) => (now += milliseconds) };
}

async function begin(database: Database, options: { clock?: ReturnType<typeof clockAt>; checkpointFile?: string } = {}) {
  const clock = options.clock ?? clockAt();
  const config = {
    retention: 90 * day,
    ...(options.checkpointFile === undefined ? {} : { checkpointFile: options.checkpointFile }),
  };
  const log = await createAuditLog({ database, clock, log: noLog, version: '1', config, maxCallDuration: () => maxCallDuration });
  return { log, clock, reader: createAuditReader({ database, clock, maxCallDuration: () => maxCallDuration }) };
}

async function act(log: AuditLog, facts: AuditFacts = call): Promise<void> {
  const intended = await log.intend(facts);
  await intended.outcome({ event: 'request', outcome: 'ok', upstreamStatus: 204 });
}

/** A store with one chain of about ten entries that has ended. */
async function endedChain(t: TestContext, store: TestStore, checkpointFile?: string): Promise<Database> {
  const database = await store.open(t);
  const { log } = await begin(database, checkpointFile === undefined ? {} : { checkpointFile });
  for (let count = 0; count < 4; count += 1) await act(log, { ...call, requestId: `request ${count}` });
  log.record({ event: 'request', principal: 'bob', outcome: 'refused' });
  await log.close();
  return database;
}

async function problems(database: Database, checkpoints: readonly Checkpoint[] = []): Promise<string> {
  return (await verifyAudit(database, { checkpoints })).problems.join('; ').replaceAll(/[\w-]+(?=\/\d)/g, 'C');
}

test('an intent on SQLite is flushed to the disk before its call leaves, and its outcome is not flushed', async (t) => {
  const database = await sqliteStore.open(t);
  const pragmas: string[] = [];
  const records = database.records.withPlugin({
    transformQuery({ node }) {
      if (node.kind === 'RawNode') pragmas.push(...node.sqlFragments.filter((text) => text.startsWith('pragma')));
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const { log } = await begin({ ...database, records });
  t.after(() => log.close());
  for (let count = 0; count < 2; count += 1) {
    pragmas.length = 0;
    const intended = await log.intend(call);
    assert.deepEqual(pragmas, []);
    await intended.outcome({ event: 'request', outcome: 'ok' });
    // Runs and approvals have the same writer, and are flushed.
    assert.deepEqual(pragmas, ['pragma synchronous = normal', 'pragma synchronous = full']);
  }
});

eachStore((store) => {
  test('a call and its outcome are one record, before and after the gateway ends', async (t) => {
    const database = await store.open(t);
    const { log, reader } = await begin(database);
    const intended = await log.intend(call);
    const [before] = (await reader.list({ limit: 1 })).list;
    assert.deepEqual([before?.address, before?.outcome], [call.address, undefined]);
    await intended.outcome({ event: 'request', outcome: 'failed', code: 'upstream-error' });
    const [after] = (await reader.list({ limit: 1 })).list;
    assert.deepEqual([after?.principal, after?.outcome, after?.code], ['ann', 'failed', 'upstream-error']);
    await log.close();
    const { list } = await reader.list({ limit: 10 }, 'oldest');
    assert.deepEqual(
      list.map(({ event }) => event),
      ['start', 'request', 'end'],
    );
    assert.equal(await problems(database), '');
  });

  test('a call without an outcome is unknown ten seconds after its gateway was last alive, or once no call can last that long', async (t) => {
    const database = await store.open(t);
    const { log, reader, clock } = await begin(database);
    t.after(() => log.close());
    await log.intend(call);
    assert.equal((await reader.list({ limit: 1 })).list[0]?.outcome, undefined);
    clock.pass(10_001);
    assert.equal((await reader.list({ limit: 1, outcome: 'unknown' })).list[0]?.principal, 'ann');
    await database.records
      .updateTable('audit_chain')
      .set({ alive_until: clock.now() + day })
      .execute();
    assert.equal((await reader.list({ limit: 1 })).list[0]?.outcome, undefined);
    clock.pass(maxCallDuration + 60_000);
    assert.equal((await reader.list({ limit: 1 })).list[0]?.outcome, 'unknown');
  });

  test('concurrent calls share statements, and each is durable when its promise resolves', async (t) => {
    const database = await store.open(t);
    const { log } = await begin(database);
    await Promise.all(Array.from({ length: 1_200 }, () => act(log)));
    const rows = await database.read.selectFrom('audit_entry').select('kind').execute();
    assert.equal(rows.filter(({ kind }) => kind === 'intent').length, 1_200);
    assert.equal(rows.filter(({ kind }) => kind === 'outcome').length, 1_200);
    await log.close();
    assert.equal(await problems(database), '');
  });

  test('several gateways write to one store, each its own chain, and a later chain links to the heads of the earlier ones', async (t) => {
    const database = await store.open(t);
    const [first, second] = await Promise.all([begin(database), begin(database)]);
    await Promise.all(Array.from({ length: 50 }, () => [act(first.log), act(second.log)]).flat());
    await first.log.close();
    const third = await begin(database);
    await second.log.close();
    await third.log.close();
    const verdict = await verifyAudit(database);
    assert.deepEqual([verdict.chains, verdict.problems], [3, []]);
    const [start] = (await third.reader.list({ limit: 1_000 })).list.filter(({ event }) => event === 'start');
    assert.ok(start !== undefined && !('links' in start));
  });

  test('texts with special characters are stored unchanged', async (t) => {
    const database = await store.open(t);
    const { log, reader } = await begin(database);
    const principal = 'nul \0, half \ud800, quote " \\ \u2028';
    await act(log, { ...call, principal, address: '/\\u0000/%00/"' });
    await log.close();
    assert.equal(await problems(database), '');
    const { list } = await reader.list({ limit: 9, principal });
    assert.deepEqual([list.length, list[0]?.address], [1, '/\\u0000/%00/"']);
  });

  const tamperings: readonly (readonly [string, string, RegExp])[] = [
    ['changed', `update audit_entry set facts = replace(facts, 'ann', 'eve') where seq = 4`, /^C\/4 was changed$/],
    ['changed in its columns for searches', `update audit_entry set principal = 'eve' where seq = 4`, /^C\/4 was changed: /],
    ['removed', 'delete from audit_entry where seq = 5', /^C\/5 was removed$/],
    ['removed with others', 'delete from audit_entry where seq in (5, 6)', /^C\/5 to C\/6 were removed$/],
    ['cut off at the end', 'delete from audit_entry where seq > 7', /^C\/8 and what followed was cut off/],
    ['cut off at the beginning', 'delete from audit_entry where seq < 3', /^C\/1 to C\/2 were removed$/],
  ];
  for (const [what, statement, said] of tamperings) {
    test(`R95: verification names the first record that was ${what}`, async (t) => {
      const database = await endedChain(t, store);
      assert.equal(await problems(database), '');
      await sql.raw(statement).execute(database.records);
      assert.match(await problems(database), said);
    });
  }

  test('R95: verification reports that all records of a chain were deleted, also if the chain has not ended or has no row', async (t) => {
    const database = await endedChain(t, store);
    await database.records.deleteFrom('audit_entry').execute();
    assert.match(
      await problems(database),
      /^C\/1 and what followed was cut off: the chain has ended, but its last record is missing$/,
    );
    await database.records.updateTable('audit_chain').set({ ended_at: null }).execute();
    assert.match(
      await problems(database),
      /^C\/1 and what followed was cut off: the chain has no records, but none were pruned$/,
    );
    await database.records.deleteFrom('audit_chain').execute();
    assert.match(await problems(database), /^all chains were removed: /);
  });

  test('R95: verification reports a chain whose records were deleted after pruning, but not one that pruning deleted whole', async (t) => {
    for (const maxSize of [undefined, 1]) {
      const database = await store.open(t);
      // The record of the end is earlier than the time at which the chain is marked as ended.
      const clock = clockAt(undefined, 1);
      const { log } = await begin(database, { clock });
      await act(log);
      clock.pass(maxCallDuration + 60_001);
      const retention = maxSize === undefined ? 1 : 90 * day;
      const prune = createAuditPruning({ database, clock, retention, maxSize, maxCallDuration: () => maxCallDuration });
      await prune();
      assert.equal(await problems(database), '');
      await act(log);
      await log.close();
      const whole = await database.read.selectFrom('audit_entry').selectAll().execute();
      await database.records.deleteFrom('audit_entry').execute();
      assert.match(
        await problems(database),
        /^C\/\d+ and what followed was cut off: the chain has ended, but its last record is missing$/,
      );
      await database.records.insertInto('audit_entry').values(whole).execute();
      clock.pass(maxCallDuration + 60_001);
      await prune();
      const left = await database.read.selectFrom('audit_entry').selectAll().execute();
      assert.deepEqual([left, await problems(database)], [[], '']);
    }
  });

  test('R95: verification names the first record that was swapped, or inserted', async (t) => {
    const swapped = await endedChain(t, store);
    for (const [from, to] of [
      [4, 104],
      [6, 4],
      [104, 6],
    ] as const) {
      await swapped.records.updateTable('audit_entry').set({ seq: to }).where('seq', '=', from).execute();
    }
    assert.match(await problems(swapped), /^C\/4 was swapped with C\/6$/);
    const inserted = await endedChain(t, store);
    for (let seq = 20; seq >= 5; seq -= 1)
      await inserted.records
        .updateTable('audit_entry')
        .set({ seq: seq + 1 })
        .where('seq', '=', seq)
        .execute();
    await sql`insert into audit_entry select chain, 5, kind, call, at, total, principal, adapter, facts, mac, approval from audit_entry
      where seq = 4`.execute(inserted.records);
    assert.match(await problems(inserted), /^C\/5 was inserted$/);
  });

  test('R95: verification reports a chain that is missing or begins late, and a checkpoint kept elsewhere shows what the store alone cannot', async (t) => {
    const file = join(tmpdir(), `checkpoints-${randomBytes(6).toString('hex')}`);
    t.after(() => rm(file, { force: true }));
    const database = await endedChain(t, store, file);
    const next = await begin(database, { checkpointFile: file });
    await act(next.log);
    await next.log.close();
    const checkpoints = (await readFile(file, 'utf8'))
      .trim()
      .split('\n')
      .map(readWitness)
      .filter((one) => one !== undefined && 'seq' in one);
    // Of each chain: its beginning, its first record, and its end.
    assert.equal(checkpoints.length, 6);
    assert.equal(await problems(database, checkpoints), '');
    const [forged] = checkpoints;
    assert.match(await problems(database, [{ ...(forged as Checkpoint), seq: 2 }]), /not signed/);
    const chains = await database.read.selectFrom('audit_chain').select('chain').orderBy('started_at').orderBy('chain').execute();
    const last = chains.map(({ chain }) => chain).find((chain) => checkpoints.at(-1)?.chain === chain) ?? '';
    // Somebody with access to the store can cut off the end of the last chain; only the checkpoint reveals that.
    await database.records.deleteFrom('audit_entry').where('chain', '=', last).where('seq', '>', 2).execute();
    await database.records.updateTable('audit_chain').set({ ended_at: null }).where('chain', '=', last).execute();
    assert.equal(await problems(database), '');
    assert.match(await problems(database, checkpoints), /^C\/3 to C\/4 were cut off: the checkpoint of 2026\S+ names C\/4$/m);
    const other = chains.map(({ chain }) => chain).find((chain) => chain !== last) ?? '';
    await database.records.deleteFrom('audit_entry').where('chain', '=', other).execute();
    await database.records.deleteFrom('audit_chain').where('chain', '=', other).execute();
    assert.match(await problems(database), /^the chain .* was removed: the beginning of/);
  });

  test('R95: verification names the first missing record of a chain whose end was cut off, and has a successor', async (t) => {
    const database = await store.open(t);
    const { log } = await begin(database);
    for (let calls = 0; calls < 4; calls += 1) await act(log);
    await log.close();
    const { log: next } = await begin(database);
    await next.close();
    const [ended] = await database.read.selectFrom('audit_chain').select('chain').where('linked_seq', '>', 0).execute();
    await database.records.updateTable('audit_chain').set({ ended_at: null }).execute();
    const cutFrom = (seq: number): Promise<unknown> =>
      database.records
        .deleteFrom('audit_entry')
        .where('chain', '=', ended?.chain ?? '')
        .where('seq', '>=', seq)
        .execute();
    await cutFrom(10);
    assert.match(await problems(database), /^C\/10 was cut off: the beginning of \S+ names C\/10$/);
    await cutFrom(4);
    assert.match(await problems(database), /^C\/4 to C\/10 were cut off: the beginning of \S+ names C\/10$/);
  });

  test('pruning leaves a chain that can be verified, and deletes no call that may be in progress', async (t) => {
    const database = await store.open(t);
    const { log, reader, clock } = await begin(database);
    await act(log);
    await log.intend({ ...call, requestId: 'under way' });
    clock.pass(10_000);
    const prune = createAuditPruning({ database, clock, retention: 1, maxCallDuration: () => maxCallDuration });
    await prune();
    assert.equal((await reader.list({ limit: 10 })).list.length, 3);
    clock.pass(maxCallDuration + 60_000);
    await act(log, { ...call, requestId: 'kept' });
    await prune();
    assert.deepEqual(
      (await reader.list({ limit: 10 })).list.map(({ requestId }) => requestId),
      ['kept'],
    );
    assert.equal(await problems(database), '');
    await act(log);
    await log.close();
    assert.equal(await problems(database), '');
    await database.records.updateTable('audit_chain').set({ pruned_before: 1 }).execute();
    assert.match(await problems(database), /the beginning of chain .* was removed, but not by a gateway/);
  });

  test('pages have no gap and no repetition while records are written', async (t) => {
    const database = await store.open(t);
    const { log, reader, clock } = await begin(database);
    for (let count = 0; count < 25; count += 1) {
      await act(log, { ...call, requestId: String(count) });
      clock.pass(count % 3);
    }
    const seen: string[] = [];
    for (let after = {}; ; ) {
      const page = await reader.list({ limit: 4, principal: 'ann', ...after });
      seen.push(...page.list.map(({ requestId }) => requestId ?? ''));
      await act(log, { ...call, requestId: 'later' });
      if (page.cursor === undefined) break;
      const [at, chain, seq] = JSON.parse(Buffer.from(page.cursor, 'base64url').toString()) as [number, string, number];
      after = { after: { at, chain, seq } };
    }
    await log.close();
    assert.deepEqual(
      seen,
      Array.from({ length: 25 }, (_, index) => String(24 - index)),
    );
  });

  test('records of one millisecond are listed, found and verified one by one, in both orders and with any page size', async (t) => {
    const database = await store.open(t);
    const { log, reader, clock } = await begin(database);
    const who = (count: number): string => (count % 3 === 0 ? 'ann' : 'bob');
    for (let count = 0; count < 90; count += 1) {
      if (count === 50) await act(log, { ...call, principal: 'carol', requestId: 'action' });
      if (count % 41 === 40) clock.pass(1);
      log.record({ event: 'request', principal: who(count), adapter: `A${count % 2}`, outcome: 'ok', requestId: String(count) });
    }
    await log.close();
    const kinds = await database.read.selectFrom('audit_entry').select('kind').execute();
    assert.ok(kinds.filter(({ kind }) => kind === 'records').length >= 3);
    const verdict = await verifyAudit(database);
    assert.deepEqual([verdict.problems, verdict.records], [[], 90 + 2 + 2]);

    const all = Array.from({ length: 90 }, (_, count) => count);
    const wanted = [
      [{ principal: 'ann' }, all.filter((count) => who(count) === 'ann')],
      [{ adapter: 'A1' }, all.filter((count) => count % 2 === 1)],
      [{ principal: 'bob', adapter: 'A0', outcome: 'ok' }, all.filter((count) => who(count) === 'bob' && count % 2 === 0)],
      [{ principal: 'bob', outcome: 'failed' }, []],
      [{ from: clock.now(), adapter: 'A0' }, [82, 84, 86, 88]],
      [{ to: clock.now() - 2 }, all.filter((count) => count < 40)],
    ] as const;
    for (const order of ['newest', 'oldest'] as const)
      for (const limit of [1, 7, 40, 1_000])
        for (const [filter, numbers] of wanted) {
          const seen: AuditRecord[] = [];
          for (let after = {}; ; ) {
            const page = await reader.list({ limit, ...filter, ...after }, order);
            assert.ok(page.list.length <= limit);
            seen.push(...page.list.filter(({ requestId }) => requestId !== undefined && requestId !== 'action'));
            if (page.cursor === undefined) break;
            const position = readCursor(page.cursor);
            assert.ok(position !== undefined);
            after = { after: position };
          }
          const found = seen.map(({ requestId }) => Number(requestId));
          assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length);
          assert.deepEqual(
            found.toSorted((one, other) => one - other),
            numbers,
          );
          const times = seen.map(({ time }) => Date.parse(time));
          const sign = order === 'newest' ? -1 : 1;
          assert.ok(times.every((time, index) => index === 0 || sign * (time - (times[index - 1] ?? 0)) >= 0));
        }
  });

  test('R95: verification names the entry in which one record was changed or removed, or whose search columns were changed', async (t) => {
    const database = await store.open(t);
    const { log } = await begin(database);
    for (const principal of ['ann', 'bob', 'carol']) log.record({ event: 'request', principal });
    await log.close();
    const [whole] = await database.read.selectFrom('audit_entry').selectAll().where('seq', '=', 2).execute();
    assert.equal(whole?.kind, 'records');
    const facts = whole.facts;
    const change = (changed: { facts?: string; principal?: string }): Promise<unknown> =>
      database.records.updateTable('audit_entry').set(changed).where('seq', '=', 2).execute();
    for (const other of [facts.replace('bob', 'mallory'), facts.replace(',{"event":"request","principal":"bob"}', '')]) {
      assert.notEqual(other, facts);
      await change({ facts: other });
      assert.equal(await problems(database), 'C/2 was changed');
    }
    await change({ facts });
    assert.equal(await problems(database), '');
    await change({ principal: 'ann' });
    assert.match(await problems(database), /^C\/2 was changed: its columns for searches/);
  });

  test('records of two gateways with one time are all listed, and are found by names that databases cannot store unchanged', async (t) => {
    const database = await store.open(t);
    const clock = clockAt();
    const { log, reader } = await begin(database, { clock });
    const { log: other } = await begin(database, { clock });
    for (const each of [log, other])
      for (const principal of ['ann', 'half\ud800']) each.record({ event: 'request', principal, adapter: principal });
    for (const each of [log, other]) await each.close();
    for (const order of ['newest', 'oldest'] as const)
      for (const filter of [{ principal: 'half\ufffd' }, { adapter: 'half\ud800' }]) {
        assert.equal((await reader.list({ limit: 9, ...filter }, order)).list.length, 2);
        const seen: string[] = [];
        for (let after = {}; ; ) {
          const page = await reader.list({ limit: 1, ...after }, order);
          seen.push(...page.list.map(({ id }) => id));
          if (page.cursor === undefined) break;
          after = { after: readCursor(page.cursor) };
        }
        assert.deepEqual([seen.length, new Set(seen).size], [8, 8]);
      }
  });

  test('a record of the gateway itself has its own entry', async (t) => {
    const database = await store.open(t);
    const { log } = await begin(database);
    log.record({ event: 'request', principal: 'ann' });
    log.record({ event: 'configuration', detail: 'taken in again' });
    log.record({ event: 'request', principal: 'ann' });
    await log.close();
    const rows = await database.read.selectFrom('audit_entry').select('kind').orderBy('seq').execute();
    assert.deepEqual(
      rows.map(({ kind }) => kind),
      Array.from({ length: 5 }, () => 'record'),
    );
  });

  test('a cursor from before records were combined continues at its position', async (t) => {
    const database = await store.open(t);
    const { log, reader } = await begin(database);
    for (let count = 0; count < 3; count += 1) log.record({ event: 'request', requestId: String(count) });
    await log.close();
    const [first] = (await reader.list({ limit: 1 })).list;
    assert.match(first?.id ?? '', /\/3$/);
    const [chain, place] = (first?.id ?? '').split('/');
    const cursor = Buffer.from(JSON.stringify([Date.parse(first?.time ?? ''), chain, Number(place)])).toString('base64url');
    const after = readCursor(cursor);
    assert.ok(after !== undefined);
    const { list } = await reader.list({ limit: 2, after });
    assert.deepEqual(
      list.map(({ id, requestId }) => [id, requestId]),
      [
        [`${chain}/2.3`, '2'],
        [`${chain}/2.2`, '1'],
      ],
    );
  });

  test('one request finds a rare name among many records, by each filter alone and by several', async (t) => {
    const database = await store.open(t);
    const { log, reader, clock } = await begin(database);
    t.after(() => log.close());
    const facts = { ...call, principal: 'rare', adapter: 'old', form: { id: 'ports' }, address: 'devices/device=pe%207/config' };
    await act(log, facts);
    const others = { chain: 'others', kind: 'record', call: 0, total: 0, principal: 'ann', adapter: 'NSO', facts: '{}', mac: '' };
    for (let seq = 1; seq <= 20_500; seq += 500) {
      const rows = Array.from({ length: 500 }, (_, index) => ({ ...others, seq: seq + index, at: clock.now() + seq + index }));
      await database.records.insertInto('audit_entry').values(rows).execute();
    }
    const filters = [
      { principal: 'rare' },
      { adapter: 'old' },
      { object: 'ports' },
      { device: 'pe 7' },
      { outcome: 'ok' },
      { address: 'pe%207' },
      { search: 'pe%207' },
      { principal: 'rare', adapter: 'old', device: 'pe 7', search: 'ports' },
    ] as const;
    for (const order of ['newest', 'oldest'] as const)
      for (const filter of filters) {
        const { list, cursor } = await reader.list({ limit: 5, ...filter }, order);
        assert.deepEqual([list.length, list[0]?.principal, cursor], [1, 'rare', undefined], JSON.stringify(filter));
      }
    assert.deepEqual((await reader.list({ limit: 5, principal: 'rare', adapter: 'new' })).list, []);
  });
});

test('verification does not report a chain whose gateway could not write its last record', async (t) => {
  const database = await sqliteStore.open(t);
  const { log } = await begin(database);
  await act(log);
  await sql`create trigger refused before insert on audit_entry when new.facts like '%"end"%' begin
    select raise(abort, 'no room'); end`.execute(database.records);
  await log.close();
  assert.equal(await problems(database), '');
});

test('a line with numbers that no checkpoint can have is not a checkpoint', () => {
  const line = (changes: object): string => JSON.stringify({ chain: 'a', seq: 1, mac: 'm', at: 1, signature: 's', ...changes });
  assert.deepEqual(readWitness(line({})), JSON.parse(line({})));
  for (const changes of [{ at: 1e20 }, { at: -1 }, { seq: 0.5 }, { seq: 1e300 }])
    assert.equal(readWitness(line(changes)), undefined);
});
