import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { command } from './support/gateway/command.ts';
import { configurationOf, startGateway } from './support/gateway/start-gateway.ts';

// The path of a SQLite store: its directories are made, or the start says why they cannot be.

test('the missing directories of a store are made for the owner only', async (t) => {
  const gateway = await startGateway(t, { config: { store: { url: 'sqlite:./a/b/c/gateway.db' } } });
  for (const directory of ['a', 'a/b', 'a/b/c']) assert.equal(statSync(join(gateway.directory, directory)).mode & 0o777, 0o700);
});

test('a store below a path where no directory can be made stops the start with a clear message', {
  skip: !existsSync('/proc/self') && 'this system has no /proc',
  timeout: 60_000,
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-store-path-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'a-file'), '');
  for (const [path, code] of [
    ['/proc/none/data', 'ENOENT'],
    ['./a-file/data', 'ENOTDIR'],
  ]) {
    const configuration = configurationOf({ config: { store: { url: `sqlite:${path}/gateway.db` } } });
    writeFileSync(join(directory, 'gateway.yaml'), JSON.stringify(configuration));
    const ended = await command(['serve'], { directory });
    assert.equal(ended.code, 1, ended.stderr);
    assert.match(ended.stderr, new RegExp(`did not start: .*/gateway\\.db\\.lock cannot be made or written \\(${code}\\)`, 'u'));
  }
});
