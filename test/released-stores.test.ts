// suite: long

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { command } from './support/gateway/command.ts';
import { configurationOf, type GatewayProcess, startGatewayProcess, testPasswordHash } from './support/gateway/start-gateway.ts';
import { adminAt } from './support/runs/run-stage.ts';
import { fillPostgres } from './support/stores/earlier-store.ts';
import { foundPostgres, storeUrl } from './support/stores/stores.ts';
import { temporaryFile } from './support/temporary-file.ts';

// Stores of each release (tools/release/store-fixture.ts): every later version opens them.

const releases = globSync('test/support/stores/releases/*.backup');
const dumps = globSync('test/support/stores/releases/*.postgres.sql.gz');

test('there are the stores of a release', () => assert.deepEqual([releases.length > 0, dumps.length > 0], [true, true]));

/** Who began the runs of the fixture. */
const users = [{ username: 'admin', passwordHash: testPasswordHash, roles: ['admin'], groups: [] }];

/** The store is used: its automations and runs answer, runs of before are held, and the audit log verifies. */
async function assertUsable(gateway: GatewayProcess): Promise<void> {
  const listed = await gateway.send({ role: 'admin', target: '/automation_catalog/automations?sort=name' });
  const { list } = listed.json() as { readonly list: readonly { readonly name: string }[] };
  assert.deepEqual(list.map(({ name }) => name).toSorted(), ['Bring up a VPN', 'Nightly check-sync', 'Rename a device']);
  const runs = await (await adminAt(gateway)).list();
  assert.ok(runs.some(({ status }) => status === 'completed'));
  // The run that waited for people was under way when the backup was made.
  const waited = runs.find(({ status }) => status !== 'completed');
  assert.equal((await (await adminAt(gateway)).reaches(waited?.id ?? '', 'suspended')).suspendedBy, 'store-loss');
  const { code, stderr } = await command(['audit', 'verify', '--config', join(gateway.directory, 'gateway.yaml')]);
  assert.equal(code, 0, stderr);
}

for (const backup of releases) {
  test(`the store of release ${basename(backup, '.backup')} is restored, migrated and used`, async (t) => {
    const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({})));
    const restored = await command(['restore', resolve(backup), '--config', file]);
    assert.equal(restored.code, 0, restored.stderr);
    const gateway = await startGatewayProcess(t, { users, config: { store: { url: `sqlite:${join(file, '../gateway.db')}` } } });
    await assertUsable(gateway);
  });
}

for (const dump of dumps) {
  test(`the PostgreSQL store of release ${basename(dump, '.postgres.sql.gz')} is restored, migrated and used`, async (t) => {
    if (foundPostgres === undefined) return t.skip('no PostgreSQL answers');
    const options = await foundPostgres.fresh(t);
    assert.ok(options.kind === 'postgres');
    await fillPostgres(options, gunzipSync(readFileSync(dump)).toString('utf8'));
    const config = { store: { url: storeUrl(options) } };
    const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({ config })));
    const marked = await command(['mark-restored', '--config', file]);
    assert.equal(marked.code, 0, marked.stderr);
    await assertUsable(await startGatewayProcess(t, { users, config }));
  });
}
