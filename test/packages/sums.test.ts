// suite: long, alone

import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { writeSums } from '../../tools/package/sums.ts';
import { cannotRun, mustRun, packageFile, runTool, temporaryFolder } from '../support/packages/packages.ts';

// The sums of the packages, and their signature: docs/guides/installing.md says how people verify a download.

test('SHA256SUMS names every package, and each one has its digest', { skip: cannotRun(['sha256sum', 'coreutils']) }, async () => {
  const sums = packageFile('SHA256SUMS');
  const named = [...readFileSync(sums, 'utf8').matchAll(/^[0-9a-f]{64} {2}(.+)$/gmu)].map(([, name = '']) => name);
  const made = readdirSync(dirname(sums)).filter((name) => !name.startsWith('SHA256SUMS'));
  assert.deepEqual(named.toSorted(), made.toSorted());
  await mustRun('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: dirname(sums) });
});

/** Two files with signed sums, and the key with which a person verifies them. */
async function signedFolder(t: TestContext) {
  const keys = temporaryFolder(t, 'keys');
  const [secret, shared] = [join(keys, 'secret.key'), join(keys, 'shared.pub')];
  await mustRun('minisign', ['-G', '-W', '-s', secret, '-p', shared]);
  const folder = temporaryFolder(t, 'signed');
  for (const name of ['one.deb', 'two.tar.xz']) writeFileSync(join(folder, name), `the bytes of ${name}`);
  await writeSums(folder, secret);
  const verify = (key: string) => runTool('minisign', ['-V', '-p', key, '-m', 'SHA256SUMS'], { cwd: folder });
  const check = () => runTool('sha256sum', ['--check', '--strict', '--ignore-missing', 'SHA256SUMS'], { cwd: folder });
  return { folder, keys, secret, shared, verify, check };
}

test('the sums are signed by the given key, and neither changed sums, a changed package nor another key pass', {
  skip: cannotRun(['minisign', 'minisign']),
}, async (t) => {
  const { folder, keys, secret, shared, verify, check } = await signedFolder(t);
  assert.match((await verify(shared)).output, /^Signature and comment signature verified/u);
  assert.equal((await check()).code, 0);

  await mustRun('minisign', ['-G', '-W', '-s', join(keys, 'other.key'), '-p', join(keys, 'other.pub')]);
  assert.notEqual((await verify(join(keys, 'other.pub'))).code, 0, 'another key');

  appendFileSync(join(folder, 'one.deb'), '!');
  assert.match((await check()).output, /^one\.deb: FAILED$/mu);
  appendFileSync(join(folder, 'SHA256SUMS'), '\n');
  assert.notEqual((await verify(shared)).code, 0, 'changed sums');

  // A second run replaces both.
  await writeSums(folder, secret);
  assert.equal((await verify(shared)).code, 0);
  assert.equal((await check()).code, 0);
  await writeSums(folder);
  assert.ok(!existsSync(join(folder, 'SHA256SUMS.minisig')), 'no signature of other sums stays');
});
