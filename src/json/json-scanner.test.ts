import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type JsonHandler, JsonScanner, type JsonSpanKind, JsonSyntaxError } from './json-scanner.ts';
import { brokenJsonText, chunkSizes, cut, type JsonText, jsonText } from './json-texts.test-support.ts';

interface Verdict {
  readonly kind: string;
  readonly offset?: number;
  readonly message?: string;
}

function scan(chunks: readonly Buffer[], maxDepth = 1000): Verdict {
  const scanner = new JsonScanner({ maxDepth });
  try {
    for (const chunk of chunks) scanner.push(chunk);
    scanner.end();
    return { kind: 'accepted' };
  } catch (error) {
    assert.ok(error instanceof JsonSyntaxError);
    return { kind: error.kind, offset: error.offset, message: error.message };
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('every JSON text is accepted in any chunking', () => {
  fc.assert(
    fc.property(jsonText, chunkSizes, ({ text }, sizes) => {
      assert.equal(scan(cut(Buffer.from(` ${text}\n`), sizes)).kind, 'accepted');
    }),
  );
});

test('a text that is nearly JSON is accepted exactly if JSON.parse accepts it', () => {
  fc.assert(
    fc.property(brokenJsonText, chunkSizes, (text, sizes) => {
      assert.equal(scan(cut(Buffer.from(text), sizes)).kind === 'accepted', isJson(text));
    }),
    { numRuns: 3000 },
  );
});

test('the message and offset of an error do not depend on the chunking', () => {
  fc.assert(
    fc.property(brokenJsonText, chunkSizes, (text, sizes) => {
      const bytes = Buffer.from(text);
      assert.deepEqual(scan(cut(bytes, sizes)), scan([bytes]));
    }),
  );
});

test('every part of the grammar gives the result of JSON.parse, byte by byte', () => {
  const texts = [
    '',
    ' ',
    '0',
    '-0',
    '00',
    '01',
    '-',
    '+1',
    '.5',
    '1.',
    '1.e2',
    '1e',
    '1e+',
    '1E-05',
    '0e0',
    '0x1',
    '1 2',
    '1,',
    'Infinity',
    'NaN',
    'true',
    'tru',
    'truex',
    'True',
    'nul',
    'null',
    'falsy',
    'false',
    'truefalse',
    '"',
    '""',
    '"a',
    "'a'",
    '"\t"',
    '"\u0000"',
    '"\u001f"',
    '"\u0020"',
    '"\u007f"',
    '"\\',
    '"\\"',
    '"\\x"',
    '"\\u"',
    '"\\u12"',
    '"\\u12g4"',
    '"\\uD800"',
    '"\\u00e9"',
    '"é"',
    '"\u2028"',
    '[',
    ']',
    '[]',
    '[ ]',
    '[,]',
    '[1,]',
    '[,1]',
    '[1 2]',
    '[1]]',
    '[[]',
    '[1}',
    '{',
    '}',
    '{}',
    '{ }',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{"a" 1}',
    '{a:1}',
    '{1:1}',
    '{"a":1 "b":2}',
    '{"a":1]',
    '{"a"::1}',
    '{"a":1}{}',
    '\ufeff1',
    '\u00a01',
    '\v1',
    '\f1',
    '// 1',
    '[1]\u0000',
  ];
  for (const text of texts) {
    assert.equal(scan(cut(Buffer.from(text), [1])).kind === 'accepted', isJson(text), JSON.stringify(text));
  }
});

test('an error names the byte found, what was expected, and the offset', () => {
  assert.deepEqual(scan([Buffer.from('{"é":1,}')]), {
    kind: 'syntax',
    offset: 8,
    message: 'unexpected character }: expected a member name in double quotes',
  });
  assert.deepEqual(scan([Buffer.from('[1, 2')]), {
    kind: 'incomplete',
    offset: 5,
    message: 'the text ends early: 1 object(s) or array(s) not closed',
  });
  assert.equal(scan([Buffer.from('{"a')]).message, 'the text ends early: a string is not closed');
  assert.equal(scan([Buffer.from(' ')]).message, 'the text ends early: expected a value');
  assert.deepEqual(scan([Buffer.from('"\n"')]).kind, 'syntax');
});

test('nesting up to the limit is accepted, and the next level is refused at its first byte', () => {
  const nested = (depth: number): Buffer => Buffer.from('['.repeat(depth) + ']'.repeat(depth));
  assert.equal(scan([nested(128)], 128).kind, 'accepted');
  assert.deepEqual(scan([nested(129)], 128), {
    kind: 'depth',
    offset: 128,
    message: 'nested deeper than 128 objects and arrays',
  });
  assert.equal(scan([nested(1_000_000)], 1_000_000).kind, 'accepted');
  const mixed = '[{"a":'.repeat(50_000);
  assert.equal(scan([Buffer.from(`${mixed}1${'}]'.repeat(50_000)}`)], 100_000).kind, 'accepted');
  assert.equal(scan([Buffer.from(`${mixed}1${']}'.repeat(50_000)}`)], 100_000).kind, 'syntax');
});

test('a scanner refuses everything after an error', () => {
  const scanner = new JsonScanner({ maxDepth: 10 });
  assert.throws(() => scanner.push(Buffer.from('[}')), JsonSyntaxError);
  assert.throws(() => scanner.push(Buffer.from('1]')), JsonSyntaxError);
  assert.throws(() => scanner.end(), JsonSyntaxError);
});

/** Records every span as `level kind text`. */
class Recorder implements JsonHandler {
  readonly spans: string[] = [];
  readonly #open: number[] = [];
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  begin(_kind: JsonSpanKind, start: number): void {
    this.#open.push(start);
  }

  end(kind: JsonSpanKind, end: number, level: number): void {
    this.spans.push(`${level} ${kind} ${this.#bytes.toString('utf8', this.#open.pop() ?? 0, end)}`);
  }
}

function leafKind(text: string): string {
  if (text.startsWith('"')) return 'string';
  if (text === 'null') return 'null';
  return text === 'true' || text === 'false' ? 'boolean' : 'number';
}

function* expectedSpans(node: JsonText, level: number, deepest: number): Generator<string> {
  if (level > deepest) return;
  for (const { token, value } of node.members) {
    if (level < deepest) yield `${level + 1} key ${token}`;
    yield* expectedSpans(value, level + 1, deepest);
  }
  for (const item of node.items) yield* expectedSpans(item, level + 1, deepest);
  yield `${level} ${node.kind === 'leaf' ? leafKind(node.text) : node.kind} ${node.text}`;
}

test('each key and value up to `eventDepth` is reported with its exact span', () => {
  fc.assert(
    fc.property(jsonText, chunkSizes, fc.integer({ min: 0, max: 6 }), (node, sizes, deepest) => {
      const bytes = Buffer.from(node.text);
      const recorder = new Recorder(bytes);
      const scanner = new JsonScanner({ maxDepth: 1000, eventDepth: deepest, handler: recorder });
      for (const chunk of cut(bytes, sizes)) scanner.push(chunk);
      scanner.end();
      assert.deepEqual(recorder.spans, [...expectedSpans(node, 1, deepest)]);
    }),
  );
});
