import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { type IdempotentRequest, idempotentRequest, sealed } from '../src/audit/idempotency/idempotent-request.ts';
import { relay } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Replies that a gateway before the upgrade has kept for an Idempotency-Key, in the form of that gateway.

const far = await upstream({ after });
const gateway = await startGateway({ after }, { adapters: [{ name: 'NSO', kind: 'rest', url: far.url }] });
const body = JSON.stringify({ params: { path: 'do/it', accept: 'application/json' }, body: { a: 1 } });

function act(key: string): Promise<Reply> {
  return relay(gateway, 'restAction', 'NSO', body, { headers: { 'Idempotency-Key': key } });
}

function requestOf(key: string): IdempotentRequest {
  const route = JSON.stringify(['POST', '/orchestrator_manager/restAction/:adapterId', { adapterId: 'NSO' }]);
  return idempotentRequest({ caller: 'admin-user', route, key, payload: [body, 'null', 'null', 'null'] });
}

/** Makes a call, and puts what an older gateway would have kept in the place of its reply. */
async function keptBefore(key: string, kept: object): Promise<void> {
  far.answer(() => jsonReply('{}'));
  await act(key);
  const request = requestOf(key);
  using database = new DatabaseSync(join(gateway.directory, 'gateway.audit.db'));
  const update = database.prepare('update idempotency_key set reply = ? where id = ?');
  const { changes } = update.run(sealed(request, Buffer.from(JSON.stringify(kept))), request.id);
  assert.equal(changes, 1, 'the key is in the store');
}

test('a reply that a gateway before the upgrade has kept is answered as it was rendered', async () => {
  const headers = { 'X-Upstream-Status': '201', 'X-Upstream-ETag': '"1"' };
  await keptBefore('one', { requestId: 'earlier', status: 200, headers, body: '[{"result":"é"}]' });
  const reply = await act('one');
  assert.deepEqual([reply.status, reply.text], [200, '[{"result":"é"}]']);
  const expected = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': '17',
    'x-upstream-status': '201',
    'x-upstream-etag': '"1"',
    'idempotency-replayed': 'true',
  };
  for (const [name, value] of Object.entries(expected)) assert.equal(reply.header(name), value, name);
  assert.equal(far.requests.length, 1);
});

test('an error that a gateway before the upgrade has kept is the same problem again', async () => {
  const problem = JSON.stringify({ code: 'upstream-error', status: 502, requestId: 'earlier' });
  const headers = { 'Content-Type': 'application/problem+json; charset=utf-8', 'Content-Length': String(problem.length) };
  await keptBefore('two', { requestId: 'earlier', code: 'upstream-error', status: 502, headers, body: problem });
  const reply = await act('two');
  assert.deepEqual([reply.status, reply.text, reply.header('content-type')], [502, problem, headers['Content-Type']]);
  assert.equal(reply.header('idempotency-replayed'), 'true');
});
