// suite: long

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { send } from './support/callers/http-client.ts';
import { childEnvironment, collect, readyPort } from './support/gateway/gateway-process.ts';
import { configurationOf } from './support/gateway/start-gateway.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';

// The commands of the unit in deploy/systemd, run without systemd.

const root = fileURLToPath(new URL('..', import.meta.url));
const unit = readFileSync(`${root}deploy/systemd/orchestration-gateway.service`, 'utf8');

function setting(name: string): string {
  const values = [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gmu'))].map(([, value]) => value ?? '');
  assert.equal(values.length, 1, `the unit has ${name} once`);
  return values[0] ?? '';
}

test('the unit for systemd starts a gateway, reloads it and stops it', async (t) => {
  const configFile = temporaryFile(t, 'gateway.yaml', JSON.stringify(configurationOf({})));
  const [command = '', ...args] = setting('ExecStart')
    .replace('/usr/lib/orchestration-gateway/bin/orchestration-gateway', `${process.execPath} ${root}src/main.ts`)
    .replaceAll('/etc/orchestration-gateway/gateway.yaml', configFile)
    .split(' ');
  const child = spawn(command, args, { cwd: dirname(configFile), env: childEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => void child.kill('SIGKILL'));
  const output = collect(child);
  const port = await readyPort(child, output);
  assert.equal((await send(port, { target: '/readyz' })).status, 200);
  assert.equal(setting('ExecReload'), "/bin/sh -c 'kill -HUP $MAINPID'");
  child.kill('SIGHUP');
  await until('the reload is logged', () =>
    output.stderr.some((line) => line.includes('"the configuration was taken in again"')),
  );
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});

test('the unit for systemd gives calls in flight the longest time that server.drain can give them', () => {
  const limit = /drain: defaulted\(duration\('(\d+)m'\)/u.exec(readFileSync(`${root}src/config/config-shape.ts`, 'utf8'))?.[1];
  assert.ok(Number(setting('TimeoutStopSec')) > Number(limit) * 60 + 5);
});
