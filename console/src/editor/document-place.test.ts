import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nameAt, placeIn, textAt } from './document-place.ts';

/** `|` is the cursor: the kind, the way, the members before it, and the word that is typed. */
function placeOf(marked: string): string | undefined {
  const cursor = marked.indexOf('|');
  const text = marked.replace('|', '');
  const place = placeIn(text, cursor);
  if (place === undefined) return undefined;
  const way = place.levels.map(({ name }) => name).join('/');
  return `${place.kind} ${way} (${[...place.members.keys()].join(' ')}) ${JSON.stringify(text.slice(place.from, cursor))}`;
}

test('the place of a cursor in lines of YAML is its way of members and entries', () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['|', 'key  () ""'],
    ['doc|', 'key  () "doc"'],
    ['document:\n  dsl: 1.0.3\n  |', 'key document (dsl) ""'],
    ['document:\n  |', 'key document () ""'],
    ['document:\n  dsl: x\n|', 'key  (document) ""'],
    ['document:\n  version: |', 'value document/version () ""'],
    ['document:\n  version:|', undefined],
    ['do:\n  - |', 'key do/0 () ""'],
    ['do:\n  - a:\n      ca|', 'key do/0/a () "ca"'],
    ['do:\n  - a:\n      call: x\n      with:\n        |', 'key do/0/a/with () ""'],
    ['do:\n  - a:\n      call: x\n      |', 'key do/0/a (call) ""'],
    ['do:\n  - a: { set: 1 }\n  - b:\n      call: orch|', 'value do/1/b/call () "orch"'],
    ['do:\n- a:\n    call: y\n- b:\n    th|', 'key do/1/b () "th"'],
    ['do:\n- a:\n    call: y\noutput:\n  |', 'key output () ""'],
    ['a: 1 # com|', undefined],
    ['# com|', undefined],
    ['\'quo ted\': "x: y"\nb|', 'key  (quo ted) "b"'],
    ['do:\n  - f:\n      fork:\n        branches:\n          - one:\n              |', 'key do/0/f/fork/branches/0/one () ""'],
    ['do:\n  - - a: |', 'value do/0/0/a () ""'],
  ];
  for (const [text, place] of cases) assert.equal(placeOf(text), place, text);
  assert.equal(placeIn('a: |\n  text: here\n  mo', 21), undefined);
  assert.equal(placeIn('a: |\n  text\nb: ', 15)?.levels[0]?.name, 'b');
});

test('the place of a cursor in brackets, and in JSON, is its way as well', () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['{|', 'key  () ""'],
    ['{"document": {"dsl": "1", "na|', 'key document (dsl) "\\"na"'],
    ['{"do": [{"a": {"call": "or|', 'value do/0/a/call () "\\"or"'],
    ['{"do": [{"a": {}}, {"b": {"with": {"adapter": "x"}, "|', 'key do/1/b (with) "\\""'],
    ['do:\n  - a: { call: x, with: { |', 'key do/0/a/with () ""'],
    ['do:\n  - a: { call: x, |', 'key do/0/a (call) ""'],
    ['do:\n  - a: { call: x }\n  - b: { then: |', 'value do/1/b/then () ""'],
    ['a: [1, { b: 2 }, x|', 'value a/2 () "x"'],
    ['a: {\n  b: 1,\n  # c: 2\n  |', 'key a (b) ""'],
    ['a: {\n  b: 1\n}\nc|', 'key  (a) "c"'],
    ['a: { # com|', undefined],
    ['a: { if: .a == "x" and .b|', 'value a/if () ".a == \\"x\\" and .b"'],
  ];
  for (const [text, place] of cases) assert.equal(placeOf(text), place, text);
});

test('the text of a member is found with its quotes, in each way of writing', () => {
  const wanted = ['document', 'version'];
  for (const [text, found] of [
    ['document: { dsl: 1, version: 1.0.0 }', '1.0.0'],
    ["document:\n  dsl: 1\n  version: '1.0.0' # of now\ndo: []", "'1.0.0'"],
    ['{"document":{"version":"1.0.0"},"do":[]}', '"1.0.0"'],
    ['do:\n  - document: { version: 2 }\ndocument:\n    name: version\n    version: 3.0.0-a', '3.0.0-a'],
    ['summary: |\n  document:\n    version: 1\ndocument:\n  version: 4.0.0', '4.0.0'],
    ['version: 1', undefined],
  ] as const) {
    const range = textAt(text, wanted);
    assert.equal(range && text.slice(range.from, range.to), found, text);
  }
});

test('the name of a task is found by its pointer', () => {
  const text = 'do:\n  - a: { set: 1 }\n  - b/c:\n      do:\n        - d: { try: [ { "e": 1 } ] }\n';
  for (const [pointer, name] of [
    ['/do/0/a', 'a'],
    ['/do/1/b~1c', 'b/c'],
    ['/do/1/b~1c/do/0/d', 'd'],
    ['/do/1/b~1c/do/0/d/try/0/e', '"e"'],
  ] as const)
    assert.equal(nameAt(text, pointer), text.indexOf(name === 'd' ? 'd: {' : name === 'a' ? 'a:' : name), pointer);
  assert.equal(nameAt(text, '/do/5/a'), undefined);
});

test('no text makes the search fail or slow', () => {
  const sign = fc.constantFrom(
    'a',
    ':',
    ' ',
    '\n',
    '- ',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    "'",
    '#',
    '|',
    '>',
    '\\',
    '\t',
    '&x',
    '!t',
    '\u202e',
  );
  fc.assert(
    fc.property(fc.array(sign, { maxLength: 60 }), fc.nat(60), (signs, cursor) => {
      const text = signs.join('');
      placeIn(text, Math.min(cursor, text.length));
      textAt(text, ['a', 'a']);
    }),
  );
  const long = `do:\n${'  - a: { call: x, with: { b: [1, 2, "three"] } }\n'.repeat(20_000)}  - `;
  const begin = performance.now();
  assert.equal(placeIn(long, long.length)?.levels[1]?.name, 20_000);
  for (const one of [`"${'a'.repeat(1e6)}`, `a: ${'{'.repeat(1e5)}`, ' '.repeat(1e6), 'a '.repeat(5e5), '-'.repeat(1e6)])
    placeIn(one, one.length);
  assert.ok(performance.now() - begin < 5_000, `${performance.now() - begin} ms`);
});
