// suite: long

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, relay } from './support/callers/calls.ts';
import { smallDisk } from './support/faults/small-disk.ts';
import { command, loginAt } from './support/gateway/command.ts';
import { type Gateway, startGateway } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Callers without credentials, and callers with them, cannot fill the disk of the store.

const json = 'application/json';
const mebibyte = 1024 ** 2;
const action = { params: { path: 'x', accept: json }, body: {} };

/** Sends these requests at once on one connection, and resolves with how many were answered with the status. */
async function pipelined(gateway: Gateway, requests: readonly string[], status: number): Promise<number> {
  const socket = connect(gateway.port, '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  socket.write(requests.join(''));
  await once(socket, 'close');
  return received.split(`HTTP/1.1 ${status} `).length - 1;
}

function get(target: string, last: boolean): string {
  return `GET ${target} HTTP/1.1\r\nHost: x\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;
}

async function listed(gateway: Gateway): Promise<readonly AuditRecord[]> {
  const { stdout, stderr } = await command(['audit', 'list', '--limit', 'all'], { environment: loginAt(gateway) });
  assert.equal(stderr, '');
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditRecord);
}

async function metric(gateway: Gateway, line: string): Promise<number> {
  const { text } = await gateway.send({ target: '/metrics', role: 'admin' });
  const found = text.split('\n').find((each) => each.startsWith(`${line} `));
  return Number(found?.split(' ')[1]);
}

test('requests without credentials take no room of the store that grows with their number, and all are counted', async (t) => {
  const gateway = await startGateway(t);
  const file = join(gateway.directory, 'gateway.audit.db-wal');
  const query = 'x'.repeat(1_500);
  const count = 2_500;
  const before = statSync(file).size;
  const requests = Array.from({ length: count }, (_, index) =>
    get(`/automation_catalog/automations?a=${index}${query}`, index === count - 1),
  );
  assert.equal(await pipelined(gateway, requests, 401), count);
  assert.equal(await metric(gateway, 'gateway_audit_refusals_not_stored_total{reason="repeated"}'), count - 1);
  const refused = (await listed(await gateway.restart())).filter(({ code }) => code === 'unauthenticated');
  assert.deepEqual(
    refused.map(({ route, sourceAddress, status, ...record }) => [route, sourceAddress, status, record.count]),
    [
      ['GET /automation_catalog/automations', '127.0.0.1', 401, undefined],
      ['GET /automation_catalog/automations', '127.0.0.1', 401, count - 1],
    ],
  );
  for (const { address = '', detail = '' } of refused) assert.ok(address.length <= 200 && detail.length <= 200);
  assert.ok(statSync(file.replace('-wal', '')).size - before < mebibyte);
});

test('a disk that is nearly full keeps its room for changes and logins, and refusals are counted', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.skip('this user may not mount');
    return;
  }
  const far = await upstream(t);
  const gateway = await startGateway(t, {
    config: { store: { url: `sqlite:${join(disk.directory, 'gateway.db')}` } },
    adapters: [{ name: 'NSO', kind: 'rest', url: far.url }],
  });
  const noRoom = 'gateway_audit_refusals_not_stored_total{reason="no-room"}';
  const headers = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  disk.fill(3 * mebibyte);
  await until('the disk counts as nearly full', () => gateway.stderr.some((line) => line.includes('nearly full')));
  for (const target of ['/audit', '/whoami', '/adapters']) assert.equal((await gateway.send({ target })).status, 401);
  assert.equal(await metric(gateway, noRoom), 3);
  far.answer(() => jsonReply('{}'));
  const key = { ...headers, 'Idempotency-Key': 'k' };
  assert.equal((await relay(gateway, 'restAction', 'NSO', action, { headers: key })).status, 200);
  assertProblem(await relay(gateway, 'restAction', 'NSO', action, { headers: key }), 409, 'reply-not-kept');
  assert.equal(far.requests.length, 1, 'the action is not made again');
  assert.match(await gateway.tokenFor('engineering'), /^ey/);
  const logout = await gateway.send({
    method: 'POST',
    target: '/logout',
    headers: { Authorization: `Bearer ${await gateway.tokenFor('readonly')}` },
  });
  assert.match(assertProblem(logout, 503, 'store-unavailable').detail, /at this gateway alone/);
  disk.makeRoom();
  await until('the disk has room', () => gateway.stderr.some((line) => line.includes('has room again')));
  assert.equal((await gateway.send({ target: '/adapters' })).status, 401);
  const records = await listed(await gateway.restart());
  assert.deepEqual(
    records.filter(({ code }) => code === 'unauthenticated').map(({ route }) => route),
    ['GET /adapters'],
  );
  const [lost] = records.filter(({ event }) => event === 'dropped');
  assert.match(lost?.detail ?? '', /^5 refusals were counted and not stored: /);
});

test('the log stays within audit.maxSize while it is written, and can be verified', async (t) => {
  const far = await upstream(t);
  const gateway = await startGateway(t, {
    config: { audit: { maxSize: '128KiB' } },
    adapters: [{ name: 'NSO', kind: 'rest', url: far.url }],
  });
  const headers = { Authorization: `Bearer ${await gateway.tokenFor('admin')}` };
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(
      Array.from({ length: 40 }, () => {
        far.answer(() => jsonReply('{}'));
        return relay(gateway, 'restAction', 'NSO', action, { headers });
      }),
    );
  }
  const records = await listed(gateway);
  const size = records.reduce((sum, record) => sum + JSON.stringify(record).length, 0);
  assert.ok(records.length > 50 && records.length < 400, `${records.length} records`);
  assert.ok(size < 128 * 1024, `${size} bytes`);
  const verified = await command(['audit', 'verify', '--config', gateway.configFile], { directory: gateway.directory });
  assert.equal(verified.code, 0, verified.stdout);
});
