import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../src/base/clock.ts';
import { CallScope } from '../src/outbound/call-scope.ts';
import { createConnector } from '../src/outbound/connector.ts';
import { createDestinationPolicy } from '../src/outbound/destination-policy.ts';
import { createResolver } from '../src/outbound/resolver.ts';
import { createSender } from '../src/outbound/sender.ts';
import { assertProblem, post, relay, responseOf, restCall } from './support/callers/calls.ts';
import { type FarHandler, farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { mostMemory } from './support/gateway/most-memory.ts';
import { startGatewayProcess } from './support/gateway/start-gateway.ts';
import { until } from './support/until.ts';

// The memory that hostile callers and far sides may take. Each gateway is a process, whose memory is read from /proc.

const skip = process.platform !== 'linux' && 'needs /proc';
const far = await farSide({ after });
const outbound = { allow: ['127.0.0.0/8'] };
const call = { uri: far.url, verb: 'GET', responseHeaders: false };
const okHead = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

test('R32: a body with one byte a chunk takes little more memory than its bytes', { skip }, async (t) => {
  const gateway = await startGatewayProcess(t, { config: { server: { requestBodyLimit: '2MiB' }, outbound } });
  far.answer(() => jsonReply('{}'));
  assert.equal(responseOf(await restCall(gateway, call)), '{}');
  const before = mostMemory(gateway.pid);
  const text = JSON.stringify({ ...call, verb: 'POST', body: { a: 'x'.repeat(1_000_000) } });
  const body = `${text.replaceAll(/./gu, '1\r\n$&\r\n')}0\r\n\r\n`;
  const reply = await post(gateway, '/tools/restCall', body, { headers: { 'Transfer-Encoding': 'chunked' } });
  assert.equal(responseOf(reply), '{}');
  assert.ok(mostMemory(gateway.pid) - before < 150, `${mostMemory(gateway.pid) - before} MiB`);
});

test('R56: a reply over the limit is never complete, and memory has a bound', { skip }, async (t) => {
  const limited = { responseLimit: '1MiB', timeouts: { idle: '1s', total: '2s' } };
  const gateway = await startGatewayProcess(t, {
    config: { outbound: { ...outbound, ...limited } },
    adapters: [{ name: 'nso', kind: 'nso', url: far.url, auth: { type: 'none' }, ...limited }],
  });
  far.answer(() => jsonReply('{}'));
  responseOf(await restCall(gateway, call));
  const before = mostMemory(gateway.pid);
  const endless: FarHandler = (_, socket) => {
    socket.write(`${okHead}Transfer-Encoding: chunked\r\n\r\n`);
    const block = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, ' '), Buffer.from('\r\n')]);
    const more = (): void => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on('drain', more);
    more();
  };
  const params = { path: 'x', accept: 'application/yang-data+json' };
  for (const ask of [
    () => restCall(gateway, call),
    () => relay(gateway, 'restAction', 'nso', { params, body: { a: 1 } }),
    () => relay(gateway, 'restQuery', 'nso', { params }),
  ]) {
    far.answer(endless);
    const reply = await ask().catch(() => undefined);
    if (reply?.complete === true) assertProblem(reply, 502, 'response-too-large');
  }
  far.answer(() => httpReply({ body: 'x'.repeat(2_000_000) }));
  assertProblem(await restCall(gateway, call), 502, 'response-too-large');
  assert.ok(mostMemory(gateway.pid) - before < 100, `${mostMemory(gateway.pid) - before} MiB`);
});

test('R56: replies with one byte a chunk take little more memory than their bytes', { skip }, async (t) => {
  const gateway = await startGatewayProcess(t, { config: { outbound } });
  // A gateway with a late event loop refuses calls: all calls arrive before the first byte of an answer is sent.
  const asked: Socket[] = [];
  far.answer((_, socket) => void asked.push(socket));
  const replies = Array.from({ length: 60 }, () => restCall(gateway, call));
  await until('all calls have arrived', () => asked.length === replies.length);
  const before = mostMemory(gateway.pid);
  const body = 'x'.repeat(65_000);
  const bytes = `${okHead}Transfer-Encoding: chunked\r\n\r\n${body.replaceAll('x', '1\r\nx\r\n')}0\r\n\r\n`;
  for (const socket of asked) socket.write(bytes);
  for (const reply of await Promise.all(replies)) assert.equal(responseOf(reply), body);
  assert.ok(mostMemory(gateway.pid) - before < 150, `${mostMemory(gateway.pid) - before} MiB`);
});

test('R69: calls to thousands of destinations keep no memory', { timeout: 60_000 }, async (t) => {
  const timeouts = { dns: 1_000, connect: 1_000, firstByte: 1_000, idle: 1_000, total: 1_000 };
  const sender = createSender({
    connect: createConnector({
      policy: createDestinationPolicy({ allow: ['127.0.0.0/8'], deny: [], ownListeners: () => [] }),
      resolve: createResolver({ concurrency: 2 }),
      timeouts,
    }),
  });
  t.after(() => sender.close());
  const fails = async (origin: string): Promise<void> => {
    const scope = new CallScope({ total: 10_000, clock: systemClock });
    const request = { path: '/', method: 'GET', headers: [], stateChanging: false, timeouts, responseLimit: 1_000 } as const;
    await assert.rejects(sender.send({ ...request, origin }, scope));
    scope.end();
  };
  // The first is denied before it connects. The second, port 1 of loopback, refuses the connection.
  const both = async (at: number): Promise<void> => {
    await fails(`http://10.0.${at >> 8}.${at & 255}`);
    await fails(`http://127.1.${at >> 8}.${at & 255}:1`);
  };
  for (let at = 0; at < 200; at += 1) await both(at);
  const before = heapInUse();
  for (let at = 200; at < 2_200; at += 1) await both(at);
  const perDestination = (heapInUse() - before) / 4_000;
  // A pool of connections for each would be some kilobytes.
  assert.ok(perDestination < 1_500, `${perDestination} bytes are kept for each destination`);
});

function heapInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
