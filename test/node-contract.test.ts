// suite: alone

/**
 * What the gateway takes from Node.js although Node's documentation does not promise it. Each test shows one such behaviour with plain
 * Node, so that a version of Node that changes it fails here by name. The files that rely on a behaviour stand above its test.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerOptions, type ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createServer as createTlsServer, connect as tlsConnect } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { lapse } from './support/lapse.ts';
import { listen } from './support/listen.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';
import { selfSigned } from './support/upstreams/certificate.ts';

/** A server with these requests handled, and a connection to it that collects what comes. */
async function conversation(t: TestContext, handle: RequestListener, options: ServerOptions = {}) {
  const server = createServer(options, handle);
  const { port } = await listen(t, server);
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  let received = '';
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  return { server, socket, port, received: () => received };
}

const request = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;

/** Blocks the thread, so that several events are due when the event loop looks again. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

// src/http/connections/in-order.ts
test('Node calls the handler for all pipelined requests of one read, and gives a response its socket once the ones before it are out', async (t) => {
  const responses: ServerResponse[] = [];
  const { socket } = await conversation(t, (_request, response) => void responses.push(response));
  socket.write(request('/1') + request('/2'));
  await until('both requests are there', () => responses.length === 2);
  const [first, second] = responses as [ServerResponse, ServerResponse];
  assert.notEqual(first.socket, null);
  assert.equal(second.socket, null);
  const assigned = once(second, 'socket');
  first.end();
  await assigned;
  assert.notEqual(second.socket, null);
});

// src/http/server.ts (close)
test('server.close() closes idle connections through the method closeIdleConnections, which a server may replace', async (t) => {
  const { server, socket, received } = await conversation(t, (_request, response) => response.end('ok'));
  socket.write(request('/'));
  await until('the reply is there', () => received().endsWith('ok'));
  let calls = 0;
  server.closeIdleConnections = () => void (calls += 1);
  server.close();
  await lapse(50, 'an idle connection would be closed');
  assert.deepEqual([calls, socket.destroyed], [1, false]);
});

// src/http/server.ts (dropsFollowingBytes)
test('Node drops what the same read brought after a request with Upgrade, where no upgrade listener is set', async (t) => {
  const targets: (string | undefined)[] = [];
  const { socket, received } = await conversation(t, ({ url }, response) => {
    targets.push(url);
    response.end('ok');
  });
  socket.write(request('/1', 'Connection: upgrade\r\nUpgrade: x\r\n') + request('/2'));
  await until('the reply is there', () => received().includes('ok'));
  await lapse(50, 'the second request would be read');
  assert.deepEqual(targets, ['/1']);
});

const unreadable: readonly (readonly [code: string, bytes: string])[] = [
  ['ERR_HTTP_REQUEST_TIMEOUT', 'GET / HTTP/1.1\r\n'],
  ['HPE_HEADER_OVERFLOW', request('/', `A: ${'a'.repeat(20_000)}\r\n`)],
  ['HPE_INVALID_METHOD', 'NOPE / HTTP/1.1\r\n\r\n'],
];
// src/http/problem.ts (unreadable), src/http/server.ts (bodyTooLate)
for (const [code, bytes] of unreadable) {
  test(`Node reports ${JSON.stringify(bytes.slice(0, 20))}… as clientError with the code ${code}`, async (t) => {
    const times = { headersTimeout: 50, requestTimeout: 0, connectionsCheckingInterval: 20, maxHeaderSize: 16_384 };
    const { server, socket } = await conversation(t, () => assert.fail('the request was handled'), times);
    const reported = once(server, 'clientError');
    socket.write(bytes);
    const [error, of] = (await reported) as [NodeJS.ErrnoException, Socket];
    assert.equal(error.code, code);
    of.destroy();
  });
}

const endings: readonly (readonly [how: string, end: (response: ServerResponse) => void, asLatin1: boolean])[] = [
  ['a Buffer', (response) => response.end(Buffer.from('x')), true],
  ['latin1 text', (response) => response.end('x', 'latin1'), true],
  ['UTF-8 text', (response) => response.end('x'), false],
];
// src/http/connections/slow-reader.ts (endReply), src/http/problem.ts (answerError)
for (const [how, end, asLatin1] of endings) {
  test(`Node writes the head of a response that ends with ${how} in ${asLatin1 ? 'latin1' : 'UTF-8'}`, async (t) => {
    const { socket, received } = await conversation(t, (_request, response) => {
      response.writeHead(200, ['X-A', 'é', 'Content-Length', '1']);
      end(response);
    });
    socket.write(request('/'));
    await until('the reply is there', () => received().endsWith('\r\n\r\nx'));
    assert.ok(received().includes(`X-A: ${asLatin1 ? '\xe9' : '\xc3\xa9'}\r\n`));
  });
}

// src/http/connections/slow-reader.ts (closeStalledConnections)
test('a socket reports no timeout while the system still takes bytes of a write, and does once it takes none', async (t) => {
  const server = createTcpServer();
  const { port } = await listen(t, server);
  const accepted = once(server, 'connection');
  const reader = connect(port, '127.0.0.1');
  t.after(() => reader.destroy());
  let reads = true;
  reader.on('data', () => {
    reader.pause();
    setTimeout(() => reads && reader.resume(), 5);
  });
  const [writer] = (await accepted) as [Socket];
  let timeouts = 0;
  writer.setTimeout(300, () => (timeouts += 1));
  writer.write(Buffer.alloc(256 * 1024 ** 2));
  await lapse(1_500, 'a write that goes on would meet its limit of 300 ms');
  assert.ok(writer.writableLength > 0, 'the write is under way');
  assert.equal(timeouts, 0);
  reads = false;
  await until('it reports a timeout', () => timeouts > 0);
});

// src/outbound/exchange/connection-pool.ts (send), src/audit/entry-queue.ts, src/http/connections/open-connections.ts (acceptBacklog)
test('a callback of setImmediate runs after the data of all sockets that one look at the system brought', async (t) => {
  const events: string[] = [];
  const server = createTcpServer((socket) => {
    socket.on('data', (bytes) => {
      if (events.length === 0) setImmediate(() => events.push('immediate'));
      events.push(String(bytes));
    });
  });
  const { port } = await listen(t, server);
  const sockets = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  await lapse(20, 'the server has accepted the connections');
  for (const socket of sockets) socket.write('data');
  block(20);
  await until('all are read', () => events.length === 4);
  assert.deepEqual(events, ['data', 'data', 'data', 'immediate']);
  for (const socket of sockets) socket.destroy();
});

// src/outbound/exchange/exchange.ts (limit)
test('data that waits when a late timer fires is emitted before a callback of setImmediate which the timer sets', async (t) => {
  const events: string[] = [];
  const server = createTcpServer((socket) => void socket.on('data', () => events.push('data')));
  const { port } = await listen(t, server);
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  await lapse(20, 'the server has accepted the connections');
  setTimeout(() => setImmediate(() => events.push('immediate')), 5);
  socket.write('data');
  block(30);
  await until('both are there', () => events.length === 2);
  assert.deepEqual(events, ['data', 'immediate']);
});

// src/outbound/exchange/connection-pool.ts (unspoken)
test('a connected socket without a listener reads ahead, and readableLength counts what came', async (t) => {
  const server = createTcpServer((socket) => void socket.write('early'));
  const { port } = await listen(t, server);
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  await until('it has read', () => socket.readableLength === 5);
});

// src/outbound/dialling/tls-handshake.ts (certificateRefused)
test('bytesRead of a TLS socket counts application data alone, not the handshake', async (t) => {
  const server = createTlsServer(
    selfSigned({ names: ['127.0.0.1'] }),
    (secured) => void secured.once('data', () => secured.write('reply')),
  );
  const { port } = await listen(t, server);
  const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  t.after(() => socket.destroy());
  await once(socket, 'session');
  assert.equal(socket.bytesRead, 0);
  socket.write('request');
  await once(socket, 'data');
  assert.equal(socket.bytesRead, 5);
});

// src/main.ts
test('UV_THREADPOOL_SIZE counts where the first module of the process sets it', { skip: process.platform !== 'linux' }, (t) => {
  const code = `import { readdirSync } from 'node:fs';
    process.env['UV_THREADPOOL_SIZE'] = '16';
    const { randomBytes } = await import('node:crypto');
    const before = readdirSync('/proc/self/task').length;
    await new Promise((resolve) => randomBytes(8, resolve));
    console.log(readdirSync('/proc/self/task').length - before);`;
  const program = temporaryFile(t, 'threads.mts', code);
  assert.equal(Number(execFileSync(process.execPath, [program], { encoding: 'utf8' })), 16);
});

// src/main.ts
test('a worker thread takes its compile cache from NODE_COMPILE_CACHE as it is when the thread starts', async (t) => {
  const before = process.env['NODE_COMPILE_CACHE'];
  t.after(() => {
    if (before === undefined) delete process.env['NODE_COMPILE_CACHE'];
    else process.env['NODE_COMPILE_CACHE'] = before;
  });
  const cache = dirname(temporaryFile(t, 'marker', ''));
  process.env['NODE_COMPILE_CACHE'] = cache;
  const code = `require('node:worker_threads').parentPort.postMessage(require('node:module').getCompileCacheDir());`;
  const worker = new Worker(code, { eval: true });
  // It writes its cache when it ends.
  const exited = once(worker, 'exit');
  const [directory] = (await once(worker, 'message')) as [string | undefined];
  await exited;
  assert.ok(directory?.startsWith(cache), `${directory}`);
});

// src/database/sqlite/sqlite-worker.ts
test('an error of node:sqlite has the extended result code of SQLite as errcode', () => {
  const database = new DatabaseSync(':memory:');
  database.exec('create table t (a unique); insert into t values (1)');
  // SQLITE_CONSTRAINT_UNIQUE
  assert.throws(() => database.exec('insert into t values (1)'), { errcode: 2067 });
  database.close();
});

// src/json/parse-json.ts. A Node without this fault needs no scanner of our own there.
test('JSON.parse takes a name of one escape for a backslash where it read an object of that shape before', () => {
  const namesOf = (text: string): readonly string[] => Object.keys(JSON.parse(text) as object);
  assert.deepEqual(namesOf('{"one":0,"\\\\":0}'), ['one', '\\']);
  assert.deepEqual(namesOf('{"one":0,"\\u0062":0}'), ['one', '\\']);
});
