// suite: long

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, test } from 'node:test';
import { Pool } from 'undici';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { relay } from './support/callers/calls.ts';
import { command, loginAt, shell, spawnCommand } from './support/gateway/command.ts';
import { collect, executable } from './support/gateway/gateway-process.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { suiteOwner } from './support/owner.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, type Upstream, upstream } from './support/upstreams/upstream.ts';

// `audit list` while a gateway runs on the same store, and the records that are dropped while the store is away.

const json = 'application/json';
const hasTerminal = spawnSync('script', ['--version']).status === 0;

let far: Upstream;
let gateway: Gateway;
const owner = suiteOwner();

before(async () => {
  far = await upstream(owner);
  gateway = await startGateway(owner, {
    adapters: [{ name: 'NSO', kind: 'rest', url: far.url, denyPaths: { actions: ['secret/**'], queries: [] } }],
  });
});

function act(path: string): Promise<unknown> {
  return relay(gateway, 'restAction', 'NSO', { params: { path, accept: json }, body: {} });
}

/** Waits for the outcome of an action in the log: a gateway writes it within a second. */
function onRecord(path: string): Promise<unknown> {
  return until(`${path} is on record`, async () => {
    const { text } = await gateway.send({ target: '/audit?adapter=NSO&limit=5', role: 'admin' });
    return (JSON.parse(text) as { readonly list: readonly AuditRecord[] }).list.some(
      ({ address, outcome }) => address === path && outcome !== undefined,
    );
  });
}

function recordsIn(lines: readonly string[]): readonly AuditRecord[] {
  return lines.map((line) => JSON.parse(line) as AuditRecord);
}

test('audit list --follow prints each record once, after its call ended, and ends at Ctrl-C with exit code 0', async () => {
  far.answer(() => jsonReply('{}'));
  await act('before');
  const child = spawnCommand(['audit', 'list', '--follow', '--adapter', 'NSO'], { environment: loginAt(gateway) });
  const { stdout, stderr } = collect(child);
  await until('the earlier record is printed', () => stdout.length > 0);
  const [arrived, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  far.answer(async ({ target }) => {
    if (target !== '/slow') return target === '/one' ? jsonReply('{}') : httpReply({ status: 500 });
    arrived.resolve();
    await release.promise;
    return jsonReply('{}');
  });
  const slow = act('slow');
  await arrived.promise;
  await act('one');
  await act('two');
  await until('the calls that ended are printed', () => stdout.length >= 3);
  release.resolve();
  await slow;
  await until('the slow call is printed', () => stdout.length >= 4);
  const closed = once(child, 'close');
  child.kill('SIGINT');
  await closed;
  assert.deepEqual([child.exitCode, stderr], [0, []]);
  assert.deepEqual(
    recordsIn(stdout).map(({ address, outcome }) => `${address} ${outcome}`),
    ['before ok', 'one ok', 'two failed', 'slow ok'],
  );
});

test('audit list --follow continues after the records that it began with, and prints no earlier ones', async () => {
  far.answer(() => jsonReply('{}'));
  for (const path of ['earlier', 'newest']) {
    await act(path);
    await onRecord(path);
  }
  const child = spawnCommand(['audit', 'list', '--follow', '--limit', '1', '--adapter', 'NSO'], {
    environment: loginAt(gateway),
  });
  const { stdout } = collect(child);
  await until('the newest record is printed', () => stdout.length > 0);
  await act('followed');
  await until('the next record is printed', () => recordsIn(stdout).some(({ address }) => address === 'followed'));
  const closed = once(child, 'close');
  child.kill('SIGINT');
  await closed;
  assert.deepEqual(
    recordsIn(stdout).map(({ address }) => address),
    ['newest', 'followed'],
  );
});

test('audit list prints one line a record at a terminal, and NDJSON there with --ndjson', {
  skip: !hasTerminal && 'script (util-linux) is not installed',
}, async () => {
  far.answer(() => jsonReply('{}'));
  await act('shown');
  await act('secret/x');
  await onRecord('shown');
  await onRecord('secret/x');
  const at = async (options: string): Promise<readonly string[]> => {
    const line = `"${process.execPath}" "${executable}" audit list --adapter NSO ${options}`;
    const { stdout, code } = await shell(`script -qec '${line}' /dev/null`, loginAt(gateway));
    assert.equal(code, 0, stdout);
    return stdout.trim().split('\r\n');
  };
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
  const route = 'POST /orchestrator_manager/restAction/:adapterId NSO POST';
  const [ok, refused, ...more] = await at('--limit 2');
  assert.match(ok ?? '', new RegExp(`^${time}  ok         admin-user        ${route} shown  \\(answered 200, [\\d.]+ ms\\)$`));
  assert.match(
    refused ?? '',
    new RegExp(`^${time}  refused    admin-user        ${route} secret/x  \\(answered 403, path-denied, [\\d.]+ ms\\)$`),
  );
  assert.deepEqual(more, []);
  assert.deepEqual(
    recordsIn(await at('--limit 2 --ndjson')).map(({ address }) => address),
    ['shown', 'secret/x'],
  );
});

test('audit list writes NDJSON into a pipe: the records of its filters, as GET /audit has them', async () => {
  far.answer(() => jsonReply('{}'));
  const from = new Date(Date.now() - 1).toISOString();
  await act('export');
  await act('secret/export');
  await gateway.send({ target: '/adapters', role: 'readonly' });
  await act('export-again');
  await onRecord('export-again');
  const filters = { from, principal: 'admin-user', adapter: 'NSO', outcome: 'ok' };
  const query = new URLSearchParams(filters);
  const reply = await gateway.send({ target: `/audit?${query.toString()}`, role: 'admin' });
  const { list } = reply.json() as { readonly list: readonly AuditRecord[] };
  const given = Object.entries(filters).flatMap(([name, value]) => [`--${name}`, value]);
  const { stdout, stderr, code } = await command(['audit', 'list', ...given, '--limit', 'all'], {
    environment: loginAt(gateway),
  });
  assert.deepEqual([code, stderr], [0, '']);
  assert.ok(stdout.endsWith('}\n'));
  assert.deepEqual(recordsIn(stdout.trim().split('\n')), list.toReversed());
  assert.deepEqual(
    list.map(({ address }) => address),
    ['export-again', 'export'],
  );
});

test('audit list reports an output that cannot be written, and ends without a message where its reader closes the pipe', {
  skip: !existsSync('/dev/full') && 'there is no /dev/full',
}, async () => {
  far.answer(() => jsonReply('{}'));
  await act('printed');
  const line = `"${process.execPath}" "${executable}" audit list --limit all`;
  const full = await shell(`${line} > /dev/full`, loginAt(gateway));
  assert.deepEqual(full, {
    code: 1,
    stdout: '',
    stderr: 'orchestration-gateway audit list: standard output cannot be written (ENOSPC)\n',
  });
  const { stdout, stderr } = await shell(`{ ${line}; echo "ended with $?" >&2; } | head -c 1`, loginAt(gateway));
  assert.deepEqual([stdout, stderr], ['{', 'ended with 0\n']);
});

test('records that are dropped while the store is away are counted in the metrics and in a record', async (t) => {
  const held = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'));
  t.after(() => held.close());
  held.exec('begin immediate');
  // The gateway keeps 33 million characters in memory. The path rights refuse these calls, and their records have the address.
  const body = JSON.stringify({ params: { path: `secret/${'x'.repeat(8_180)}`, accept: json }, body: {} });
  const headers = { authorization: `Bearer ${await gateway.tokenFor('admin')}`, 'content-type': json };
  const pool = new Pool(gateway.url, { connections: 32 });
  t.after(() => pool.close());
  const refuse = async (): Promise<void> => {
    const reply = await pool.request({ method: 'POST', path: '/orchestrator_manager/restAction/NSO', headers, body });
    await reply.body.dump();
    // A slow machine may refuse some of these calls as an overload, without a record.
    assert.ok(reply.statusCode === 403 || reply.statusCode === 503, String(reply.statusCode));
  };
  const dropped = async (): Promise<number> => {
    const { text } = await gateway.send({ target: '/metrics', role: 'admin' });
    return Number(/^gateway_audit_entries_dropped_total (\d+)$/mu.exec(text)?.[1]);
  };
  await until('records are dropped', async () => {
    await Promise.all(Array.from({ length: 500 }, refuse));
    return (await dropped()) > 2;
  });
  held.exec('rollback');
  const events = async (): Promise<readonly AuditRecord[]> => {
    const { stdout } = await command(['audit', 'list', '--limit', 'all'], { environment: loginAt(gateway) });
    return recordsIn(stdout.trim().split('\n')).filter(({ event }) => event === 'dropped');
  };
  // A gateway that is slow drops more while it writes the first of these records, and then writes another one.
  await until('records have the whole count', async () => {
    const counts = (await events()).map(({ detail }) => Number(/^(\d+) records were not kept$/u.exec(detail ?? '')?.[1]));
    return counts.length > 0 && counts.reduce((sum, count) => sum + count) === (await dropped());
  });
});
