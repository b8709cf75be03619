import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, pointersOf, post, relay, responseOf, restCall, resultOf } from './support/callers/calls.ts';
import { openConnection, type Reply, requestBytes } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Properties of every route: docs/reference/http-api.md.

const far = await upstream({ after });
const limit = 128 * 1024;
const gateway = await startGateway(
  { after },
  {
    config: {
      server: { requestBodyLimit: '128KiB' },
      outbound: { allow: [far.authority], timeouts: { total: '3s' } },
    },
    adapters: [{ name: 'nso', kind: 'nso', url: far.url, auth: { type: 'none' } }],
  },
);

const json = { 'Content-Type': 'application/json' };
const action = { params: { path: 'a', accept: 'application/yang-data+json' }, body: {} };
const call = { uri: far.url, verb: 'GET', responseHeaders: false };
const actionRoute = '/orchestrator_manager/restAction/nso';

function callText(more: string): string {
  return `{"uri":"${far.url}","verb":"POST","responseHeaders":false${more}}`;
}

describe('a route', () => {
  for (const target of [
    '/tools',
    '/tools/restCall/',
    '/tools/restcall',
    '/orchestrator_manager/restAction',
    '/login/x',
    '/%2e%2e/x',
  ]) {
    test(`that does not exist is 404 for every caller: ${target}`, async () => {
      assertProblem(await gateway.send({ target }), 404, 'not-found');
      assertProblem(await gateway.send({ target, role: 'admin' }), 404, 'not-found');
    });
  }

  for (const [method, target, allowed] of [
    ['GET', '/tools/restCall', 'POST'],
    ['PUT', '/tools/restCall', 'POST'],
    ['OPTIONS', '/tools/restCall', 'POST'],
    ['GET', actionRoute, 'POST'],
    ['DELETE', '/orchestrator_manager/restQuery/unknown', 'POST'],
    ['PATCH', '/orchestrator_manager/restRequest/nso', 'POST'],
    ['DELETE', '/automation_catalog/automations', 'GET'],
    ['GET', '/login', 'POST'],
    ['POST', '/healthz', 'GET'],
    ['POST', '/whoami', 'GET'],
    ['TRACE', '/tools/restCall', 'POST'],
    ['QUERY', '/login', 'POST'],
    ['PROPFIND', '/whoami', 'GET'],
  ] satisfies readonly (readonly [string, string, string])[]) {
    test(`R100: that does not have the method is 405 with Allow, before authentication: ${method} ${target}`, async () => {
      const reply = await gateway.send({ method, target });
      assertProblem(reply, 405, 'method-not-allowed');
      assert.ok(reply.header('allow')?.split(/, */).includes(allowed), String(reply.header('allow')));
      assert.ok(!reply.header('allow')?.split(/, */).includes(method));
    });
  }

  for (const method of ['QUERY', 'OPTIONS', 'PROPFIND'])
    test(`that does not have the method is 405 with any body: ${method}`, async () => {
      for (const type of ['application/json', 'nonsense', 'text/plain']) {
        const reply = await gateway.send({ method, target: '/login', headers: { 'Content-Type': type }, body: '{' });
        assertProblem(reply, 405, 'method-not-allowed');
      }
    });

  test('that has a parameter answers 200 with JSON in UTF-8', async () => {
    far.answer(() => jsonReply('"ü"'));
    for (const reply of [await restCall(gateway, call), await relay(gateway, 'restAction', 'nso', action)]) {
      assert.equal(reply.status, 200);
      assert.match(reply.header('content-type') ?? '', /^application\/json(; ?charset=utf-8)?$/i);
      assert.ok(reply.text.includes('ü') || reply.text.includes('\\u00fc'));
    }
  });
});

describe('the order of checks', () => {
  const wrong = { Authorization: 'Bearer wrong', 'Content-Type': 'text/plain' };

  test('has authentication before the role, the adapter, the media type and the body', async () => {
    for (const target of ['/tools/restCall', '/orchestrator_manager/restAction/unknown']) {
      const reply = await gateway.send({ method: 'POST', target, headers: wrong, body: '{' });
      assertProblem(reply, 401, 'unauthenticated');
      assert.ok(reply.header('www-authenticate'));
    }
  });

  test('has the role before the adapter', async () => {
    const headers = { 'Content-Type': 'text/plain' };
    for (const route of ['restAction', 'restQuery', 'restRequest']) {
      const target = `/orchestrator_manager/${route}/unknown`;
      assertProblem(await gateway.send({ method: 'POST', target, role: 'engineering', headers, body: '{' }), 403, 'forbidden');
    }
  });

  test('has the adapter before the media type, the size and the body', async () => {
    const target = '/orchestrator_manager/restAction/unknown';
    const headers = { 'Content-Type': 'text/plain' };
    assertProblem(await gateway.send({ method: 'POST', target, role: 'admin', headers, body: '{' }), 404, 'adapter-not-found');
    const large = { 'Content-Type': 'application/json', 'Content-Length': `${limit + 1}` };
    assertProblem(await gateway.send({ method: 'POST', target, role: 'admin', headers: large }), 404, 'adapter-not-found');
  });

  test('has the media type and the size before the body', async () => {
    const headers = { 'Content-Type': 'text/plain' };
    const reply = await gateway.send({ method: 'POST', target: '/tools/restCall', role: 'admin', headers, body: '{' });
    assertProblem(reply, 415, 'unsupported-media-type');
    assertProblem(await post(gateway, '/tools/restCall', '{'.repeat(limit + 1)), 413, 'body-too-large');
  });

  test('has the schema before the destination policy', async () => {
    const denied = { uri: 'http://127.0.0.1:1/', verb: 'GET', responseHeaders: false };
    assertProblem(await restCall(gateway, { ...denied, extra: 1 }), 400, 'invalid-request');
    assertProblem(await restCall(gateway, denied), 403, 'destination-denied');
  });
});

describe('a request whose body never arrives', () => {
  const announced = { ...json, 'Content-Length': '1000', Connection: 'keep-alive' };

  const cases: Record<string, readonly [string, Readonly<Record<string, string>>, number]> = {
    'on an unknown path': ['/tools/restCal', announced, 404],
    'on an unknown path, with a length over the limit': ['/tools', { ...announced, 'Content-Length': `${limit + 1}` }, 404],
    'with a method that the path does not have': ['/whoami', announced, 405],
    'without credentials': ['/tools/restCall', announced, 401],
    'with a wrong token': ['/tools/restCall', { ...announced, Authorization: 'Bearer x.y.z' }, 401],
    'without the role': [actionRoute, { ...announced, Authorization: gateway.basicFor('other') }, 403],
    'for an unknown adapter': [`${actionRoute}x`, { ...announced, Authorization: gateway.basicFor('admin') }, 404],
    'with a wrong media type': [
      '/tools/restCall',
      { ...announced, 'Content-Type': 'text/plain', Authorization: gateway.basicFor('admin') },
      415,
    ],
    'with a length over the limit': [
      '/tools/restCall',
      { ...announced, 'Content-Length': `${limit + 1}`, Authorization: gateway.basicFor('admin') },
      413,
    ],
  };
  for (const [what, [target, headers, status]] of Object.entries(cases)) {
    test(`is answered at once: ${what}`, async (t) => {
      const connection = await openConnection(gateway.port);
      t.after(() => void connection.socket.destroy());
      connection.write(requestBytes(gateway.port, { method: 'POST', target, headers }));
      const reply = await connection.reply();
      assert.ok(reply !== undefined);
      assertProblem(reply, status);
    });
  }
});

describe('size and media type', () => {
  const send = (headers: Readonly<Record<string, string | readonly string[]>>, body: string | Buffer): Promise<Reply> =>
    gateway.send({ method: 'POST', target: '/tools/restCall', role: 'admin', headers, body });

  test('R32: a body of exactly the limit is accepted, one byte more is 413 and ends the connection', async () => {
    far.answer(() => jsonReply('{}'));
    const text = (size: number): string => {
      const frame = callText(',"body":{"a":""}');
      return frame.replace('""', `"${'x'.repeat(size - frame.length)}"`);
    };
    assert.equal(text(limit).length, limit);
    const assertTooLarge = (reply: Reply): void => {
      assertProblem(reply, 413, 'body-too-large');
      assert.equal(reply.header('connection'), 'close');
    };
    const kept = { ...json, Connection: 'keep-alive' };
    responseOf(await send(json, text(limit)));
    assertTooLarge(await send(kept, text(limit + 1)));
    const chunkedBody = (size: number): string => `${size.toString(16)}\r\n${text(size)}\r\n0\r\n\r\n`;
    const chunkedJson = { ...json, 'Transfer-Encoding': 'chunked' };
    responseOf(await send(chunkedJson, chunkedBody(limit)));
    assertTooLarge(await send({ ...chunkedJson, ...kept }, chunkedBody(limit + 1)));
    assert.equal(far.requests.length, 2);
  });

  test('R32: the body of a GET is ignored up to the limit; beyond the limit it is 413 and ends the connection', async () => {
    const read = (body: string): Promise<Reply> =>
      gateway.send({ target: '/healthz', headers: { 'Transfer-Encoding': 'chunked', Connection: 'keep-alive' }, body });
    assert.equal((await read('5\r\nhello\r\n0\r\n\r\n')).status, 200);
    const reply = await read(`${(limit + 1).toString(16)}\r\n${'x'.repeat(limit + 1)}\r\n`);
    assertProblem(reply, 413, 'body-too-large');
    assert.equal(reply.header('connection'), 'close');
  });

  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ]) {
    test(`${type} is accepted`, async () => {
      far.answer(() => jsonReply('{}'));
      responseOf(await send({ 'Content-Type': type }, JSON.stringify(call)));
    });
  }

  test('R34: a media type that is missing, wrong or in another charset is 415', async () => {
    const others = ['text/plain', 'text/json', 'application/x-www-form-urlencoded', 'application/yang-data+json', '', 'json'];
    const similar = ['application/jsonx', 'application/json; charset=utf-16', 'application/json; charset=iso-8859-1'];
    for (const type of [undefined, ...others, ...similar]) {
      const reply = await send(type === undefined ? {} : { 'Content-Type': type }, JSON.stringify(call));
      assertProblem(reply, 415, 'unsupported-media-type');
    }
  });

  test('R34: a media type given twice is 415, and 401 without credentials', async () => {
    for (const second of ['application/json', 'text/plain']) {
      const headers = { 'Content-Type': ['application/json', second] };
      assertProblem(await send(headers, JSON.stringify(call)), 415, 'unsupported-media-type');
      const stranger = { method: 'POST', target: '/tools/restCall', headers, body: JSON.stringify(call) };
      assertProblem(await gateway.send(stranger), 401, 'unauthenticated');
    }
  });

  test('R35: a content coding is 415', async () => {
    for (const coding of ['gzip', 'br', 'deflate', 'zstd', 'identity, gzip']) {
      const reply = await send({ ...json, 'Content-Encoding': coding }, JSON.stringify(call));
      assertProblem(reply, 415, 'unsupported-media-type');
    }
  });
});

describe('JSON', () => {
  const broken: Record<string, string | Buffer> = {
    'is empty': '',
    'is only white space': ' \n',
    'is cut off': '{"uri":"x"',
    'has a trailing comma': callText(',"user":"a",'),
    'has a comment': callText('/* c */'),
    'has single quotes': "{'uri':'x'}",
    'has text after its end': `${callText('')} x`,
    'is two values': `${callText('')}{}`,
    'has a number that is not JSON': callText(',"body":{"a":01}'),
    'has NaN': callText(',"body":{"a":NaN}'),
    'has a raw line break inside a string': callText(',"body":{"a":"x\ny"}'),
    'has a broken escape': callText(',"body":{"a":"\\x"}'),
    'has white space that is not JSON': callText(',"body":\u00a0{}'),
  };
  for (const [what, body] of Object.entries(broken)) {
    test(`that ${what} is 400`, async () => {
      far.answer(() => jsonReply('{}'));
      const reply = await gateway.send({ method: 'POST', target: '/tools/restCall', role: 'admin', headers: json, body });
      assertProblem(reply, 400, 'invalid-json');
      assert.equal(far.connections, 0);
    });
  }

  for (const body of ['[]', 'null', '"x"', '5', 'true']) {
    test(`that is ${body} is 400`, async () => {
      assertProblem(await restCall(gateway, body), 400, 'invalid-request');
      assertProblem(await relay(gateway, 'restQuery', 'nso', body), 400, 'invalid-request');
    });
  }

  test('R33: that is no UTF-8, has a byte order mark or half a surrogate pair is 400, and never gets U+FFFD', async () => {
    far.answer(() => jsonReply('{}'));
    const around = (bytes: readonly number[]): Buffer =>
      Buffer.concat([Buffer.from(callText(',"body":{"a":"').slice(0, -1)), Buffer.from(bytes), Buffer.from('"}}')]);
    const inside = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]].map(around);
    for (const body of [...inside, Buffer.from(callText(''), 'utf16le'), Buffer.from(`\ufeff${callText('')}`)]) {
      const reply = await gateway.send({ method: 'POST', target: '/tools/restCall', role: 'admin', headers: json, body });
      assertProblem(reply, 400, 'invalid-json');
    }
    for (const more of [',"user":"\\ud800","password":"x"', ',"headers":{"X-A":"\\udc00"}'])
      assertProblem(await restCall(gateway, callText(more)), 400);
    assertProblem(await restCall(gateway, callText('').replace(far.url, `${far.url}/\\ud800`)), 400);
    assert.equal(far.connections, 0);
  });

  /** Each is 400 and makes no call. */
  const assertRefused = async (bodies: readonly string[], params: readonly string[]): Promise<void> => {
    far.answer(() => jsonReply('{}'));
    for (const body of bodies) assertProblem(await restCall(gateway, body), 400);
    for (const more of params)
      assertProblem(await relay(gateway, 'restQuery', 'nso', `{"params":{"path":"a","accept":"x",${more}}}`), 400);
    assert.equal(far.connections, 0);
  };

  test('R27: whose envelope names a prototype is 400, and changes no object', async () => {
    const names = [',"__proto__":{"verb":"GET"}', ',"\\u005f_proto__":{}', ',"headers":{"__proto__":"x"}'];
    const bodies = [...names, ',"constructor":{"prototype":{"verb":"GET"}}'].map(callText);
    await assertRefused(bodies, ['"__proto__":{"path":"b"}']);
    assertProblem(await restCall(gateway, {}), 400, 'invalid-request');
  });

  test('R28: whose envelope repeats a member is 400', async () => {
    const repeated = [',"verb":"GET"', ',"v\\u0065rb":"POST"', ',"headers":{"X-A":"1","X-A":"1"}'];
    await assertRefused(repeated.map(callText), ['"path":"b"']);
  });

  test('R28: whose relayed body repeats members is relayed', async () => {
    far.answer(() => jsonReply('{}'));
    responseOf(await restCall(gateway, callText(',"body":{"a":1,"a":2,"uri":"x"}')));
    assert.equal(far.request.body.toString(), '{"a":1,"a":2,"uri":"x"}');
  });

  test('R31: nested deeper than 128 is 400, and 120 is not', async () => {
    far.answer(() => jsonReply('{}'));
    const nested = (depth: number): string => callText(`,"body":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    responseOf(await restCall(gateway, nested(120)));
    for (const depth of [129, 1000, 60_000]) assertProblem(await restCall(gateway, nested(depth)), 400);
    assertProblem(await restCall(gateway, '['.repeat(100_000)), 400);
    assertProblem(await restCall(gateway, '{"a":'.repeat(20_000)), 400);
    assert.equal(far.requests.length, 1);
  });
});

describe('the schema', () => {
  test('R21: refuses an unknown member anywhere in a request, and names it', async () => {
    far.answer(() => jsonReply('{}'));
    const params = { path: 'a', accept: '*/*' };
    for (const [pointer, sent] of [
      ['/Verb', restCall(gateway, { ...call, Verb: 'GET' })],
      ['/evil', relay(gateway, 'restAction', 'nso', { ...action, evil: 1 })],
      ['/params/evil', relay(gateway, 'restAction', 'nso', { ...action, params: { ...params, evil: 1 } })],
      ['/params/contentType', relay(gateway, 'restQuery', 'nso', { params: { ...params, contentType: 'a/b' } })],
      ['/params/x', relay(gateway, 'restRequest', 'nso', { params: { ...params, method: 'GET', x: 1 } })],
      ['?evil', gateway.send({ target: '/automation_catalog/automations?evil=1', role: 'admin' })],
      ['/evil', post(gateway, '/login', { username: 'a', password: 'b', evil: 1 })],
    ] as const)
      assert.deepEqual(pointersOf(assertProblem(await sent, 400, 'invalid-request')), [pointer]);
    assert.equal(far.connections, 0);
  });

  test('is strict in the query string of each route', async () => {
    for (const [method, target, body] of [
      ['POST', '/tools/restCall?verbose=1', JSON.stringify(call)],
      ['POST', `${actionRoute}?x=`, JSON.stringify(action)],
      ['GET', '/whoami?x', undefined],
    ] as const) {
      const request = { method, target, role: 'admin' as const, headers: body === undefined ? {} : json };
      const problem = assertProblem(
        await gateway.send(body === undefined ? request : { ...request, body }),
        400,
        'invalid-request',
      );
      assert.match(pointersOf(problem).join(), /^\?(verbose|x)$/);
    }
  });

  test('names every problem at once by an RFC 6901 pointer, with the remedy', async () => {
    const problem = assertProblem(
      await restCall(gateway, { uri: 5, verb: 'HEAD', responseHeaders: 'true', 'a/b~c': 1, user: null, body: [] }),
      400,
      'invalid-request',
    );
    assert.deepEqual(pointersOf(problem), ['/a~1b~0c', '/body', '/responseHeaders', '/uri', '/user', '/verb']);
    for (const error of problem.errors ?? []) assert.notEqual(error.detail, '');
    const verb = problem.errors?.find((error) => error.pointer === '/verb');
    assert.match(verb?.detail ?? '', /PATCH/);
  });
});

describe('an error', () => {
  test('has the members of RFC 9457 and code and requestId', async () => {
    const problem = assertProblem(await gateway.send({ target: '/nowhere' }), 404, 'not-found');
    assert.equal(problem.errors, undefined);
    assert.equal(problem.upstream, undefined);
  });

  test('401 names the authentication schemes', async () => {
    const reply = await gateway.send({ target: '/whoami' });
    assertProblem(reply, 401, 'unauthenticated');
    assert.ok(reply.header('www-authenticate'));
  });
});

describe('X-Request-Id', () => {
  const idFor = async (given: string | undefined): Promise<string> => {
    const reply = await gateway.send({ target: '/healthz', headers: given === undefined ? {} : { 'X-Request-Id': given } });
    assert.equal(reply.status, 200);
    return reply.header('x-request-id') ?? '';
  };

  for (const id of ['a', 'my-request/42:{x}', '!~', 'x'.repeat(128)]) {
    test(`is the caller’s own where it is valid: ${id.slice(0, 20)}`, async () => {
      assert.equal(await idFor(id), id);
    });
  }
  for (const id of ['', 'x'.repeat(129), 'a b', 'a\tb', 'g\u00fcn']) {
    test(`is a new one where the caller’s is not valid: ${JSON.stringify(id.slice(0, 20))}`, async () => {
      const given = await idFor(id);
      assert.notEqual(given, id);
      assert.match(given, /^[!-~]{1,128}$/);
    });
  }
  test('is a new one for each request without an id', async () => {
    const ids = [await idFor(undefined), await idFor(undefined)];
    assert.notEqual(ids[0], '');
    assert.notEqual(ids[0], ids[1]);
  });
  test('is on every reply, also on a relayed one and on an error', async () => {
    far.answer(() => jsonReply('{}'));
    assert.equal((await restCall(gateway, call, { headers: { 'X-Request-Id': 'mine' } })).header('x-request-id'), 'mine');
    const problem = assertProblem(await restCall(gateway, {}, { headers: { 'X-Request-Id': 'mine' } }), 400);
    assert.equal(problem.requestId, 'mine');
    far.answer(() =>
      httpReply({ headers: { 'Content-Type': 'text/plain', 'X-Request-Id': 'theirs' }, body: 'x'.repeat(100_000) }),
    );
    assert.equal((await restCall(gateway, call, { headers: { 'X-Request-Id': 'mine' } })).header('x-request-id'), 'mine');
  });
});

describe('traceparent', () => {
  const form = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
  const passed = async (headers: Readonly<Record<string, string>>): Promise<readonly string[]> => {
    far.answer(() => jsonReply('{}'));
    resultOf(await relay(gateway, 'restAction', 'nso', action, { headers }));
    return form.exec(far.request.header('traceparent') ?? '') ?? [];
  };

  test('of the caller is continued: the same trace, a new parent', async () => {
    const found = await passed({ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' });
    assert.equal(found[1], '0af7651916cd43dd8448eb211c80319c');
    assert.notEqual(found[2], 'b7ad6b7169203331');
    assert.equal(found[3], '01');
  });
  test('keeps the flag `sampled` only: this version defines no other', async () => {
    for (const [given, passedOn] of [
      ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff', '01'],
      ['cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-a8-more', '00'],
    ] as const) {
      assert.equal((await passed({ traceparent: given }))[3], passedOn, given);
    }
  });
  for (const given of [
    'garbage',
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more',
  ]) {
    test(`is a new one where the caller’s is malformed: ${given}`, async () => {
      const found = await passed({ traceparent: given });
      assert.match(found[1] ?? '', /[1-9a-f]/);
      assert.notEqual(found[1], given.split('-')[1]?.toLowerCase());
    });
  }
  test('is sent where the caller has none', async () => {
    assert.match((await passed({}))[1] ?? '', /[1-9a-f]/);
  });
});

describe('Prefer: wait', () => {
  test('shortens the time limit', async () => {
    far.answer(() => undefined);
    // The total time limit of the adapter instance is five minutes.
    const query = { params: { path: 'a', accept: '*/*' } };
    const reply = await relay(gateway, 'restQuery', 'nso', query, { headers: { Prefer: 'wait=1' } });
    assert.match(assertProblem(reply, 504, 'upstream-timeout').detail, /phase total; time limit Prefer: wait\)/u);
  });

  // A regular expression that starts again at each quote takes half a second of the event loop for each of these.
  test('is read in linear time, with quotes in any place', { timeout: 60_000 }, async () => {
    far.answer(() => jsonReply('{}'));
    const prefer = `"${'\\"'.repeat(7_500)}`;
    const begun = performance.now();
    await Promise.all(
      Array.from({ length: 60 }, async () => responseOf(await restCall(gateway, call, { headers: { Prefer: prefer } }))),
    );
    const took = performance.now() - begun;
    assert.ok(took < 10_000, `${took} ms for 60 calls`);
  });

  test('never exceeds the configured total, and is ignored where it is malformed', async () => {
    far.answer(() => undefined);
    await Promise.all(
      ['wait=100000', 'respond-async, wait=60', undefined, 'wait=x', 'wait=-1', 'nonsense', '"open, wait=1'].map(
        async (prefer) => {
          const begin = performance.now();
          const reply = await restCall(gateway, call, prefer === undefined ? {} : { headers: { Prefer: prefer } });
          assertProblem(reply, 504, 'upstream-timeout');
          const took = performance.now() - begin;
          assert.ok(took >= 2500 && took < 30_000, `${prefer}: ${took}`);
        },
      ),
    );
  });
});
