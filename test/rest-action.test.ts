import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { assertProblem, pointersOf, post, relay, resultOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { basic, startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// POST /orchestrator_manager/restAction/:adapterId (docs/reference/http-api.md).

const far = await upstream({ after });
const canary = await upstream({ after });
const yang = 'application/yang-data+json';
const gateway = await startGateway(
  { after },
  {
    adapters: [
      { name: 'Local NSO', kind: 'nso', url: far.url, auth: { type: 'basic', username: 'gateway', password: 'far secret' } },
      { name: 'below', kind: 'restconf', url: `${far.url}/base/`, auth: { type: 'none' } },
      { name: 'plain', kind: 'rest', url: `${far.url}/base`, auth: { type: 'bearer', token: 'far-token' } },
      { name: 'keyed', kind: 'rest', url: far.url, auth: { type: 'header', name: 'X-Api-Key', value: 'far-key' } },
      { name: 'Küche 7/b', kind: 'rest', url: far.url, auth: { type: 'none' } },
      { name: 'by name', kind: 'rest', url: `http://localhost:${far.port}`, auth: { type: 'none' } },
      { name: 'down', kind: 'nso', url: `http://127.0.0.1:${await closedPort()}`, auth: { type: 'none' } },
      { name: 'not TLS', kind: 'nso', url: `https://${far.authority}`, auth: { type: 'none' } },
    ],
  },
);

const path = 'restconf/data/tailf-ncs:devices/device=ce0/sync-from';
const params = { path, accept: yang };
/** Each changes where a parser reads it as a double. */
const numbers = '[9007199254740993,18446744073709551615,1e400,-0,1.10,1E-7,0.1000]';

function act(adapter: string, body: object | string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return relay(gateway, 'restAction', adapter, body, { headers });
}

test('an action uses a connection that was in use within the last second, a query one that was idle for longer as well', async () => {
  const query = (): Promise<Reply> => relay(gateway, 'restQuery', 'plain', { params });
  far.answer(() => jsonReply('{}'));
  await act('plain', { params, body: {} });
  await act('plain', { params, body: {} });
  assert.equal(far.connections, 1);
  await query();
  assert.equal(far.connections, 2);
  await lapse(1_500, 'the connection is idle for more than a second');
  await query();
  assert.equal(far.connections, 2);
  await act('plain', { params, body: {} });
  assert.equal(far.connections, 3);
});

describe('the adapter', () => {
  test('is named by the URL-decoded path, spaces and slashes included', async () => {
    for (const name of ['Local NSO', 'Küche 7/b']) {
      far.answer(() => jsonReply('{}'));
      assert.equal(resultOf(await act(name, { params, body: {} })), '{}');
    }
  });

  const similar = [
    'local nso',
    'Local NSO ',
    'Local+NSO',
    'LocalNSO',
    'Local NSO/',
    './Local NSO',
    '../Local NSO',
    'Local NSO\u0000',
  ];
  const others = ['%4cocal NSO', '__proto__', 'constructor', 'toString', '..', '%00', 'x'];
  for (const name of [...similar, ...others]) {
    test(`R26: is matched exactly: ${JSON.stringify(name)} is 404, and the reply names the known adapters`, async () => {
      far.answer(() => jsonReply('{}'));
      const target = `/orchestrator_manager/restAction/${name === 'Local+NSO' ? name : encodeURIComponent(name)}`;
      const problem = assertProblem(await post(gateway, target, { params, body: {} }), 404, 'adapter-not-found');
      for (const known of ['Local NSO', 'below', 'plain']) assert.ok(problem.detail.includes(known), problem.detail);
      assert.equal(far.connections, 0);
    });
  }
});

describe('the action', () => {
  test('is a POST to the base address joined with the path, with or without a slash between them', async () => {
    for (const [adapter, given, target] of [
      ['Local NSO', path, `/${path}`],
      ['Local NSO', `/${path}`, `/${path}`],
      ['below', 'x/y', '/base/x/y'],
      ['below', '/x/y', '/base/x/y'],
      ['plain', 'x/y', '/base/x/y'],
      ['plain', '/x/y', '/base/x/y'],
      ['plain', 'x/', '/base/x/'],
    ] as const) {
      far.answer(() => jsonReply('{}'));
      resultOf(await act(adapter, { params: { path: given, accept: yang }, body: {} }));
      assert.equal(far.request.method, 'POST');
      assert.equal(far.request.target, target);
      assert.equal(far.request.header('host'), far.authority);
    }
  });

  test('is not subject to the outbound policy of restCall', async () => {
    far.answer(() => jsonReply('{}'));
    resultOf(await act('by name', { params: { path: 'x', accept: yang }, body: {} }));
    assert.equal(far.request.header('host'), `localhost:${far.port}`);
  });

  test('has the adapter’s own credentials', async () => {
    for (const [adapter, name, value] of [
      ['Local NSO', 'authorization', basic('gateway', 'far secret')],
      ['plain', 'authorization', 'Bearer far-token'],
      ['keyed', 'x-api-key', 'far-key'],
      ['below', 'authorization', undefined],
    ] as const) {
      far.answer(() => jsonReply('{}'));
      resultOf(await act(adapter, { params, body: {} }));
      assert.equal(far.request.header(name), value);
    }
  });

  test('has three headers of the caller and no other', async () => {
    far.answer(() => jsonReply('{}'));
    const passed = {
      'If-Match': '"1600-89881-383240"',
      'If-Unmodified-Since': 'Wed, 21 Oct 2026 07:28:00 GMT',
      'X-Cisco-NSO-Commit-Params': 'eyJkcnktcnVuIjp7fX0=',
    };
    const kept = { Cookie: 'a=b', 'X-Custom': '1', 'X-Forwarded-For': '1.2.3.4', 'If-None-Match': '"x"', 'X-Auth-Token': 't' };
    resultOf(await act('Local NSO', { params, body: {} }, { ...passed, ...kept }));
    for (const [name, value] of Object.entries(passed)) assert.equal(far.request.header(name), value);
    for (const name of Object.keys(kept)) assert.equal(far.request.header(name), undefined, name);
  });
});

describe('params.path', () => {
  for (const given of [
    'restconf/data/x:net=10.0.0.0%2F24/a%2cb',
    'a%20b/%C3%BC/%c3%bc/%zz/100%',
    'a//b///c/',
    './a/./b/.',
    'a/..b/c..',
    'a/...',
    '%2e',
    'x?a=b%20c&d=../e&f=%2e%2e/&g=http://h//i',
    'tailf-ncs:devices',
    'a!$&\'()*+,;=:@-._~|^`{}"<>[]',
    '?only=query',
    '~/%7E',
  ]) {
    test(`is sent as written: ${given}`, async () => {
      far.answer(() => jsonReply('{}'));
      resultOf(await act('Local NSO', { params: { path: given, accept: yang }, body: {} }));
      assert.equal(far.request.target, `/${given}`);
    });
  }

  const refused: Record<string, string> = {
    'is empty': '',
    'begins with a scheme': 'http://evil.example/x',
    'begins with another scheme': 'FTP://evil.example/x',
    'begins with a scheme that no one registered': 'x-y+z.1://evil.example/x',
    'begins with two slashes': '//evil.example/x',
    'has a .. segment in front': '../x',
    'has a .. segment after a slash': '/../x',
    'has a .. segment inside': 'a/../b',
    'has a .. segment at its end': 'a/..',
    'has a .. segment before its ?': 'a/..?b',
    'has a percent-encoded .. segment': 'a/%2e%2e/b',
    'has a half percent-encoded .. segment': 'a/.%2E/b',
    'has the other half percent-encoded': 'a/%2e./b',
    'has a .. segment between encoded slashes': 'a%2F..%2fb',
    'has a .. segment that is encoded twice': 'a/%252e%252e/b',
    'has a .. segment with an encoded NUL': 'a/..%00/b',
    'has a .. segment with a NUL encoded twice': 'a/.%2500./b',
    'has a .. segment with parameters': 'a/..;x/b',
    'has a fragment': 'a#b',
    'has a fragment after its query': 'a?b#c',
    'has a backslash': 'a\\b',
    'has a space': 'a b',
    'has a tab': 'a\tb',
    'has a line break': 'a\r\nX-Evil: 1',
    'has a NUL': 'a\u0000',
    'has a letter beyond ASCII': 'ü',
    'has a DEL': 'a\u007f',
    'has 8,193 characters': 'a'.repeat(8193),
  };
  for (const [what, given] of Object.entries(refused)) {
    test(`R24: is refused where it ${what}`, async () => {
      far.answer(() => jsonReply('{}'));
      const problem = assertProblem(
        await act('Local NSO', { params: { path: given, accept: yang }, body: {} }),
        400,
        'invalid-request',
      );
      assert.deepEqual(pointersOf(problem), ['/params/path']);
      assert.equal(far.connections, 0);
    });
  }

  test('may have 8,192 characters', async () => {
    far.answer(() => jsonReply('{}'));
    resultOf(await act('Local NSO', { params: { path: 'a'.repeat(8192), accept: yang }, body: {} }));
    assert.equal(far.request.target.length, 8193);
  });

  test('of any visible ASCII is refused, or reaches this upstream and no other, unchanged', async () => {
    const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
    const special = fc.constantFrom('..', '%2e', '%2F', '//', '/', '://', '?', '@', ':', `@127.0.0.1:${canary.port}/`);
    canary.answer(() => jsonReply('{}'));
    const anyPath = fc.array(fc.oneof(character, special), { minLength: 1, maxLength: 24 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(anyPath, async (given) => {
        far.answer(() => jsonReply('{}'));
        const reply = await act('below', { params: { path: given, accept: yang }, body: {} });
        if (reply.status === 200) {
          assert.equal(far.request.target, `/base/${given.replace(/^\//, '')}`);
          assert.ok(!/[#\\]/.test(given));
          const [segments = ''] = given.replaceAll(/%2e/gi, '.').replaceAll(/%2f/gi, '/').split('?');
          assert.ok(!segments.split('/').includes('..'), given);
        } else {
          assertProblem(reply, 400, 'invalid-request');
          assert.equal(far.connections, 0);
        }
        assert.equal(canary.connections, 0);
      }),
      { numRuns: 200 },
    );
  });
});

describe('params.accept and params.contentType', () => {
  for (const accept of [yang, 'application/yang-data+json, application/yang-data+xml;q=0.5', 'anything at all', '*/*']) {
    test(`accept is relayed unchanged: ${accept}`, async () => {
      far.answer(() => jsonReply('{}'));
      resultOf(await act('Local NSO', { params: { path, accept }, body: {} }));
      assert.equal(far.request.header('accept'), accept);
    });
  }

  for (const accept of ['a\r\nX-Evil: 1', 'a\n', 'text/event-stream', 'TEXT/Event-Stream', `${yang}, text/event-stream;q=0.1`]) {
    test(`R25: accept ${JSON.stringify(accept)} is refused`, async () => {
      far.answer(() => jsonReply('{}'));
      const problem = assertProblem(await act('Local NSO', { params: { path, accept }, body: {} }), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), ['/params/accept']);
      assert.equal(far.connections, 0);
    });
  }

  for (const [adapter, given, expected] of [
    ['Local NSO', path, 'application/yang-data+json'],
    ['Local NSO', `/${path}`, 'application/yang-data+json'],
    ['below', 'restconf/data/x', 'application/yang-data+json'],
    ['plain', 'x', 'application/json'],
    ['Local NSO', 'api/running/devices/device/ce0/_operations/sync-from', 'application/vnd.yang.operation+json'],
    ['Local NSO', '/api/running/devices/_operations/check-sync', 'application/vnd.yang.operation+json'],
    ['Local NSO', 'api/running/devices', 'application/vnd.yang.data+json'],
  ] as const) {
    test(`contentType defaults to ${expected} for ${given} through ${adapter}`, async () => {
      far.answer(() => jsonReply('{}'));
      resultOf(await act(adapter, { params: { path: given, accept: yang }, body: { input: {} } }));
      assert.equal(far.request.header('content-type'), expected);
    });
  }

  test('contentType is relayed where it is given', async () => {
    far.answer(() => jsonReply('{}'));
    resultOf(await act('plain', { params: { ...params, contentType: 'application/vnd.x+json' }, body: { a: 1 } }));
    assert.equal(far.request.header('content-type'), 'application/vnd.x+json');
  });

  test('contentType that a body cannot have is refused by its pointer, with an empty body as well', async () => {
    for (const contentType of ['text/plain', 'no media type', '']) {
      for (const body of [{ a: 1 }, {}]) {
        const reply = await act('plain', { params: { ...params, contentType }, body });
        assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), ['/params/contentType']);
      }
    }
    const empty = assertProblem(await act('plain', { params: { ...params, contentType: '' }, body: {} }), 400);
    assert.match(empty.detail, /empty/);
  });

  test('R25: contentType with a line break is refused', async () => {
    const reply = await act('plain', { params: { ...params, contentType: 'application/json\r\nX-Evil: 1' }, body: {} });
    assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), ['/params/contentType']);
  });
});

describe('the body', () => {
  test('R29: reaches the upstream byte for byte', async () => {
    far.answer(() => jsonReply('{}'));
    const body = `{"input" : {"n":${numbers},"f":1.0, "d":1,"d":2, "s":"\\u00fcü\\/"}\n}`;
    resultOf(await act('Local NSO', `{"body":${body} ,"params":${JSON.stringify(params)}}`));
    assert.equal(far.request.body.toString(), body);
    assert.equal(far.request.header('content-length'), `${Buffer.byteLength(body)}`);
  });

  for (const adapter of ['Local NSO', 'below']) {
    test(`{} sends no message body through ${adapter} (RFC 8040 3.6)`, async () => {
      far.answer(() => jsonReply('{}'));
      resultOf(await act(adapter, `{"params":${JSON.stringify(params)},"body":{ \n}}`));
      assert.equal(far.request.body.length, 0);
      assert.equal(far.request.header('transfer-encoding'), undefined);
      assert.equal(far.request.header('content-type'), undefined);
    });
  }

  test('{} is sent as {} to a rest adapter', async () => {
    far.answer(() => jsonReply('{}'));
    resultOf(await act('plain', { params, body: {} }));
    assert.equal(far.request.body.toString(), '{}');
    assert.equal(far.request.header('content-type'), 'application/json');
  });

  const xml = { ...params, contentType: 'application/yang-data+xml' };
  /** The XML text in one spelling: without declaration, with `<a/>` for an empty element, with double quotes. */
  const canonical = (text: string): string =>
    text
      .replace(/^<\?xml[^>]*\?>\s*/, '')
      .replaceAll(/<([\w:.-]+)((?: [^<>]*[^/])?)><\/\1>/g, '<$1$2/>')
      .replaceAll(' />', '/>')
      .replaceAll("'", '"');

  test('is written as XML where the content type is XML', async () => {
    far.answer(() => jsonReply('{}'));
    const text =
      '{"input":{"@xmlns":"urn:x","name":"a<b&c>","n":18446744073709551615,"f":1.0,"on":true,' +
      '"entry":[{"@key":"1\\"2","#text":"first"},"second",3],"none":null}}';
    resultOf(await act('Local NSO', `{"params":${JSON.stringify(xml)},"body":${text}}`));
    const written = canonical(far.request.body.toString()).replaceAll('c>', 'c&gt;');
    assert.equal(
      written.replaceAll('&#34;', '&quot;'),
      '<input xmlns="urn:x"><name>a&lt;b&amp;c&gt;</name><n>18446744073709551615</n><f>1.0</f><on>true</on>' +
        '<entry key="1&quot;2">first</entry><entry>second</entry><entry>3</entry><none/></input>',
    );
    assert.equal(far.request.header('content-type'), 'application/yang-data+xml');
    assert.equal(far.request.header('content-length'), `${far.request.body.length}`);
  });

  test('is refused as XML where it makes no single well-formed root', async () => {
    far.answer(() => jsonReply('{}'));
    for (const body of [{ a: 1, b: 2 }, { 'a b': 1 }, { a: { '@b': { c: 1 } } }, { a: 'NUL \u0000' }])
      assertProblem(await act('Local NSO', { params: xml, body }), 400, 'invalid-request');
    assert.equal(far.connections, 0);
  });

  test('is relayed verbatim as XML under $xml', async () => {
    far.answer(() => jsonReply('{}'));
    const text = "<?xml version='1.0'?>\n<input  xmlns = 'urn:x'><!-- c --><a>&#252;ü</a><b ></b></input>\n";
    resultOf(await act('Local NSO', { params: xml, body: { $xml: text } }));
    assert.equal(far.request.body.toString(), text);
  });

  test('$xml is refused where it is no XML, has two roots or a DOCTYPE', async () => {
    far.answer(() => jsonReply('{}'));
    for (const text of ['<a><b></a>', '<a/><b/>', '', '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', '<a>&x;</a>', '<x:a/>'])
      assertProblem(await act('Local NSO', { params: xml, body: { $xml: text } }), 400, 'invalid-request');
    assert.equal(far.connections, 0);
  });
});

describe('the request', () => {
  test('needs params and body, path and accept, and names all that is missing or unknown at once', async () => {
    const none = assertProblem(await act('Local NSO', {}), 400, 'invalid-request');
    assert.equal(none.errors?.length, 2);
    const several = assertProblem(
      await act('Local NSO', { params: { contentType: 5, evil: 1 }, body: [], more: true }),
      400,
      'invalid-request',
    );
    const told = (several.errors ?? []).map((error) => `${error.pointer} ${error.detail}`).join('\n');
    for (const pointer of ['/params/contentType', '/params/evil', '/body', '/more']) {
      assert.ok(pointersOf(several).includes(pointer), told);
    }
    assert.match(told, /path/);
    assert.match(told, /accept/);
  });
});

describe('the result', () => {
  const resultFor = async (bytes: Buffer): Promise<Reply> => {
    far.answer(() => bytes);
    return act('Local NSO', { params, body: {} });
  };

  test('R30: is one element with the body’s text, verbatim', async () => {
    for (const text of [`{ "tailf-ncs:output": {"result":true , "n":${numbers}, "a":1,"a":2 }}\n\n`, 'null', '"x"', '[ ]']) {
      assert.equal(resultOf(await resultFor(jsonReply(text, { type: yang }))), text);
    }
    const xml = '<output xmlns="x">\r\n\t<result>in-sync</result>ü</output>';
    assert.equal(
      resultOf(await resultFor(httpReply({ headers: { 'Content-Type': 'application/yang-data+xml' }, body: xml }))),
      xml,
    );
  });

  test('is the status code as text where there is no body', async () => {
    assert.equal(resultOf(await resultFor(httpReply({ status: 204, headers: { 'Content-Type': 'text/html' } }))), '204');
    assert.equal(resultOf(await resultFor(httpReply({ status: 201 }))), '201');
    assert.equal(resultOf(await resultFor(httpReply({ status: 200, chunk: 5 }))), '200');
  });

  test('is base64 where the body is no text, and a header says so', async () => {
    const reply = await resultFor(
      httpReply({ headers: { 'Content-Type': 'application/octet-stream' }, body: Buffer.from([0, 255]) }),
    );
    assert.equal(reply.header('x-upstream-body-encoding'), 'base64');
    assert.equal(resultOf(reply), 'AP8=');
  });

  test('comes with status, media type, ETag and Location of the upstream', async () => {
    const reply = await resultFor(
      jsonReply('{}', { status: 201, type: yang, headers: { ETag: '"1"', Location: 'http://nso/x', 'Set-Cookie': 'a=b' } }),
    );
    assert.equal(reply.header('location'), undefined);
    assert.match(reply.header('content-type') ?? '', /^application\/json\b/);
    assert.equal(reply.header('x-upstream-status'), '201');
    assert.equal(reply.header('x-upstream-content-type'), yang);
    assert.equal(reply.header('x-upstream-etag'), '"1"');
    assert.equal(reply.header('x-upstream-location'), 'http://nso/x');
    assert.equal(reply.header('set-cookie'), undefined);
  });
});

describe('an error of the upstream', () => {
  test('comes with the ETag of the upstream byte for byte, as a success does', async () => {
    const etag = Buffer.from('"caf\xe9 \xc3\xa9"', 'latin1');
    const said = (status: string): Buffer =>
      Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\nETag: `), etag, Buffer.from('\r\nContent-Length: 0\r\n\r\n')]);
    for (const status of ['200 OK', '500 Internal Server Error', '302 Found']) {
      far.answer(() => said(status));
      const reply = await act('Local NSO', { params, body: {} });
      assert.equal(reply.status, status.startsWith('200') ? 200 : 502);
      assert.equal(reply.header('x-upstream-etag'), etag.toString('latin1'), status);
    }
  });

  const message = 'Network Element Driver: device csr08: out of sync';
  const entry = `{"error-type":"application","error-tag":"operation-failed","error-message":"${message}"}`;
  const shapes: Record<string, readonly [string, string]> = {
    'RESTCONF JSON': [yang, `{"ietf-restconf:errors":{"error":[${entry}]}}`],
    'RESTCONF JSON with a single object': [yang, `{"ietf-restconf:errors":{"error":${entry}}}`],
    'legacy JSON': ['application/vnd.yang.data+json', `{"errors":{"error":[${entry}]}}`],
    'legacy JSON with a single object': ['application/json', `{"errors":{"error":${entry}}}`],
    'RESTCONF XML': [
      'application/yang-data+xml',
      `<errors xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf"><error><error-message>${message}</error-message><error-tag>operation-failed</error-tag></error></errors>`,
    ],
    'legacy XML': [
      'application/vnd.yang.data+xml',
      `<?xml version="1.0"?>\n<errors xmlns="http://tail-f.com/ns/tailf-rest-error">\n <error>\n  <error-tag>operation-failed</error-tag>\n  <error-message>${message}</error-message>\n </error>\n</errors>`,
    ],
  };
  for (const [what, [type, body]] of Object.entries(shapes)) {
    test(`is 502 and its ${what} is read into the detail`, async () => {
      far.answer(() => jsonReply(body, { status: 502, type }));
      const problem = assertProblem(await act('Local NSO', { params, body: {} }), 502, 'upstream-error');
      assert.deepEqual(problem.upstream, { status: 502, contentType: type, body });
      assert.ok(problem.detail.includes('operation-failed'), problem.detail);
      assert.ok(problem.detail.includes(message), problem.detail);
      assert.equal(far.requests.length, 1);
    });
  }

  for (const status of [400, 401, 403, 404, 405, 409, 412, 429, 500, 501, 502, 503, 504]) {
    test(`R66: of ${status} is 502 upstream-error, and the action is not tried again`, async () => {
      far.answer(() =>
        jsonReply('{"errors":{}}', { status, headers: { 'WWW-Authenticate': 'Basic realm="restconf"', 'Retry-After': '1' } }),
      );
      const reply = await act('Local NSO', { params, body: {} });
      const problem = assertProblem(reply, 502, 'upstream-error');
      assert.equal(problem.upstream?.status, status);
      assert.equal(reply.header('www-authenticate'), undefined);
      assert.equal(reply.header('x-upstream-status'), `${status}`);
      assert.equal(far.requests.length, 1);
    });
  }

  test('without a readable body is 502 upstream-error', async () => {
    for (const bytes of [
      httpReply({ status: 404, headers: { 'Content-Type': 'text/html' } }),
      jsonReply('{"ietf-restconf:errors":', { status: 500, type: yang }),
      jsonReply('[]', { status: 500 }),
      jsonReply('{"errors":{"error":[5,null]}}', { status: 500 }),
      httpReply({ status: 500, headers: { 'Content-Type': 'application/yang-data+xml' }, body: '<errors><error>' }),
      httpReply({ status: 500, headers: { 'Content-Type': 'application/octet-stream' }, body: Buffer.from([255, 0]) }),
    ]) {
      far.answer(() => bytes);
      assertProblem(await act('Local NSO', { params, body: {} }), 502, 'upstream-error');
    }
  });

  test('of more than 64 KiB is read for its tag and message', async () => {
    const long = 'x'.repeat(70_000);
    const error = { 'error-type': 'application', 'error-tag': 'operation-failed', 'error-message': 'out of sync' };
    const json = (more: object): string => JSON.stringify({ 'ietf-restconf:errors': { error: [more] } });
    const xml = `<errors><error><error-tag>operation-failed</error-tag><error-message>out of sync</error-message><error-info>${long}`;
    for (const [body, type, said] of [
      [json({ ...error, 'error-info': long }), yang, 'operation-failed: out of sync'],
      [json({ ...error, 'error-message': long }), yang, 'operation-failed'],
      [`${xml}</error-info></error></errors>`, 'application/yang-data+xml', 'operation-failed: out of sync'],
    ] as const) {
      far.answer(() => jsonReply(body, { status: 502, type }));
      const { detail } = assertProblem(await act('Local NSO', { params, body: {} }), 502, 'upstream-error');
      assert.equal(detail, `The orchestrator answered 502: ${said}.`);
    }
  });

  test('has at most 64 KiB of its body in the reply', async () => {
    far.answer(() =>
      httpReply({ status: 500, headers: { 'Content-Type': 'text/plain' }, body: 'ü'.repeat(100_000), chunk: 8191 }),
    );
    const problem = assertProblem(await act('Local NSO', { params, body: {} }), 502, 'upstream-error');
    const body = problem.upstream?.body ?? '';
    assert.ok(Buffer.byteLength(body) <= 65_536);
    assert.match(body, /^ü{1000,}$/);
  });
});

describe('a redirect', () => {
  for (const status of [301, 302, 303, 307, 308]) {
    test(`of ${status} is never followed`, async () => {
      canary.answer(() => jsonReply('{}'));
      far.answer(() => httpReply({ status, headers: { Location: `${canary.url}/x` } }));
      assertProblem(await act('Local NSO', { params, body: {} }), 502);
      assert.equal(far.requests.length, 1);
      assert.equal(canary.connections, 0);
    });
  }
});

describe('an action without an answer', () => {
  test('R63: has an unknown outcome where its connection broke, and is sent once', async () => {
    for (const broken of [undefined, 'HTTP/1.1 2', 'HTTP/1.1 200 OK\r\nContent-Le']) {
      far.answer((_, socket) => {
        if (broken === undefined) socket.resetAndDestroy();
        else socket.end(broken);
      });
      const reply = await act('Local NSO', { params, body: { input: {} } });
      assertProblem(reply, 502, 'outcome-unknown');
      assert.equal(far.requests.length, 1);
    }
  });

  test('has an unknown outcome where its time limit passed, and is sent once', async () => {
    far.answer(() => undefined);
    assertProblem(await act('Local NSO', { params, body: {} }, { Prefer: 'wait=1' }), 504, 'outcome-unknown');
    assert.equal(far.requests.length, 1);
  });

  test('has an unknown outcome on a reused connection that the upstream resets, and is sent once', async () => {
    far.answer(() => jsonReply('{}'));
    resultOf(await act('Local NSO', { params, body: {} }));
    let applied = 0;
    far.answer((_, socket) => {
      applied += 1;
      socket.resetAndDestroy();
    });
    assertProblem(await act('Local NSO', { params, body: {} }), 502, 'outcome-unknown');
    assert.equal(applied, 1);
  });

  test('is upstream-connect-failed or upstream-tls-failed where nothing was sent', async () => {
    assertProblem(await act('down', { params, body: {} }), 502, 'upstream-connect-failed');
    far.onConnection((socket) => void socket.write('HTTP/1.1 400 X\r\n\r\n'));
    const reply = await act('not TLS', { params, body: {} });
    far.onConnection(undefined);
    assertProblem(reply, 502, 'upstream-tls-failed');
  });
});
