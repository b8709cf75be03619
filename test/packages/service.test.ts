// suite: long, alone

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cannotRun, debianRoot, mustRun, packageFile, temporaryFolder, version } from '../support/packages/packages.ts';

// The .deb under a real systemd: installed, started, upgraded and downgraded under load, removed and purged.

const tools = [
  ['systemd-nspawn', 'systemd-container'],
  ['mmdebstrap', 'mmdebstrap'],
  ['dpkg-deb', 'dpkg'],
] as const;
const support = (name: string): string => fileURLToPath(new URL(`../support/packages/${name}`, import.meta.url));

/** The same program as a package of another version. */
async function otherVersion(t: Parameters<typeof temporaryFolder>[0], deb: string, other: string): Promise<string> {
  const folder = temporaryFolder(t, 'other-version');
  await mustRun('dpkg-deb', ['-R', deb, join(folder, 'tree')]);
  const edit = (name: string, before: string, after: string): void => {
    const file = join(folder, 'tree', name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(before, after));
  };
  edit('DEBIAN/control', `Version: ${version}`, `Version: ${other}`);
  edit('usr/lib/orchestration-gateway/package.json', `"version": "${version}"`, `"version": "${other}"`);
  await mustRun('dpkg-deb', ['--root-owner-group', '-Znone', '--build', join(folder, 'tree'), join(folder, 'other.deb')]);
  return join(folder, 'other.deb');
}

async function bootableRoot(t: Parameters<typeof debianRoot>[0]): Promise<string> {
  const root = await debianRoot(t);
  for (const folder of ['packages', 'result']) mkdirSync(join(root, folder));
  const deb = packageFile(`orchestration-gateway_${version}_amd64.deb`);
  copyFileSync(deb, join(root, 'packages/first.deb'));
  copyFileSync(await otherVersion(t, deb, '0.99.0'), join(root, 'packages/second.deb'));
  copyFileSync(support('service-load.mjs'), join(root, 'packages/load.mjs'));
  copyFileSync(support('service-script.sh'), join(root, 'packages/script.sh'));
  await mustRun('apt-get', ['download', '-q', '-o', 'APT::Sandbox::User=root', 'libatomic1'], { cwd: join(root, 'packages') });
  const unit = '[Unit]\nAfter=basic.target\n[Service]\nType=exec\nExecStart=/bin/bash /packages/script.sh\n';
  writeFileSync(join(root, 'etc/systemd/system/test.service'), unit);
  mkdirSync(join(root, 'etc/systemd/system/multi-user.target.wants'), { recursive: true });
  await mustRun('ln', ['-s', '../test.service', join(root, 'etc/systemd/system/multi-user.target.wants/test.service')]);
  return root;
}

const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

test('the service is installed, upgraded and downgraded under load with nothing lost, removed and purged', {
  skip: cannotRun(...tools),
  timeout: 600_000,
}, async (t) => {
  const root = await bootableRoot(t);
  const how = ['--quiet', '--register=no', '--keep-unit', '--private-network', '--console=pipe', '-D', root, '-b'];
  const environment = { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '0' };
  const child = spawn('systemd-nspawn', how, { env: environment, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let boot = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (boot += text.toString()));
  const impatient = setTimeout(() => child.kill('SIGKILL'), 300_000);
  t.after(() => void child.kill('SIGKILL'));
  await new Promise((resolve) => child.on('exit', resolve));
  clearTimeout(impatient);
  const log = read(join(root, 'result/log'));
  if (log === '' && process.env['CI'] !== 'true') return t.skip(`systemd does not boot here: ${boot.trim().split('\n').at(-1)}`);
  t.diagnostic(read(join(root, 'result/load')).trim());
  const expected = [
    'installed 0',
    'before configuration inactive disabled',
    'init 0',
    'enabled 0',
    'ready 0',
    'user orchestration-gateway',
    'store orchestration-gateway 600',
    'doctor 0',
    'reload 0',
    'restarted 0',
    'upgraded 0',
    'version 0.99.0 active',
    'downgraded 0',
    `version ${version} active`,
    'load 0',
    'configuration kept 0',
    'removed 0 inactive',
    'data 3',
    'purged 0 0',
    'done',
  ];
  assert.deepEqual(
    log.trim().split('\n'),
    expected,
    `${read(join(root, 'result/output')).slice(-4000)}\n${read(join(root, 'result/load'))}\n${boot.slice(-2000)}`,
  );
});
