import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { CallerLeft } from '#base/caller-left.ts';
import { GatewayError } from '#base/gateway-error.ts';
import { withRemoteGateway } from './remote-gateway.ts';

async function served(t: TestContext, answer: RequestListener): Promise<URL> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/behind/a/proxy/`);
}

test('a stream of events arrives piece by piece, below the path of the address', async (t) => {
  const { promise: second, resolve: sendSecond } = Promise.withResolvers<void>();
  const url = await served(t, (request, response) => {
    assert.equal(request.url, '/behind/a/proxy/events?a=1');
    assert.equal(request.headers['last-event-id'], '7');
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write('data: one\n\n');
    second.then(
      () => response.end('data: two\n\n'),
      () => {},
    );
  });
  await withRemoteGateway(url, async (gateway) => {
    const reply = await gateway.send({ path: '/events?a=1', headers: { 'Last-Event-ID': '7' } });
    assert.equal(reply.status, 200);
    assert.equal(reply.header('content-type'), 'text/event-stream');
    assert.equal(String((await reply.body.next()).value), 'data: one\n\n');
    sendSecond();
    assert.equal(String((await reply.body.next()).value), 'data: two\n\n');
    assert.equal((await reply.body.next()).done, true);
  });
});

test('a request has its method and body, and a reply without a body ends at once', async (t) => {
  const url = await served(t, (request, response) => {
    request.setEncoding('utf8').on('data', (text) => {
      assert.deepEqual([request.method, text], ['POST', '{"n":18446744073709551615}']);
      response.writeHead(204).end();
    });
  });
  await withRemoteGateway(url, async (gateway) => {
    const reply = await gateway.send({ method: 'POST', path: '/x', body: '{"n":18446744073709551615}' });
    assert.equal(reply.status, 204);
    assert.deepEqual(await Array.fromAsync(reply.body), []);
  });
});

test('an abort ends a stream, and a connection that broke off is an error', async (t) => {
  const url = await served(t, (request, response) => {
    response.write(':\n\n');
    if (request.url?.endsWith('/broken') === true) setImmediate(() => response.destroy());
  });
  const abort = new AbortController();
  await withRemoteGateway(url, async (gateway) => {
    const stream = await gateway.send({ path: '/silent', signal: abort.signal });
    assert.equal(String((await stream.body.next()).value), ':\n\n');
    const next = stream.body.next();
    abort.abort();
    await assert.rejects(next, CallerLeft);
    await assert.rejects(gateway.send({ path: '/silent', signal: abort.signal }), CallerLeft);
    const broken = await gateway.send({ path: '/broken' });
    await assert.rejects(
      Array.fromAsync(broken.body),
      (error) => error instanceof GatewayError && error.code === 'upstream-closed',
    );
  });
});
