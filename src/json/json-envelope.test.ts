import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '#base/gateway-error.ts';
import { readEnvelope, readEnvelopeInSteps } from './json-envelope.ts';
import { opaqueMembers } from './json-pointer.ts';
import { jsonObjectText, jsonText, valueOf } from './json-texts.test-support.ts';

const opaque = opaqueMembers(['/body']);

function refusal(text: string | Buffer): { readonly message: string; readonly pointers: readonly string[] } {
  try {
    readEnvelope(Buffer.from(text), { opaque });
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'invalid-json');
    return { message: error.message, pointers: (error.errors ?? []).map(({ pointer }) => pointer) };
  }
  throw new assert.AssertionError({ message: `accepted: ${text.toString().slice(0, 200)}` });
}

test('a relayed member is returned as its bytes, and is an empty value of its kind in the value', () => {
  fc.assert(
    fc.property(jsonText, ({ text }) => {
      const bytes = Buffer.from(`{"params":{"path":"a\\u0062"}, "body": ${text} ,"n":1.0}`);
      const { value, spans } = readEnvelope(bytes, { opaque });
      assert.equal(spans.get('/body')?.toString(), text);
      assert.equal(spans.get('/body')?.buffer, bytes.buffer);
      const body = text.startsWith('{') ? {} : text.startsWith('[') ? [] : text.startsWith('"') ? '' : emptyScalar(text);
      assert.deepEqual(value, { params: { path: 'ab' }, body, n: 1 });
    }),
  );
});

test('a long body that is read in steps has the same result, and the event loop continues meanwhile', async () => {
  const items = Array.from(
    { length: 40_000 },
    (_, at) => `{"n":${at}.50,"text":"\\u00e9 ü \\"${'x'.repeat(at % 40)}\\""}`,
  ).join();
  for (const text of [
    `{"params":{"a":[1]}, "body": [${items}] ,"n":1.0}`,
    `{"body":[${items}}`,
    `{"body":[${items}`,
    `{"a":1,"body":[${items}],"a":2}`,
  ]) {
    const bytes = Buffer.from(text);
    let iterations = 0;
    const count = (): void => {
      iterations += 1;
      if (iterations < 1_000) timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const outcome = async (read: () => unknown): Promise<unknown> => {
      try {
        return await read();
      } catch (error) {
        assert.ok(error instanceof GatewayError);
        return { message: error.message, errors: error.errors };
      }
    };
    const inSteps = await outcome(() => readEnvelopeInSteps(bytes, { opaque }));
    clearImmediate(timer);
    assert.ok(iterations >= bytes.length / 300_000, `${iterations} iterations`);
    assert.deepEqual(inSteps, await outcome(() => readEnvelope(bytes, { opaque })));
  }
});

function emptyScalar(text: string): unknown {
  if (text === 'null') return null;
  return text === 'true' || text === 'false' ? true : 0;
}

test('a body without relayed members has the value of its text, or is refused for its names', () => {
  fc.assert(
    fc.property(jsonObjectText, (object) => {
      try {
        assert.deepEqual(readEnvelope(Buffer.from(object.text), { opaque: [] }).value, valueOf(object));
      } catch (error) {
        assert.ok(error instanceof GatewayError);
        assert.match((error.errors ?? []).map(({ detail }) => detail).join(), /more than once|lone surrogate/u);
      }
    }),
  );
});

test('a relayed member may have an escaped name, be nested, or be absent', () => {
  assert.equal(
    readEnvelope(Buffer.from('{"\\u0062ody":{"a":01.5e0}}'.replace('01', '1')), { opaque })
      .spans.get('/body')
      ?.toString(),
    '{"a":1.5e0}',
  );
  const nested = readEnvelope(Buffer.from('{"params":{"a/b":[1, 2]},"list":[{"x":1},{"x":2}]}'), {
    opaque: opaqueMembers(['/params/a~1b', '/list/1/x']),
  });
  assert.deepEqual(
    [...nested.spans].map(([pointer, span]) => `${pointer} ${span.toString()}`),
    ['/params/a~1b [1, 2]', '/list/1/x 2'],
  );
  assert.equal(readEnvelope(Buffer.from('{}'), { opaque }).spans.size, 0);
  assert.deepEqual(readEnvelope(Buffer.from('{"a":{"b":{"c":1},"d":2},"e":3}'), { opaque: opaqueMembers(['/a/b']) }).value, {
    a: { b: {}, d: 2 },
    e: 3,
  });
});

test('names that repeat or reach a prototype are refused in one error', () => {
  const text =
    '{"a":1,"\\u0061":2,"l":[{"__proto__":{}},{"\\u005f_proto__":1}],"constructor":{"prototype":{}},"x":{"y/z":1,"y/z":2}}';
  assert.deepEqual(refusal(text).pointers, ['/a', '/l/0/__proto__', '/l/1/__proto__', '/constructor/prototype', '/x/y~1z']);
  assert.deepEqual(refusal('{"body":{},"body":{}}').pointers, ['/body']);
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
  assert.deepEqual(
    readEnvelope(Buffer.from('{"constructor":{"a":1},"toString":2}'), { opaque }).value,
    JSON.parse('{"constructor":{"a":1},"toString":2}'),
  );
});

test('a lone surrogate in the envelope is refused', () => {
  assert.deepEqual(refusal('{"a":"\\ud800","b":"\\ud83d\\ude00","\\udc00":1}').pointers, ['/a', '/\ufffd']);
});

test('a relayed member may contain repeated names and lone surrogates', () => {
  const text = '{"a":1,"a":2,"__proto__":{"constructor":{"prototype":1}},"s":"\\ud800"}';
  assert.equal(
    readEnvelope(Buffer.from(`{"body":${text}}`), { opaque })
      .spans.get('/body')
      ?.toString(),
    text,
  );
});

test('a body that is empty, has a byte order mark or is not UTF-8 is refused, and the error names the place', () => {
  assert.match(refusal('').message, /no body/u);
  assert.match(refusal('\ufeff{}').message, /byte order mark/u);
  for (const [prefix, bad] of [
    ['{"a":"é', [0xff]],
    ['{"body":"中', [0xc3, 0x28]],
    ['{"a":"', [0xed, 0xa0, 0x80]],
    ['', [0xc0, 0x80]],
    ['{"é":"'.padEnd(5000, '中'), [0xf0, 0x9f, 0x98]],
  ] as const) {
    const text = Buffer.concat([Buffer.from(prefix), Buffer.from(bad), Buffer.from('"}')]);
    assert.match(refusal(text).message, new RegExp(`not UTF-8 at byte ${Buffer.byteLength(prefix)}:`, 'u'));
  }
});

test('bad syntax is refused, and the error names line, column, byte and member', () => {
  const { message, pointers } = refusal('{"params":{"path":"é"},\n "é": 1, }');
  assert.match(message, /unexpected character \}.*line 2, column 10 \(byte 35\)/u);
  assert.deepEqual(pointers, ['']);
  assert.deepEqual(refusal('{"params":{"a":[1,{"b":tru}]}}').pointers, ['/params/a/1']);
  assert.deepEqual(refusal('{"body":{"a":[1,{"b":tru}]}}').pointers, ['/body']);
  assert.match(refusal('{"body":{}').message, /ends early/u);
  assert.match(refusal('{} {}').message, /expected the end of the text/u);
});

test('nesting is limited to 128 levels including the outermost object, also inside relayed members', () => {
  const nested = (depth: number): string => `{"body":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  assert.equal(readEnvelope(Buffer.from(nested(127)), { opaque }).spans.size, 1);
  assert.match(refusal(nested(128)).message, /deeper than 128/u);
  assert.deepEqual(refusal('['.repeat(1_000_000)).pointers, ['/0'.repeat(127)]);
  assert.match(refusal('{"body":'.repeat(1_000_000)).message, /deeper than 128/u);
});

test('an error for a hostile body is not larger than the body', () => {
  const name = 'n'.repeat(100_000);
  const text = `{"${name}":{${Array.from({ length: 500 }, (_, i) => `"${i}":1,"${i}":2`).join(',')}}}`;
  const { pointers } = refusal(text);
  assert.ok(pointers.length <= 100);
  assert.ok(pointers.join('').length <= 110_000);
  assert.equal(refusal(`{"${name}":[tru]}`).pointers[0]?.length, 1025);
});
