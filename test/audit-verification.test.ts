import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, pointersOf, post } from './support/callers/calls.ts';
import { command } from './support/gateway/command.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { eachStore, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';

// POST /audit/verify: what `audit verify` says, over HTTP and in parts.

interface Verdict {
  readonly chains: number;
  readonly records: number;
  readonly checkpoints: number;
  readonly from: string;
  readonly to: string;
  readonly problems: readonly string[];
  readonly cursor?: string;
}

async function verified(gateway: Gateway, body: object = {}): Promise<Verdict> {
  const reply = await post(gateway, '/audit/verify', body, { role: 'admin' });
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Verdict;
}

eachStore((store) => {
  test('R95: an administrator verifies the audit log over HTTP: intact, with checkpoints, tampered with', async (t) => {
    const options = await store.empty(t);
    const gateway = await startGateway(t, {
      config: { store: { url: storeUrl(options) }, audit: { checkpointFile: './checkpoints' } },
    });
    const made = await post(gateway, '/automation_catalog/automations', { name: 'on record' }, { role: 'admin' });
    assert.equal(made.status, 201);
    let records: readonly AuditRecord[] = [];
    await until('the request is on record', async () => {
      const { text } = await gateway.send({ target: '/audit', role: 'admin' });
      records = (JSON.parse(text) as { readonly list: readonly AuditRecord[] }).list.toReversed();
      return records.length > 1;
    });
    const bare = await gateway.send({ method: 'POST', target: '/audit/verify', role: 'admin' });
    const intact = bare.json() as Verdict;
    assert.deepEqual([intact.chains, intact.checkpoints, intact.problems, intact.cursor], [1, 0, [], undefined]);
    assert.ok(intact.records >= records.length && intact.from === records[0]?.time && intact.to >= intact.from, bare.text);

    const lines = (await readFile(join(gateway.directory, 'checkpoints'), 'utf8')).trim().split('\n');
    const checkpoints = lines.map((line) => JSON.parse(line) as { readonly seq: number });
    const compared = await verified(gateway, { checkpoints });
    assert.deepEqual([compared.checkpoints, compared.problems], [checkpoints.length, []]);
    const forged = await verified(gateway, { checkpoints: checkpoints.map((one) => ({ ...one, seq: one.seq + 1 })) });
    assert.match(forged.problems[0] ?? '', /is not signed by this store's key$/u);

    const [chain = ''] = records[0]?.id.split('/') ?? [];
    const cursor = Buffer.from(JSON.stringify([chain, 1])).toString('base64url');
    const rest = await verified(gateway, { cursor });
    assert.ok(rest.records < (await verified(gateway)).records);

    const database = await store.open(t, options);
    await database.records.updateTable('audit_entry').set({ principal: 'mallory' }).where('seq', '=', 2).execute();
    const broken = await verified(gateway);
    const problem = `${chain}/2 was changed: its columns for searches differ from its text`;
    assert.deepEqual(broken.problems, [problem]);
    const said = await command(['audit', 'verify', '--config', gateway.configFile], {});
    assert.deepEqual([said.code, said.stdout], [1, `${problem}\n`]);
    assert.match(said.stderr, /^verified \d+ records? in 1 chain, 0 checkpoints, from 2\S+Z to 2\S+Z: TAMPERED WITH\n$/u);

    const wrong = await post(gateway, '/audit/verify', { cursor: 'x', checkpoints: [], form: 1 }, { role: 'admin' });
    assert.deepEqual(pointersOf(assertProblem(wrong, 400, 'invalid-request')), ['/cursor', '/form']);
    assertProblem(await post(gateway, '/audit/verify', {}, { role: 'engineering' }), 403, 'forbidden');
  });
});
