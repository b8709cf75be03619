// suite: long

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemClock } from '../src/base/clock.ts';
import { CallScope } from '../src/outbound/call/call-scope.ts';
import { createSender } from '../src/outbound/call/sender.ts';
import { createConnector } from '../src/outbound/dialling/connector.ts';
import { createResolver } from '../src/outbound/dialling/resolver.ts';
import { createDestinationPolicy } from '../src/outbound/policy/destination-policy.ts';
import { assertProblem, post, relay, responseOf, restCall } from './support/callers/calls.ts';
import { loginAt, spawnCommand } from './support/gateway/command.ts';
import { maxMemory } from './support/gateway/max-memory.ts';
import { startGatewayProcess } from './support/gateway/start-gateway.ts';
import { listen } from './support/listen.ts';
import { until } from './support/until.ts';
import { type FarHandler, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// The memory that hostile callers and upstreams may take. Each gateway is a process, whose memory is read from /proc.

const skip = process.platform !== 'linux' && 'needs /proc';
const far = await upstream({ after });
const outbound = { allow: ['127.0.0.0/8'] };
const call = { uri: far.url, verb: 'GET', responseHeaders: false };
const okHead = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

test('R32: a body with one byte a chunk takes little more memory than its bytes', { skip }, async (t) => {
  const gateway = await startGatewayProcess(t, { config: { server: { requestBodyLimit: '2MiB' }, outbound } });
  far.answer(() => jsonReply('{}'));
  assert.equal(responseOf(await restCall(gateway, call)), '{}');
  const before = maxMemory(gateway.pid);
  const text = JSON.stringify({ ...call, verb: 'POST', body: { a: 'x'.repeat(1_000_000) } });
  const body = `${text.replaceAll(/./gu, '1\r\n$&\r\n')}0\r\n\r\n`;
  const reply = await post(gateway, '/tools/restCall', body, { headers: { 'Transfer-Encoding': 'chunked' } });
  assert.equal(responseOf(reply), '{}');
  assert.ok(maxMemory(gateway.pid) - before < 150, `${maxMemory(gateway.pid) - before} MiB`);
});

test('R56: a reply over the limit is never complete, and memory has a bound', { skip }, async (t) => {
  const limited = { responseLimit: '1MiB', timeouts: { idle: '1s', total: '2s' } };
  const gateway = await startGatewayProcess(t, {
    config: { outbound: { ...outbound, ...limited } },
    adapters: [{ name: 'nso', kind: 'nso', url: far.url, auth: { type: 'none' }, ...limited }],
  });
  far.answer(() => jsonReply('{}'));
  responseOf(await restCall(gateway, call));
  const before = maxMemory(gateway.pid);
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
  assert.ok(maxMemory(gateway.pid) - before < 100, `${maxMemory(gateway.pid) - before} MiB`);
});

test('R56: replies with one byte a chunk take little more memory than their bytes', { skip }, async (t) => {
  const gateway = await startGatewayProcess(t, { config: { outbound } });
  // A gateway with a late event loop refuses calls: all calls arrive before the first byte of an answer is sent.
  const asked: Socket[] = [];
  far.answer((_, socket) => void asked.push(socket));
  const replies = Array.from({ length: 60 }, () => restCall(gateway, call));
  await until('all calls have arrived', () => asked.length === replies.length);
  const before = maxMemory(gateway.pid);
  const body = 'x'.repeat(65_000);
  const bytes = `${okHead}Transfer-Encoding: chunked\r\n\r\n${body.replaceAll('x', '1\r\nx\r\n')}0\r\n\r\n`;
  for (const socket of asked) socket.write(bytes);
  for (const reply of await Promise.all(replies)) assert.equal(responseOf(reply), body);
  assert.ok(maxMemory(gateway.pid) - before < 150, `${maxMemory(gateway.pid) - before} MiB`);
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

test('an import of 200 MB takes the memory of a small one', { skip, timeout: 120_000 }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'import-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const line = (index: number): string => `{"_id":"n${index}","name":"${'x'.repeat(9_970)}${String(index).padStart(6, '0')}"}\n`;
  await using file = await open(join(directory, 'large.ndjson'), 'w');
  for (let index = 0; index < 20_000; index += 100)
    await file.write(Array.from({ length: 100 }, (_, more) => line(index + more)).join(''));
  let [received, most] = [0, 0];
  const server = createServer((request, response) => {
    request.on('data', (piece: Buffer) => void (received += piece.length));
    request.on('end', () => {
      most = Math.max(most, maxMemory(child.pid ?? 0));
      response.setHeader('Content-Type', 'application/json').end('{"imported":5000,"replaced":0}');
    });
  });
  const { port } = await listen(t, server);
  const child = spawnCommand(['import', 'large.ndjson'], {
    directory,
    environment: loginAt({ url: `http://127.0.0.1:${port}` }),
  });
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 0);
  assert.ok(received > 199_000_000, String(received));
  assert.ok(most < 200, `${most} MiB`);
});
