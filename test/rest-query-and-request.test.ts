import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { assertProblem, instancesOf, pointersOf, relay } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, startGateway } from './support/gateway/start-gateway.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// POST /orchestrator_manager/restQuery/:adapterId and /orchestrator_manager/restRequest/:adapterId (docs/reference/http-api.md).

const far = await upstream({ after });
const gateway = await startGateway(
  { after },
  {
    adapters: [
      { name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'basic', username: 'gateway', password: 'far secret' } },
      { name: 'below', kind: 'restconf', url: `${far.url}/base`, auth: { type: 'none' } },
      { name: 'plain', kind: 'rest', url: far.url, auth: { type: 'none' } },
      { name: 'down', kind: 'nso', url: `http://127.0.0.1:${await closedPort()}`, auth: { type: 'none' } },
    ],
  },
);

const yang = 'application/yang-data+json';
const params = { path: 'restconf/data/tailf-ncs:devices/device', accept: yang };
const numbers = '[9007199254740993,18446744073709551615,1e400,-0,1.10,1E-7,0.1000]';

function query(body: object | string, adapter = 'Local NSO', headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return relay(gateway, 'restQuery', adapter, body, { headers });
}

async function instances(text: string, type = yang): Promise<readonly Readonly<Record<string, string>>[]> {
  far.answer(() => jsonReply(text, { type }));
  return instancesOf(await query({ params }));
}

describe('the query', () => {
  test('is a GET of the path as written, without a body, with the adapter’s credentials', async () => {
    far.answer(() => jsonReply('{}'));
    const path = '/restconf/data/x:net=10.0.0.0%2F24/..a/?depth=1&fields=a;b(c;d)&x=../%2e';
    instancesOf(await query({ params: { path, accept: 'application/a, application/b;q=0.5' } }));
    assert.equal(far.request.method, 'GET');
    assert.equal(far.request.target, path);
    assert.equal(far.request.header('accept'), 'application/a, application/b;q=0.5');
    assert.equal(far.request.header('authorization'), basic('gateway', 'far secret'));
    assert.equal(far.request.header('content-type'), undefined);
    assert.equal(far.request.header('content-length') ?? '0', '0');
    assert.equal(far.request.body.length, 0);
  });

  test('takes JSON with a byte order mark as JSON, also where a chunk ends inside the mark', async () => {
    const [instance] = await instances('\u{feff}{"id":1}', 'application/json');
    assert.deepEqual(instance, { id: '1' });
    far.answer(() => jsonReply('\u{feff}[{"id":1}]', { chunk: 1 }));
    assert.deepEqual(instancesOf(await query({ params })), [{ id: '1' }]);
  });

  test('is sent below the base address', async () => {
    for (const path of ['x', '/x']) {
      far.answer(() => jsonReply('{}'));
      instancesOf(await query({ params: { path, accept: yang } }, 'below'));
      assert.equal(far.request.target, '/base/x');
    }
  });

  test('relays no header of the caller', async () => {
    far.answer(() => jsonReply('{}'));
    instancesOf(await query({ params }, 'below', { 'X-Custom': '1', Cookie: 'a=b' }));
    for (const name of ['authorization', 'x-custom', 'cookie']) assert.equal(far.request.header(name), undefined);
  });

  for (const path of ['', 'http://evil/x', '//evil/x', 'a/../b', 'a/%2e%2E/b', 'a#b', 'a\\b', 'a b', 'ü', 'a'.repeat(8193)]) {
    test(`is refused for the path ${JSON.stringify(path.slice(0, 30))}`, async () => {
      far.answer(() => jsonReply('{}'));
      const problem = assertProblem(await query({ params: { path, accept: yang } }), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), ['/params/path']);
      assert.equal(far.connections, 0);
    });
  }

  for (const accept of ['text/event-stream', 'a\r\nb', 5]) {
    test(`is refused for the accept ${JSON.stringify(accept)}`, async () => {
      const problem = assertProblem(await query({ params: { path: 'x', accept } }), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), ['/params/accept']);
    });
  }

  test('is refused with a body, a contentType or an unknown member', async () => {
    const problem = assertProblem(
      await query({ params: { ...params, contentType: yang }, body: {}, x: 1 }),
      400,
      'invalid-request',
    );
    assert.deepEqual(pointersOf(problem), ['/body', '/params/contentType', '/x']);
  });

  test('of an unknown adapter is 404, and the reply names the known adapters', async () => {
    const problem = assertProblem(await query({ params }, 'nowhere'), 404, 'adapter-not-found');
    assert.match(problem.detail, /Local NSO/);
  });
});

describe('the result holds one instance', () => {
  const cases: readonly (readonly [string, string, readonly object[]])[] = [
    [
      'for each entry of a list',
      '{"tailf-ncs:device":[{"name":"ce0","port":22},{"name":"ce1"}]}',
      [{ name: 'ce0', port: '22' }, { name: 'ce1' }],
    ],
    ['for an object', '{"tailf-ncs:devices":{"name":"a","x":"y"}}', [{ name: 'a', x: 'y' }]],
    ['for a leaf, named after the member', '{"tailf-ncs:name":"x\\u00fc\\n"}', [{ 'tailf-ncs:name': 'xü\n' }]],
    ['for a leaf that is a number, digit for digit', '{"id":18446744073709551615}', [{ id: '18446744073709551615' }]],
    ['for numbers inside a member, digit for digit', `{"a":{"n":${numbers}}}`, [{ n: numbers }]],
    ['for a leaf that is null or a truth value', '{"a":null,"b":true}', [{ a: 'null' }, { b: 'true' }]],
    ['for each entry of a leaf-list', '{"m:tag":["a",5.0,null]}', [{ 'm:tag': 'a' }, { 'm:tag': '5.0' }, { 'm:tag': 'null' }]],
    ['for each member in turn', '{"a":[{"x":"1"}],"b":{"y":"2"},"c":"3"}', [{ x: '1' }, { y: '2' }, { c: '3' }]],
    ['for each entry inside the legacy wrapper', '{"collection":{"m:list":[{"n":"1"},{"n":"2"}]}}', [{ n: '1' }, { n: '2' }]],
    ['for each entry of a top-level array', '[{"a":"1"},{"b":"2"}]', [{ a: '1' }, { b: '2' }]],
    ['with no property for an empty object', '{"a":{}}', [{}]],
  ];
  for (const [what, text, expected] of cases) {
    test(what, async () => {
      assert.deepEqual(await instances(text), expected);
      assert.deepEqual(await instances(` \n\t${text}\r\n `), expected);
    });
  }

  for (const text of ['{}', ' { } ', '[]', '{"a":[]}', '{"collection":{}}', '{"collection":{"m:list":[]}}']) {
    test(`for nothing in ${text}`, async () => {
      assert.deepEqual(await instances(text), []);
    });
  }

  test('for nothing where there is no content', async () => {
    for (const bytes of [
      httpReply({ status: 204, headers: { 'Content-Type': 'text/html' } }),
      httpReply({ headers: { 'Content-Type': yang } }),
      httpReply({ headers: { 'Content-Type': 'application/yang-data+xml' }, chunk: 1 }),
    ]) {
      far.answer(() => bytes);
      assert.deepEqual(instancesOf(await query({ params })), []);
    }
  });

  test('whose nested values keep their exact text', async () => {
    const values = {
      number: '18446744073709551615',
      decimal: '1.0',
      exponent: '1E+400',
      zero: '-0',
      object: '{ "b":1 ,"a":1.50,\n"a":"\\u00fc/\\/" }',
      array: '[ 1,\t2.0 , {"x" : null}, [ ] ]',
      empty: '[null]',
      truth: 'true',
      nothing: 'null',
    };
    const members = Object.entries(values).map(([name, text]) => `"${name}" : ${text} `);
    assert.deepEqual(await instances(`{"m:list":[{${members.join(',')}}]}`), [values]);
  });

  test('whose strings are unescaped', async () => {
    assert.deepEqual(
      await instances('{"l":[{"a":"\\ud83d\\ude00 \\u0000 \\"\\\\\\/\\b\\f\\n\\r\\t","b":"😀","":"empty name"}]}'),
      [{ a: '😀 \u0000 "\\/\b\f\n\r\t', b: '😀', '': 'empty name' }],
    );
  });

  test('in which a repeated member is one property: the JSON array of its values', async () => {
    const [instance] = await instances('{"rollbacks":{"file":{"n":1.0},"x":"y","file":18446744073709551615,"file":"s\\u00fc"}}');
    assert.deepEqual(Object.keys(instance ?? {}).sort(), ['file', 'x']);
    assert.equal(instance?.['x'], 'y');
    assert.deepEqual(instance?.['file']?.replaceAll(/\s/g, ''), '[{"n":1.0},18446744073709551615,"s\\u00fc"]');
  });

  test('in which names that are special in JavaScript objects are plain names', async () => {
    const [instance] = await instances('{"l":[{"__proto__":"p","constructor":"c","toString":1}]}');
    const sorted = Object.entries(instance ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(sorted, [
      ['__proto__', 'p'],
      ['constructor', 'c'],
      ['toString', '1'],
    ]);
  });

  test('for XML, named after its root, its text verbatim', async () => {
    const text = '<?xml version="1.0"?>\n<!-- c -->\n<devices xmlns="urn:x">\r\n <n>ü</n></devices>\n';
    assert.deepEqual(await instances(text, 'application/yang-data+xml'), [{ devices: text }]);
  });

  test('for other text, named content', async () => {
    assert.deepEqual(await instances('hello\n', 'text/plain'), [{ content: 'hello\n' }]);
  });

  test('for a body that is no text, in base64, and the reply says so', async () => {
    far.answer(() => httpReply({ headers: { 'Content-Type': 'application/octet-stream' }, body: Buffer.from([0, 255]) }));
    const reply = await query({ params });
    assert.equal(reply.header('x-upstream-body-encoding'), 'base64');
    assert.deepEqual(instancesOf(reply), [{ content: 'AP8=' }]);
  });

  test('beyond 64 KiB as well: XML, other text, and a body that is no text', async () => {
    const xml = `<?xml version="1.0"?><devices xmlns="urn:x">${'<n>ü\r\n"\\</n>'.repeat(20_000)}</devices>`;
    assert.ok((await instances(xml, 'application/yang-data+xml'))[0]?.['devices'] === xml);
    const plain = 'ü\n'.repeat(60_000);
    assert.ok((await instances(plain, 'text/plain'))[0]?.['content'] === plain);
    const bytes = Buffer.alloc(100_001, 7);
    far.answer(() => httpReply({ headers: { 'Content-Type': 'image/png' }, body: bytes }));
    const reply = await query({ params });
    assert.equal(reply.header('x-upstream-body-encoding'), 'base64');
    assert.ok(instancesOf(reply)[0]?.['content'] === bytes.toString('base64'));
  });

  test('of more than 8 MiB, where a repeated member is repeated', async () => {
    far.answer(() =>
      jsonReply(`{"x":{"file":"first","pad":"${'p'.repeat(9_000_000)}","file":"second","n":1.0}}`, { chunk: 60_000 }),
    );
    const reply = await query({ params });
    assert.equal(reply.status, 200);
    assert.ok(reply.complete);
    assert.equal(instancesOf(reply)[0]?.['n'], '1.0');
    assert.deepEqual(
      [...reply.text.matchAll(/"file": ?"(\w+)"/g)].map((match) => match[1]),
      ['first', 'second'],
    );
  });

  test('and the reply has status, media type and ETag of the upstream', async () => {
    far.answer(() => jsonReply('{"a":1}', { type: yang, headers: { ETag: '"1-2-3"', 'Set-Cookie': 'a=b' } }));
    const reply = await query({ params });
    assert.equal(reply.header('x-upstream-status'), '200');
    assert.equal(reply.header('x-upstream-content-type'), yang);
    assert.equal(reply.header('x-upstream-etag'), '"1-2-3"');
    assert.equal(reply.header('set-cookie'), undefined);
  });
});

describe('an error reply to a query', () => {
  test('of 404 is an error and not an empty result', async () => {
    const body = '{"ietf-restconf:errors":{"error":[{"error-tag":"invalid-value","error-message":"uri keypath not found"}]}}';
    far.answer(() => jsonReply(body, { status: 404, type: yang }));
    const problem = assertProblem(await query({ params }), 502, 'upstream-error');
    assert.deepEqual(problem.upstream, { status: 404, contentType: yang, body });
    assert.match(problem.detail, /invalid-value/);
    assert.match(problem.detail, /uri keypath not found/);
    assert.equal(far.requests.length, 1);
  });

  for (const status of [400, 401, 403, 409, 412, 429, 500]) {
    test(`of ${status} is 502, and the query is not tried again`, async () => {
      far.answer(() => jsonReply('{}', { status }));
      const problem = assertProblem(await query({ params }), 502, 'upstream-error');
      assert.equal(problem.upstream?.status, status);
      assert.equal(far.requests.length, 1);
    });
  }

  for (const status of [301, 302, 307]) {
    test(`of ${status} is never followed as a redirect`, async () => {
      far.answer(() => httpReply({ status, headers: { Location: '/elsewhere' } }));
      assertProblem(await query({ params }), 502);
      assert.ok(far.requests.every((request) => request.target !== '/elsewhere'));
    });
  }

  for (const status of [502, 503, 504]) {
    test(`R64: of ${status} without a RESTCONF error body is tried again, twice at most`, async () => {
      let seen = 0;
      far.answer(() => {
        seen += 1;
        return seen < 3 ? httpReply({ status, body: 'busy' }) : jsonReply('{"a":1}');
      });
      assert.deepEqual(instancesOf(await query({ params })), [{ a: '1' }]);
      assert.equal(seen, 3);
      far.answer(() => httpReply({ status, body: 'busy' }));
      const problem = assertProblem(await query({ params }), 502, 'upstream-error');
      assert.equal(problem.upstream?.status, status);
      assert.equal(far.requests.length, 3);
    });

    test(`of ${status} with a RESTCONF error body is about a device, and the query is not tried again`, async () => {
      const body =
        '{"ietf-restconf:errors":{"error":[{"error-tag":"operation-failed","error-message":"device ce0: out of sync"}]}}';
      far.answer(() => jsonReply(body, { status, type: yang }));
      assertProblem(await query({ params }), 502, 'upstream-error');
      assert.equal(far.requests.length, 1);
    });
  }
});

test('R65: a query does not wait for a Retry-After beyond its remaining time', async () => {
  far.answer(() => httpReply({ status: 503, headers: { 'Retry-After': '3600' } }));
  const problem = assertProblem(await query({ params }), 502, 'upstream-error');
  assert.equal(problem.upstream?.status, 503);
  assert.equal(far.requests.length, 1);
});

describe('a query without an answer', () => {
  test('is tried again where its connection broke', async () => {
    let seen = 0;
    far.answer((_, socket) => {
      seen += 1;
      if (seen === 3) return jsonReply('{"a":1}');
      socket.resetAndDestroy();
      return undefined;
    });
    assert.deepEqual(instancesOf(await query({ params })), [{ a: '1' }]);
  });

  test('is 502 after two more attempts', async () => {
    far.answer((_, socket) => void socket.resetAndDestroy());
    assertProblem(await query({ params }), 502, 'upstream-closed');
    assert.equal(far.requests.length, 3);
    assertProblem(await query({ params }, 'down'), 502, 'upstream-connect-failed');
  });

  test('is 504 when the total time limit has passed, over all attempts', async () => {
    far.answer(() => undefined);
    const problem = assertProblem(await query({ params }, 'plain', { Prefer: 'wait=1' }), 504, 'upstream-timeout');
    assert.notEqual(problem.detail, '');
    assert.ok(far.requests.length >= 1 && far.requests.length <= 3);
  });
});

const device = 'restconf/data/tailf-ncs:devices/device=ce0';
const methods = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT'] as const;

interface Answer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  readonly bodyEncoding?: string;
}

function request(body: object | string, adapter = 'Local NSO', headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return relay(gateway, 'restRequest', adapter, body, { headers });
}

const call = (method: string, more: object = {}): object => ({ params: { method, path: device, accept: yang }, ...more });

async function answerOf(bytes: Buffer, method = 'GET'): Promise<Answer> {
  far.answer(() => bytes);
  const reply = await request(call(method));
  assert.equal(reply.status, 200, reply.text);
  return reply.json() as Answer;
}

describe('restRequest', () => {
  for (const method of methods) {
    test(`sends ${method} to the path as written, with the adapter’s credentials`, async () => {
      far.answer(() => jsonReply('{}', { type: yang }));
      const target = `/${device}/x:y=10.0.0.0%2F24?dry-run=native&a=../b`;
      const reply = await request({ params: { method, path: target, accept: yang } });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(far.request.method, method);
      assert.equal(far.request.target, target);
      assert.equal(far.request.header('accept'), yang);
      assert.equal(far.request.header('authorization'), basic('gateway', 'far secret'));
      assert.equal(far.request.body.length, 0);
    });
  }

  for (const method of ['PATCH', 'POST', 'PUT']) {
    test(`sends the body of ${method} byte for byte, as YANG data`, async () => {
      far.answer(() => httpReply({ status: 204 }));
      const body = '{ "tailf-ncs:device" :[{"port":22.0,"id":18446744073709551615,"a":1,"a":2}]}';
      const reply = await request(`{"params":{"method":"${method}","path":"${device}","accept":"${yang}"},"body":${body}}`);
      assert.equal(reply.status, 200, reply.text);
      assert.equal(far.request.body.toString(), body);
      assert.equal(far.request.header('content-type'), yang);
    });
  }

  for (const adapter of ['Local NSO', 'below', 'plain']) {
    test(`sends the body {} of every method but POST as it is through ${adapter}`, async () => {
      for (const method of ['DELETE', 'GET', 'PATCH', 'PUT']) {
        far.answer(() => httpReply({ status: 204 }));
        const reply = await request(
          `{"params":{"method":"${method}","path":"${device}","accept":"${yang}"},"body":{ }}`,
          adapter,
        );
        assert.equal(reply.status, 200, reply.text);
        assert.equal(far.request.body.toString(), '{ }', method);
        assert.equal(far.request.header('content-type'), adapter === 'plain' ? 'application/json' : yang);
      }
    });
  }

  test('sends no message body for the body {} of POST to the kinds nso and restconf, and {} to rest', async () => {
    for (const [adapter, sent, type] of [
      ['Local NSO', '', undefined],
      ['below', '', undefined],
      ['plain', '{}', 'application/json'],
    ] as const) {
      far.answer(() => httpReply({ status: 204 }));
      assert.equal((await request(call('POST', { body: {} }), adapter)).status, 200);
      assert.equal(far.request.body.toString(), sent, adapter);
      assert.equal(far.request.header('content-type'), type, adapter);
    }
  });

  test('sends the content type of the caller', async () => {
    far.answer(() => httpReply({ status: 204 }));
    const params = { method: 'PATCH', path: device, accept: yang, contentType: 'application/yang-patch+json' };
    assert.equal((await request({ params, body: { a: 1 } })).status, 200);
    assert.equal(far.request.header('content-type'), 'application/yang-patch+json');
  });

  test('relays three headers of the caller and no other', async () => {
    far.answer(() => httpReply({ status: 204 }));
    const headers = {
      'If-Match': '"1"',
      'If-Unmodified-Since': 'Wed, 21 Oct 2026 07:28:00 GMT',
      'X-Cisco-NSO-Commit-Params': 'e30=',
    };
    assert.equal((await request(call('DELETE'), 'plain', { ...headers, 'X-Custom': '1' })).status, 200);
    for (const [name, value] of Object.entries(headers)) assert.equal(far.request.header(name), value);
    assert.equal(far.request.header('x-custom'), undefined);
    assert.equal(far.request.header('authorization'), undefined);
  });

  for (const method of ['get', 'HEAD', 'OPTIONS', 'TRACE', '', 5]) {
    test(`refuses the method ${JSON.stringify(method)}`, async () => {
      far.answer(() => jsonReply('{}'));
      const problem = assertProblem(await request({ params: { method, path: device, accept: yang } }), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), ['/params/method']);
      assert.equal(far.connections, 0);
    });
  }

  for (const given of ['', 'http://evil/x', '//evil', 'a/%2e%2e/b', 'a#b', 'a\\b', 'a b']) {
    test(`refuses the path ${JSON.stringify(given)}`, async () => {
      far.answer(() => jsonReply('{}'));
      const reply = await request({ params: { method: 'DELETE', path: given, accept: yang } });
      assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), ['/params/path']);
      assert.equal(far.connections, 0);
    });
  }

  test('names all problems at once', async () => {
    const problem = assertProblem(
      await request({ params: { method: 'GET', path: device, accept: 5, x: 1 }, body: [], y: 1 }),
      400,
      'invalid-request',
    );
    assert.deepEqual(pointersOf(problem), ['/body', '/params/accept', '/params/x', '/y']);
    assertProblem(await request(call('GET'), 'nowhere'), 404, 'adapter-not-found');
  });
});

describe('the answer of restRequest', () => {
  test('is the status code, the headers and the body as a string, JSON too', async () => {
    const body = '{ "a": 18446744073709551615, "a": 1.0 }\n';
    const answer = await answerOf(
      jsonReply(body, { type: yang, headers: { 'X-A': ['1', '2'], 'Set-Cookie': ['a=1', 'b=2'], ETag: '"7"' } }),
    );
    assert.deepEqual(Object.keys(answer).sort(), ['body', 'headers', 'statusCode']);
    assert.equal(answer.statusCode, 200);
    assert.equal(answer.body, body);
    assert.equal(answer.headers['x-a'], '1, 2');
    assert.equal(answer.headers['content-type'], yang);
    assert.equal(answer.headers['etag'], '"7"');
    assert.deepEqual(answer.headers['set-cookie'], ['a=1', 'b=2']);
  });

  test('has the empty string where there is no body', async () => {
    const answer = await answerOf(httpReply({ status: 204 }), 'DELETE');
    assert.equal(answer.statusCode, 204);
    assert.equal(answer.body, '');
  });

  test('has the body in base64, with `bodyEncoding`, where the body is no text', async () => {
    const answer = await answerOf(httpReply({ headers: { 'Content-Type': 'image/png' }, body: Buffer.from([0, 255]) }));
    assert.equal(answer.body, 'AP8=');
    assert.equal(answer.bodyEncoding, 'base64');
  });

  for (const status of [400, 401, 403, 404, 409, 412, 500]) {
    for (const method of ['GET', 'PATCH']) {
      test(`may have an error status: ${status} of a ${method}`, async () => {
        // A probe, which follows two 401, is accepted.
        const headers = { 'WWW-Authenticate': 'Basic realm="restconf"' };
        const isCall = (target: string): boolean => target === `/${device}`;
        far.answer(({ target }) => jsonReply('{"errors":{}}', isCall(target) ? { status, headers } : {}));
        const reply = await request(call(method));
        assert.equal(reply.status, 200, reply.text);
        assert.equal(reply.header('x-upstream-status'), `${status}`);
        assert.equal(reply.header('www-authenticate'), undefined);
        const answer = reply.json() as Answer;
        assert.equal(answer.statusCode, status);
        assert.equal(answer.body, '{"errors":{}}');
        assert.equal(far.requests.filter(({ target }) => isCall(target)).length, 1);
      });
    }
  }

  test('is 502 for a redirect, which is never followed', async () => {
    far.answer(() => httpReply({ status: 307, headers: { Location: '/elsewhere' } }));
    assertProblem(await request(call('PUT', { body: { a: 1 } })), 502);
    assert.equal(far.requests.length, 1);
  });
});

describe('restRequest without an answer', () => {
  for (const method of ['DELETE', 'PATCH', 'POST', 'PUT']) {
    test(`has an unknown outcome for a ${method} that was sent, and sends none twice`, async () => {
      far.answer((_, socket) => void socket.resetAndDestroy());
      assertProblem(await request(call(method)), 502, 'outcome-unknown');
      assert.equal(far.requests.length, 1);
      far.answer(() => undefined);
      assertProblem(await request(call(method), 'plain', { Prefer: 'wait=1' }), 504, 'outcome-unknown');
      assert.equal(far.requests.length, 1);
    });
  }
});
