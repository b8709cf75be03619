// suite: long, alone

import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  cannotRun,
  debianRoot,
  downloadDebs,
  type Ended,
  firstQuery,
  inRoot,
  mustRun,
  packageFile,
  runTool,
  secondsToFirstQuery,
  temporaryFolder,
  testLimit,
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

/** Starts the demo, sends the query that it names, runs one of its automations to its end, asks with healthcheck, and stops it. */
function mainJob(command: string, node: string): string {
  return `mkdir -p /tmp/job && cd /tmp/job && exec 2>&1
    GATEWAY_ADMIN_PASSWORD=a-password-of-a-test ${command} demo >out 2>err & gateway=$!
    until [ -e out ]; do sleep 0.1; done
    ${node} /opt/first-query.mjs out || { cat out err; exit 9; }
    grep -m1 'run ' out
    GATEWAY_USER=admin GATEWAY_PASSWORD=a-password-of-a-test ${command} run 'Bring up a VPN' --follow; echo "run $?"
    ${command} healthcheck --ready data/demo.yaml; echo "healthy $?"
    kill -TERM $gateway; wait $gateway; echo "end $?"`;
}

/** A minimal Debian with these packages in /opt, and the script that sends the first query. */
async function preparedRoot(t: TestContext, files: readonly string[], ...debs: readonly string[]): Promise<string> {
  const root = await debianRoot(t);
  for (const file of [...files, firstQuery]) {
    const copy = join(root, 'opt', basename(file));
    copyFileSync(file, copy);
    // For the account `daemon`, also under a strict umask.
    chmodSync(copy, 0o644);
  }
  mkdirSync(join(root, 'opt/debs'));
  await downloadDebs(join(root, 'opt/debs'), ...debs);
  return root;
}

function assertJob({ code, output }: Ended, command: string): void {
  assert.equal(code, 0, output);
  for (const line of ['run 0', 'healthy 0', 'end 0'])
    assert.ok(output.split('\n').includes(line), `${line} is missing:\n${output}`);
  assert.ok(output.includes(`${command} run `), `the messages name ${command}:\n${output}`);
}

test('the archive runs as an unprivileged user in a minimal Debian with xz, without network and without libatomic', {
  skip: cannotRun(...debian),
  timeout: testLimit,
}, async (t) => {
  const root = await preparedRoot(t, [archive], 'xz-utils');
  assert.deepEqual(
    readdirSync(join(root, 'usr/lib/x86_64-linux-gnu')).filter((name) => name.startsWith('libatomic')),
    [],
  );
  // The guide names it: a minimal Debian cannot unpack the archive.
  const prepared = await inRoot(root, 'dpkg -i /opt/debs/xz-utils*.deb && mkdir /opt/own && chown daemon /opt/own');
  assert.equal(prepared.code, 0, prepared.output);
  const begin = Date.now();
  const unpacked = await inRoot(root, `cd /opt/own && tar -xf /opt/${basename(archive)}`, 'daemon');
  assert.equal(unpacked.code, 0, unpacked.output);
  const home = `/opt/own/orchestration-gateway-${version}`;
  const command = `${home}/bin/orchestration-gateway`;
  const job = await inRoot(root, mainJob(command, `LD_LIBRARY_PATH=${home}/lib ${home}/lib/node`), 'daemon');
  assertJob(job, command);
  t.diagnostic(`from the archive to a first answered query: ${secondsToFirstQuery(begin, job.output)} s`);
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
  timeout: testLimit,
}, async (t) => {
  const root = await preparedRoot(t, [deb], 'libatomic1');
  const file = `/opt/${basename(deb)}`;
  const refused = await inRoot(root, `dpkg -i ${file}; dpkg --remove --force-depends orchestration-gateway`);
  assert.match(refused.output, /depends on libatomic1/u);
  const begin = Date.now();
  const installed = await inRoot(
    root,
    `dpkg -i /opt/debs/libatomic1*.deb ${file} && stat -c "%U %G %a" /etc/orchestration-gateway/gateway.yaml`,
  );
  assert.equal(installed.code, 0, installed.output);
  assert.match(installed.output, /^root orchestration-gateway 640$/mu);
  const job = await inRoot(root, mainJob('orchestration-gateway', '/usr/lib/orchestration-gateway/lib/node'), 'daemon');
  assertJob(job, 'orchestration-gateway');
  t.diagnostic(`from the .deb to a first answered query: ${secondsToFirstQuery(begin, job.output)} s`);
  const configured = await inRoot(
    root,
    'orchestration-gateway init --system && orchestration-gateway check-config /etc/orchestration-gateway/gateway.yaml && stat -c "%U %G %a" /etc/orchestration-gateway/gateway.yaml',
  );
  assert.equal(configured.code, 0, configured.output);
  assert.match(configured.output, /systemctl enable --now orchestration-gateway/u);
  assert.match(configured.output, /^root orchestration-gateway 640$/mu);
  const again = await inRoot(
    root,
    `orchestration-gateway init --system; dpkg -i ${file} && grep -c passwordHash /etc/orchestration-gateway/gateway.yaml`,
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
  timeout: testLimit,
}, async (t) => {
  const found = await runTool('lintian', ['--allow-root', '--tag-display-limit', '0', '--fail-on', 'error', deb]);
  assert.equal(found.code, 0, found.output);
  const { output } = await runTool('rpmlint', ['-c', 'deploy/rpm/rpmlint.toml', rpm]);
  assert.match(output, / 0 errors,/u);
  const folder = temporaryFolder(t, 'twice');
  await mustRun('dpkg-deb', ['-R', deb, join(folder, 'tree')]);
  // The time of its first member, as ar(5) places it: the working tree may have another commit by now.
  const epoch = readFileSync(deb).toString('latin1', 24, 36).trim();
  const build = ['--root-owner-group', '-Zxz', '-z0', '--build', join(folder, 'tree'), join(folder, 'again.deb')];
  await mustRun('dpkg-deb', build, { env: { ...process.env, SOURCE_DATE_EPOCH: epoch } });
  assert.ok(readFileSync(join(folder, 'again.deb')).equals(readFileSync(deb)));
});

test('the .rpm installs into a root of its own, and its command starts', {
  skip: cannotRun(...debian, ['rpm', 'rpm']),
  timeout: testLimit,
}, async (t) => {
  // There is no Fedora here. So rpm unpacks without the scripts and the libraries of one, and Debian's libraries run it.
  const root = await preparedRoot(t, [], 'libatomic1');
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
  const library = await inRoot(root, 'dpkg -i /opt/debs/libatomic1*.deb');
  assert.equal(library.code, 0, library.output);
  const job = await inRoot(root, mainJob('orchestration-gateway', '/usr/lib/orchestration-gateway/lib/node'), 'daemon');
  assertJob(job, 'orchestration-gateway');
});
