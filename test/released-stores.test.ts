// suite: long

import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { test } from 'node:test';
import { command } from './support/gateway/command.ts';
import { configurationOf, startGatewayProcess, testPasswordHash } from './support/gateway/start-gateway.ts';
import { adminAt } from './support/runs/run-stage.ts';
import { temporaryFile } from './support/temporary-file.ts';

// A backup of a store of each release (tools/release/store-fixture.ts): every later version opens it.

const releases = globSync('test/support/stores/releases/*.backup');

test('there is the store of a release', () => assert.ok(releases.length > 0));

for (const backup of releases) {
  test(`the store of release ${basename(backup, '.backup')} is restored, migrated and used`, async (t) => {
    const file = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({})));
    const restored = await command(['restore', resolve(backup), '--config', file]);
    assert.equal(restored.code, 0, restored.stderr);
    const gateway = await startGatewayProcess(t, {
      // Who began the runs of the fixture.
      users: [{ username: 'admin', passwordHash: testPasswordHash, roles: ['admin'], groups: [] }],
      config: { store: { url: `sqlite:${join(file, '../gateway.db')}` } },
    });
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
  });
}
