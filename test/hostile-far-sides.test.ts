import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { deflateSync, gzipSync } from 'node:zlib';
import { assertProblem, instancesOf, type Problem, relay, responseOf, restCall, resultOf } from './support/calls.ts';
import { farSide, httpReply, jsonReply } from './support/far-side.ts';
import type { Reply } from './support/http-client.ts';
import { startGateway } from './support/start-gateway.ts';

// Far sides that behave badly: contract 1 (large replies), 2, 3, 4. A fault found while the reply is judged whole is one clean
// 502 or 504; a fault found later breaks the connection off. No caller ever holds a complete JSON text of an incomplete reply.

const far = await farSide({ after });
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

const params = { path: 'a', accept: 'application/yang-data+json' };

/** Every way to reach a far side. `once`: the request may be sent one time only. */
const routes = {
  'a GET of restCall': { once: true, call: () => restCall(gateway, { uri: far.url, verb: 'GET', responseHeaders: false }) },
  'a POST of restCall, with headers': {
    once: true,
    call: () => restCall(gateway, { uri: far.url, verb: 'POST', responseHeaders: true, body: {} }),
  },
  'an action': { once: true, call: () => relay(gateway, 'restAction', 'nso', { params, body: {} }) },
  'a query': { once: false, call: () => relay(gateway, 'restQuery', 'nso', { params }) },
  'a PUT of restRequest': {
    once: true,
    call: () => relay(gateway, 'restRequest', 'nso', { params: { ...params, method: 'PUT' }, body: { a: 1 } }),
  },
} as const;

async function attempt(call: () => Promise<Reply>): Promise<Reply | undefined> {
  try {
    return await call();
  } catch {
    return undefined;
  }
}

/** One clean error that speaks of the far side. */
function assertClean(reply: Reply | undefined, statuses: readonly number[]): Problem {
  assert.ok(reply !== undefined, 'the gateway hung up instead of answering');
  assert.ok(statuses.includes(reply.status), `${reply.status} ${reply.text.slice(0, 500)}`);
  return assertProblem(reply, reply.status);
}

/** Either one clean error, or a connection that broke off and left no complete JSON text behind. */
function assertNeverWhole(reply: Reply | undefined, statuses: readonly number[]): void {
  if (reply === undefined) return;
  if (reply.complete) {
    assertClean(reply, statuses);
    return;
  }
  assert.throws(() => JSON.parse(reply.text), 'the caller holds a complete JSON text');
}

/** Answers every request with these bytes and then ends, or resets, or leaves the connection open. */
function answerWith(bytes: string | Buffer, then: 'end' | 'reset' | 'stay' = 'stay'): void {
  far.answer((_, socket) => {
    socket.write(bytes, () => {
      if (then === 'end') socket.end();
      else if (then === 'reset') setTimeout(() => socket.resetAndDestroy(), 20);
    });
  });
}

function assertOnce(route: { readonly once: boolean }): void {
  if (route.once) assert.equal(far.requests.length, 1);
  else assert.ok(far.requests.length >= 1 && far.requests.length <= 3);
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
    for (const [name, route] of Object.entries(routes)) {
      test(`is 502 for ${name} where it ${what}`, async () => {
        answerWith(bytes, then);
        assertClean(await attempt(route.call), [502]);
        assertOnce(route);
      });
    }
  }

  test('is whole where the end of the connection is its end', async () => {
    answerWith(`${okHead}Connection: close\r\n\r\n{"a":1}`, 'end');
    assert.equal(responseOf(await routes['a GET of restCall'].call()), '{"a":1}');
  });
});

describe('a reply beyond 64 KiB that goes wrong', () => {
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
    'stalls inside its Content-Length': [Buffer.concat([Buffer.from(`${okHead}Content-Length: 900000\r\n\r\n`), long]), 'stay'],
    'ends after complete JSON, but not its last chunk': [
      Buffer.concat([Buffer.from(`${okHead}Transfer-Encoding: chunked\r\n\r\n`), chunk(complete)]),
      'end',
    ],
    'goes on with a chunk that is none': [
      Buffer.concat([Buffer.from(`${okHead}Transfer-Encoding: chunked\r\n\r\n`), chunk(complete), Buffer.from('xyz\r\n')]),
      'stay',
    ],
    'is over the limit': [
      httpReply({ headers: { 'Content-Type': 'text/plain' }, body: 'x'.repeat(1_100_000), chunk: 16_384 }),
      'stay',
    ],
    'announces more than the limit': [Buffer.concat([Buffer.from(`${okHead}Content-Length: 9000000\r\n\r\n`), long]), 'stay'],
    'says text and holds bytes that are none': [
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
    for (const [name, route] of Object.entries(routes)) {
      test(`is never whole for ${name} where it ${what}`, async () => {
        answerWith(bytes, then);
        assertNeverWhole(await attempt(route.call), [502, 504]);
        assertOnce(route);
      });
    }
  }

  for (const name of ['a query', 'a POST of restCall, with headers'] as const) {
    test(`is never whole for ${name} where its JSON is broken`, async () => {
      far.answer(() => jsonReply(`${items}{}}`));
      assertNeverWhole(await attempt(routes[name].call), [502]);
      far.answer(() => jsonReply(`${items}{}`));
      assertNeverWhole(await attempt(routes[name].call), [502]);
    });
  }

  test('is whole where nothing is wrong', async () => {
    far.answer(() => jsonReply(complete.toString(), { chunk: 5000 }));
    assert.ok(responseOf(await routes['a GET of restCall'].call()) === complete.toString());
    assert.ok(resultOf(await routes['an action'].call()) === complete.toString());
    assert.equal(instancesOf(await routes['a query'].call()).length, 12_001);
  });
});

describe('small JSON that is broken', () => {
  for (const text of ['{"a":1', '{"a":1}}', '{"a":01}', '[{"a":"1"},', '{"a":1} x', '\u00a0{}', '{"a":"\n"}']) {
    test(`${JSON.stringify(text)} never becomes instances`, async () => {
      far.answer(() => jsonReply(text));
      const reply = await routes['a query'].call();
      if (reply.status === 200) assert.deepEqual(instancesOf(reply), [{ content: text }]);
      else assertClean(reply, [502]);
    });
  }
});

describe('an answer that is no HTTP', () => {
  const malformed: Record<string, string | Buffer> = {
    'two different Content-Lengths': `${okHead}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`,
    'Content-Length and Transfer-Encoding': `${okHead}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    'a negative Content-Length': `${okHead}Content-Length: -2\r\n\r\n{}`,
    'a signed Content-Length': `${okHead}Content-Length: +2\r\n\r\n{}`,
    'a chunk size that is none': `${okHead}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n`,
    'a chunk longer than it says': `${okHead}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`,
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
    '20 kB of one header': `${okHead}X-A: ${'a'.repeat(20_000)}\r\nContent-Length: 2\r\n\r\n{}`,
    '3,000 headers': `${okHead}${Array.from({ length: 3000 }, (_, index) => `X-${index}: value of some length\r\n`).join('')}Content-Length: 2\r\n\r\n{}`,
  };
  for (const [what, bytes] of Object.entries(malformed)) {
    for (const name of ['a GET of restCall', 'an action', 'a query'] as const) {
      test(`but ${what} is 502 for ${name}`, async () => {
        answerWith(bytes, 'end');
        assertClean(await attempt(routes[name].call), [502]);
        assertOnce(routes[name]);
      });
    }
  }

  test('is told apart from a connection that broke off', async () => {
    for (const what of ['no status', 'a chunk size that is none', 'HTTP/0.9', 'a folded header']) {
      answerWith(malformed[what] ?? '');
      assertProblem(await routes['a GET of restCall'].call(), 502, 'upstream-protocol-error');
    }
  });
});

describe('interim replies', () => {
  test('are skipped where they are few', async () => {
    const interim = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
    far.answer(() => Buffer.concat([Buffer.from(interim), jsonReply('{"a":1}')]));
    assert.equal(responseOf(await routes['a GET of restCall'].call()), '{"a":1}');
    assert.equal(resultOf(await routes['an action'].call()), '{"a":1}');
  });

  test('that nobody asked for, 100 Continue, are skipped (RFC 9110 15.2)', async () => {
    far.answer(() => Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'), jsonReply('{"a":1}')]));
    assert.equal(responseOf(await routes['a GET of restCall'].call()), '{"a":1}');
    assert.equal(resultOf(await routes['an action'].call()), '{"a":1}');
  });

  for (const [name, route] of Object.entries(routes)) {
    test(`without end are an error for ${name}`, async () => {
      const flood = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(500));
      far.answer((_, socket) => {
        const more = (): void => {
          if (!socket.destroyed) socket.write(flood, () => setTimeout(more, 5));
        };
        more();
      });
      assertClean(await attempt(route.call), [502, 504]);
      assertOnce(route);
    });
  }
});

describe('a far side that is slow', () => {
  const drip = (socket: Socket, text: string): void => {
    let at = 0;
    const timer = setInterval(() => {
      if (socket.destroyed || at >= text.length) clearInterval(timer);
      else socket.write(text.charAt(at));
      at += 1;
    }, 50);
    socket.on('close', () => clearInterval(timer));
  };

  for (const [name, route] of Object.entries(routes)) {
    test(`and never answers is 504 for ${name}`, async () => {
      far.answer(() => undefined);
      assertClean(await attempt(route.call), [504]);
      assertOnce(route);
    });
    test(`and stalls in its body is 504 for ${name}`, async () => {
      answerWith(`${okHead}Content-Length: 100\r\n\r\n{"a":1`);
      assertClean(await attempt(route.call), [504]);
      assertOnce(route);
    });
  }

  for (const name of ['a GET of restCall', 'an action', 'a query'] as const) {
    test(`and drips its body meets the total time in ${name}`, async () => {
      far.answer((_, socket) => {
        socket.write(`${okHead}Content-Length: 5000\r\n\r\n`);
        drip(socket, 'x'.repeat(5000));
      });
      assertClean(await attempt(routes[name].call), [504]);
      assertOnce(routes[name]);
    });
    test(`and drips its head meets a limit in ${name}`, async () => {
      far.answer((_, socket) => drip(socket, `${okHead}X-Long: ${'x'.repeat(5000)}`));
      assertClean(await attempt(routes[name].call), [504]);
      assertOnce(routes[name]);
    });
  }

  test('but sends something all the time is not too slow', async () => {
    const text = `"${'x'.repeat(20)}"`;
    far.answer((_, socket) => {
      socket.write(`${okHead}Content-Length: ${text.length}\r\n\r\n`);
      drip(socket, text);
    });
    assert.equal(responseOf(await routes['a GET of restCall'].call()), text);
  });
});

describe('bytes that follow a reply', () => {
  const forged = jsonReply('{"forged":true}');

  for (const [what, delay] of [
    ['at once', undefined],
    ['a moment later', 60],
  ] as const) {
    test(`${what} never reach the next caller`, async () => {
      let count = 0;
      far.answer((_, socket) => {
        count += 1;
        const own = jsonReply(`{"own":${count}}`);
        if (delay === undefined) {
          socket.write(Buffer.concat([own, forged, forged]));
        } else {
          socket.write(own);
          setTimeout(() => {
            if (!socket.destroyed) socket.write(forged);
          }, delay);
        }
      });
      for (let at = 1; at <= 8; at += 1) {
        const route = at % 2 === 0 ? routes['an action'] : routes['a GET of restCall'];
        const reply = await route.call();
        if (reply.status === 200) assert.ok(reply.text.includes(`own\\":${at}`), reply.text);
        else assertClean(reply, [502]);
        assert.doesNotMatch(reply.text, /forged/);
        assert.equal(count, at);
        if (delay !== undefined) await new Promise((resolve) => setTimeout(resolve, 2 * delay));
      }
    });
  }

  test('of a 406 that says it has no body: one clean 502, and the connection is not used again (Clixon)', async () => {
    far.answer(
      () => 'HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n<errors><error><error-tag>x</error-tag></error></errors>',
    );
    for (const name of ['an action', 'a query'] as const) assertClean(await attempt(routes[name].call), [502]);
    const used = new Set(far.requests.map((request) => request.connection));
    assert.equal(used.size, far.requests.length);
    far.answer(() => jsonReply('{"fine":1}'));
    assert.equal(resultOf(await routes['an action'].call()), '{"fine":1}');
    assert.ok(!used.has(far.request.connection));
  });
});

describe('a reply that grows when it is decoded', () => {
  for (const [name, route] of Object.entries(routes)) {
    test(`stops at the limit for ${name}`, async () => {
      const bomb = gzipSync(Buffer.alloc(60_000_000, ' '));
      assert.ok(bomb.length < 65_536);
      far.answer(() => httpReply({ headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, body: bomb }));
      const reply = await attempt(route.call);
      assertNeverWhole(reply, [502]);
      assert.ok((reply?.body.length ?? 0) < 8_000_000);
      assertOnce(route);
    });
  }

  test('is 502 where it is not what it says', async () => {
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
      far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain', 'Content-Encoding': coding }, body }));
      assertClean(await attempt(routes['a GET of restCall'].call), [502]);
    }
  });

  test('in two layers is not decoded beyond the limit', async () => {
    const bomb = gzipSync(gzipSync(Buffer.alloc(60_000_000)));
    far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip, gzip' }, body: bomb }));
    const reply = await attempt(routes['a GET of restCall'].call);
    assert.ok((reply?.body.length ?? 0) < 2_000_000);
  });
});

describe('an adapter instance', () => {
  test('that hangs takes one call and one that waits, answers the others 503, and does not hold up its neighbour', async () => {
    const held: (() => void)[] = [];
    far.answer(async (request) => {
      if (request.target === '/hang') await new Promise<void>((resolve) => held.push(resolve));
      return jsonReply('{}');
    });
    const hang = { params: { path: 'hang', accept: '*/*' } };
    const first = relay(gateway, 'restQuery', 'narrow', hang);
    const deadline = performance.now() + 20_000;
    while (held.length === 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    const others = [1, 2, 3, 4].map(() => relay(gateway, 'restQuery', 'narrow', hang));
    // One of the four waits; three are told so at once.
    const refused: Reply[] = [];
    for (const other of others) void other.then((reply) => (reply.status === 503 ? refused.push(reply) : undefined));
    while (refused.length < 3 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(refused.length, 3);
    for (const reply of refused) {
      assertProblem(reply, 503, 'adapter-busy');
      assert.match(reply.header('retry-after') ?? '', /^\d+$/);
    }
    assert.equal((await relay(gateway, 'restQuery', 'other', { params: { path: 'fine', accept: '*/*' } })).status, 200);
    held.shift()?.();
    assert.equal((await first).status, 200);
    while (held.length === 0 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    held.shift()?.();
    const statuses = (await Promise.all(others)).map((reply) => reply.status);
    assert.equal(statuses.filter((status) => status === 200).length, 1);
  });
});

describe('a far side that answers before it has read', () => {
  test('is answered or reported, and the next call is sound', async () => {
    far.answer(() => jsonReply('{"late":true}'));
    far.onConnection((socket) => {
      socket.once('data', () => {
        socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      });
    });
    const reply = await attempt(() =>
      restCall(gateway, { uri: far.url, verb: 'POST', responseHeaders: false, body: { a: 'x'.repeat(6_000_000) } }),
    );
    far.onConnection(undefined);
    assert.ok(reply !== undefined);
    if (reply.status === 200) assert.equal(reply.header('x-upstream-status'), '413');
    else assertClean(reply, [502]);
    far.answer(() => jsonReply('{"fine":1}'));
    assert.equal(responseOf(await routes['a GET of restCall'].call()), '{"fine":1}');
  });
});

test('the gateway is alive after all of this', async () => {
  assert.equal((await gateway.send({ target: '/healthz' })).status, 200);
  assert.equal((await gateway.send({ target: '/readyz' })).status, 200);
});
