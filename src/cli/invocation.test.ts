import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { invocationOf } from './invocation.ts';

const script = '/opt/gateway/src/main.ts';
const bin = '/opt/gateway/node_modules/.bin/orchestration-gateway';

test('an invocation is what was typed, with names relative to the folder', () => {
  for (const [argv0, name, cwd, expected] of [
    ['node', script, '/opt/gateway', 'node src/main.ts'],
    ['node_modules/.bin/node', script, '/opt/gateway', 'node_modules/.bin/node src/main.ts'],
    ['/opt/gateway/node_modules/.bin/node', script, '/etc', '/opt/gateway/node_modules/.bin/node /opt/gateway/src/main.ts'],
    ['node', '/opt/my gateway/src/main.ts', '/', "node 'opt/my gateway/src/main.ts'"],
    ['node', bin, '/opt/gateway', 'node_modules/.bin/orchestration-gateway'],
    ['node', bin, '/etc', bin],
  ] as const) {
    assert.equal(invocationOf({ argv0, script: name, cwd, env: { PATH: '/usr/bin' } }), expected);
  }
});

test('an invocation through PATH or npx is the name of the program', () => {
  const started = { argv0: 'node', script: bin, cwd: '/opt/gateway' };
  const env = { PATH: '/usr/bin:/opt/gateway/node_modules/.bin' };
  assert.equal(invocationOf({ ...started, env }), 'orchestration-gateway');
  assert.equal(invocationOf({ ...started, env: { ...env, npm_command: 'exec' } }), 'npx orchestration-gateway');
});

test('an invocation through a script of npm is that of npx, which finds the Node of the checkout', (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'invocation-'));
  t.after(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, 'src'));
  writeFileSync(join(cwd, 'src/launcher.cjs'), '');
  const env = { PATH: '/usr/bin', npm_command: 'start' };
  const started = { argv0: 'node', script: join(cwd, 'src/main.ts'), cwd, env };
  assert.equal(invocationOf(started), 'npx orchestration-gateway');
  assert.equal(invocationOf({ ...started, argv0: '/opt/node' }), '/opt/node src/main.ts');
});
