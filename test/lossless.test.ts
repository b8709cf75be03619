import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { anyText } from '../src/base/text/any-text.test-support.ts';
import { instancesOf, relay, responseOf, restCall, resultOf } from './support/callers/calls.ts';
import { instanceText, numberText, objectText, spaceText, stringText, valueText } from './support/callers/json-text.ts';
import { startGateway } from './support/gateway/start-gateway.ts';
import { type FarHandler, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// The gateway relays bytes unchanged (docs/decisions/0003-bytes-not-values.md), in bodies and replies below 64 KiB and beyond.

const far = await upstream({ after });
const gateway = await startGateway(
  { after },
  {
    config: { outbound: { allow: [far.authority] } },
    adapters: [
      { name: 'nso', kind: 'nso', url: far.url, auth: { type: 'none' } },
      { name: 'rest', kind: 'rest', url: far.url, auth: { type: 'none' } },
    ],
  },
);

const accept = 'application/yang-data+json';
const small = { numRuns: 120 };
const large = { numRuns: 12 };

/** The sizes of the first pieces of a reply: 1 to 40 bytes, so that characters are split. */
const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });

/** Answers in pieces, each a TCP segment of its own unless the kernel joins them. */
function inPieces(bytes: Buffer, sizes: readonly number[]): FarHandler {
  return async (_, socket) => {
    let at = 0;
    for (const size of sizes) {
      if (at >= bytes.length) break;
      await written(socket, bytes.subarray(at, at + size));
      at += size;
    }
    await written(socket, bytes.subarray(at));
  };
}

function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed || bytes.length === 0) resolve();
    else socket.write(bytes, () => setImmediate(resolve));
  });
}

/** A reply with this text, of which only the body is cut into pieces. */
function reply(text: string, sizes: readonly number[], chunk: number | undefined): FarHandler {
  const bytes = jsonReply(text, { type: accept, ...(chunk === undefined ? {} : { chunk }) });
  const head = bytes.indexOf('\r\n\r\n') + 4;
  return inPieces(bytes, [head, ...sizes]);
}

const framing = fc.option(fc.integer({ min: 1, max: 9000 }), { nil: undefined });

/** Repeats a value inside an array until the text is about 200 kB. */
function enlarge(text: string): string {
  const count = Math.ceil(200_000 / (Buffer.byteLength(text) + 1));
  return `[${Array.from({ length: Math.min(count, 40_000) }, () => text).join(',')}]`;
}

/** Whether `text` is the member `body`: with a mark in its place, the parsed whole has the mark there. */
function holdsAsBody(response: string, text: string): boolean {
  // A short text such as `2` may occur elsewhere as well.
  for (let at = response.lastIndexOf(text); at >= 0; at = at === 0 ? -1 : response.lastIndexOf(text, at - 1)) {
    try {
      const marked = `${response.slice(0, at)}"the mark"${response.slice(at + text.length)}`;
      if ((JSON.parse(marked) as { readonly body: unknown }).body === 'the mark') return true;
    } catch {
      // This occurrence is not the body.
    }
  }
  return false;
}

describe('a body', () => {
  test('reaches the upstream of restCall byte for byte', async () => {
    const call = fc.tuple(
      objectText,
      fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE', 'GET'),
      spaceText,
      spaceText,
      fc.boolean(),
    );
    await fc.assert(
      fc.asyncProperty(call, async ([body, verb, before, behind, first]) => {
        far.answer(() => jsonReply('{}'));
        const member = `"body"${before}:${behind}${body}${before}`;
        const rest = `"uri":"${far.url}","verb":"${verb}","responseHeaders":false`;
        responseOf(await restCall(gateway, first ? `{${member},${rest}}` : `{${rest},${member}}`));
        assert.equal(far.request.body.toString(), body);
      }),
      small,
    );
  });

  test('reaches the upstream of an action byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(
        objectText.filter((text) => !/^\{\s*\}$/.test(text)),
        fc.constantFrom('nso', 'rest'),
        async (body, adapter) => {
          far.answer(() => jsonReply('{}'));
          resultOf(await relay(gateway, 'restAction', adapter, `{"body":${body},"params":{"path":"a","accept":"${accept}"}}`));
          assert.equal(far.request.body.toString(), body);
        },
      ),
      small,
    );
  });

  test('of several MiB reaches the upstream byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(valueText, async (text) => {
        far.answer(() => jsonReply('{}'));
        const body = `{ "a" : ${Array.from({ length: 10 }, () => enlarge(text)).join(',"a":')}}`;
        responseOf(await restCall(gateway, `{"uri":"${far.url}","verb":"POST","responseHeaders":false,"body":${body}}`));
        assert.ok(far.request.body.equals(Buffer.from(body)));
      }),
      { numRuns: 4 },
    );
  });

  test('that the caller sends byte by byte reaches the upstream unchanged', async () => {
    const body = '{"😀ü語":"\\u00fc🏴󠁧󠁢€","n":18446744073709551615}';
    const bytes = Buffer.from(`{"uri":"${far.url}","verb":"POST","responseHeaders":false,"body":${body}}`);
    far.answer(() => jsonReply('{}'));
    const pieces = Array.from({ length: bytes.length }, (_, at) => `1\r\n${bytes.subarray(at, at + 1).toString('latin1')}\r\n`);
    const answer = await gateway.send({
      method: 'POST',
      target: '/tools/restCall',
      role: 'admin',
      headers: { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' },
      body: Buffer.from(`${pieces.join('')}0\r\n\r\n`, 'latin1'),
    });
    responseOf(answer);
    assert.equal(far.request.body.toString(), body);
  });
});

describe('a reply', () => {
  const callWith = (responseHeaders: boolean): string => `{"uri":"${far.url}","verb":"GET","responseHeaders":${responseHeaders}}`;

  for (const [size, textOf, runs] of [
    ['', (text: string, space: string) => `${space}${text}${space}`, small],
    ['beyond 64 KiB ', enlarge, large],
  ] as const) {
    test(`${size}is the response of restCall, character for character`, async () => {
      await fc.assert(
        fc.asyncProperty(valueText, spaceText, cuts, framing, async (value, space, sizes, chunk) => {
          const text = textOf(value, space);
          far.answer(reply(text, sizes, chunk));
          const answer = await restCall(gateway, callWith(false));
          assert.ok(answer.complete);
          assert.ok(responseOf(answer) === text);
        }),
        runs,
      );
    });

    test(`${size}is the body of restCall with headers, as the same JSON text`, async () => {
      await fc.assert(
        fc.asyncProperty(valueText, cuts, framing, async (value, sizes, chunk) => {
          const text = textOf(value, '');
          far.answer(reply(text, sizes, chunk));
          const response = responseOf(await restCall(gateway, callWith(true)));
          assert.ok(holdsAsBody(response, text), response.slice(0, 2_000));
        }),
        runs,
      );
    });

    test(`${size}is the result of an action and the body of a request, character for character`, async () => {
      await fc.assert(
        fc.asyncProperty(valueText, spaceText, cuts, framing, async (value, space, sizes, chunk) => {
          const text = textOf(value, space);
          far.answer(reply(text, sizes, chunk));
          assert.ok(resultOf(await relay(gateway, 'restAction', 'nso', { params: { path: 'a', accept }, body: {} })) === text);
          const request = await relay(gateway, 'restRequest', 'nso', { params: { method: 'GET', path: 'a', accept } });
          assert.equal(request.status, 200);
          assert.ok((request.json() as { readonly body: string }).body === text);
        }),
        runs,
      );
    });
  }

  test('of text that is not JSON is relayed with every character', async () => {
    const texts = fc.array(fc.oneof(anyText(), fc.constantFrom('\u0000', '\r\n', '"', '\\', '\u2028')));
    await fc.assert(
      fc.asyncProperty(texts, cuts, fc.boolean(), async (parts, sizes, long) => {
        const piece = parts.join('').toWellFormed();
        // The text begins with `x`, since a leading byte order mark has its own test.
        const text = long ? `x${piece}`.repeat(Math.ceil(150_000 / (piece.length + 1))) : `x${piece}`;
        const bytes = httpReply({ headers: { 'Content-Type': 'text/plain' }, body: text });
        far.answer(inPieces(bytes, [bytes.indexOf('\r\n\r\n') + 4, ...sizes]));
        assert.ok(responseOf(await restCall(gateway, callWith(false))) === text);
      }),
      { numRuns: 60 },
    );
  });

  test('keeps its byte order mark', async () => {
    for (const text of ['\ufeff{"a":1}', `\ufeff${'x'.repeat(100_000)}`]) {
      far.answer(() => httpReply({ headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: text }));
      assert.ok(responseOf(await restCall(gateway, callWith(false))) === text);
    }
  });

  test('nested a thousand deep is relayed as text', async () => {
    const text = `${'['.repeat(1000)}1.0${']'.repeat(1000)}`;
    far.answer(() => jsonReply(text));
    assert.equal(responseOf(await restCall(gateway, callWith(false))), text);
    assert.equal(resultOf(await relay(gateway, 'restAction', 'rest', { params: { path: 'a', accept }, body: {} })), text);
  });

  test('in base64 holds every byte, below 64 KiB and beyond', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 500 }), fc.boolean(), cuts, async (piece, long, sizes) => {
        const body = Buffer.concat(Array.from({ length: long ? Math.ceil(100_000 / piece.length) : 1 }, () => piece));
        const bytes = httpReply({ headers: { 'Content-Type': 'application/octet-stream' }, body });
        far.answer(inPieces(bytes, [bytes.indexOf('\r\n\r\n') + 4, ...sizes]));
        const answer = await restCall(gateway, callWith(false));
        assert.equal(answer.header('x-upstream-body-encoding'), 'base64');
        assert.ok(Buffer.from(responseOf(answer), 'base64').equals(body));
      }),
      { numRuns: 40 },
    );
  });
});

describe('instance_data', () => {
  const query = async (text: string, sizes: readonly number[], chunk: number | undefined): Promise<readonly object[]> => {
    far.answer(reply(text, sizes, chunk));
    const answer = await relay(gateway, 'restQuery', 'nso', { params: { path: 'a', accept } });
    assert.ok(answer.complete);
    return instancesOf(answer);
  };
  const list = fc.tuple(fc.array(instanceText, { maxLength: 6 }), spaceText, spaceText, cuts, framing);
  const textOf = (instances: readonly { readonly text: string }[], a: string, b: string): string =>
    `${a}{${b}"m:list"${a}:${b}[${instances.map((instance) => `${a}${instance.text}${b}`).join(',')}]}${b}`;

  test('holds each member of each instance, digit for digit', async () => {
    await fc.assert(
      fc.asyncProperty(list, async ([instances, a, b, sizes, chunk]) => {
        const found = await query(textOf(instances, a, b), sizes, chunk);
        assert.deepEqual(
          found,
          instances.map(({ expected }) => expected),
        );
      }),
      small,
    );
  });

  test('holds each member of each instance beyond 64 KiB as well', async () => {
    await fc.assert(
      fc.asyncProperty(
        list.filter(([instances]) => instances.some(({ text }) => text.length > 20)),
        async ([instances, a, b, sizes, chunk]) => {
          const size = Buffer.byteLength(textOf(instances, a, b));
          const many = Array.from({ length: Math.ceil(150_000 / size) }, () => instances).flat();
          const found = await query(textOf(many, a, b), sizes, chunk);
          assert.equal(found.length, many.length);
          assert.deepEqual(
            found,
            many.map(({ expected }) => expected),
          );
        },
      ),
      large,
    );
  });

  test('holds one large instance with large members', async () => {
    await fc.assert(
      fc.asyncProperty(valueText, stringText, numberText, cuts, framing, async (value, string, number, sizes, chunk) => {
        const big = enlarge(value);
        const long = `"${string.slice(1, -1).repeat(Math.ceil(80_000 / string.length))}"`;
        const found = await query(`{"m:x":{"big": ${big} ,"long":${long},"n":${number}}}`, sizes, chunk);
        assert.equal(found.length, 1);
        const instance = found[0] as Readonly<Record<string, string>>;
        assert.ok(instance['big'] === big);
        assert.ok(instance['long'] === JSON.parse(long));
        assert.equal(instance['n'], number);
      }),
      large,
    );
  });

  test('gathers the repeated members of an instance, below 64 KiB and beyond', async () => {
    for (const count of [3, 20_000]) {
      const texts = Array.from({ length: count }, (_, index) =>
        index % 2 === 0 ? `{"id":1844674407370955${index}.0}` : `"s\\u00fc${index}"`,
      );
      const [instance] = (await query(
        `{"r":{"x":"y",${texts.map((text) => `"file":${text}`).join(',')}}}`,
        [7],
        4096,
      )) as readonly {
        readonly x: string;
        readonly file: string;
      }[];
      assert.equal(instance?.x, 'y');
      assert.ok(instance.file.replaceAll(/\s/g, '') === `[${texts.join(',')}]`);
    }
  });
});
