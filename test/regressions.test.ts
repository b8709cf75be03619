import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import { assertProblem, instancesOf, pointersOf, relay, responseOf, restCall } from './support/callers/calls.ts';
import { openConnection, requestBytes, send } from './support/callers/http-client.ts';
import { senderTo, sendThrough } from './support/callers/send-through.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { type GatewayProcess, startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { until } from './support/until.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Faults that were found and corrected; each test failed before the correction.

const far = await upstream({ after });
const adapters = [{ name: 'far', kind: 'rest', url: far.url, auth: { type: 'none' } }];
const outbound = { allow: [far.authority] };
const gateway = await startGateway({ after }, { config: { outbound }, adapters });

describe('a request or reply', () => {
  test('with a thousand unknown members is still checked against the schema', async () => {
    far.answer(() => jsonReply('{}'));
    for (const count of [1, 99, 100, 101, 1_000]) {
      const junk = Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 1]));
      const body = { ...junk, uri: `${far.url}/`, verb: 'PURGE', responseHeaders: false };
      assertProblem(await restCall(gateway, body), 400, 'invalid-request');
      assertProblem(
        await relay(gateway, 'restQuery', 'far', { params: { ...junk, path: 5, accept: 'x/y' } }),
        400,
        'invalid-request',
      );
    }
    assert.equal(far.requests.length, 0);
  });

  test('with a form of thousands of parameters is 400, and with more than 16 KiB 413', async () => {
    const body = Array.from({ length: 4_000 }, (_, index) => `${index.toString(36)}=`)
      .join('&')
      .slice(0, 16_000);
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => send(gateway.port, { method: 'POST', target: '/oauth/token', headers, body })),
    );
    for (const reply of replies) assert.equal(reply.status, 400);
    assert.equal(
      (await send(gateway.port, { method: 'POST', target: '/oauth/token', headers, body: 'x'.repeat(16_385) })).status,
      413,
    );
  });

  test('with a login of more than 16 KiB is 413', async () => {
    const body = JSON.stringify({ username: 'x'.repeat(20_000), password: 'y' });
    const headers = { 'Content-Type': 'application/json' };
    assertProblem(await send(gateway.port, { method: 'POST', target: '/login', headers, body }), 413, 'body-too-large');
  });

  test('with an envelope of twenty thousand members is 400 invalid-json', async () => {
    const junk = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`x${index}`, 1]));
    assertProblem(await restCall(gateway, { ...junk, uri: far.url, verb: 'GET', responseHeaders: false }), 400, 'invalid-json');
  });

  test('with nine thousand faulty header names is 400', async () => {
    const headers = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`bad name ${index}`, 'x']));
    assertProblem(
      await restCall(gateway, { uri: far.url, verb: 'GET', headers, responseHeaders: false }),
      400,
      'invalid-request',
    );
  });

  test('with a member name of 200 kB over five thousand entries becomes no reply of 64 MiB', async () => {
    far.answer(() => jsonReply(`{"${'n'.repeat(200_000)}":[${'1,'.repeat(5_000)}1]}`));
    const reply = await relay(gateway, 'restQuery', 'far', { params: { path: 'x', accept: 'application/json' } }).catch(
      () => undefined,
    );
    assert.ok(reply === undefined || !reply.complete || reply.status !== 200 || reply.body.length < 64 * 1024 ** 2);
    assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  });

  test('whose caller leaves is a line at info, and is no longer in flight', async () => {
    far.answer(() => undefined);
    const from = gateway.stderr.length;
    const connection = await openConnection(gateway.port);
    const body = JSON.stringify({ params: { path: 'x', accept: 'x/y' }, body: { a: 1 } });
    const headers = { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json' };
    connection.write(
      requestBytes(gateway.port, { method: 'POST', target: '/orchestrator_manager/restAction/far', headers, body }),
    );
    await until('the call has arrived', () => far.requests.length > 0);
    connection.socket.destroy();
    await once(connection.socket, 'close');
    const logged = await until('the call is in the log', () =>
      gateway.stderr.slice(from).find((text) => text.includes('the reply was cut off') && text.includes('restAction')),
    );
    const line = JSON.parse(logged) as Record<string, unknown>;
    assert.equal(line['route'], '/orchestrator_manager/restAction/:adapterId');
    assert.equal(line['adapter'], 'far');
    assert.ok(!gateway.stderr.slice(from).some((text) => text.includes('"level":"error"')));
    const metrics = await gateway.send({ role: 'admin', target: '/metrics' });
    assert.match(metrics.text, /^gateway_requests_in_flight 1$/mu);
  });

  test('with an Expect that Node does not know gets a request id', async () => {
    const reply = await send(gateway.port, { target: '/healthz', headers: { Expect: '200-ok' } });
    assert.equal(reply.status, 200);
    assert.ok(reply.headers.some(([name]) => name.toLowerCase() === 'x-request-id'));
  });

  test('with a path that cannot be decoded keeps the request id of its caller', async () => {
    const reply = await send(gateway.port, { target: '/%zz', headers: { 'X-Request-Id': 'mine' } });
    assertProblem(reply, 400, 'malformed-request');
    assert.deepEqual(
      reply.headers.filter(([name]) => name.toLowerCase() === 'x-request-id').map(([, value]) => value),
      ['mine'],
    );
  });

  test('with broken JSON beyond 64 KiB breaks off, in every division into segments', async () => {
    const broken = `{"a":"${'x'.repeat(70_000)}"]`;
    const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${broken.length}\r\n\r\n`;
    for (const first of [1_000, 60_000, 65_536, 66_000]) {
      far.answer(async (_request, socket) => {
        socket.write(head + broken.slice(0, first));
        await lapse(30, 'the gateway reads the first part');
        socket.write(broken.slice(first));
      });
      const reply = await restCall(gateway, { uri: `${far.url}/`, verb: 'GET', responseHeaders: true });
      assert.ok(reply.status === 200 && !reply.complete, `cut after ${first} bytes`);
    }
  });

  test('with a fault of its own and a denied header is 400, not 403', async () => {
    const headers = { 'Metadata-Flavor': 'Google', 'Content-Type': 'text/plain' };
    const reply = await restCall(gateway, { uri: `${far.url}/`, verb: 'POST', headers, body: { a: 1 }, responseHeaders: false });
    assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), ['/headers/Content-Type']);
  });

  test('with problems in query string, text and schema names all of them in one reply', async () => {
    const text = `{"uri":"ftp://x/","uri":"y","headers":{"Content-Type":"text/plain"},"body":{},"nope":1}`;
    const headers = { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json' };
    const reply = await send(gateway.port, { method: 'POST', target: '/tools/restCall?x=1', headers, body: text });
    const pointers = pointersOf(assertProblem(reply, 400, 'invalid-json'));
    for (const pointer of ['/uri', '?x', '/nope', '/verb', '/responseHeaders', '/headers/Content-Type'])
      assert.ok(pointers.includes(pointer), pointer);
  });

  test('with a login without a password names the password as missing', async () => {
    const headers = { 'Content-Type': 'application/json' };
    for (const [body, expected] of [
      ['{"username":"x"}', ['/password']],
      ['{"user":{"username":1}}', ['/user/password', '/user/username']],
    ] as const) {
      const reply = await send(gateway.port, { method: 'POST', target: '/login', headers, body });
      assert.deepEqual([...pointersOf(assertProblem(reply, 400, 'invalid-request'))].sort(), expected);
    }
  });

  test('with a fault at the token endpoint gets an error in the shape of RFC 6749', async () => {
    for (const [target, type, status] of [
      ['/oauth/token?x=1', 'application/x-www-form-urlencoded', 400],
      ['/oauth/token', 'application/json', 415],
    ] as const) {
      const reply = await send(gateway.port, { method: 'POST', target, headers: { 'Content-Type': type }, body: 'grant_type=x' });
      assert.equal(reply.status, status);
      assert.equal((JSON.parse(reply.text) as { readonly error: string }).error, 'invalid_request');
    }
  });

  test('with status 304 and the length of a body that is not sent is not too large', async () => {
    far.answer(() => 'HTTP/1.1 304 Not Modified\r\nContent-Length: 99999999999\r\n\r\n');
    const reply = await restCall(gateway, { uri: `${far.url}/`, verb: 'GET', responseHeaders: false });
    assert.equal(responseOf(reply), '');
    assert.ok(reply.headers.some(([name, value]) => name.toLowerCase() === 'x-upstream-status' && value === '304'));
  });

  test('with an error body in Latin-1 keeps its letters, and a binary error body is marked as base64', async () => {
    for (const [type, bytes, body, encoding] of [
      ['text/plain; charset=iso-8859-1', Buffer.from([0xe9]), 'é', undefined],
      ['application/octet-stream', Buffer.from([0xff, 0xfe, 0x00]), '//4A', 'base64'],
    ] as const) {
      far.answer(() => httpReply({ status: 400, headers: { 'Content-Type': type }, body: bytes }));
      const reply = await relay(gateway, 'restAction', 'far', { params: { path: 'x', accept: '*/*' }, body: {} });
      assert.equal(assertProblem(reply, 502, 'upstream-error').upstream?.body, body);
      const marked = reply.headers.find(([name]) => name.toLowerCase() === 'x-upstream-body-encoding');
      assert.equal(marked?.[1], encoding);
    }
  });

  test('with an empty media type, or without a body, is not marked as base64', async () => {
    for (const [type, body] of [
      ['', 'text'],
      ['application/octet-stream', ''],
    ] as const) {
      far.answer(() => httpReply({ headers: { 'Content-Type': type }, body }));
      const reply = await restCall(gateway, { uri: `${far.url}/`, verb: 'GET', responseHeaders: false });
      assert.equal(responseOf(reply), body);
      assert.ok(!reply.headers.some(([name]) => name.toLowerCase() === 'x-upstream-body-encoding'));
    }
  });

  test('with XML in UTF-16 is an instance named after the root', async () => {
    const body = Buffer.from('<devices><device/></devices>', 'utf16le');
    far.answer(() => httpReply({ headers: { 'Content-Type': 'application/xml; charset=utf-16le' }, body }));
    const reply = await relay(gateway, 'restQuery', 'far', { params: { path: 'x', accept: 'application/xml' } });
    assert.deepEqual(instancesOf(reply), [{ devices: '<devices><device/></devices>' }]);
  });

  test('with time limits below a second keeps them: a late reply is 504, a slow one in time is 200', async (t) => {
    t.after(async () => void (await reloadWith(gateway, { config: { outbound }, adapters })));
    far.answer(async ({ target }, socket) => {
      if (target === '/late') {
        await lapse(600, 'the limit of 300 ms passes');
        return jsonReply('{}');
      }
      // A byte each 100 ms, for /pausing with a pause in the middle.
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n');
      for (const byte of '12345678') {
        if (target === '/pausing' && byte === '5') await lapse(600, 'the limit of 300 ms passes');
        await lapse(100, 'the limit of 300 ms does not pass');
        socket.write(byte);
      }
      return undefined;
    });
    const timeouts = { firstByte: '300ms', idle: '300ms', total: '10s' };
    await reloadWith(gateway, { config: { outbound: { ...outbound, timeouts } }, adapters });
    const ask = (path: string) => restCall(gateway, { uri: `${far.url}/${path}`, verb: 'GET', responseHeaders: false });
    for (let count = 0; count < 3; count += 1) {
      const [late, pausing, dripping] = await Promise.all([ask('late'), ask('pausing'), ask('dripping')]);
      assert.match(assertProblem(late, 504, 'upstream-timeout').detail, /300 ms.*phase firstByte/u);
      assert.match(assertProblem(pausing, 504, 'upstream-timeout').detail, /300 ms.*phase idle/u);
      assert.equal(responseOf(dripping), '12345678');
    }
  });
});

describe('a drain does not wait for a connection without a call in flight', () => {
  const drained = async (gateway: GatewayProcess): Promise<void> => {
    const started = performance.now();
    const code = await gateway.stop('SIGTERM');
    assert.ok(performance.now() - started < 15_000, 'the drain took as long as its limit');
    assert.ok(code === undefined || code === 0);
  };

  test('after an error reply', async (t) => {
    let answer = (): void => {};
    const far = await upstream(t, () => new Promise((resolve) => (answer = () => resolve(httpReply({ status: 500 })))));
    const gateway = await startGatewayProcess(t, {
      adapters: [{ name: 'far', kind: 'rest', url: far.url, auth: { type: 'none' } }],
    });
    const connection = await openConnection(gateway.port);
    const body = JSON.stringify({ params: { path: 'x', accept: 'x/y' }, body: {} });
    const headers = { Authorization: gateway.basicFor('admin'), 'Content-Type': 'application/json' };
    connection.write(
      requestBytes(gateway.port, { method: 'POST', target: '/orchestrator_manager/restAction/far', headers, body }),
    );
    await until('the call has arrived', () => far.requests.length > 0);
    const stopped = drained(gateway);
    await until('the drain has begun', () => gateway.stderr.some((line) => line.includes('draining')));
    answer();
    assert.equal((await connection.reply())?.status, 502);
    await stopped;
  });

  test('after a caller left with a second request in the queue of its connection', async (t) => {
    const far = await upstream(t);
    const gateway = await startGatewayProcess(t, {
      adapters: [{ name: 'far', kind: 'rest', url: far.url, auth: { type: 'none' } }],
    });
    const connection = await openConnection(gateway.port);
    const headers = {
      Authorization: gateway.basicFor('admin'),
      'Content-Type': 'application/json',
      Connection: 'keep-alive',
    };
    for (const path of ['never', 'behind it']) {
      const body = JSON.stringify({ params: { path, accept: 'x/y' }, body: {} });
      connection.write(
        requestBytes(gateway.port, { method: 'POST', target: '/orchestrator_manager/restAction/far', headers, body }),
      );
    }
    await until('the first call has arrived', () => far.requests.length > 0);
    await lapse(300, 'the second request waits in the queue');
    connection.socket.destroy();
    await drained(gateway);
  });

  test('that sent half a request', async (t) => {
    const gateway = await startGatewayProcess(t);
    const connection = await openConnection(gateway.port);
    connection.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
    await lapse(100, 'the gateway reads half a request');
    await drained(gateway);
  });
});

test('an action whose idle connection was reset is sent over a new connection', async (t) => {
  const far = await upstream(t);
  const { sender, sockets } = senderTo(t, far.port);
  const act = () => sendThrough(sender, `${far.url}/`, { method: 'POST' });
  assert.equal((await act()).status, 200);
  sockets[0]?.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  assert.equal((await act()).status, 200);
  assert.equal(sockets.length, 2);
  assert.equal(far.requests.length, 2);
});

test('a reply to a slow reader is whole although its upstream closed the connection before its end was read', async (t) => {
  // A little more than the buffer for a slow reader: the last piece pauses the upstream.
  const body = randomBytes(65_536 + 262_144 + 10_000);
  const far = await upstream(t, (_request, socket) => void socket.end(httpReply({ body })));
  for (let count = 0; count < 10; count += 1) {
    // A sender for each: a request over the connection that the upstream closes would get no reply.
    const { sender } = senderTo(t, far.port);
    const reply = await sendThrough(sender, `${far.url}/`, { pause: 20 });
    assert.ok(reply.body.equals(body));
  }
});

test('an upstream that waits for a slow reader does not meet the idle limit', async (t) => {
  const body = randomBytes(8_000_000);
  const far = await upstream(t, () => httpReply({ body }));
  const { sender } = senderTo(t, far.port);
  const reply = await sendThrough(sender, `${far.url}/`, { pause: 600, timeouts: { firstByte: 5_000, idle: 200 } });
  assert.ok(reply.body.equals(body));
});
