// suite: waiting

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, describe, type TestContext, test } from 'node:test';
import { startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { until } from './support/until.ts';
import { jsonReply, upstream } from './support/upstreams/upstream.ts';

// Callers that get 408 and keep their side of the connection open.

const far = await upstream({ after });
far.answer(() => jsonReply('{}'));
const gateway = await startGateway(
  { after },
  {
    config: { server: { openMetrics: true } },
    adapters: [{ name: 'far', kind: 'rest', url: far.url, auth: { type: 'none' } }],
  },
);

const start = `POST /orchestrator_manager/restAction/far HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.basicFor('admin')}\r\n`;
const body = JSON.stringify({ params: { path: '/reboot', accept: 'application/json' }, body: {} });
const restOfHead = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;

interface Caller {
  readonly socket: Socket;
  /** All bytes that the gateway sent, once the gateway has ended its side. */
  readonly received: Promise<string>;
}

/** Opens a connection that never ends its own side, and sends `bytes`. */
function open(t: TestContext, bytes: string): Caller {
  const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(bytes);
  let text = '';
  socket.on('data', (data: Buffer) => {
    text += data.toString();
  });
  const received = new Promise<string>((resolve) => {
    socket.on('end', () => resolve(text));
  });
  return { socket, received };
}

/** The connections and the requests in flight that the gateway counts, without the request for /metrics. */
async function counted(): Promise<Record<string, number>> {
  const { text } = await gateway.send({ target: '/metrics' });
  const valueOf = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, 'mu').exec(text)?.[1]) - 1;
  return { connections: valueOf('gateway_caller_connections'), requests: valueOf('gateway_requests_in_flight') };
}

/** Fails where the upstream got a request. */
async function assertNothingSent(): Promise<void> {
  await lapse(500, 'a call would reach the upstream');
  assert.deepEqual(
    far.requests.map(({ target }) => target),
    [],
  );
}

describe('a caller with a 408', { concurrency: true, timeout: 120_000 }, () => {
  test('R44: is not served when it sends the rest of the body later', async (t) => {
    const caller = open(t, `${start}${restOfHead}`);
    assert.match(await caller.received, /^HTTP\/1.1 408 /u);
    caller.socket.write(body);
    await assertNothingSent();
  });

  test('R43: is not served when it sends the rest of the headers later', async (t) => {
    const caller = open(t, start);
    assert.match(await caller.received, /^HTTP\/1.1 408 /u);
    caller.socket.write(`${restOfHead}${body}`);
    await assertNothingSent();
  });

  test('R44: that sends nothing more keeps no connection, and no place among the requests in flight', async (t) => {
    const silent = [
      open(t, `${start}${restOfHead}`),
      open(t, 'POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nContent-Type: application/json\r\n\r\n{'),
    ];
    for (const { received } of silent) assert.match(await received, /^HTTP\/1.1 408 /u);
    await until('no connection and no request is counted', async () => {
      const { connections, requests } = await counted();
      return connections === 0 && requests === 0;
    });
  });
});
