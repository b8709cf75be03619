import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { assertProblem, pointersOf, responseOf, restCall } from './support/callers/calls.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { basic, startGateway } from './support/gateway/start-gateway.ts';
import { closedPort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// POST /tools/restCall (docs/reference/http-api.md).

const far = await upstream({ after });
const other = await upstream({ after });
const refusing = await closedPort();
const outbound = { allow: [far.authority, other.authority, `127.0.0.1:${refusing}`], responseLimit: '256KiB' };
const gateway = await startGateway({ after }, { config: { outbound } });

const get = (uri: string, more: object = {}): object => ({ uri, verb: 'GET', responseHeaders: false, ...more });
const postTo = (uri: string, more: object = {}): object => ({ uri, verb: 'POST', responseHeaders: false, ...more });

/** Each changes where a parser reads it as a double. */
const numbers = '[9007199254740993,18446744073709551615,1e400,-0,1.10,1E-7,0.1000]';

/** The shape of `response` where `responseHeaders` is true. */
interface WithHeaders {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: unknown;
  readonly bodyEncoding?: string;
}

describe('the uri', () => {
  test('is refused where it is empty, relative, no URI or longer than 8,192 characters', async () => {
    far.answer(() => jsonReply('{}'));
    for (const uri of ['', '/status', '127.0.0.1/x', 'http:///', `${far.url}/a b`, `${far.url}/`.padEnd(8193, 'a')]) {
      const problem = assertProblem(await restCall(gateway, get(uri)), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), ['/uri'], uri.slice(0, 50));
    }
    assert.equal(far.connections, 0);
  });

  test('may have 8,192 characters', async () => {
    far.answer(() => jsonReply('{}'));
    const uri = `${far.url}/`.padEnd(8192, 'a');
    responseOf(await restCall(gateway, get(uri)));
    assert.equal(far.request.target, uri.slice(far.url.length));
  });

  test('keeps an empty query, in a redirect as well', async () => {
    far.answer(({ target }) =>
      target === '/first?' ? httpReply({ status: 307, headers: { Location: '/next?#x' } }) : jsonReply('{}'),
    );
    responseOf(await restCall(gateway, get(`${far.url}/first?#x`)));
    assert.deepEqual(
      far.requests.map(({ target }) => target),
      ['/first?', '/next?'],
    );
  });

  test('is sent as the WHATWG URL parser reads it, without its fragment', async () => {
    far.answer(() => jsonReply('{}'));
    const reply = await restCall(gateway, get(`HTTP://0x7f.1:${far.port}/a/../b%2Fc/ü?x=%20&y="ß#fragment`));
    responseOf(reply);
    assert.equal(far.request.target, '/b%2Fc/%C3%BC?x=%20&y=%22%C3%9F');
    assert.equal(far.request.header('host'), far.authority);
  });

  test('without a path is a call to the root', async () => {
    far.answer(() => jsonReply('{}'));
    responseOf(await restCall(gateway, get(far.url)));
    assert.equal(far.request.target, '/');
  });
});

describe('the verb', () => {
  for (const verb of ['DELETE', 'GET', 'PATCH', 'PUT', 'POST']) {
    test(`${verb} is sent unchanged`, async () => {
      far.answer(() => jsonReply('{}'));
      responseOf(await restCall(gateway, { uri: far.url, verb, responseHeaders: false }));
      assert.equal(far.request.method, verb);
    });
  }
  for (const verb of ['get', 'Post', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT', 'GET ', 'GET\r\n', '', 5, ['GET'], null]) {
    test(`R23: ${JSON.stringify(verb)} is refused`, async () => {
      far.answer(() => jsonReply('{}'));
      const problem = assertProblem(
        await restCall(gateway, { uri: far.url, verb, responseHeaders: false }),
        400,
        'invalid-request',
      );
      assert.deepEqual(pointersOf(problem), ['/verb']);
      assert.equal(far.connections, 0);
    });
  }
});

describe('user and password', () => {
  const authorizationOf = async (more: object): Promise<string | undefined> => {
    far.answer(() => jsonReply('{}'));
    responseOf(await restCall(gateway, get(far.url, more)));
    return far.request.header('authorization');
  };

  test('become HTTP Basic in UTF-8', async () => {
    assert.equal(await authorizationOf({ user: 'jürgen', password: 'pä:ß wörd' }), basic('jürgen', 'pä:ß wörd'));
  });
  test('are the empty string where one of them is missing', async () => {
    assert.equal(await authorizationOf({ user: 'only' }), basic('only', ''));
    assert.equal(await authorizationOf({ password: 'only' }), basic('', 'only'));
  });
  test('send nothing where both are missing', async () => {
    assert.equal(await authorizationOf({}), undefined);
  });
  test('R17: are refused where the user has a colon (RFC 7617)', async () => {
    const problem = assertProblem(await restCall(gateway, get(far.url, { user: 'a:b', password: 'x' })), 400, 'invalid-request');
    assert.deepEqual(pointersOf(problem), ['/user']);
  });
  for (const [member, value] of [
    ['user', 'a\r\nX-Evil: 1'],
    ['password', 'a\u0000b'],
  ] as const) {
    test(`R14: are refused where the ${member} has a control character`, async () => {
      far.answer(() => jsonReply('{}'));
      const problem = assertProblem(await restCall(gateway, get(far.url, { [member]: value })), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), [`/${member}`]);
      assert.equal(far.connections, 0);
    });
  }
  for (const more of [{ user: 'a' }, { password: 'b' }, { user: 'a', password: 'b' }]) {
    for (const name of ['Authorization', 'authorization', 'AUTHORIZATION']) {
      test(`R18: are refused together with a header ${name}: ${JSON.stringify(more)}`, async () => {
        far.answer(() => jsonReply('{}'));
        assertProblem(
          await restCall(gateway, get(far.url, { ...more, headers: { [name]: 'Bearer x' } })),
          400,
          'invalid-request',
        );
        assert.equal(far.connections, 0);
      });
    }
  }
});

describe('the headers', () => {
  test('reach the upstream with their exact values', async () => {
    far.answer(() => jsonReply('{}'));
    const headers = {
      'X-One': 'a\tb  c',
      'x-two': '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
      Cookie: 'a=b',
      "!#$%&'*+-.^_`|~0aZ": 'token',
    };
    responseOf(await restCall(gateway, get(far.url, { headers })));
    for (const [name, value] of Object.entries(headers)) assert.equal(far.request.header(name), value);
  });

  const malformed: Record<string, readonly [string, unknown, string]> = {
    'a value with CR and LF': ['X-A', 'a\r\nX-Evil: 1', '/headers/X-A'],
    'a value with a lone LF': ['X-A', 'a\nb', '/headers/X-A'],
    'a value with NUL': ['X-A', 'a\u0000', '/headers/X-A'],
    'a value beyond ASCII': ['X-A', 'ü', '/headers/X-A'],
    'a value with DEL': ['X-A', '\u007f', '/headers/X-A'],
    'a name with a space': ['X A', 'a', '/headers/X A'],
    'a name with a slash': ['a/b', 'a', '/headers/a~1b'],
    'a name with a tilde and a colon': ['a~b:', 'a', '/headers/a~0b:'],
    'a name with a line break': ['X-A\r\nX-Evil', 'a', '/headers/X-A\r\nX-Evil'],
    'a name beyond ASCII': ['X-Ü', 'a', '/headers/X-Ü'],
  };
  for (const [what, [name, value, pointer]] of Object.entries(malformed)) {
    test(`R14: are refused with a pointer: ${what}`, async () => {
      far.answer(() => jsonReply('{}'));
      const problem = assertProblem(
        await restCall(gateway, get(far.url, { headers: { [name]: value } })),
        400,
        'invalid-request',
      );
      assert.deepEqual(pointersOf(problem), [pointer]);
      assert.equal(far.connections, 0);
    });
  }

  test('are refused where two names differ only in case', async () => {
    far.answer(() => jsonReply('{}'));
    assertProblem(await restCall(gateway, get(far.url, { headers: { 'X-A': '1', 'x-a': '1' } })), 400, 'invalid-request');
    assert.equal(far.connections, 0);
  });

  const assertForbidden = async (...names: readonly string[]): Promise<void> => {
    far.answer(() => jsonReply('{}'));
    for (const name of names) {
      const problem = assertProblem(await restCall(gateway, get(far.url, { headers: { [name]: '1' } })), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), [`/headers/${name}`]);
    }
    assert.equal(far.connections, 0);
  };
  test('R13: must not hold a Host', () => assertForbidden('Host', 'host', 'HOST'));
  test('R15: must not frame a message or control a connection', async () => {
    await assertForbidden('content-length', 'Content-Length', 'transfer-encoding', 'transfer-ENCODING', 'te', 'TE', 'trailer');
    await assertForbidden('Connection', 'keep-alive', 'expect', 'upgrade');
    await assertForbidden('proxy-authorization', 'Proxy-Connection', 'Proxy-Anything');
  });

  test('R16: have a name and values that are strings', async () => {
    far.answer(() => jsonReply('{}'));
    for (const value of [5, null, true, ['a'], {}]) {
      const problem = assertProblem(await restCall(gateway, get(far.url, { headers: { 'X-A': value } })), 400, 'invalid-request');
      assert.deepEqual(pointersOf(problem), ['/headers/X-A'], JSON.stringify(value));
    }
    const nameless = assertProblem(await restCall(gateway, get(far.url, { headers: { '': 'a' } })), 400, 'invalid-request');
    assert.deepEqual(pointersOf(nameless), ['/headers/']);
    assert.equal(far.connections, 0);
  });

  test('R16: may be 100 and not 101', async () => {
    far.answer(() => jsonReply('{}'));
    const many = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, `${index}`]));
    responseOf(await restCall(gateway, get(far.url, { headers: many(100) })));
    assert.equal(far.request.header('x-99'), '99');
    assertProblem(await restCall(gateway, get(far.url, { headers: many(101) })), 400, 'invalid-request');
    assert.equal(far.requests.length, 1);
  });

  test('R16: may be large, but not over 16 KiB in all', async () => {
    far.answer(() => jsonReply('{}'));
    const value = 'v'.repeat(9000);
    responseOf(await restCall(gateway, get(far.url, { headers: { 'x-a': value } })));
    assert.equal(far.request.header('x-a'), value);
    assertProblem(await restCall(gateway, get(far.url, { headers: { 'x-a': value, 'x-b': value } })), 400, 'invalid-request');
    assert.equal(far.requests.length, 1);
  });

  test('of the caller replace those that the gateway adds', async () => {
    far.answer(() => jsonReply('{}'));
    const headers = {
      ACCEPT: 'text/plain',
      'accept-encoding': 'identity',
      'User-Agent': 'mine/1',
      Traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'content-type': 'application/merge-patch+json',
    };
    responseOf(await restCall(gateway, postTo(far.url, { headers, body: {} })));
    for (const [name, value] of Object.entries(headers)) assert.equal(far.request.header(name), value);
  });
});

describe('the body', () => {
  for (const verb of ['DELETE', 'GET', 'PATCH', 'PUT', 'POST']) {
    test(`R20: is sent with ${verb}, byte for byte and with a Content-Length`, async () => {
      far.answer(() => jsonReply('{}'));
      const body = `{ "n" : ${numbers},"f":1.0, "d":1,"d":1, "u":"\\u00fc/\\/ü", "z":{}\t}`;
      responseOf(await restCall(gateway, `{"uri":"${far.url}","verb":"${verb}","body":${body},"responseHeaders":false}`));
      assert.equal(far.request.body.toString(), body);
      assert.equal(far.request.header('content-length'), `${Buffer.byteLength(body)}`);
      assert.equal(far.request.header('transfer-encoding'), undefined);
      assert.equal(far.request.header('content-type'), 'application/json');
    });
  }

  test('is not sent where there is none', async () => {
    for (const verb of ['DELETE', 'GET', 'PATCH', 'PUT', 'POST']) {
      far.answer(() => jsonReply('{}'));
      responseOf(await restCall(gateway, { uri: far.url, verb, responseHeaders: false }));
      assert.equal(far.request.body.length, 0);
      assert.equal(far.request.header('transfer-encoding'), undefined);
      assert.equal(far.request.header('content-length') ?? '0', '0');
      assert.equal(far.request.header('content-type'), undefined);
    }
  });

  test('may be the empty object, and is sent as written', async () => {
    far.answer(() => jsonReply('{}'));
    responseOf(await restCall(gateway, `{"uri":"${far.url}","verb":"PUT","body":{ },"responseHeaders":false}`));
    assert.equal(far.request.body.toString(), '{ }');
  });

  for (const type of ['application/json', 'Application/JSON; charset=utf-8', 'application/vnd.example.v2+json']) {
    test(`is sent byte for byte as ${type}`, async () => {
      far.answer(() => jsonReply('{}'));
      const text = '{"n":1e400 , "x":[ ]}';
      const call = `{"uri":"${far.url}","verb":"POST","responseHeaders":false,"headers":{"Content-Type":"${type}"},"body":${text}}`;
      responseOf(await restCall(gateway, call));
      assert.equal(far.request.body.toString(), text);
      assert.equal(far.request.header('content-type'), type);
    });
  }

  test('is form-encoded where the headers say so and it is flat', async () => {
    far.answer(() => jsonReply('{}'));
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const text = '{"grant_type":"client credentials","a&b":"ü=+","n":18446744073709551615,"yes":true}';
    const call = `{"uri":"${far.url}","verb":"POST","responseHeaders":false,"headers":${JSON.stringify(headers)},"body":${text}}`;
    responseOf(await restCall(gateway, call));
    assert.deepEqual(
      [...new URLSearchParams(far.request.body.toString())],
      [
        ['grant_type', 'client credentials'],
        ['a&b', 'ü=+'],
        ['n', '18446744073709551615'],
        ['yes', 'true'],
      ],
    );
    assert.equal(far.request.header('content-length'), `${far.request.body.length}`);
    assert.match(far.request.header('content-type') ?? '', /^application\/x-www-form-urlencoded/);
  });

  test('is refused as a form where it is nested', async () => {
    far.answer(() => jsonReply('{}'));
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    assertProblem(await restCall(gateway, postTo(far.url, { headers, body: { a: { b: 'c' } } })), 400, 'invalid-request');
    assert.equal(far.connections, 0);
  });

  test('is written as XML where the headers say so', async () => {
    far.answer(() => jsonReply('{}'));
    const call = postTo(far.url, { headers: { 'Content-Type': 'application/xml' }, body: { $xml: '<a b="1">\n <c/> </a>' } });
    responseOf(await restCall(gateway, call));
    assert.equal(far.request.body.toString(), '<a b="1">\n <c/> </a>');
    assert.equal(far.request.header('content-type'), 'application/xml');
  });

  for (const type of ['text/plain', 'application/octet-stream', 'multipart/form-data', 'json', '']) {
    test(`is refused as ${JSON.stringify(type)}`, async () => {
      far.answer(() => jsonReply('{}'));
      assertProblem(
        await restCall(gateway, postTo(far.url, { headers: { 'Content-Type': type }, body: {} })),
        400,
        'invalid-request',
      );
      assert.equal(far.connections, 0);
    });
  }

  for (const body of ['[]', '"text"', 'null', '5', 'true']) {
    test(`must be an object, not ${body}`, async () => {
      const problem = assertProblem(
        await restCall(gateway, `{"uri":"${far.url}","verb":"POST","responseHeaders":false,"body":${body}}`),
        400,
        'invalid-request',
      );
      assert.deepEqual(pointersOf(problem), ['/body']);
    });
  }
});

describe('the request', () => {
  test('needs uri, verb and responseHeaders, and a reply names all that are missing', async () => {
    const problem = assertProblem(await restCall(gateway, {}), 400, 'invalid-request');
    assert.equal(problem.errors?.length, 3);
    for (const name of ['uri', 'verb', 'responseHeaders']) {
      assert.ok(
        problem.errors?.some((error) => `${error.pointer} ${error.detail}`.includes(name)),
        name,
      );
    }
  });

  test('is refused where it has an unknown member, and a reply names it with all other problems', async () => {
    const given = { uri: far.url, verb: 'GET', responseHeaders: 'true', user: 5, evil: 1, headers: [] };
    const problem = assertProblem(await restCall(gateway, given), 400, 'invalid-request');
    assert.deepEqual(pointersOf(problem), ['/evil', '/headers', '/responseHeaders', '/user']);
  });

  test('R22: is refused where a value has a wrong type: none is converted', async () => {
    far.answer(() => jsonReply('{}'));
    for (const [name, values] of [
      ['responseHeaders', ['true', 1, null, ['true']]],
      ['user', [5, ['x'], null, {}]],
      ['uri', [[far.url], 5]],
      ['headers', [[], 'a']],
    ] as const)
      for (const value of values) {
        const reply = await restCall(gateway, get(far.url, { [name]: value }));
        assert.deepEqual(pointersOf(assertProblem(reply, 400, 'invalid-request')), [`/${name}`], JSON.stringify(value));
      }
    assert.equal(far.connections, 0);
  });
});

describe('the response without headers', () => {
  const textOf = async (bytes: Buffer): Promise<string> => {
    far.answer(() => bytes);
    const reply = await restCall(gateway, get(far.url));
    assert.equal(reply.header('x-upstream-body-encoding'), undefined);
    return responseOf(reply);
  };

  test('R30: is the upstream’s body as text, with JSON unchanged', async () => {
    const text = `{ "n": ${numbers}, "a": 1.0, "a": 2 }\n`;
    assert.equal(await textOf(jsonReply(text)), text);
  });
  test('is the empty string where there is no body', async () => {
    assert.equal(await textOf(httpReply({ status: 204 })), '');
    assert.equal(await textOf(httpReply({ headers: { 'Content-Type': 'text/html' } })), '');
    far.answer(() => httpReply({ headers: { 'Content-Type': 'image/png' } }));
    assert.equal(responseOf(await restCall(gateway, get(far.url))), '');
  });
  test('is decoded by the charset of the reply', async () => {
    const headers = (charset: string): Record<string, string> => ({ 'Content-Type': `text/plain; charset=${charset}` });
    assert.equal(await textOf(httpReply({ headers: headers('iso-8859-1'), body: Buffer.from('gr\xfcn', 'latin1') })), 'grün');
    assert.equal(await textOf(httpReply({ headers: headers('"UTF-16LE"'), body: Buffer.from('grün', 'utf16le') })), 'grün');
    assert.equal(await textOf(httpReply({ headers: headers('utf-8'), body: 'grün' })), 'grün');
    assert.equal(await textOf(httpReply({ headers: headers('US-ASCII'), body: 'green' })), 'green');
  });
  test('is base64 where its bytes are no text in the charset, such as US-ASCII with a byte above 127', async () => {
    const bytes = Buffer.from('grün');
    far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain; charset=us-ascii' }, body: bytes }));
    const reply = await restCall(gateway, get(far.url));
    assert.equal(responseOf(reply), bytes.toString('base64'));
    assert.equal(reply.header('x-upstream-body-encoding'), 'base64');
  });
  for (const type of [
    'text/plain',
    'text/html; level=1',
    'TEXT/CSV',
    'application/json',
    'application/xml',
    'application/javascript',
    'application/x-www-form-urlencoded',
    'application/problem+json',
    'application/yang-data+xml',
  ]) {
    test(`is text where the media type is ${type}`, async () => {
      assert.equal(await textOf(httpReply({ headers: { 'Content-Type': type }, body: 'ünicode' })), 'ünicode');
    });
  }
  test('is text where the upstream names its media type twice', async () => {
    const headers = { 'Content-Type': ['application/json; charset=utf-8', 'application/json; charset=utf-8'] };
    assert.equal(await textOf(httpReply({ headers, body: '{"a":"ü"}' })), '{"a":"ü"}');
  });
  test('is text where there is no media type and it is UTF-8', async () => {
    assert.equal(await textOf(httpReply({ body: 'ünicode' })), 'ünicode');
  });

  const binary: Record<string, Buffer> = {
    'the media type is not textual': httpReply({ headers: { 'Content-Type': 'application/octet-stream' }, body: 'plain' }),
    'the media type is an image': httpReply({ headers: { 'Content-Type': 'image/png' }, body: 'plain' }),
    'it says text and is no UTF-8': httpReply({
      headers: { 'Content-Type': 'text/plain' },
      body: Buffer.from([0x61, 0xff, 0xfe]),
    }),
    'it says JSON and is no UTF-8': httpReply({
      headers: { 'Content-Type': 'application/json' },
      body: Buffer.from([0x22, 0xc3, 0x22]),
    }),
    'there is no media type and it is no UTF-8': httpReply({ body: Buffer.from([0xff]) }),
  };
  for (const [what, bytes] of Object.entries(binary)) {
    test(`is base64 where ${what}, and a header says so`, async () => {
      far.answer(() => bytes);
      const reply = await restCall(gateway, get(far.url));
      assert.equal(reply.header('x-upstream-body-encoding'), 'base64');
      assert.deepEqual(Buffer.from(responseOf(reply), 'base64'), bytes.subarray(bytes.indexOf('\r\n\r\n') + 4));
    });
  }

  for (const [coding, compress] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    test(`is decoded from ${coding}`, async () => {
      const text = `{"text":"${'grün '.repeat(1000)}"}`;
      assert.equal(await textOf(jsonReply('', { headers: { 'Content-Encoding': coding }, body: '' })), '');
      const body = compress(Buffer.from(text));
      const bytes = httpReply({ headers: { 'Content-Type': 'application/json', 'Content-Encoding': coding }, body });
      assert.equal(await textOf(bytes), text);
    });
    test(`R57: counts the decoded bytes of ${coding} against the limit`, async () => {
      const body = compress(Buffer.alloc(8_000_000, 'a'));
      const bytes = httpReply({ headers: { 'Content-Type': 'text/plain', 'Content-Encoding': coding }, body });
      far.answer(() => bytes);
      const reply = await restCall(gateway, get(far.url)).catch(() => undefined);
      if (reply?.complete === true) assertProblem(reply, 502, 'response-too-large');
    });
  }
});

describe('the response with headers', () => {
  const withHeaders = async (bytes: Buffer): Promise<WithHeaders & { readonly text: string }> => {
    far.answer(() => bytes);
    const text = responseOf(await restCall(gateway, get(far.url, { responseHeaders: true })));
    return { ...(JSON.parse(text) as WithHeaders), text };
  };

  test('R30: is the JSON text of status, headers and the JSON value itself, losslessly', async () => {
    const body = `{"n":${numbers}, "f":1.0,"d":1,"d":2,"u":"\\u00fc"}`;
    const answer = await withHeaders(jsonReply(body, { status: 201, headers: { 'X-Mixed-Case': 'a  b' } }));
    assert.deepEqual(Object.keys(answer).sort(), ['body', 'headers', 'statusCode', 'text']);
    assert.equal(answer.statusCode, 201);
    assert.equal(answer.headers['x-mixed-case'], 'a  b');
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.ok(answer.text.includes(body), answer.text);
  });

  test('joins repeated headers and keeps Set-Cookie as a list', async () => {
    const answer = await withHeaders(
      httpReply({ headers: { 'X-A': ['1', '2, 3'], 'Set-Cookie': ['a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT', 'b=2'] } }),
    );
    assert.equal(answer.headers['x-a'], '1, 2, 3');
    assert.deepEqual(answer.headers['set-cookie'], ['a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT', 'b=2']);
    const single = await withHeaders(httpReply({ headers: { 'Set-Cookie': 'only=1' } }));
    assert.deepEqual(single.headers['set-cookie'], ['only=1']);
  });

  test('has a string as body where the media type is not JSON or the text does not parse', async () => {
    assert.equal((await withHeaders(httpReply({ headers: { 'Content-Type': 'text/plain' }, body: '{"a":1}' }))).body, '{"a":1}');
    assert.equal((await withHeaders(jsonReply('{"a":1,}'))).body, '{"a":1,}');
    assert.equal((await withHeaders(jsonReply(''))).body, '');
    assert.equal((await withHeaders(httpReply({ status: 204 }))).body, '');
  });

  for (const type of ['application/yang-data+json', 'application/json;charset=utf-8', 'APPLICATION/PROBLEM+JSON']) {
    test(`reads ${type} as JSON`, async () => {
      assert.deepEqual((await withHeaders(jsonReply(' [1, "a", null] ', { type }))).body, [1, 'a', null]);
    });
  }

  test('has the body in base64, with `bodyEncoding`, where the body is no text', async () => {
    const answer = await withHeaders(httpReply({ headers: { 'Content-Type': 'image/png' }, body: Buffer.from([0, 255, 10]) }));
    assert.equal(answer.bodyEncoding, 'base64');
    assert.deepEqual(Buffer.from(String(answer.body), 'base64'), Buffer.from([0, 255, 10]));
  });

  test('R58: keeps header names that are special in JavaScript objects, and values beyond ASCII', async () => {
    const answer = await withHeaders(httpReply({ headers: { constructor: 'c', 'X-B': 'b' } }));
    assert.equal(answer.headers['constructor'], 'c');
    const own = await withHeaders(
      Buffer.from('HTTP/1.1 200 OK\r\n__proto__: p\r\nX-Latin: gr\xfcn\r\nContent-Length: 0\r\n\r\n', 'latin1'),
    );
    assert.match(own.text, /"__proto__":\s*"p"/);
    assert.equal(own.headers['x-latin'], 'grün');
  });
});

describe('the status of the upstream', () => {
  for (const status of [200, 201, 204, 299, 304, 400, 401, 403, 404, 407, 409, 418, 429, 500, 502, 503, 504]) {
    test(`${status} is an answer`, async () => {
      const body = status === 204 || status === 304 ? '' : `{"status":${status}}`;
      far.answer(() => jsonReply(body, { status }));
      const reply = await restCall(gateway, get(far.url));
      assert.equal(responseOf(reply), body);
      assert.equal(reply.header('x-upstream-status'), `${status}`);
      assert.equal(reply.header('www-authenticate'), undefined);
      assert.equal(far.requests.length, 1);
    });
  }

  test('R66: 503 to a POST is an answer, and the POST is not sent again', async () => {
    far.answer(() => httpReply({ status: 503 }));
    assert.equal((await restCall(gateway, postTo(far.url))).header('x-upstream-status'), '503');
    assert.equal(far.requests.length, 1);
  });

  test('comes with the media type, ETag and Location of the upstream', async () => {
    far.answer(() =>
      jsonReply('{}', { status: 201, type: 'application/problem+json', headers: { ETag: 'W/"1"', Location: '/things/1' } }),
    );
    const reply = await restCall(gateway, postTo(far.url, { body: {} }));
    assert.equal(responseOf(reply), '{}');
    assert.equal(reply.header('x-upstream-status'), '201');
    assert.equal(reply.header('x-upstream-content-type'), 'application/problem+json');
    assert.equal(reply.header('x-upstream-etag'), 'W/"1"');
    assert.equal(reply.header('x-upstream-location'), '/things/1');
    assert.equal(reply.header('x-upstream-uri'), undefined);
  });

  test('R61: adds no header of the upstream to the gateway’s reply', async () => {
    far.answer(() =>
      jsonReply('{}', {
        headers: { 'Set-Cookie': 'a=b', Server: 'evil/1', Location: '/evil', ETag: '"x"', 'Cache-Control': 'public' },
      }),
    );
    const reply = await restCall(gateway, get(far.url));
    responseOf(reply);
    for (const name of ['set-cookie', 'location', 'etag']) assert.equal(reply.header(name), undefined, name);
    assert.ok(!reply.head.includes('evil/1'));
    assert.notEqual(reply.header('cache-control'), 'public');
  });
});

describe('redirects', () => {
  const chain = (count: number, status = 302): void => {
    far.answer((request) => {
      const step = Number(request.target.slice(1));
      if (step >= count) return jsonReply('{"end":true}');
      return httpReply({ status, headers: { Location: `/${step + 1}` } });
    });
  };

  test('are followed up to five times, and the reply names the last URI', async () => {
    chain(5);
    const reply = await restCall(gateway, get(`${far.url}/0`));
    assert.equal(responseOf(reply), '{"end":true}');
    assert.equal(reply.header('x-upstream-uri'), `${far.url}/5`);
    assert.equal(reply.header('x-upstream-status'), '200');
  });

  test('are an error beyond five', async () => {
    chain(6);
    assertProblem(await restCall(gateway, get(`${far.url}/0`)), 502, 'too-many-redirects');
    assert.equal(far.requests.length, 6);
  });

  for (const [status, verb, then, keepsBody] of [
    [301, 'POST', 'GET', false],
    [302, 'POST', 'GET', false],
    [303, 'POST', 'GET', false],
    [307, 'POST', 'POST', true],
    [308, 'POST', 'POST', true],
    [301, 'PUT', 'PUT', true],
    [302, 'DELETE', 'DELETE', true],
    [303, 'PUT', 'GET', false],
    [303, 'GET', 'GET', true],
    [307, 'PATCH', 'PATCH', true],
  ] as const) {
    test(`${status} turns ${verb} into ${then} (Fetch standard)`, async () => {
      chain(1, status);
      const body = '{"n":1.0}';
      const call = `{"uri":"${far.url}/0","verb":"${verb}","responseHeaders":false,"body":${body}}`;
      responseOf(await restCall(gateway, call));
      const [first, second] = far.requests;
      assert.equal(first?.body.toString(), body);
      assert.equal(second?.method, then);
      assert.equal(second.body.toString(), keepsBody ? body : '');
      assert.equal(second.header('content-type'), keepsBody ? 'application/json' : undefined);
    });
  }

  test('of an answered POST to a failing destination are an error that says that the POST was answered', async () => {
    for (const [location, status] of [
      [`http://127.0.0.1:${refusing}/`, 502],
      ['http://10.0.0.1/', 403],
      ['ftp://x/', 403],
    ] as const) {
      far.answer(() => httpReply({ status: 303, headers: { Location: location } }));
      const failed = assertProblem(
        await restCall(gateway, { uri: far.url, verb: 'POST', responseHeaders: false, body: {} }),
        status,
      );
      assert.match(
        failed.detail,
        /^The POST was answered with status 303; .* Look at the upstream before you send it again\. Cause: /u,
      );
      const gone = assertProblem(await restCall(gateway, get(far.url)), status);
      assert.doesNotMatch(gone.detail, /was answered/u);
    }
  });

  test('keep credentials on the same origin', async () => {
    chain(1);
    responseOf(
      await restCall(gateway, get(`${far.url}/0`, { headers: { Authorization: 'Bearer t', Cookie: 'a=b', 'X-Own': '1' } })),
    );
    assert.equal(far.requests[1]?.header('authorization'), 'Bearer t');
    assert.equal(far.requests[1]?.header('cookie'), 'a=b');
    assert.equal(far.requests[1]?.header('x-own'), '1');
    chain(1);
    responseOf(await restCall(gateway, get(`${far.url}/0`, { user: 'u', password: 'p' })));
    assert.equal(far.requests[1]?.header('authorization'), basic('u', 'p'));
  });

  for (const credentials of [{ headers: { Authorization: 'Bearer t', Cookie: 'a=b' } }, { user: 'u', password: 'p' }]) {
    test(`drop ${Object.keys(credentials).join(' and ')} on a change of origin, and on the way back as well`, async () => {
      other.answer(() => httpReply({ status: 307, headers: { Location: `${far.url}/back` } }));
      far.answer((request) =>
        request.target === '/back' ? jsonReply('{}') : httpReply({ status: 307, headers: { Location: `${other.url}/x` } }),
      );
      const reply = await restCall(gateway, get(`${far.url}/0`, credentials));
      responseOf(reply);
      assert.equal(reply.header('x-upstream-uri'), `${far.url}/back`);
      for (const request of [other.request, far.requests[1]]) {
        assert.ok(request !== undefined);
        assert.equal(request.header('authorization'), undefined);
        assert.equal(request.header('cookie'), undefined);
      }
    });
  }

  test('are not followed where the reply has two Locations', async () => {
    far.answer(({ target }) =>
      target === '/0' ? httpReply({ status: 302, headers: { Location: ['/1', '/1'] } }) : jsonReply('{}'),
    );
    assertProblem(await restCall(gateway, get(`${far.url}/0`)), 502, 'upstream-protocol-error');
  });
  test('are not followed without a Location: the status is the answer', async () => {
    far.answer(() => httpReply({ status: 302, body: 'x' }));
    const reply = await restCall(gateway, get(far.url));
    assert.equal(reply.header('x-upstream-status'), '302');
    assert.equal(responseOf(reply), 'x');
  });
});

describe('a call without a complete answer', () => {
  test('R50: a refused connection is 502, for any verb', async () => {
    for (const verb of ['GET', 'POST', 'DELETE']) {
      const call = { uri: `http://127.0.0.1:${refusing}/`, verb, responseHeaders: false };
      assertProblem(await restCall(gateway, call), 502, 'upstream-connect-failed');
    }
  });

  test('a GET that is reset is 502, and is not tried again', async () => {
    far.answer((_, socket) => void socket.resetAndDestroy());
    assertProblem(await restCall(gateway, get(far.url)), 502, 'upstream-closed');
    assert.equal(far.requests.length, 1);
  });

  test('a reply that ends before its length is 502 upstream-closed, with Connection: close and without', async () => {
    for (const close of ['', 'Connection: close\r\n']) {
      far.answer((_, socket) => void socket.end(`HTTP/1.1 200 OK\r\n${close}Content-Length: 10\r\n\r\nabc`));
      assertProblem(await restCall(gateway, get(far.url)), 502, 'upstream-closed');
    }
  });

  for (const verb of ['DELETE', 'PATCH', 'PUT', 'POST']) {
    test(`R63: a ${verb} that was sent and not answered has an unknown outcome, and is not tried again`, async () => {
      far.answer((_, socket) => void socket.resetAndDestroy());
      assertProblem(await restCall(gateway, { uri: far.url, verb, responseHeaders: false, body: {} }), 502, 'outcome-unknown');
      assert.equal(far.requests.length, 1);
    });
  }

  test('a GET that is not answered in time is 504 and names the phase; Prefer: wait sets the time', async () => {
    far.answer(() => undefined);
    const problem = assertProblem(
      await restCall(gateway, get(far.url), { headers: { Prefer: 'wait=1' } }),
      504,
      'upstream-timeout',
    );
    assert.match(problem.detail, /total|first byte|firstByte/i);
    assert.equal(far.requests.length, 1);
  });

  test('a POST that is not answered in time has an unknown outcome', async () => {
    far.answer(() => undefined);
    const reply = await restCall(gateway, postTo(far.url), { headers: { Prefer: 'wait=1' } });
    assertProblem(reply, 504, 'outcome-unknown');
    assert.equal(far.requests.length, 1);
  });

  test('R56: an answer over a limit below 64 KiB is always a whole 502', async (t) => {
    t.after(async () => void (await reloadWith(gateway, { config: { outbound } })));
    await reloadWith(gateway, { config: { outbound: { ...outbound, responseLimit: '16KiB' } } });
    far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain' }, body: 'x'.repeat(16_385), chunk: 1000 }));
    assertProblem(await restCall(gateway, get(far.url)), 502, 'response-too-large');
    assertProblem(await restCall(gateway, { ...get(far.url), verb: 'POST', body: {} }), 502, 'response-too-large');
    far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain' }, body: 'x'.repeat(16_384), chunk: 1000 }));
    assert.equal(responseOf(await restCall(gateway, get(far.url))).length, 16_384);
  });
});

describe('many calls at once', () => {
  test('get their own answers', async () => {
    far.answer((request) =>
      jsonReply(`{"target":"${request.target}","body":${request.body.toString()},"pad":"${'x'.repeat(request.body.length)}"}`),
    );
    const calls = Array.from({ length: 150 }, async (_, at) => {
      const pad = 'y'.repeat(at % 10 === 0 ? 90_000 : at);
      const body = { id: at, pad };
      const answer = JSON.parse(responseOf(await restCall(gateway, postTo(`${far.url}/${at}`, { body })))) as object;
      assert.deepEqual(answer, { target: `/${at}`, body, pad: 'x'.repeat(JSON.stringify(body).length) });
    });
    await Promise.all(calls);
  });
});
