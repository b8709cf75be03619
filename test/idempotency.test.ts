import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, beforeEach, test } from 'node:test';
import type { AuditRecord } from '../src/audit/audit-reader.ts';
import { assertProblem, relay, responseOf, restCall, resultOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, type Gateway, startGateway, testPassword } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import type { Owner } from './support/owner.ts';
import { foundPostgres, storeUrl } from './support/stores/stores.ts';
import { until } from './support/until.ts';
import { audience, identityProvider } from './support/upstreams/identity-provider.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Idempotency-Key on restAction, restRequest and restCall (docs/decisions/0016-idempotency-keys.md).

const json = 'application/json';

const far = await upstream({ after });
const laterPort = await closedPort();
const [issuer, otherIssuer] = [await identityProvider({ after }), await identityProvider({ after })];

function start(owner: Owner, config: object = {}): Promise<Gateway> {
  return startGateway(owner, {
    config: { outbound: { allow: [far.authority] }, ...config },
    adapters: [
      { name: 'NSO', kind: 'rest', url: far.url },
      { name: 'other', kind: 'rest', url: far.url },
      { name: 'hasty', kind: 'rest', url: far.url, timeouts: { firstByte: '400ms' } },
      { name: 'later', kind: 'rest', url: `http://127.0.0.1:${laterPort}` },
    ],
  });
}

const oidc = [issuer, otherIssuer].map((provider) => ({ issuer: provider.issuer, audience }));
const gateway = await start({ after }, { access: { oidc } });
const postgres = await foundPostgres?.empty({ after });
/** Two gateways on one PostgreSQL; none where there is no PostgreSQL. */
const pair =
  postgres === undefined
    ? undefined
    : await Promise.all([1, 2].map(() => start({ after }, { store: { url: storeUrl(postgres) } })));
/** A key of its own for the running test; the tests of this file run one after the other. */
let key = '';
beforeEach(() => {
  key = randomUUID();
});

interface Act {
  readonly at?: Gateway;
  readonly key?: string;
  readonly adapter?: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

function act(act: Act = {}): Promise<Reply> {
  const { at = gateway, adapter = 'NSO', body = { a: 1 } } = act;
  const headers = { 'Idempotency-Key': act.key ?? key, ...act.headers };
  return relay(at, 'restAction', adapter, { params: { path: 'do/it', accept: json }, body }, { headers });
}

function replayed(reply: Reply): string | undefined {
  return reply.header('idempotency-replayed');
}

/** Makes the upstream answer with the number of requests that it has read. */
function counting(): void {
  let count = 0;
  far.answer(() => {
    count += 1;
    return jsonReply(`{"count":${count}}`);
  });
}

/** What the audit log has of a request. The outcome of a query is written within a second after its reply. */
function recordOf(requestId: string | undefined, adapter = 'NSO'): Promise<AuditRecord> {
  return until(`${requestId} is on record`, async () => {
    const reply = await gateway.send({ target: `/audit?adapter=${adapter}`, role: 'admin' });
    const { list } = reply.json() as { readonly list: readonly AuditRecord[] };
    return list.find((record) => record.requestId === requestId && record.outcome !== undefined);
  });
}

test('R70: an action that comes again with its key gets the first reply, byte for byte, and is not made again', async () => {
  counting();
  const first = await act();
  assert.deepEqual([resultOf(first), replayed(first)], ['{"count":1}', undefined]);
  for (let again = 0; again < 3; again += 1) {
    const reply = await act();
    assert.deepEqual([reply.status, reply.text, replayed(reply)], [200, first.text, 'true']);
    for (const name of ['content-type', 'content-length', 'x-upstream-status', 'x-upstream-content-type'])
      assert.equal(reply.header(name), first.header(name), name);
    assert.notEqual(reply.header('x-request-id'), first.header('x-request-id'));
  }
  assert.equal(far.requests.length, 1);
  const again = await recordOf((await act()).header('x-request-id'));
  assert.deepEqual([again.outcome, again.replays, again.attempts], ['ok', first.header('x-request-id'), 0]);
});

test('R70: another payload under the same key is 422 and is not sent', async () => {
  counting();
  await act();
  assertProblem(await act({ body: { a: 2 } }), 422, 'idempotency-key-reused');
  assertProblem(await act({ headers: { 'X-Cisco-NSO-Commit-Params': 'dry-run' } }), 422, 'idempotency-key-reused');
  assert.equal(far.requests.length, 1);
  assert.equal(replayed(await act()), 'true');
});

test('R70: a key holds for one caller, one route and one adapter instance', async () => {
  counting();
  const params = { path: 'do/it', accept: json };
  const headers = { 'Idempotency-Key': key };
  const request = { params: { method: 'POST', ...params }, body: { a: 1 } };
  const call = { uri: `${far.url}/x`, verb: 'POST', body: {}, responseHeaders: false };
  const all = async (): Promise<readonly Reply[]> => [
    await act(),
    await act({ adapter: 'other' }),
    await relay(gateway, 'restRequest', 'NSO', request, { headers }),
    await restCall(gateway, call, { headers }),
    await restCall(gateway, call, { headers, role: 'engineering' }),
  ];
  const first = await all();
  assert.deepEqual(first.map(replayed), Array.from({ length: 5 }));
  assert.equal(far.requests.length, 5);
  const second = await all();
  assert.deepEqual(
    second.map(replayed),
    Array.from({ length: 5 }, () => 'true'),
  );
  assert.deepEqual(
    second.map(({ text }) => text),
    first.map(({ text }) => text),
  );
  assert.equal(far.requests.length, 5);
});

test('R70: a caller of an issuer never gets the reply of a user, or of another issuer’s caller, with its name', async () => {
  counting();
  const name = 'admin-user';
  const callers = [
    basic(name, testPassword),
    `Bearer ${await issuer.token({ sub: name, roles: ['admin'] })}`,
    `Bearer ${await otherIssuer.token({ sub: name, roles: ['admin'] })}`,
    // An issuer may give two subjects the same preferred_username (OpenID Connect Core 5.7).
    `Bearer ${await issuer.token({ sub: 'f3a1', preferred_username: name, roles: ['admin'] })}`,
  ];
  const ask = async (authorization: string): Promise<readonly unknown[]> => {
    const reply = await act({ headers: { Authorization: authorization } });
    return [resultOf(reply), replayed(reply)];
  };
  for (const [index, caller] of callers.entries()) assert.deepEqual(await ask(caller), [`{"count":${index + 1}}`, undefined]);
  for (const [index, caller] of callers.entries()) assert.deepEqual(await ask(caller), [`{"count":${index + 1}}`, 'true']);
  // A later token of the same subject is the same caller.
  const later = `Bearer ${await issuer.token({ sub: name, roles: ['admin'], jti: 'later' })}`;
  assert.deepEqual(await ask(later), ['{"count":2}', 'true']);
  assert.equal(far.requests.length, callers.length);
});

test('R70: a key whose call is in flight is 409 with Retry-After, at this gateway and at another one', async (t) => {
  const [one, other] = pair ?? [];
  if (one === undefined || other === undefined) {
    t.skip('no PostgreSQL');
    return;
  }
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Buffer>();
  far.answer(() => {
    arrived.resolve();
    return answer.promise;
  });
  const first = act({ at: one });
  await arrived.promise;
  for (const at of [one, other]) {
    const reply = await act({ at });
    assertProblem(reply, 409, 'idempotency-key-in-use');
    assert.equal(reply.header('retry-after'), '1');
  }
  answer.resolve(jsonReply('{"done":1}'));
  const { text } = await first;
  for (const at of [one, other]) assert.deepEqual([(await act({ at })).text, replayed(await act({ at }))], [text, 'true']);
  assert.equal(far.requests.length, 1);
});

for (const [dialect, at] of [
  ['sqlite', gateway],
  ...(pair ?? []).slice(0, 1).map((one) => ['postgres', one] as const),
] as const) {
  test(`one of ten requests with the same key at once is made, for four keys (${dialect})`, async () => {
    counting();
    const replies = await Promise.all(Array.from({ length: 40 }, (_, lane) => act({ at, key: `k-${lane % 4}` })));
    assert.equal(far.requests.length, 4);
    for (const reply of replies) assert.ok(reply.status === 200 || reply.status === 409, reply.text);
    for (let lane = 0; lane < 4; lane += 1) assert.equal(replayed(await act({ at, key: `k-${lane}` })), 'true');
  });
}

test('an error reply of the upstream is kept with its status and replayed', async () => {
  far.answer(() => jsonReply('{"error":"no"}', { status: 409 }));
  const first = await act();
  assertProblem(first, 502, 'upstream-error');
  const again = await act();
  assert.deepEqual([again.status, again.text, replayed(again)], [502, first.text, 'true']);
  assert.equal(again.header('content-type'), first.header('content-type'));
  assert.equal(far.requests.length, 1);
});

test('an action without an answer stays unknown: the key is 409 outcome-unknown, and the action is not sent again', async () => {
  far.answer(() => new Promise(() => {}));
  assertProblem(await act({ adapter: 'hasty' }), 504, 'outcome-unknown');
  counting();
  const again = await act({ adapter: 'hasty' });
  assertProblem(again, 409, 'outcome-unknown');
  assert.equal(far.requests.length, 0);
  assert.equal((await recordOf(again.header('x-request-id'), 'hasty')).outcome, 'refused');
});

test('a call of which nothing was sent is made when its key comes again', async (t) => {
  assertProblem(await act({ adapter: 'later' }), 502, 'upstream-connect-failed');
  let requests = 0;
  const later = createServer((request, response) => {
    requests += 1;
    request.resume().on('end', () => response.setHeader('Content-Type', json).end('{}'));
  }).listen(laterPort, '127.0.0.1');
  t.after(() => later.closeAllConnections());
  t.after(() => later.close());
  await once(later, 'listening');
  assert.equal(resultOf(await act({ adapter: 'later' })), '{}');
  assert.equal(replayed(await act({ adapter: 'later' })), 'true');
  assert.equal(requests, 1);
});

test('a key stays free where the gateway refuses the request before a call', async () => {
  counting();
  assert.equal((await act({ adapter: 'unknown' })).status, 404);
  const headers = { 'Idempotency-Key': key };
  assert.equal((await relay(gateway, 'restAction', 'NSO', { params: {} }, { headers })).status, 400);
  assert.equal(
    (await restCall(gateway, { uri: 'http://10.0.0.1/', verb: 'POST', responseHeaders: false }, { headers })).status,
    403,
  );
  assert.equal(replayed(await act()), undefined);
  assert.equal(replayed(await restCall(gateway, { uri: far.url, verb: 'POST', responseHeaders: false }, { headers })), undefined);
});

test('a caller whose connection breaks during an action gets the reply with its key later', async () => {
  const arrived = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Buffer>();
  far.answer(() => {
    arrived.resolve();
    return answer.promise;
  });
  const body = JSON.stringify({ params: { path: 'do/it', accept: json }, body: { a: 1 } });
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /orchestrator_manager/restAction/NSO HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${await gateway.tokenFor('admin')}\r\nContent-Type: ${json}\r\nIdempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await arrived.promise;
  socket.resetAndDestroy();
  await lapse(50, 'the gateway sees that the caller left');
  answer.resolve(jsonReply('{"done":1}'));
  let reply = await act();
  for (; reply.status === 409; reply = await act()) assertProblem(reply, 409, 'idempotency-key-in-use');
  assert.deepEqual([resultOf(reply), replayed(reply)], ['{"done":1}', 'true']);
  assert.equal(far.requests.length, 1);
  const { replays } = await recordOf(reply.header('x-request-id'));
  assert.equal((await recordOf(replays)).outcome, 'ok');
});

test('a gateway that stops waits for the reply to an action whose caller has left', async (t) => {
  const last = await start(t);
  const arrived = Promise.withResolvers<void>();
  far.answer(async () => {
    arrived.resolve();
    await lapse(300, 'the stop begins meanwhile');
    return jsonReply('{"done":1}');
  });
  const controller = new AbortController();
  const sent = fetch(`${last.url}/orchestrator_manager/restAction/NSO`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await last.tokenFor('admin')}`, 'content-type': json, 'idempotency-key': key },
    body: JSON.stringify({ params: { path: 'do/it', accept: json }, body: { a: 1 } }),
    signal: controller.signal,
  }).catch(() => {});
  await arrived.promise;
  controller.abort();
  await sent;
  const next = await last.restart();
  const reply = await act({ at: next });
  assert.deepEqual([resultOf(reply), replayed(reply)], ['{"done":1}', 'true']);
  assert.equal(far.requests.length, 1);
});

test('a reply up to 1 MiB is kept; a longer one streams, and its key is 409 reply-not-kept', async () => {
  for (const [key, length] of [
    ['long', 1_000_000],
    ['longer', 3_000_000],
  ] as const) {
    const text = JSON.stringify({ text: 'ü'.repeat(length / 2) });
    far.answer(() => jsonReply(text));
    const first = await act({ key });
    assert.equal(resultOf(first), text);
    const again = await act({ key });
    if (key === 'long') assert.deepEqual([again.text === first.text, replayed(again)], [true, 'true']);
    else assertProblem(again, 409, 'reply-not-kept');
    assert.equal(far.requests.length, 1);
  }
});

test('a long reply that broke off makes its action outcome-unknown under the key, and lets a GET be made again', async () => {
  const cut = (_request: unknown, socket: Socket): void => {
    const text = JSON.stringify({ text: 'x'.repeat(3_000_000) });
    socket.write(jsonReply(text).subarray(0, 2_000_000), () => setTimeout(() => socket.destroy(), 100));
  };
  far.answer(cut);
  assert.equal((await act()).complete, false);
  const again = await until('the first action has ended', async () => {
    const reply = await act();
    return (reply.json() as { code: string }).code !== 'reply-not-kept' && reply;
  });
  assertProblem(again, 409, 'outcome-unknown');
  assert.equal(far.requests.length, 1);

  const headers = { 'Idempotency-Key': `${key}-get` };
  const get = (): Promise<Reply> => restCall(gateway, { uri: `${far.url}/x`, verb: 'GET', responseHeaders: false }, { headers });
  far.answer(cut);
  assert.equal((await get()).complete, false);
  counting();
  const reply = await until('the first GET has ended', async () => {
    const next = await get();
    return next.status !== 409 && next;
  });
  assert.equal(responseOf(reply), '{"count":1}');
});

test('a GET of restCall may have a key as well, and is made again after a failure', async () => {
  const headers = { 'Idempotency-Key': key };
  const get = (): Promise<Reply> => restCall(gateway, { uri: `${far.url}/x`, verb: 'GET', responseHeaders: false }, { headers });
  far.answer((_request, socket) => void socket.destroy());
  assert.equal((await get()).status, 502);
  far.answer(() => httpReply({ body: 'text' }));
  assert.equal(responseOf(await get()), 'text');
  assert.equal(replayed(await get()), 'true');
  assert.equal(far.requests.length, 1);
});

for (const [name, key] of [
  ['an empty key', ''],
  ['a key of 256 characters', 'k'.repeat(256)],
  ['a key with a space', 'a b'],
  ['a key beyond ASCII', 'k\u00e9'],
] as const) {
  test(`${name} is 400, and nothing is sent`, async () => {
    counting();
    assertProblem(await act({ key }), 400, 'malformed-request');
    assert.equal(far.requests.length, 0);
  });
}

test('a key may have 255 characters, and every visible ASCII character', async () => {
  counting();
  const visible = Array.from({ length: 94 }, (_, index) => String.fromCodePoint(index + 33)).join('');
  for (const key of ['k'.repeat(255), visible, randomUUID()]) {
    assert.equal((await act({ key })).status, 200);
    assert.equal(replayed(await act({ key })), 'true');
  }
  assert.equal(far.requests.length, 3);
});

test('a query ignores its key and is sent each time', async () => {
  counting();
  for (let count = 0; count < 2; count += 1) {
    const body = { params: { path: 'x', accept: json } };
    const reply = await relay(gateway, 'restQuery', 'NSO', body, { headers: { 'Idempotency-Key': key } });
    assert.deepEqual([reply.status, replayed(reply)], [200, undefined]);
  }
  assert.equal(far.requests.length, 2);
});
