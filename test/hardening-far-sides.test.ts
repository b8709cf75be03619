import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { assertProblem, relay, responseOf, restCall } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { createAuthority, type Identity, selfSigned } from './support/far-sides/certificate.ts';
import { closedPort, type FarHandler, farSide, httpReply, jsonReply } from './support/far-sides/far-side.ts';
import { mostMemory } from './support/gateway/most-memory.ts';
import { startGatewayProcess } from './support/gateway/start-gateway.ts';
import { listen } from './support/listen.ts';
import { temporaryFile } from './support/temporary-file.ts';
import { until } from './support/until.ts';

// Rows 50 to 66 of docs/security.md, a short test for each. test/hostile-far-sides.test.ts has every route and more cases.

const far = await farSide({ after });
const timeouts = { dns: '2s', connect: '2s', firstByte: '1s', idle: '1s', total: '2s' };
const refusing = await closedPort();
const authority = createAuthority();
const caFile = temporaryFile({ after }, 'ca.pem', authority.cert);
/** The memory of a process is read there. */
const noProc = process.platform !== 'linux' && 'needs /proc';

const gateway = await startGatewayProcess(
  { after },
  {
    config: { outbound: { allow: ['127.0.0.0/8'], timeouts, responseLimit: '1MiB', tls: { caFile } } },
    adapters: [{ name: 'nso', kind: 'nso', url: far.url, auth: { type: 'none' }, timeouts, responseLimit: '1MiB' }],
  },
);

const call = (verb: string, uri = far.url, more: object = {}): object => ({ uri, verb, responseHeaders: false, ...more });
const params = { path: 'x', accept: 'application/yang-data+json' };
const action = (): Promise<Reply> => relay(gateway, 'restAction', 'nso', { params, body: { a: 1 } });
const query = (): Promise<Reply> => relay(gateway, 'restQuery', 'nso', { params });
const okHead = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

/** Sends these bytes, then ends the connection or leaves it open. */
function says(bytes: string | Buffer, then: 'ends' | 'stays' = 'stays'): FarHandler {
  return (_, socket) => {
    if (then === 'ends') socket.end(bytes);
    else socket.write(bytes);
  };
}

/** restCall and restQuery answer with an error of this status; restAction with the same status, `outcome-unknown`, and one request. */
async function answersAll(handler: FarHandler, status: number): Promise<void> {
  far.answer(handler);
  const [called, acted, queried] = await Promise.all([restCall(gateway, call('GET')), action(), query()]);
  assertProblem(called, status);
  assertProblem(acted, status, 'outcome-unknown');
  assertProblem(queried, status);
  assert.equal(far.requests.filter(({ method }) => method === 'POST').length, 1);
}

test('R50: a refused connection is 502 upstream-connect-failed with any verb', async () => {
  for (const verb of ['GET', 'POST'])
    assertProblem(await restCall(gateway, call(verb, `http://127.0.0.1:${refusing}/`)), 502, 'upstream-connect-failed');
});

test('R51: a far side that accepts and never answers is 504', async () => {
  await answersAll(() => undefined, 504);
});

test('R52: a far side that sends byte by byte meets the total time limit', async () => {
  const dripping = (_: unknown, socket: Socket): void => {
    socket.write(`${okHead}Content-Length: 5000\r\n\r\n`);
    const timer = setInterval(() => (socket.destroyed ? clearInterval(timer) : socket.write('x')), 100);
  };
  await answersAll(dripping, 504);
});

test('R53: a far side that stops in its body is 504, without any part of the body', async () => {
  await answersAll(says(`${okHead}Content-Length: 100\r\n\r\n{"a":1`), 504);
});

test('R54: a truncated reply is 502, with a length and chunked', async () => {
  await answersAll(says(`${okHead}Content-Length: 100\r\n\r\n{"a":1}`, 'ends'), 502);
  await answersAll(says(`${okHead}Transfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n`, 'ends'), 502);
});

test('R55: malformed HTTP is 502, and the gateway keeps running', async () => {
  for (const bytes of [
    `${okHead}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`,
    `${okHead}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `${okHead}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`,
    'HTTP/1.1 200 OK\nContent-Length: 2\n\n{}',
    `${okHead}X-A: a\u0000b\r\nContent-Length: 2\r\n\r\n{}`,
    'HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\n{}',
    '<html></html>',
  ])
    await answersAll(says(bytes, 'ends'), 502);
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
});

test('R56: a reply over the limit is never complete, and memory has a bound', { skip: noProc }, async () => {
  far.answer(() => jsonReply('{}'));
  responseOf(await restCall(gateway, call('GET')));
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
  for (const ask of [() => restCall(gateway, call('GET')), action, query]) {
    far.answer(endless);
    const reply = await ask().catch(() => undefined);
    if (reply?.complete === true) assertProblem(reply, 502, 'response-too-large');
  }
  far.answer(() => httpReply({ body: 'x'.repeat(2_000_000) }));
  assertProblem(await restCall(gateway, call('GET')), 502, 'response-too-large');
  assert.ok(mostMemory(gateway.pid) - before < 100, `${mostMemory(gateway.pid) - before} MiB`);
});

test('R56: replies with one byte a chunk take little more memory than their bytes', { skip: noProc }, async (t) => {
  const patient = await startGatewayProcess(t, { config: { outbound: { allow: ['127.0.0.0/8'] } } });
  // A gateway with a late event loop refuses calls: all calls arrive before the first byte of an answer is sent.
  const asked: Socket[] = [];
  far.answer((_, socket) => void asked.push(socket));
  const replies = Array.from({ length: 60 }, () => restCall(patient, call('GET')));
  await until('all calls have arrived', () => asked.length === replies.length);
  const before = mostMemory(patient.pid);
  const body = 'x'.repeat(65_000);
  const bytes = `${okHead}Transfer-Encoding: chunked\r\n\r\n${body.replaceAll('x', '1\r\nx\r\n')}0\r\n\r\n`;
  for (const socket of asked) socket.write(bytes);
  for (const reply of await Promise.all(replies)) assert.equal(responseOf(reply), body);
  assert.ok(mostMemory(patient.pid) - before < 150, `${mostMemory(patient.pid) - before} MiB`);
});

test('R57: a reply that decodes to more than the limit is 502 or breaks off, with one content coding and with two', async () => {
  const zeros = Buffer.alloc(50_000_000);
  for (const [coding, body] of [
    ['gzip', gzipSync(zeros)],
    ['br', brotliCompressSync(zeros, { params: { 1: 1 } })],
    ['zstd', zstdCompressSync(zeros)],
    ['gzip, gzip', gzipSync(gzipSync(zeros))],
  ] as const) {
    far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain', 'Content-Encoding': coding }, body }));
    const reply = await restCall(gateway, call('GET')).catch(() => undefined);
    assert.ok((reply?.body.length ?? 0) < 10_000_000);
    if (reply?.complete === true && reply.status !== 200) assertProblem(reply, 502);
    else if (reply?.complete === true) assert.ok(reply.body.length < 200_000, `${coding}: ${reply.body.length} bytes`);
  }
});

test('R58: large heads are 502; odd header names and bytes stay data', async () => {
  far.answer(says(`${okHead}X-A: ${'a'.repeat(20_000)}\r\nContent-Length: 2\r\n\r\n{}`));
  assertProblem(await restCall(gateway, call('GET')), 502);
  far.answer(says(Buffer.from('HTTP/1.1 200 OK\r\n__proto__: p\r\nX-Latin: gr\xfcn\r\nContent-Length: 0\r\n\r\n', 'latin1')));
  const response = responseOf(await restCall(gateway, call('GET', far.url, { responseHeaders: true })));
  assert.match(response, /"__proto__":"p"/);
  assert.match(response, /"x-latin":"gr(?:ü|\\u00fc)n"/);
});

test('R59: bytes after a reply never reach the next caller', async () => {
  let count = 0;
  far.answer(() => Buffer.concat([jsonReply(`{"own":${(count += 1)}}`), jsonReply('{"forged":true}')]));
  for (let at = 1; at <= 5; at += 1) {
    const reply = await restCall(gateway, call('GET'));
    if (reply.status === 200) assert.equal(responseOf(reply), `{"own":${at}}`);
    else assertProblem(reply, 502);
  }
});

test('R60: a hundred interim replies, and a 101 without a request for it, are 502', async () => {
  await answersAll(says('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100)), 502);
  await answersAll(says('HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: evil\r\n\r\n'), 502);
});

test('R61: Set-Cookie, Server and Location of the far side never become headers of the gateway', async () => {
  far.answer(() => jsonReply('{}', { status: 201, headers: { 'Set-Cookie': 'a=b', Server: 'evil/1', Location: '/evil' } }));
  for (const ask of [() => restCall(gateway, call('GET')), action, query]) {
    const reply = await ask();
    assert.equal(reply.status, 200, reply.text);
    for (const name of ['set-cookie', 'server', 'location']) assert.equal(reply.header(name), undefined);
    assert.equal(reply.header('x-upstream-location'), '/evil');
  }
});

async function tlsFarSide(t: TestContext, identity: Identity, more: object = {}): Promise<string> {
  const server = createTlsServer({ ...identity, ...more }, (socket) => {
    socket.on('error', () => undefined).on('data', () => socket.end(jsonReply('{}', { headers: { Connection: 'close' } })));
  });
  const { port } = await listen(
    t,
    server.on('tlsClientError', () => undefined),
  );
  return `https://127.0.0.1:${port}/`;
}

test('R62: a certificate that is expired, self-signed, for another name or of an unknown authority is 502, like TLS 1.1', async (t) => {
  const names = ['127.0.0.1'];
  const past = { notBefore: new Date(Date.now() - 2e9), notAfter: new Date(Date.now() - 1e9) };
  const faulty: readonly (readonly [RegExp, string])[] = [
    [/expired/, await tlsFarSide(t, authority.issue({ names, ...past }))],
    [/self-signed/, await tlsFarSide(t, selfSigned({ names }))],
    [/wrong name/, await tlsFarSide(t, authority.issue({ names: ['other.example'] }))],
    [/unknown authority/, await tlsFarSide(t, createAuthority('another').issue({ names }))],
    [
      /protocol version/,
      await tlsFarSide(t, authority.issue({ names }), { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' }),
    ],
  ];
  for (const [cause, uri] of faulty) {
    const problem = assertProblem(await restCall(gateway, call('POST', uri)), 502, 'upstream-tls-failed');
    assert.match(problem.detail, cause);
  }
  assert.equal(responseOf(await restCall(gateway, call('POST', await tlsFarSide(t, authority.issue({ names }))))), '{}');
});

test('R63: a change that was sent and not answered has an unknown outcome, and is sent once', async () => {
  for (const ask of [() => restCall(gateway, call('POST', far.url, { body: {} })), action]) {
    far.answer((_, socket) => void socket.resetAndDestroy());
    assertProblem(await ask(), 502, 'outcome-unknown');
    assert.equal(far.requests.length, 1);
  }
});

test('R64: a query that gets two 503s is answered by the third attempt', async () => {
  let count = 0;
  far.answer(() => ((count += 1) < 3 ? httpReply({ status: 503 }) : jsonReply('{}')));
  assert.equal((await query()).status, 200);
  assert.equal(far.requests.length, 3);
});

test('R65: a query does not wait for a Retry-After beyond its remaining time', async () => {
  far.answer(() => httpReply({ status: 503, headers: { 'Retry-After': '3600' } }));
  assert.equal(assertProblem(await query(), 502, 'upstream-error').upstream?.status, 503);
  assert.equal(far.requests.length, 1);
  far.answer(() => httpReply({ status: 503, headers: { 'Retry-After': '3600' } }));
  assert.equal((await restCall(gateway, call('GET'))).header('x-upstream-status'), '503');
  assert.equal(far.requests.length, 1);
});

test('R66: a 503 to a POST is relayed, and the POST is not sent again', async () => {
  far.answer(() => httpReply({ status: 503 }));
  assert.equal((await restCall(gateway, call('POST'))).header('x-upstream-status'), '503');
  assert.equal(far.requests.length, 1);
  far.answer(() => httpReply({ status: 503 }));
  assert.equal(assertProblem(await action(), 502, 'upstream-error').upstream?.status, 503);
  assert.equal(far.requests.length, 1);
});
