// suite: waiting

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { proofKeyOf, proofOf } from '../src/approvals/approval-proof.ts';
import { approvalOf, factsText } from '../src/approvals/approval-row.ts';
import { approvalCaller, people } from './support/approvals/approval-caller.ts';
import { assertProblem } from './support/callers/calls.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl, type TestStore } from './support/stores/stores.ts';

// Two neighbouring versions know different fields, and still agree about who decided what: docs/guides/upgrading.md.

const bob = { id: 'bob', username: 'bob' };
const hidden = { future: { limit: 18, list: ['a'] } };
const digest = createHash('sha256').update(JSON.stringify(hidden.future)).digest('base64url');

interface StoredDocument {
  readonly data: Readonly<Record<string, unknown>>;
  readonly extra?: unknown;
}

interface StoredPeople {
  readonly fields: Readonly<Record<string, { readonly authors: readonly object[]; readonly digest?: string }>>;
  readonly reviewer?: object;
}

async function started(t: TestContext, store: TestStore) {
  const options = await store.empty(t);
  const gateway = await startGateway(t, { users: [...people], config: { store: { url: storeUrl(options) } } });
  const database = await store.open(t, options);
  const { send } = approvalCaller(() => gateway);
  const document = { dsl: '1.0.3', namespace: 'lab', name: 'plain', version: '1.0.0' };
  const stored = await send('ann', 'POST', '/automation_catalog/workflows', { document, do: [{ a: { set: { x: 1 } } }] });
  assert.equal(stored.status, 201, stored.text);
  const data = { workflowId: 'lab.plain', input: { n: 1 } };
  const made = (await send('ann', 'POST', '/automation_catalog/automations', { name: 'one', data })).json() as { _id: string };
  const target = `/automation_catalog/automations/${made._id}`;
  const read = async () => {
    const row = await database.read.selectFrom('automation_text').select(['document', 'people']).executeTakeFirstOrThrow();
    return { document: JSON.parse(row.document) as StoredDocument, people: JSON.parse(row.people ?? '{}') as StoredPeople };
  };
  const write = (next: { readonly document?: object; readonly people?: object }) =>
    database.query
      .updateTable('automation_text')
      .set(Object.fromEntries(Object.entries(next).map(([column, value]) => [column, JSON.stringify(value)])))
      .execute();
  /** As a newer gateway does that knows the field, with an author of it and a member of the people. */
  const asNewer = async (): Promise<void> => {
    const { document: before, people: known } = await read();
    const fields = { ...known.fields, future: { authors: [bob], former: [], digest } };
    await write({
      document: { ...before, data: { ...before.data, ...hidden }, extra: 1 },
      people: { ...known, fields, reviewer: bob },
    });
  };
  return { send, target, read, write, asNewer, id: made._id };
}

eachStore((store) => {
  test('a field of a newer version and its people survive each write of this version, and the ETag covers it', async (t) => {
    const { send, target, read, asNewer, id } = await started(t, store);
    const before = (await send('ann', 'GET', target)).header('etag');
    await asNewer();
    const seen = await send('ann', 'GET', target);
    assert.equal(seen.text.includes('future'), false);
    assert.notEqual(seen.header('etag'), before);
    const line = JSON.stringify({
      _id: id,
      name: 'one',
      data: { workflowId: 'lab.plain', description: 'imported', input: { n: 1 } },
    });
    const ndjson = { 'Content-Type': 'application/x-ndjson' };
    for (const change of [
      () => send('ann', 'PATCH', target, { data: { description: 'x' } }),
      () => send('ann', 'PATCH', target, { data: { input: { n: 2 } } }),
      () => send('ann', 'PUT', target, { name: 'two', data: { workflowId: 'lab.plain', input: { n: 1 } } }),
      () => send('ann', 'PATCH', target, { nextRunAt: '2099-01-01T00:00:00.000Z' }),
      () => send('ann', 'PATCH', target, { nextRunAt: null }),
      () => send('ann', 'POST', '/automation_catalog/import', `${line}\n`, ndjson),
    ]) {
      const changed = await change();
      assert.ok(changed.status < 300, changed.text);
      const { document, people: kept } = await read();
      assert.deepEqual(document.data['future'], hidden.future, changed.text);
      assert.equal(document.extra, 1);
      assert.deepEqual(kept.fields['future'], { authors: [bob], former: [], digest });
      assert.deepEqual(kept.reviewer, bob);
    }
    const run = await send('ann', 'POST', `${target}/run`, {});
    assert.equal(run.status, 201, run.text);
    const { involved } = run.json() as {
      readonly involved: readonly { readonly principal: string; readonly as: readonly string[] }[];
    };
    assert.ok(involved.find(({ principal }) => principal === 'bob')?.as.includes('author'), run.text);
    assert.equal((await send('bob', 'POST', `${target}/take`)).status, 200);
    assert.equal((await read()).people.fields['future']?.digest, digest);
  });

  test('a value that changed without its people has no authors, until a person takes the automation', async (t) => {
    const { send, target, read, write } = await started(t, store);
    const { document } = await read();
    await write({ document: { ...document, data: { ...document.data, input: { n: 666 } } } });
    const begin = () => send('ann', 'POST', `${target}/run`, {});
    assertProblem(await begin(), 409, 'delegation-lost');
    // A write of another field changes nothing about that.
    assert.equal((await send('ann', 'PATCH', target, { data: { description: 'x' } })).status, 200);
    assertProblem(await begin(), 409, 'delegation-lost');
    assert.equal((await send('ann', 'POST', `${target}/take`)).status, 200);
    assert.equal((await begin()).status, 201);
  });
});

test('an approval with a member of a newer version keeps it, and is proven by the same text in both versions', () => {
  const key = proofKeyOf('a key of this test, with more than 32 characters');
  const principal = { id: 'ann', username: 'ann', roles: [], groups: [] };
  const rules = [{ name: 'r', approvers: { roles: [], groups: ['g'] }, count: 1, selfApproval: false as const }];
  const asked = { principal, message: 'May it?', rules, involved: [] };
  const [id, subject] = ['00000000-0000-7000-8000-000000000000', 's'];
  // A newer version puts its member last.
  const text = JSON.stringify(['approval', { id, subject, ...asked, future: { n: 1 } }, 1, 2]);
  const facts = { ...asked, proof: proofOf(text, key), decisions: [], future: { n: 1 } };
  const times = { created_at: 1, expires_at: 2, changed_at: 1, holds_until: null };
  const rest = { rules: '', run: null, caller_digest: '', used_by: null, unannounced: 0, unrecorded: 0, lowest: 0 };
  const row = { id, subject, status: 'waiting' as const, facts: JSON.stringify(facts), ...times, ...rest };
  const approval = approvalOf(row, key);
  assert.deepEqual([approval.isVoid, approval.status], [false, 'waiting']);
  assert.deepEqual((JSON.parse(factsText(approval)) as typeof facts).future, { n: 1 });
});
