// suite: long, alone

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { configurationOf } from '../support/gateway/start-gateway.ts';
import {
  cannotRun,
  firstQuery,
  mustRun,
  packageFile,
  runTool,
  startTool,
  temporaryFolder,
  testLimit,
  version,
} from '../support/packages/packages.ts';
import { until } from '../support/until.ts';

// The image, run by runc with a root that it cannot write, as its user 65532 and without any capability.

interface ImageFacts {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Volumes: object;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

/** Unpacks the image into a bundle of runc, and answers what the image says about itself. */
async function bundleOf(t: TestContext) {
  const bundle = temporaryFolder(t, 'image');
  const storage = ['--root', join(bundle, 'storage'), '--runroot', join(bundle, 'run'), '--storage-driver', 'vfs'];
  const file = packageFile(`orchestration-gateway-image-${version}.tar`);
  const container = 'gateway-of-a-test';
  await mustRun('buildah', [...storage, 'from', '--name', container, '--pull-never', `docker-archive:${file}`]);
  const root = (await mustRun('buildah', [...storage, 'mount', container])).trim();
  const facts = JSON.parse(await mustRun('buildah', [...storage, 'inspect', container])) as {
    readonly Docker: { readonly config: ImageFacts };
  };
  await mustRun('mv', [root, join(bundle, 'rootfs')]);
  mkdirSync(join(bundle, 'data'));
  await mustRun('chown', ['65532:65532', join(bundle, 'data')]);
  return { bundle, facts: facts.Docker.config };
}

/** What a container runtime makes of the image with a read-only root. */
function specification(facts: ImageFacts, bundle: string, config: string, command = facts.Cmd): object {
  return {
    ociVersion: '1.0.2',
    process: {
      user: { uid: 65_532, gid: 65_532 },
      args: [...facts.Entrypoint, ...command],
      env: ['PATH=/usr/bin'],
      cwd: '/data',
      noNewPrivileges: true,
      capabilities: {},
    },
    root: { path: 'rootfs', readonly: true },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'nodev', 'mode=1777'] },
      { destination: '/data', type: 'bind', source: join(bundle, 'data'), options: ['rbind', 'rw'] },
      { destination: '/etc/orchestration-gateway/gateway.yaml', type: 'bind', source: config, options: ['bind', 'ro'] },
    ],
    linux: { namespaces: [{ type: 'pid' }, { type: 'mount' }, { type: 'ipc' }, { type: 'network' }] },
  };
}

test('the image serves as its own user with a read-only root, is healthy, keeps its data, and ends at SIGTERM', {
  skip: cannotRun(['buildah', 'buildah'], ['runc', 'runc']),
  timeout: testLimit,
}, async (t) => {
  const { bundle, facts } = await bundleOf(t);
  assert.equal(facts.User, '65532:65532');
  assert.deepEqual(Object.keys(facts.Volumes), ['/data']);
  assert.deepEqual(facts.Healthcheck.Test.slice(0, 3), ['CMD', '/usr/bin/orchestration-gateway', 'healthcheck']);
  assert.ok(!existsSync(join(bundle, 'rootfs/usr/bin/sh')), 'there is no shell');
  const config = join(bundle, 'gateway.yaml');
  const store = { url: 'sqlite:/data/gateway.db' };
  writeFileSync(config, JSON.stringify(configurationOf({ config: { server: { host: '0.0.0.0', port: 3000 }, store } })));
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(specification(facts, bundle, config)));
  const state = ['--root', join(bundle, 'state')];
  const [, ...healthy] = facts.Healthcheck.Test;
  for (const round of ['first', 'second']) {
    const id = `gateway-${process.pid}-${round}`;
    const begin = performance.now();
    const { lines, ended } = startTool(t, 'runc', [...state, 'run', '--bundle', bundle, id]);
    t.after(() => runTool('runc', [...state, 'delete', '--force', id]));
    await until('the gateway listens', () => lines.some((line) => line.startsWith('listening on')));
    t.diagnostic(`the ${round} start of the image took ${Math.round(performance.now() - begin)} ms`);
    const execute = (args: readonly string[]) => runTool('runc', [...state, 'exec', '--user', '65532:65532', id, ...args]);
    const health = await execute(healthy);
    assert.equal(health.code, 0, health.output);
    const doctor = await execute([
      '/usr/bin/orchestration-gateway',
      'doctor',
      '--config',
      '/etc/orchestration-gateway/gateway.yaml',
    ]);
    assert.equal(doctor.code, 0, doctor.output);
    await mustRun('runc', [...state, 'kill', id, 'TERM']);
    assert.equal(await ended, 0, lines.join('\n'));
  }
  assert.ok(readFileSync(join(bundle, 'data/gateway.db')).length > 0);

  // The command of the first page of the README: the demo, which answers a query.
  writeFileSync(join(bundle, 'config.json'), JSON.stringify(specification(facts, bundle, config, ['demo'])));
  const id = `gateway-${process.pid}-demo`;
  const { lines, ended } = startTool(t, 'runc', [...state, 'run', '--bundle', bundle, id]);
  t.after(() => runTool('runc', [...state, 'delete', '--force', id]));
  await until('the demo is complete', () => lines.includes('A REST call:'));
  writeFileSync(join(bundle, 'data/out'), lines.join('\n'), { mode: 0o644 });
  copyFileSync(firstQuery, join(bundle, 'data/first-query.mjs'));
  const node = '/usr/lib/orchestration-gateway/lib/node';
  await mustRun('runc', [...state, 'exec', id, node, '/data/first-query.mjs', '/data/out']);
  await mustRun('runc', [...state, 'kill', id, 'TERM']);
  assert.equal(await ended, 0, lines.join('\n'));
});
