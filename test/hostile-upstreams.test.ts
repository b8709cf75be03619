// suite: waiting

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { deflateSync, gzipSync } from 'node:zlib';
import { assertProblem, instancesOf, type Problem, relay, responseOf, restCall, resultOf } from './support/callers/calls.ts';
import type { Reply } from './support/callers/http-client.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { lapse } from './support/lapse.ts';
import { until } from './support/until.ts';
import { type FarHandler, type FarRequest, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// Hostile upstreams. The gateway reads a reply up to 64 KiB whole; a fault in it is 502 or 504. A fault in a longer reply, of
// which a part was sent, breaks the caller's connection off. No caller gets a complete JSON text of an incomplete reply.

const far = await upstream({ after });
const timeouts = { dns: '2s', connect: '2s', firstByte: '2s', idle: '1s', total: '4s' };
const responseLimit = '1MiB';
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority], timeouts, responseLimit } },
    adapters: [
      { name: 'nso', kind: 'nso', url: far.url, auth: { type: 'none' }, timeouts, responseLimit },
      { name: 'narrow', kind: 'rest', url: far.url, auth: { type: 'none' }, concurrency: 1, queue: 1 },
      { name: 'other', kind: 'rest', url: far.url, auth: { type: 'none' } },
    ],
  },
);

const accept = 'application/yang-data+json';

/** Every way to reach the path `a` of the upstream. `once`: the request may be sent one time only. `changes`: it changes something. */
const routes = {
  'a GET of restCall': {
    once: true,
    changes: false,
    call: (a) => restCall(gateway, { uri: `${far.url}/${a}`, verb: 'GET', responseHeaders: false }),
  },
  'a POST of restCall, with headers': {
    once: true,
    changes: true,
    call: (a) => restCall(gateway, { uri: `${far.url}/${a}`, verb: 'POST', responseHeaders: true, body: {} }),
  },
  'an action': {
    once: true,
    changes: true,
    call: (a) => relay(gateway, 'restAction', 'nso', { params: { path: a, accept }, body: {} }),
  },
  'a query': {
    once: false,
    changes: false,
    call: (a) => relay(gateway, 'restQuery', 'nso', { params: { path: a, accept } }),
  },
  'a PUT of restRequest': {
    once: true,
    changes: true,
    call: (a) => relay(gateway, 'restRequest', 'nso', { params: { path: a, accept, method: 'PUT' }, body: { a: 1 } }),
  },
} as const satisfies Record<
  string,
  { readonly once: boolean; readonly changes: boolean; readonly call: (a: string) => Promise<Reply> }
>;

type RouteName = keyof typeof routes;
const routeNames = Object.keys(routes) as RouteName[];

/** A path of the upstream with a handler of its own, so that tests may run at the same time. */
interface Script {
  readonly path: string;
  readonly requests: readonly FarRequest[];
}

const scripts = new Map<string, { readonly handler: FarHandler; readonly requests: FarRequest[] }>();
far.answer((request, socket) => {
  const script = scripts.get(request.target);
  if (script === undefined) throw new Error(`no test has a script for ${request.target}`);
  script.requests.push(request);
  return script.handler(request, socket);
});

function script(handler: FarHandler): Script {
  const path = `script-${scripts.size}`;
  const requests: FarRequest[] = [];
  scripts.set(`/${path}`, { handler, requests });
  return { path, requests };
}

/** Answers these bytes and then ends, or resets, or leaves the connection open. */
function bytesThen(bytes: string | Buffer, then: 'end' | 'reset' | 'stay' = 'stay'): FarHandler {
  return (_, socket) => {
    socket.write(bytes, () => {
      if (then === 'end') socket.end();
      else if (then === 'reset') setTimeout(() => socket.resetAndDestroy(), 20);
    });
  };
}

/** The caller's reply, undefined where the gateway closed the connection. Fails where a `once` route sent two requests. */
async function attempt(name: RouteName, handler: FarHandler): Promise<Reply | undefined> {
  const { path, requests } = script(handler);
  const reply = await routes[name].call(path).catch(() => undefined);
  const most = routes[name].once ? 1 : 3;
  assert.ok(requests.length >= 1 && requests.length <= most, `${requests.length} requests`);
  return reply;
}

/** Holds a reply to be a complete problem+json with one of the statuses. */
function assertClean(reply: Reply | undefined, statuses: readonly number[]): Problem {
  assert.ok(reply !== undefined, 'the gateway closed the connection instead of answering');
  assert.ok(statuses.includes(reply.status), `${reply.status} ${reply.text.slice(0, 500)}`);
  return assertProblem(reply, reply.status);
}

/** The upstream answers without a complete head or body: a complete error, which calls the outcome of a change unknown. */
async function assertFails(name: RouteName, handler: FarHandler, status: number): Promise<void> {
  const { code } = assertClean(await attempt(name, handler), [status]);
  assert.equal(code === 'outcome-unknown', routes[name].changes, code);
}

/** Holds a reply to be a complete error, or one that broke off without a complete JSON text. */
function assertNeverWhole(reply: Reply | undefined, statuses: readonly number[]): void {
  if (reply === undefined) return;
  if (reply.complete) {
    assertClean(reply, statuses);
    return;
  }
  assert.throws(() => JSON.parse(reply.text), 'the caller holds a complete JSON text');
}

const okHead = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

describe('a reply below 64 KiB that is cut off', () => {
  const faults: Record<string, readonly [string, 'end' | 'reset']> = {
    'ends inside its Content-Length': [`${okHead}Content-Length: 100\r\n\r\n{"a":1}`, 'end'],
    'is reset inside its Content-Length': [`${okHead}Content-Length: 100\r\n\r\n{"a":1}`, 'reset'],
    'ends without its last chunk': [`${okHead}Transfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n`, 'end'],
    'ends inside a chunk': [`${okHead}Transfer-Encoding: chunked\r\n\r\nff\r\n{"a":1}`, 'end'],
    'is reset without its last chunk': [`${okHead}Transfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n`, 'reset'],
    'is reset where its end would be the end of the connection': [`${okHead}\r\n{"a":1}`, 'reset'],
    'ends inside its head': [okHead, 'end'],
  };
  for (const [what, [bytes, then]] of Object.entries(faults)) {
    for (const name of routeNames) {
      test(`R54: is 502 for ${name} where it ${what}`, () => assertFails(name, bytesThen(bytes, then), 502));
    }
  }

  test('is whole where the end of the connection ends the body', async () => {
    const { path } = script(bytesThen(`${okHead}Connection: close\r\n\r\n{"a":1}`, 'end'));
    assert.equal(responseOf(await routes['a GET of restCall'].call(path)), '{"a":1}');
  });
});

describe('a reply beyond 64 KiB that goes wrong', { concurrency: 4 }, () => {
  const items = `[${'{"name":"ce0","port":22},'.repeat(12_000)}`;
  const long = Buffer.from(items);
  const textHead = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';
  const chunk = (bytes: Buffer): Buffer =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  const complete = Buffer.from(`${items}{}]`);
  const noText = Buffer.concat([long, Buffer.from([0xff, 0xfe])]);
  const faults: Record<string, readonly [Buffer, 'end' | 'reset' | 'stay']> = {
    'ends inside its Content-Length': [Buffer.concat([Buffer.from(`${okHead}Content-Length: 900000\r\n\r\n`), long]), 'end'],
    'is reset inside its Content-Length': [
      Buffer.concat([Buffer.from(`${okHead}Content-Length: 900000\r\n\r\n`), long]),
      'reset',
    ],
    'is reset where its end would be the end of the connection': [
      Buffer.concat([Buffer.from(`${okHead}\r\n`), complete]),
      'reset',
    ],
    'stalls inside its Content-Length': [Buffer.concat([Buffer.from(`${okHead}Content-Length: 900000\r\n\r\n`), long]), 'stay'],
    'ends after complete JSON, but not its last chunk': [
      Buffer.concat([Buffer.from(`${okHead}Transfer-Encoding: chunked\r\n\r\n`), chunk(complete)]),
      'end',
    ],
    'goes on with an invalid chunk': [
      Buffer.concat([Buffer.from(`${okHead}Transfer-Encoding: chunked\r\n\r\n`), chunk(complete), Buffer.from('xyz\r\n')]),
      'stay',
    ],
    'is over the limit': [
      httpReply({ headers: { 'Content-Type': 'text/plain' }, body: 'x'.repeat(1_100_000), chunk: 16_384 }),
      'stay',
    ],
    'announces more than the limit': [Buffer.concat([Buffer.from(`${okHead}Content-Length: 9000000\r\n\r\n`), long]), 'stay'],
    'says text and holds bytes that are no UTF-8': [
      Buffer.concat([Buffer.from(`${textHead}Content-Length: ${noText.length}\r\n\r\n`), noText]),
      'stay',
    ],
    'is a gzip stream that ends early': [
      httpReply({
        headers: { 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip' },
        body: gzipSync(Buffer.from(Array.from({ length: 20_000 }, (_, index) => `${index * 7919}`).join())).subarray(0, 40_000),
      }),
      'stay',
    ],
  };
  for (const [what, [bytes, then]] of Object.entries(faults)) {
    for (const name of routeNames) {
      test(`is never whole for ${name} where it ${what}`, async () => {
        assertNeverWhole(await attempt(name, bytesThen(bytes, then)), [502, 504]);
      });
    }
  }

  for (const name of ['a query', 'a POST of restCall, with headers'] as const) {
    test(`is never whole for ${name} where its JSON is broken`, async () => {
      for (const tail of ['{}}', '{}', '{},]', '{}] x', '{"a":01}]']) {
        assertNeverWhole(await attempt(name, () => jsonReply(`${items}${tail}`)), [502]);
      }
    });
  }

  test('is whole where it has no fault', async () => {
    const { path } = script(() => jsonReply(complete.toString(), { chunk: 5000 }));
    assert.ok(responseOf(await routes['a GET of restCall'].call(path)) === complete.toString());
    assert.ok(resultOf(await routes['an action'].call(path)) === complete.toString());
    assert.equal(instancesOf(await routes['a query'].call(path)).length, 12_001);
  });
});

describe('a reply whose connection ends right after it, without Connection: close', () => {
  for (const size of [70_000, 140_000, 400_000]) {
    const text = `{"a":"${randomBytes(size / 2).toString('hex')}"}`;
    const framings: Record<string, Buffer> = {
      'in plain': httpReply({ headers: { 'Content-Type': 'application/json' }, body: text }),
      'in gzip': httpReply({ headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, body: gzipSync(text) }),
      'in deflate and chunks': httpReply({
        headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'deflate' },
        body: deflateSync(text),
        chunk: 30_000,
      }),
    };
    for (const [how, bytes] of Object.entries(framings)) {
      test(`is whole with ${size} characters ${how}`, async () => {
        for (const name of routeNames) {
          const reply = await attempt(name, bytesThen(bytes, 'end'));
          assert.ok(reply?.status === 200 && reply.complete, `${name}: ${reply?.status} ${reply?.text.slice(0, 300)}`);
          assert.ok(reply.text.includes(text.slice(6, -2)), name);
        }
      });
    }
  }
});

describe('small JSON that is broken', () => {
  for (const text of ['{"a":1', '{"a":1}}', '{"a":01}', '[{"a":"1"},', '{"a":1} x', '\u00a0{}', '{"a":"\n"}']) {
    test(`${JSON.stringify(text)} never becomes instances`, async () => {
      const reply = await attempt('a query', () => jsonReply(text));
      if (reply?.status === 200) assert.deepEqual(instancesOf(reply), [{ content: text }]);
      else assertClean(reply, [502]);
    });
  }
});

describe('a reply that is not HTTP', () => {
  const malformed: Record<string, string | Buffer> = {
    'two different Content-Lengths': `${okHead}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`,
    'Content-Length and Transfer-Encoding': `${okHead}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'a negative Content-Length': `${okHead}Content-Length: -2\r\n\r\n{}`,
    'a signed Content-Length': `${okHead}Content-Length: +2\r\n\r\n{}`,
    'an invalid chunk size': `${okHead}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`,
    'a chunk longer than it says': `${okHead}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`,
    'a transfer coding before chunked': `${okHead}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'chunked twice': `${okHead}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'an unknown transfer coding': `${okHead}Transfer-Encoding: xchunked\r\n\r\n{}`,
    'bare line feeds': 'HTTP/1.1 200 OK\nContent-Length: 2\n\n{}',
    'a NUL in a header': `${okHead}X-A: a\u0000b\r\nContent-Length: 2\r\n\r\n{}`,
    'a folded header': `${okHead}X-A: a\r\n b\r\nContent-Length: 2\r\n\r\n{}`,
    'a space before a colon': `${okHead}X-A : a\r\nContent-Length: 2\r\n\r\n{}`,
    'no status': 'HTTP/1.1 OK\r\nContent-Length: 2\r\n\r\n{}',
    'the status 099': 'HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\n{}',
    'HTTP/0.9': '<html></html>',
    'another version': 'HTTP/3.0 200 OK\r\nContent-Length: 2\r\n\r\n{}',
    'a TLS alert': Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]),
    'random bytes': Buffer.from([0, 255, 254, 13, 10, 13, 10, 1, 2, 3]),
    '101 Switching Protocols': 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: evil\r\n\r\n',
  };
  for (const [what, bytes] of Object.entries(malformed)) {
    for (const name of ['a GET of restCall', 'an action', 'a query'] as const) {
      test(`R55: is 502 for ${name}: ${what}`, () => assertFails(name, bytesThen(bytes, 'end'), 502));
    }
  }

  for (const name of routeNames) {
    test(`R58: is 502 for ${name} with 20 kB of one header, or 3,000 headers`, async () => {
      const many = Array.from({ length: 3000 }, (_, index) => `X-${index}: value of some length\r\n`).join('');
      for (const headers of [`X-A: ${'a'.repeat(20_000)}\r\n`, many])
        await assertFails(name, bytesThen(`${okHead}${headers}Content-Length: 2\r\n\r\n{}`, 'end'), 502);
    });
  }

  for (const what of ['two different Content-Lengths', 'Content-Length and Transfer-Encoding', '101 Switching Protocols']) {
    test(`is upstream-protocol-error, although the connection stays open: ${what}`, async () => {
      const reply = await attempt('a GET of restCall', bytesThen(malformed[what] ?? '', 'stay'));
      assert.equal(assertClean(reply, [502]).code, 'upstream-protocol-error');
    });
  }

  test('is upstream-protocol-error, and not upstream-closed', async () => {
    for (const what of ['no status', 'an invalid chunk size', 'HTTP/0.9', 'a folded header']) {
      const problem = assertClean(await attempt('a GET of restCall', bytesThen(malformed[what] ?? '')), [502]);
      assert.equal(problem.code, 'upstream-protocol-error', what);
    }
  });
});

describe('interim replies', { concurrency: 8 }, () => {
  test('are skipped where they are few (RFC 9110 15.2)', async () => {
    const interim = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
    const { path } = script(() => Buffer.concat([Buffer.from(interim), jsonReply('{"a":1}')]));
    assert.equal(responseOf(await routes['a GET of restCall'].call(path)), '{"a":1}');
    assert.equal(resultOf(await routes['an action'].call(path)), '{"a":1}');
  });

  test('of status 100 without an Expect are skipped, in every division into segments (RFC 9110 15.2)', async () => {
    const [asked, hints] = ['HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'];
    const orders = [asked + asked, hints + asked, asked + hints + hints + asked + hints].map((interim) =>
      Buffer.concat([Buffer.from(interim), jsonReply('{"a":1}')]),
    );
    for (const [bytes, size] of orders.flatMap((each) => [1, 7, 25, each.length].map((size) => [each, size] as const))) {
      const { path } = script(async (_request, socket) => {
        for (let at = 0; at < bytes.length; at += size) {
          socket.write(bytes.subarray(at, at + size));
          await new Promise((resolve) => setImmediate(resolve));
        }
      });
      assert.equal(responseOf(await routes['a GET of restCall'].call(path)), '{"a":1}');
      assert.equal(resultOf(await routes['an action'].call(path)), '{"a":1}');
    }
  });

  test('that only begin like status 100 are an error, and the bytes after them are no reply', async () => {
    const reply = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
    for (const begin of [
      'HTTP/1.1 1000 X\r\nContent-Length: 2\r\n\r\n',
      'HTTP/1.1 100foo: bar\0\r\n\r\n',
      'HTTP/1.1 100 Continue\n\n',
    ]) {
      const { path } = script(() => begin + reply);
      assertProblem(await routes['a GET of restCall'].call(path), 502, 'upstream-protocol-error');
      assertProblem(await routes['an action'].call(path), 502);
    }
  });

  test('R60: of status 100 without end, and a hundred of another, are an error', async () => {
    for (const interim of ['100 Continue\r\n\r\n'.repeat(5_000), '103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(100)])
      for (const name of ['a GET of restCall', 'an action', 'a query'] as const)
        await assertFails(name, bytesThen(interim.replaceAll(/^1/gmu, 'HTTP/1.1 1')), 502);
  });

  for (const name of routeNames) {
    test(`R60: without end are an error for ${name}`, async () => {
      const flood = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(500));
      const flooding: FarHandler = (_, socket) => {
        const more = (): void => {
          if (!socket.destroyed) socket.write(flood, () => setTimeout(more, 5));
        };
        more();
      };
      assertClean(await attempt(name, flooding), [502, 504]);
    });
  }
});

describe('an upstream that is slow', { concurrency: 8 }, () => {
  const drip = (socket: Socket, text: string): void => {
    let at = 0;
    const timer = setInterval(() => {
      if (socket.destroyed || at >= text.length) clearInterval(timer);
      else socket.write(text.charAt(at));
      at += 1;
    }, 50);
    socket.on('close', () => clearInterval(timer));
  };

  for (const name of routeNames) {
    test(`R51: and never answers is 504 for ${name}`, () => assertFails(name, () => undefined, 504));
    test(`R53: and stalls in its body is 504 for ${name}`, () =>
      assertFails(name, bytesThen(`${okHead}Content-Length: 100\r\n\r\n{"a":1`), 504));
    test(`R52: and drips its body meets the total time limit in ${name}`, () => {
      const dripping: FarHandler = (_, socket) => {
        socket.write(`${okHead}Content-Length: 5000\r\n\r\n`);
        drip(socket, 'x'.repeat(5000));
      };
      return assertFails(name, dripping, 504);
    });
    test(`R52: and drips its head meets a time limit in ${name}`, () =>
      assertFails(name, (_, socket) => drip(socket, `${okHead}X-Long: ${'x'.repeat(5000)}`), 504));
  }

  test('but sends a byte every 50 ms meets no time limit', async () => {
    const text = `"${'x'.repeat(20)}"`;
    const { path } = script((_, socket) => {
      socket.write(`${okHead}Content-Length: ${text.length}\r\n\r\n`);
      drip(socket, text);
    });
    assert.equal(responseOf(await routes['a GET of restCall'].call(path)), text);
  });
});

describe('R59: bytes that follow a reply', () => {
  const forged = jsonReply('{"forged":true}');

  for (const [what, delay] of [
    ['at once', undefined],
    ['a moment later', 60],
  ] as const) {
    test(`${what} never reach the next caller`, async () => {
      const { path, requests } = script((_, socket) => {
        const own = jsonReply(`{"own":${requests.length}}`);
        if (delay === undefined) {
          socket.write(Buffer.concat([own, forged, forged]));
          return;
        }
        socket.write(own);
        setTimeout(() => {
          if (!socket.destroyed) socket.write(forged);
        }, delay);
      });
      for (let at = 1; at <= 8; at += 1) {
        const reply = await routes[at % 2 === 0 ? 'an action' : 'a GET of restCall'].call(path);
        if (reply.status === 200) assert.ok(reply.text.includes(`own\\":${at}`), reply.text);
        else assertClean(reply, [502]);
        assert.doesNotMatch(reply.text, /forged/);
        assert.equal(requests.length, at);
        if (delay !== undefined) await lapse(2 * delay, 'the bytes that follow have arrived');
      }
    });
  }

  test('of a 406 with Content-Length: 0 make it 502, and the connection is not used again (Clixon)', async () => {
    const bytes =
      'HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n<errors><error><error-tag>x</error-tag></error></errors>';
    const bad = script(() => bytes);
    for (const name of ['an action', 'a query'] as const) assertClean(await routes[name].call(bad.path), [502]);
    const used = new Set(bad.requests.map((request) => request.connection));
    assert.equal(used.size, bad.requests.length);
    const fine = script(() => jsonReply('{"fine":1}'));
    assert.equal(resultOf(await routes['an action'].call(fine.path)), '{"fine":1}');
    assert.ok(fine.requests.every((request) => !used.has(request.connection)));
  });
});

describe('a reply that grows when it is decoded', () => {
  const bomb = gzipSync(Buffer.alloc(30_000_000, ' '));

  for (const name of routeNames) {
    test(`R57: stops at the limit for ${name}`, async () => {
      assert.ok(bomb.length < 65_536);
      const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
      const reply = await attempt(name, () => httpReply({ headers, body: bomb }));
      assertNeverWhole(reply, [502]);
      assert.ok((reply?.body.length ?? 0) < 8_000_000);
    });
  }

  test('is 502 where it is not of its Content-Encoding', async () => {
    const text = Buffer.from('x'.repeat(1000));
    const broken = gzipSync(text);
    broken.writeUInt32LE(1, broken.length - 8);
    for (const [coding, body] of [
      ['gzip', text],
      ['gzip', gzipSync(text).subarray(0, 20)],
      ['gzip', broken],
      ['br', text],
      ['zstd', text],
      ['deflate', deflateSync(text).subarray(0, 10)],
    ] as const) {
      const headers = { 'Content-Type': 'text/plain', 'Content-Encoding': coding };
      assertClean(await attempt('a GET of restCall', () => httpReply({ headers, body })), [502]);
    }
  });

  test('and goes on after the end of its coding has its connection closed, before any time limit', async () => {
    for (const then of ['silence', 'a flood'] as const) {
      const closed = Promise.withResolvers<void>();
      const { path } = script((_request, socket) => {
        socket.on('close', closed.resolve);
        const body = Buffer.concat([deflateSync('hello'), Buffer.from('!')]);
        const head =
          'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n';
        socket.write(Buffer.concat([Buffer.from(`${head}${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]));
        const piece = Buffer.from(`400\r\n${'x'.repeat(1024)}\r\n`);
        const flood = (): void => {
          if (socket.destroyed) return;
          if (socket.write(piece)) setImmediate(flood);
          else socket.once('drain', flood);
        };
        if (then === 'a flood') flood();
      });
      assert.equal(responseOf(await routes['a GET of restCall'].call(path)), 'hello', then);
      const answered = performance.now();
      await closed.promise;
      assert.ok(performance.now() - answered < 4_000, `${then}: the connection outlived the total time limit`);
    }
  });

  test('R57: in two layers is not decoded at all', async () => {
    const headers = { 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip, gzip' };
    const body = gzipSync(gzipSync('hello'));
    const problem = assertClean(await attempt('a GET of restCall', () => httpReply({ headers, body })), [502]);
    assert.match(problem.detail, /2 content codings on top of each other/u);
  });
});

describe('an adapter instance', () => {
  test('R68: that hangs has one call in flight and one in its queue, answers the others 503, and delays no other instance', async () => {
    const held: (() => void)[] = [];
    const hanging = script(async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return jsonReply('{}');
    });
    const fine = script(() => jsonReply('{}'));
    const query = (adapter: string, path: string): Promise<Reply> =>
      relay(gateway, 'restQuery', adapter, { params: { path, accept } });
    const first = query('narrow', hanging.path);
    await until('the first call is held', () => held.length === 1);
    const others = [1, 2, 3, 4].map(() => query('narrow', hanging.path));
    // One of the four waits; three get 503 at once.
    const refused: Reply[] = [];
    for (const other of others) void other.then((reply) => (reply.status === 503 ? refused.push(reply) : undefined));
    await until('three are refused', () => refused.length === 3);
    for (const reply of refused) {
      assertProblem(reply, 503, 'adapter-busy');
      assert.match(reply.header('retry-after') ?? '', /^\d+$/);
    }
    assert.equal((await query('other', fine.path)).status, 200);
    assert.equal(hanging.requests.length, 1);
    held[0]?.();
    assert.equal((await first).status, 200);
    await until('the second call is held', () => held.length === 2);
    held[1]?.();
    const statuses = (await Promise.all(others)).map((reply) => reply.status);
    assert.equal(statuses.filter((status) => status === 200).length, 1);
  });
});

describe('an upstream that answers before it has read the request', () => {
  test('has its reply relayed or is a 502, and the next call succeeds', async () => {
    const late = script(() => jsonReply('{"late":true}'));
    // The gateway has closed all earlier connections by then (docs/decisions/0020-connections-of-changes.md).
    await lapse(1_500, 'the gateway closes all earlier connections');
    far.onConnection((socket) => {
      socket.once('data', () => {
        socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      });
    });
    const call = { uri: `${far.url}/${late.path}`, verb: 'POST', responseHeaders: false, body: { a: 'x'.repeat(6_000_000) } };
    const reply = await restCall(gateway, call).catch(() => undefined);
    far.onConnection(undefined);
    assert.ok(reply !== undefined);
    if (reply.status === 200) assert.equal(reply.header('x-upstream-status'), '413');
    else assertClean(reply, [502]);
    const fine = script(() => jsonReply('{"fine":1}'));
    assert.equal(responseOf(await routes['a GET of restCall'].call(fine.path)), '{"fine":1}');
  });
});

test('the gateway answers after all of these upstreams', async () => {
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  assert.equal((await gateway.send({ target: '/readyz' })).status, 200);
});
