import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertProblem, instancesOf, pointersOf, post, relay, responseOf, restCall, resultOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { farSide, jsonReply } from './support/far-sides/far-side.ts';
import { mostMemory } from './support/gateway/most-memory.ts';
import { startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';

// Rows 13 to 18 and 20 to 35 of docs/security.md: the content of callers' requests.

const far = await farSide({ after });
const elsewhere = await farSide({ after });
const gateway = await startGateway(
  { after },
  {
    config: { server: { requestBodyLimit: '256KiB' }, outbound: { allow: [far.authority] } },
    adapters: [{ name: 'nso', kind: 'nso', url: `${far.url}/base`, auth: { type: 'none' } }],
  },
);

const accept = 'application/yang-data+json';
const json = { 'Content-Type': 'application/json' };
const call = (more: object = {}): object => ({ uri: far.url, verb: 'POST', responseHeaders: false, ...more });
const callText = (more: string): string => `{"uri":"${far.url}","verb":"POST","responseHeaders":false${more}}`;

/** The reply is 400, with the pointer where one is given, and the far side has no connection. */
async function refused(sent: Promise<Reply>, pointer?: string): Promise<void> {
  const problem = assertProblem(await sent, 400);
  if (pointer !== undefined) assert.deepEqual(pointersOf(problem), [pointer]);
  assert.equal(far.connections, 0);
}

/** Resets the count of the far side's connections. */
function listening(text = '{}'): void {
  far.answer((_, socket) => {
    socket.end(jsonReply(text, { headers: { Connection: 'close' } }));
  });
}

test('R13: a Host header of the caller is 400', async () => {
  listening();
  for (const name of ['Host', 'host', 'HOST'])
    await refused(restCall(gateway, call({ headers: { [name]: 'other.example' } })), `/headers/${name}`);
});

test('R14: CR, LF or NUL in a header name, a value, user or password is 400', async () => {
  listening();
  for (const bad of ['a\r\nX-Evil: 1', 'a\n', '\r', 'a\u0000b']) {
    await refused(restCall(gateway, call({ headers: { 'X-A': bad } })), '/headers/X-A');
    await refused(restCall(gateway, call({ headers: { [bad]: 'a' } })));
    await refused(restCall(gateway, call({ user: bad })), '/user');
    await refused(restCall(gateway, call({ password: bad })), '/password');
  }
});

test('R15: framing and hop-by-hop headers of the caller are 400', async () => {
  listening();
  const names = ['Connection', 'Content-Length', 'Expect', 'Keep-Alive', 'Proxy-Authorization', 'Proxy-Connection', 'TE'];
  for (const name of [...names, 'Trailer', 'Transfer-Encoding', 'Upgrade', 'transfer-ENCODING'])
    await refused(restCall(gateway, call({ headers: { [name]: '1' } })), `/headers/${name}`);
});

test('R16: header values that are no strings, empty names, 101 headers and headers over 16 KiB are 400', async () => {
  listening();
  for (const value of [5, null, true, ['a'], {}])
    await refused(restCall(gateway, call({ headers: { 'X-A': value } })), '/headers/X-A');
  await refused(restCall(gateway, call({ headers: { '': 'a' } })), '/headers/');
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, 'a']));
  await refused(restCall(gateway, call({ headers: many })));
  await refused(restCall(gateway, call({ headers: { 'x-a': 'a'.repeat(9_000), 'x-b': 'b'.repeat(9_000) } })));
});

test('R17: a user with a colon is 400', async () => {
  listening();
  await refused(restCall(gateway, call({ user: 'a:b', password: 'c' })), '/user');
});

test('R18: user or password together with an Authorization header is 400', async () => {
  listening();
  for (const name of ['Authorization', 'aUTHORIZATION'])
    for (const half of [{ user: 'u' }, { password: 'p' }])
      await refused(restCall(gateway, call({ ...half, headers: { [name]: 'Bearer t' } })));
});

test('R20: a body with GET is sent, byte for byte and with its length', async () => {
  far.answer(() => jsonReply('{}'));
  const text = '{"n":1.0, "n":2}';
  responseOf(await restCall(gateway, `{"uri":"${far.url}","verb":"GET","body":${text},"responseHeaders":false}`));
  assert.deepEqual([far.request.method, far.request.body.toString()], ['GET', text]);
  assert.equal(far.request.header('content-length'), `${text.length}`);
});

test('R21: an unknown property anywhere in a request is 400 and named', async () => {
  listening();
  const params = { path: 'a', accept };
  await refused(restCall(gateway, call({ Verb: 'GET' })), '/Verb');
  await refused(relay(gateway, 'restAction', 'nso', { params, body: {}, evil: 1 }), '/evil');
  await refused(relay(gateway, 'restAction', 'nso', { params: { ...params, evil: 1 }, body: {} }), '/params/evil');
  await refused(relay(gateway, 'restQuery', 'nso', { params: { ...params, contentType: 'a/b' } }), '/params/contentType');
  await refused(relay(gateway, 'restRequest', 'nso', { params: { ...params, method: 'GET', x: 1 } }), '/params/x');
  await refused(gateway.send({ target: '/automation_catalog/automations?evil=1', role: 'admin' }), '?evil');
  await refused(post(gateway, '/login', { username: 'a', password: 'b', evil: 1 }));
});

test('R22: a value of a wrong type is 400 and never converted', async () => {
  listening();
  for (const value of ['true', 1, null, ['true']])
    await refused(restCall(gateway, call({ responseHeaders: value })), '/responseHeaders');
  for (const value of [5, ['x'], null, {}]) await refused(restCall(gateway, call({ user: value })), '/user');
  for (const value of [[far.url], 5]) await refused(restCall(gateway, call({ uri: value })), '/uri');
  await refused(relay(gateway, 'restQuery', 'nso', { params: { path: ['a'], accept } }), '/params/path');
});

test('R23: a verb in another case, or other than the five, is 400', async () => {
  listening();
  for (const verb of ['get', 'Post', 'HEAD', 'TRACE', 'CONNECT', 'OPTIONS', 'GET ', 'GET\r\n', ''])
    await refused(restCall(gateway, call({ verb })), '/verb');
});

test('R24: params.path never leaves the adapter', async () => {
  listening();
  elsewhere.answer(() => jsonReply('{}'));
  const host = elsewhere.authority;
  for (const path of [
    `//${host}/`,
    `http://${host}/`,
    `\\\\${host}\\`,
    'a/../../b',
    '/%2e%2e/x',
    '/.%2E/x',
    'a\r\nHost: b',
    'a#x',
    'ü',
    '',
  ]) {
    for (const route of ['restAction', 'restQuery'] as const) {
      const body = { params: { path, accept }, ...(route === 'restAction' ? { body: {} } : {}) };
      await refused(relay(gateway, route, 'nso', body), '/params/path');
    }
  }
  // After the adapter's own address an "@" does not begin user information.
  far.answer(() => jsonReply('{}'));
  resultOf(await relay(gateway, 'restAction', 'nso', { params: { path: `@${host}/x`, accept }, body: {} }));
  assert.ok(far.request.target.startsWith('/base'));
  assert.ok(far.request.target.endsWith(`@${host}/x`));
  assert.equal(elsewhere.connections, 0);
});

test('R25: a line break in params.accept or params.contentType is 400, like text/event-stream; any other accept is passed on', async () => {
  listening();
  for (const bad of ['a/b\r\nX-Evil: 1', 'a/b\n', 'text/event-stream'])
    await refused(relay(gateway, 'restQuery', 'nso', { params: { path: 'a', accept: bad } }), '/params/accept');
  const params = { path: 'a', accept, contentType: 'a/b\r\nX-Evil: 1' };
  await refused(relay(gateway, 'restAction', 'nso', { params, body: {} }), '/params/contentType');
  far.answer(() => jsonReply('{}'));
  const other = 'application/vnd.somebody.else+cbor;q=0.5, */*';
  assert.equal((await relay(gateway, 'restQuery', 'nso', { params: { path: 'a', accept: other } })).status, 200);
  assert.equal(far.request.header('accept'), other);
});

test('R26: an adapter name that is a path or a property of a prototype is 404', async () => {
  listening();
  for (const name of ['unknown', '../nso', './nso', 'nso/', 'NSO', '__proto__', 'constructor', 'toString', 'nso\u0000', '%6eso'])
    assertProblem(await relay(gateway, 'restQuery', name, { params: { path: 'a', accept } }), 404, 'adapter-not-found');
  assert.equal(far.connections, 0);
});

test('R27: names that reach a prototype are 400 in the envelope, and change no object', async () => {
  listening();
  for (const more of [
    ',"__proto__":{"verb":"GET"}',
    ',"\\u005f_proto__":{}',
    ',"headers":{"__proto__":"x"}',
    ',"constructor":{"prototype":{"evil":1}}',
  ])
    await refused(restCall(gateway, callText(more)));
  await refused(relay(gateway, 'restQuery', 'nso', `{"params":{"path":"a","accept":"${accept}","__proto__":{"evil":1}}}`));
  // A reply cannot do this either: the gateway treats it as text.
  far.answer(() => jsonReply('{"__proto__":{"evil":1},"constructor":{"prototype":{"evil":1}}}'));
  const [first, second] = instancesOf(await relay(gateway, 'restQuery', 'nso', { params: { path: 'a', accept } }));
  assert.equal(first?.['evil'] ?? second?.['evil'], '1');
  assertProblem(await restCall(gateway, {}), 400, 'invalid-request');
});

test('R28: a name that occurs twice in the envelope is 400; a relayed body is sent unchanged', async () => {
  listening();
  for (const more of [',"verb":"GET"', ',"v\\u0065rb":"POST"', ',"headers":{"X-A":"1","X-A":"1"}'])
    await refused(restCall(gateway, callText(more)));
  await refused(relay(gateway, 'restQuery', 'nso', `{"params":{"path":"a","accept":"${accept}","path":"b"}}`));
  far.answer(() => jsonReply('{}'));
  responseOf(await restCall(gateway, callText(',"body":{"a":1,"a":{"b":1,"b":2}}')));
  assert.equal(far.request.body.toString(), '{"a":1,"a":{"b":1,"b":2}}');
});

const numbers = '[9007199254740993,18446744073709551615,1e400,-0,1.10,1E-7,0.1000]';

test('R29: numbers of a body are sent digit for digit', async () => {
  far.answer(() => jsonReply('{}'));
  responseOf(await restCall(gateway, callText(`,"body":{"n":${numbers}}`)));
  resultOf(await relay(gateway, 'restAction', 'nso', `{"params":{"path":"a","accept":"${accept}"},"body":{"n":${numbers}}}`));
  assert.deepEqual(
    far.requests.map(({ body }) => body.toString()),
    [`{"n":${numbers}}`, `{"n":${numbers}}`],
  );
});

test('R30: numbers of a reply are relayed digit for digit', async () => {
  far.answer(() => jsonReply(`{"n":${numbers}}`));
  assert.equal(responseOf(await restCall(gateway, call())), `{"n":${numbers}}`);
  assert.ok(responseOf(await restCall(gateway, call({ responseHeaders: true }))).includes(`"body":{"n":${numbers}}`));
  const params = { path: 'a', accept };
  assert.equal(resultOf(await relay(gateway, 'restAction', 'nso', { params, body: {} })), `{"n":${numbers}}`);
  far.answer(() => jsonReply(`{"a":{"n":${numbers}, "u":18446744073709551615}}`));
  assert.deepEqual(instancesOf(await relay(gateway, 'restQuery', 'nso', { params })), [
    { n: numbers, u: '18446744073709551615' },
  ]);
});

test('R31: JSON nested deeper than 128 is 400 at any depth, and the gateway keeps running', async () => {
  listening();
  for (const depth of [129, 10_000, 100_000]) {
    await refused(restCall(gateway, callText(`,"body":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`)));
    await refused(restCall(gateway, '{"a":'.repeat(Math.min(depth, 40_000))));
    await refused(restCall(gateway, '['.repeat(depth)));
  }
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
});

test('R32: a body over the limit is 413, with a length or chunked, and the connection is closed', async () => {
  listening();
  const text = callText(`,"body":{"a":"${'x'.repeat(262_144)}"}`);
  const send = (headers: Readonly<Record<string, string>>, body: string): Promise<Reply> =>
    gateway.send({ method: 'POST', target: '/tools/restCall', role: 'admin', headers: { ...json, ...headers }, body });
  for (const reply of [
    await send({ Connection: 'keep-alive' }, text),
    await send(
      { Connection: 'keep-alive', 'Transfer-Encoding': 'chunked' },
      `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
    ),
  ]) {
    assertProblem(reply, 413, 'body-too-large');
    assert.equal(reply.header('connection'), 'close');
  }
  assert.equal(far.connections, 0);
});

test('R32: the body of a GET is ignored up to the limit; beyond the limit it is 413, and the connection is closed', async () => {
  const read = (body: string): Promise<Reply> =>
    gateway.send({ target: '/healthz', headers: { 'Transfer-Encoding': 'chunked', Connection: 'keep-alive' }, body });
  assert.equal((await read('5\r\nhello\r\n0\r\n\r\n')).status, 200);
  const reply = await read(`${(262_145).toString(16)}\r\n${'x'.repeat(262_145)}\r\n`);
  assertProblem(reply, 413, 'body-too-large');
  assert.equal(reply.header('connection'), 'close');
});

test('R32: a body with one byte a chunk takes little more memory than its bytes', {
  skip: process.platform !== 'linux' && 'needs /proc',
}, async (t) => {
  // This body makes the event loop late, so that the gateway would refuse calls of other tests.
  const patient = await startGatewayProcess(t, {
    config: { server: { requestBodyLimit: '2MiB' }, outbound: { allow: [far.authority] } },
  });
  far.answer(() => jsonReply('{}'));
  assert.equal(responseOf(await restCall(patient, call())), '{}');
  const before = mostMemory(patient.pid);
  const body = `${callText(`,"body":{"a":"${'x'.repeat(1_000_000)}"}`).replaceAll(/./gu, '1\r\n$&\r\n')}0\r\n\r\n`;
  const headers = { ...json, 'Transfer-Encoding': 'chunked' };
  const reply = await patient.send({ method: 'POST', target: '/tools/restCall', role: 'admin', headers, body });
  assert.equal(responseOf(reply), '{}');
  assert.ok(mostMemory(patient.pid) - before < 150, `${mostMemory(patient.pid) - before} MiB`);
});

test('R33: bytes that are no UTF-8, a byte order mark and half a surrogate pair are 400, never replaced by U+FFFD', async () => {
  listening();
  const send = (body: Buffer): Promise<Reply> =>
    gateway.send({ method: 'POST', target: '/tools/restCall', role: 'admin', headers: json, body });
  const around = (bytes: readonly number[]): Buffer =>
    Buffer.concat([Buffer.from(callText(',"body":{"a":"').slice(0, -1)), Buffer.from(bytes), Buffer.from('"}}')]);
  for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]])
    await refused(send(around(bytes)));
  await refused(send(Buffer.from(callText(''), 'utf16le')));
  await refused(send(Buffer.from(`\ufeff${callText('')}`)));
  await refused(restCall(gateway, callText(',"user":"\\ud800"')));
});

test('R34: a media type that is missing, repeated, wrong or in another charset is refused', async () => {
  listening();
  const send = (headers: Readonly<Record<string, string | readonly string[]>>): Promise<Reply> =>
    gateway.send({ method: 'POST', target: '/tools/restCall', role: 'admin', headers, body: callText('') });
  for (const type of ['text/plain', 'application/json; charset=utf-16', 'application/jsonp', ''])
    assertProblem(await send({ 'Content-Type': type }), 415, 'unsupported-media-type');
  assertProblem(await send({}), 415, 'unsupported-media-type');
  for (const second of ['application/json', 'text/plain']) {
    assertProblem(await send({ 'Content-Type': ['application/json', second] }), 415, 'unsupported-media-type');
    const stranger = await gateway.send({
      method: 'POST',
      target: '/tools/restCall',
      headers: { 'Content-Type': ['application/json', second] },
      body: callText(''),
    });
    assertProblem(stranger, 401, 'unauthenticated');
  }
  assert.equal(far.connections, 0);
});

test('R35: a compressed request is 415', async () => {
  listening();
  for (const coding of ['gzip', 'br', 'deflate', 'zstd', 'identity, gzip']) {
    const reply = await post(gateway, '/tools/restCall', call(), { headers: { 'Content-Encoding': coding } });
    assertProblem(reply, 415, 'unsupported-media-type');
  }
  assert.equal(far.connections, 0);
});
