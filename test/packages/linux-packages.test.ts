// suite: long, alone

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  cannotRun,
  debianRoot,
  type Ended,
  inRoot,
  mustRun,
  packageFile,
  runTool,
  temporaryFolder,
  version,
} from '../support/packages/packages.ts';

// The archive, the .deb and the .rpm in a minimal Debian without network, without Node.js and without libatomic.

const debian = [
  ['mmdebstrap', 'mmdebstrap'],
  ['unshare', 'util-linux'],
] as const;
const archive = packageFile(`orchestration-gateway-${version}-linux-x64.tar.xz`);
const deb = packageFile(`orchestration-gateway_${version}_amd64.deb`);
const rpm = packageFile(`orchestration-gateway-${version}-1.x86_64.rpm`);

/** Starts the demo, runs one of its automations to its end, asks with healthcheck and doctor, and stops it. */
function mainJob(command: string): string {
  return `mkdir -p /tmp/job && cd /tmp/job && exec 2>&1
    GATEWAY_ADMIN_PASSWORD=a-password-of-a-test ${command} demo >out 2>err & gateway=$!
    tries=0; until grep -q '^listening on' out; do tries=$((tries+1)); [ $tries -lt 300 ] || { cat out err; exit 9; }; sleep 0.1; done
    until grep -q 'A query:' out; do sleep 0.1; done
    grep -m1 'run ' out
    GATEWAY_USER=admin GATEWAY_PASSWORD=a-password-of-a-test ${command} run 'Bring up a VPN' --follow; echo "run $?"
    ${command} healthcheck --ready data/demo.yaml; echo "healthy $?"
    kill -TERM $gateway; wait $gateway; echo "end $?"`;
}

function assertJob({ code, output }: Ended, command: string): void {
  assert.equal(code, 0, output);
  for (const line of ['run 0', 'healthy 0', 'end 0'])
    assert.ok(output.split('\n').includes(line), `${line} is missing:\n${output}`);
  assert.ok(output.includes(`${command} run `), `the messages name ${command}:\n${output}`);
}

test('the archive runs as an unprivileged user in a minimal Debian without network and without libatomic', {
  skip: cannotRun(...debian),
  timeout: 600_000,
}, async (t) => {
  const root = await debianRoot(t);
  assert.deepEqual(
    readdirSync(join(root, 'usr/lib/x86_64-linux-gnu')).filter((name) => name.startsWith('libatomic')),
    [],
  );
  await mustRun('tar', ['-xf', archive, '-C', join(root, 'opt')]);
  const command = `/opt/orchestration-gateway-${version}/bin/orchestration-gateway`;
  assertJob(await inRoot(root, mainJob(command), 'daemon'), command);
  // Also through a link, and from a folder of its own.
  const linked = await inRoot(
    root,
    `ln -s ${command} /usr/bin/orchestration-gateway && cd /tmp && orchestration-gateway --version && orchestration-gateway serve`,
  );
  assert.match(linked.output, new RegExp(`^${version}\\n`, 'u'));
  assert.match(linked.output, /Write one with "orchestration-gateway init"/u);
});

test('the .deb installs in a minimal Debian, keeps a changed configuration, and is removed and purged', {
  skip: cannotRun(...debian),
  timeout: 600_000,
}, async (t) => {
  const root = await debianRoot(t);
  copyFileSync(deb, join(root, 'tmp/gateway.deb'));
  const refused = await inRoot(root, 'dpkg -i /tmp/gateway.deb; dpkg --remove --force-depends orchestration-gateway');
  assert.match(refused.output, /depends on libatomic1/u);
  // There is no network in the test, so the library comes from the machine.
  await mustRun('apt-get', ['download', '-q', '-o', 'APT::Sandbox::User=root', 'libatomic1'], { cwd: join(root, 'tmp') });
  const installed = await inRoot(
    root,
    'dpkg -i /tmp/libatomic1*.deb /tmp/gateway.deb && stat -c "%U %G %a" /etc/orchestration-gateway/gateway.yaml',
  );
  assert.equal(installed.code, 0, installed.output);
  assert.match(installed.output, /^root orchestration-gateway 640$/mu);
  assertJob(await inRoot(root, mainJob('orchestration-gateway'), 'daemon'), 'orchestration-gateway');
  const configured = await inRoot(
    root,
    'orchestration-gateway init --system && orchestration-gateway check-config /etc/orchestration-gateway/gateway.yaml && stat -c "%U %G %a" /etc/orchestration-gateway/gateway.yaml',
  );
  assert.equal(configured.code, 0, configured.output);
  assert.match(configured.output, /systemctl enable --now orchestration-gateway/u);
  assert.match(configured.output, /^root orchestration-gateway 640$/mu);
  const again = await inRoot(
    root,
    'orchestration-gateway init --system; dpkg -i /tmp/gateway.deb && grep -c passwordHash /etc/orchestration-gateway/gateway.yaml',
  );
  assert.match(again.output, /exists and was not changed/u);
  assert.match(again.output, /^[1-9]\d*$/mu, 'the configuration is kept');
  const removed = await inRoot(
    root,
    'mkdir -p /var/lib/orchestration-gateway && touch /var/lib/orchestration-gateway/gateway.db && dpkg -r orchestration-gateway',
  );
  assert.equal(removed.code, 0, removed.output);
  assert.ok(!existsSync(join(root, 'usr/lib/orchestration-gateway')), removed.output);
  assert.ok(existsSync(join(root, 'etc/orchestration-gateway/gateway.yaml')));
  assert.ok(existsSync(join(root, 'var/lib/orchestration-gateway/gateway.db')));
  assert.equal((await inRoot(root, 'dpkg -P orchestration-gateway')).code, 0);
  for (const name of ['etc', 'var/lib']) assert.ok(!existsSync(join(root, name, 'orchestration-gateway')), name);
});

test('lintian and rpmlint find no error, and the .deb has the same bytes twice', {
  skip: cannotRun(['lintian', 'lintian'], ['rpmlint', 'rpmlint']),
  timeout: 600_000,
}, async (t) => {
  const found = await runTool('lintian', ['--allow-root', '--tag-display-limit', '0', '--fail-on', 'error', deb]);
  assert.equal(found.code, 0, found.output);
  const { output } = await runTool('rpmlint', ['-c', 'deploy/rpm/rpmlint.toml', rpm]);
  assert.match(output, / 0 errors,/u);
  const folder = temporaryFolder(t, 'twice');
  await mustRun('dpkg-deb', ['-R', deb, join(folder, 'tree')]);
  const epoch = (await mustRun('git', ['log', '-1', '--format=%ct'])).trim();
  const build = ['--root-owner-group', '-Zxz', '-z0', '--build', join(folder, 'tree'), join(folder, 'again.deb')];
  await mustRun('dpkg-deb', build, { env: { ...process.env, SOURCE_DATE_EPOCH: epoch } });
  assert.ok(readFileSync(join(folder, 'again.deb')).equals(readFileSync(deb)));
});

test('the .rpm installs into a root of its own, and its command starts', {
  skip: cannotRun(...debian, ['rpm', 'rpm']),
  timeout: 600_000,
}, async (t) => {
  // There is no Fedora here. So rpm unpacks without the scripts and the libraries of one, and Debian's libraries run it.
  const root = await debianRoot(t);
  const how = ['--root', root, '--nodeps', '--noscripts', '--ignorearch', '-i', rpm];
  await mustRun('rpm', ['--root', root, '--initdb']);
  await mustRun('rpm', how);
  const asked = await mustRun('rpm', ['-qp', '--requires', '--scripts', '--configfiles', rpm]);
  for (const part of [
    'libatomic',
    'glibc >= 2.28',
    '/etc/orchestration-gateway/gateway.yaml',
    'systemctl stop orchestration-gateway',
  ])
    assert.ok(asked.includes(part), part);
  assert.equal(statSync(join(root, 'etc/orchestration-gateway/gateway.yaml')).mode & 0o777, 0o640);
  await mustRun('apt-get', ['download', '-q', '-o', 'APT::Sandbox::User=root', 'libatomic1'], { cwd: join(root, 'tmp') });
  assert.equal((await inRoot(root, 'dpkg -i /tmp/libatomic1*.deb')).code, 0);
  assertJob(await inRoot(root, mainJob('orchestration-gateway'), 'daemon'), 'orchestration-gateway');
});
