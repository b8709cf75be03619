// suite: long

import assert from 'node:assert/strict';
import { readFile, rm, stat } from 'node:fs/promises';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Database } from '../src/database/database.ts';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import { assertProblem, post } from './support/callers/calls.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import type { Owner } from './support/owner.ts';
import { eachStoreWith, sqliteStore, storeUrl, type TestStore } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// A writer of the database who does not have the key of approvals lets no call leave (docs/security.md).

const leads = { groups: ['noc-leads'] };
const approvals = [
  { name: 'changes', when: { paths: ['**/one'] }, approvers: leads },
  { name: 'two-people', when: { paths: ['**/two'] }, approvers: leads, count: 2 },
];
const params = { accept: 'application/json', contentType: 'application/json' };

async function started(owner: Owner, store: TestStore) {
  const far = await upstream(owner);
  far.answer(() => jsonReply('{"done":true}'));
  const options = await store.empty(owner);
  const config = {
    approvals,
    outbound: { allow: [far.authority] },
    store: { url: storeUrl(options) },
    audit: { key: 'a key that the database does not hold' },
  };
  const settings = {
    users: [...people],
    config,
    adapters: [{ name: 'NSO', kind: 'rest', url: far.url, auth: { type: 'none' } }],
  };
  const gateway = await startGateway(owner, settings);
  const caller = approvalCaller(() => gateway);
  const call = (path: string, body: object, headers = {}) =>
    caller.send('ann', 'POST', '/orchestrator_manager/restAction/NSO', { params: { path, ...params }, body }, headers);
  return { far, options, settings, gateway, call, ...caller };
}

/** Writes the database as somebody who has it, and not the configuration. */
async function forge(database: Database, id: string, change: (row: Row) => Partial<Row>): Promise<void> {
  const row = await database.read.selectFrom('approval').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  await database.records.updateTable('approval').set(change(row)).where('id', '=', id).execute();
}

interface Row {
  readonly status: 'waiting' | 'granted' | 'rejected' | 'expired' | 'used';
  readonly facts: string;
  readonly used_by: string | null;
  readonly unrecorded: number;
}

interface Facts {
  readonly rules: readonly { readonly count: number }[];
  readonly decisions: readonly object[];
}

function withFacts({ facts }: Row, change: (facts: Facts) => object): string {
  const read = JSON.parse(facts) as Facts;
  return JSON.stringify({ ...read, ...change(read) });
}

async function problemsOf(gateway: Gateway): Promise<readonly string[]> {
  const problems: string[] = [];
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const reply = await post(gateway, '/audit/verify', cursor === undefined ? {} : { cursor }, { role: 'admin' });
    assert.equal(reply.status, 200, reply.text);
    const part = reply.json() as { readonly problems: readonly string[]; readonly cursor?: string };
    problems.push(...part.problems);
    cursor = part.cursor;
  }
  return problems;
}

eachStoreWith({ concurrency: 3 }, (store) => {
  test('a status that was set to granted lets nothing leave, and verification names the approval', async (t) => {
    const { far, options, gateway, call, needed, read } = await started(t, store);
    const database = await store.open(t, options);
    const id = needed(await call('act/one', { a: 1 }));
    assert.deepEqual(await problemsOf(gateway), []);
    await forge(database, id, () => ({ status: 'granted' }));
    assert.equal((await read('lea', id)).status, 'waiting');
    assert.equal(needed(await call('act/one', { a: 1 }, { Approval: id })), id);
    assert.equal(far.requests.length, 0);
    assert.match((await problemsOf(gateway)).join('\n'), new RegExp(`${id} is granted in the store, without its grants`, 'u'));
  });

  test('a grant that a person did not give counts for nothing, also with the facts of one that was given', async (t) => {
    const { far, options, gateway, call, needed, grant, read } = await started(t, store);
    const database = await store.open(t, options);
    const given = needed(await call('act/one', { a: 1 }));
    await grant('lea', given);
    const { facts } = await database.read
      .selectFrom('approval')
      .select('facts')
      .where('id', '=', given)
      .executeTakeFirstOrThrow();
    const { decisions } = JSON.parse(facts) as Facts;
    const id = needed(await call('act/one', { a: 2 }));
    await forge(database, id, (row) => ({ status: 'granted', facts: withFacts(row, () => ({ decisions })) }));
    assert.equal(needed(await call('act/one', { a: 2 }, { Approval: id })), id);
    assert.deepEqual([(await read('lea', id)).decisions, far.requests.length], [[], 0]);
    assert.match((await problemsOf(gateway)).join('\n'), new RegExp(`${id} was made up`, 'u'));
  });

  test('a count that was lowered makes the approval void, so that the call asks again', async (t) => {
    const { far, options, gateway, call, needed, grant } = await started(t, store);
    const database = await store.open(t, options);
    const id = needed(await call('act/two', { a: 1 }));
    await grant('lea', id);
    await forge(database, id, (row) => ({
      status: 'granted',
      facts: withFacts(row, ({ rules }) => ({ rules: rules.map((rule) => ({ ...rule, count: 1 })) })),
    }));
    const again = needed(await call('act/two', { a: 1 }, { Approval: id }));
    assert.notEqual(again, id);
    assert.equal(far.requests.length, 0);
    assert.match((await problemsOf(gateway)).join('\n'), new RegExp(`${id} was changed`, 'u'));
  });

  test('a use and a rejection that were taken back let nothing leave', async (t) => {
    const { far, options, gateway, call, needed, grant, decide } = await started(t, store);
    const database = await store.open(t, options);
    const used = needed(await call('act/one', { a: 1 }));
    await grant('lea', used);
    assert.equal((await call('act/one', { a: 1 }, { Approval: used })).status, 200);
    await forge(database, used, () => ({ status: 'granted', used_by: null }));
    assertProblem(await call('act/one', { a: 1 }, { Approval: used }), 409, 'approval-used');
    const rejected = needed(await call('act/one', { a: 2 }));
    await grant('lea', rejected);
    await decide('leo', rejected, 'reject');
    await forge(database, rejected, (row) => ({
      status: 'granted',
      facts: withFacts(row, ({ decisions }) => ({ decisions: decisions.slice(0, 1) })),
    }));
    assertProblem(await call('act/one', { a: 2 }, { Approval: rejected }), 409, 'approval-rejected');
    assert.equal(far.requests.length, 1);
    const problems = (await problemsOf(gateway)).join('\n');
    assert.match(problems, new RegExp(`${used} is granted in the store, although it was used`, 'u'));
    assert.match(problems, new RegExp(`${rejected} is granted in the store, although it was rejected`, 'u'));
    assert.match(problems, new RegExp(`a decision about the approval ${rejected} was removed`, 'u'));
  });

  test('deleted approvals and deleted events of approvals show in a verification', async (t) => {
    const { options, gateway, call, needed, grant } = await started(t, store);
    const database = await store.open(t, options);
    const gone = needed(await call('act/one', { a: 1 }));
    const silent = needed(await call('act/one', { a: 2 }));
    await grant('lea', silent);
    assert.deepEqual(await problemsOf(gateway), []);
    await database.records.deleteFrom('approval').where('id', '=', gone).execute();
    await sql`delete from event_log where event like ${`%/approvals/${silent}%approval.granted%`}`.execute(database.records);
    const problems = (await problemsOf(gateway)).join('\n');
    assert.match(problems, new RegExp(`the approval ${gone} was removed`, 'u'));
    assert.match(problems, new RegExp(`the event granted/1 of the approval ${silent} was removed`, 'u'));
  });

  test('what people are shown is what was asked: a changed call or body cannot be granted', async (t) => {
    const { options, call, needed, decide } = await started(t, store);
    const database = await store.open(t, options);
    const changed = needed(await call('act/one', { a: 1 }));
    await forge(database, changed, ({ facts }) => ({ facts: facts.replace('act/one', 'lab/one') }));
    assertProblem(await decide('lea', changed, 'grant'), 409, 'approval-expired');
    const other = needed(await call('act/one', { a: 2 }));
    await database.records
      .updateTable('approval')
      .set({ body: Buffer.from('{"a":"harmless"}') })
      .where('id', '=', other)
      .execute();
    assertProblem(await decide('lea', other, 'grant'), 409, 'approval-expired');
  });

  test('a grant ends for good with the group or the account of its granter', async (t) => {
    const { far, gateway, settings, call, needed, grant, read, send } = await started(t, store);
    const without = (changed: readonly object[]) => reloadWith(gateway, { ...settings, users: changed as typeof settings.users });
    for (const [body, users] of [
      [{ a: 'group' }, people.map((one) => (one.username === 'lea' ? { ...one, groups: [] } : one))],
      [{ a: 'account' }, people.filter(({ username }) => username !== 'lea')],
    ] as const) {
      const id = needed(await call('act/one', body));
      assert.equal((await grant('lea', id)).status, 'granted');
      await without(users);
      const seen = await read('leo', id);
      assert.deepEqual([seen.status, seen.rules[0]?.grants], ['waiting', 0]);
      assert.ok(seen.decisions[0]?.withdrawn);
      assert.equal(needed(await call('act/one', body, { Approval: id })), id);
      await without(people);
      assert.equal(needed(await call('act/one', body, { Approval: id })), id, 'the grant does not come back');
      await until('it is on record', async () => {
        const { text } = await send('ann', 'GET', '/audit?limit=200');
        return text.includes('"event":"withdrawn"') && text.includes('The grant of lea counts no more');
      });
      assert.equal((await grant('leo', id)).status, 'granted');
      assert.equal((await call('act/one', body, { Approval: id })).status, 200);
    }
    assert.equal(far.requests.length, 2);
    assert.deepEqual(await problemsOf(gateway), []);
  });

  test('a new key voids open approvals, so that the call asks again, and the log stays intact', async (t) => {
    const { far, gateway, settings, call, needed, grant } = await started(t, store);
    const id = needed(await call('act/one', { a: 1 }));
    await grant('lea', id);
    await gateway.stop();
    const config = { ...settings.config, audit: { key: 'another key, which is new to the store' } };
    const later = await startGateway(t, { ...settings, config });
    const target = '/orchestrator_manager/restAction/NSO';
    const body = { params: { path: 'act/one', ...params }, body: { a: 1 } };
    const next = approvalCaller(() => later);
    const again = needed(await next.send('ann', 'POST', target, body, { Approval: id }));
    assert.notEqual(again, id);
    assert.equal((await next.read('ann', id)).status, 'expired');
    await next.grant('lea', again);
    assert.equal((await next.send('ann', 'POST', target, body, { Approval: again })).status, 200);
    assert.equal(far.requests.length, 1);
    assert.deepEqual(await problemsOf(later), []);
  });

  test('an approval of an earlier version has no proof, so an upgrade voids it and its call asks again', async (t) => {
    const { far, options, gateway, settings, call, needed, grant } = await started(t, store);
    const id = needed(await call('act/one', { a: 1 }));
    await grant('lea', id);
    await gateway.stop();
    const database = await store.open(t, options);
    await forge(database, id, (row) => ({
      facts: withFacts(row, ({ decisions }) => ({
        involved: undefined,
        bodyDigest: undefined,
        proof: undefined,
        decisions: decisions.map((decision) => ({ ...decision, proof: undefined })),
      })),
    }));
    await sql`update audit_entry set approval = null`.execute(database.records);
    const later = await startGateway(t, settings);
    const next = approvalCaller(() => later);
    await until('it has ended', async () => (await next.list('lea', '?status=expired')).some((one) => one.id === id));
    const target = '/orchestrator_manager/restAction/NSO';
    const body = { params: { path: 'act/one', ...params }, body: { a: 1 } };
    const again = needed(await next.send('ann', 'POST', target, body, { Approval: id }));
    assert.notEqual(again, id);
    await next.grant('lea', again);
    assert.equal((await next.send('ann', 'POST', target, body, { Approval: again })).status, 200);
    assert.equal(far.requests.length, 1);
  });
});

test('the key of approvals is a file next to a SQLite store, which its owner alone can read, and a lost one voids approvals', async (t) => {
  const options = await sqliteStore.fresh(t);
  assert.ok(options.kind === 'sqlite');
  const far = await upstream(t);
  far.answer(() => jsonReply('{}'));
  const settings = {
    users: [...people],
    config: { approvals, outbound: { allow: [far.authority] }, store: { url: storeUrl(options) } },
    adapters: [{ name: 'NSO', kind: 'rest', url: far.url, auth: { type: 'none' } }],
  };
  let gateway = await startGateway(t, settings);
  const { send, needed, grant } = approvalCaller(() => gateway);
  const file = `${options.file}.key`;
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const key = await readFile(file, 'utf8');
  const call = (headers = {}) =>
    send('ann', 'POST', '/orchestrator_manager/restAction/NSO', { params: { path: 'act/one', ...params }, body: {} }, headers);
  const id = needed(await call());
  await grant('lea', id);
  await gateway.stop();
  gateway = await startGateway(t, settings);
  assert.equal(await readFile(file, 'utf8'), key);
  await gateway.stop();
  await rm(file);
  gateway = await startGateway(t, settings);
  assert.notEqual(needed(await call({ Approval: id })), id);
  assert.equal(far.requests.length, 0);
});
