import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { GatewayError } from '#base/gateway-error.ts';
import { anyText } from '#base/text/any-text.test-support.ts';
import { textFields } from './automation.ts';
import { filterKinds, type ListOptions, readListOptions } from './list-options.ts';

const defaults: ListOptions = { limit: 100, skip: 0, sort: 'name', order: 1, filters: [] };

function read(query: string): ListOptions {
  return readListOptions(new URLSearchParams(query));
}

function readJsonForm(text: string): ListOptions {
  return read(`queryParameters=${encodeURIComponent(text)}`);
}

/** The problems as pointer → detail. */
function problemsOf(query: string): Readonly<Record<string, string>> {
  try {
    read(query);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'invalid-request');
    assert.equal(error.status, 400);
    const [first] = error.errors ?? [];
    assert.ok(first !== undefined && error.message.startsWith(`${first.pointer} ${first.detail}`));
    return Object.fromEntries((error.errors ?? []).map(({ pointer, detail }) => [pointer, detail]));
  }
  return assert.fail(`${query} is accepted`);
}

function jsonProblems(text: string): Readonly<Record<string, string>> {
  return problemsOf(`queryParameters=${encodeURIComponent(text)}`);
}

suite('the three forms', () => {
  test('an empty query string is the empty object', () => {
    assert.deepEqual(read(''), defaults);
    assert.deepEqual(readJsonForm('{}'), defaults);
    assert.deepEqual(readJsonForm(' { } '), defaults);
  });

  test('say the same, for any options', () => {
    const field = fc.constantFrom(...textFields);
    const words = fc.string({ unit: 'grapheme' }).filter((word) => !word.includes('\ufffd'));
    const options = fc.record(
      {
        limit: fc.integer({ min: 0, max: 1000 }),
        skip: fc.maxSafeNat(),
        sort: field,
        order: fc.constantFrom(1, -1),
        contains: words,
        equals: words,
        startsWith: words,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(options, field, (given, searched) => {
        const all = { ...given, ...(given.equals === undefined ? {} : { equalsField: searched }) };
        const plain = new URLSearchParams();
        const brackets = new URLSearchParams();
        for (const [name, value] of Object.entries(all)) {
          plain.set(name, String(value));
          brackets.set(`queryParameters[${name}]`, String(value));
        }
        const expected = {
          limit: given.limit ?? 100,
          skip: given.skip ?? 0,
          sort: given.sort ?? 'name',
          order: given.order ?? 1,
          filters: filterKinds.flatMap((kind) => {
            const text = given[kind];
            return text === undefined ? [] : [{ kind, field: kind === 'equals' ? searched : 'name', text }];
          }),
        };
        assert.deepEqual(read(plain.toString()), expected);
        assert.deepEqual(read(brackets.toString()), expected);
        assert.deepEqual(readJsonForm(JSON.stringify(all)), expected);
      }),
    );
  });

  test('an empty filter text is a filter: documents without the field do not match it', () => {
    assert.deepEqual(read('contains=&containsField=lastRunAt').filters, [{ kind: 'contains', field: 'lastRunAt', text: '' }]);
  });

  test('two forms at once are refused, also where they agree', () => {
    assert.deepEqual(Object.keys(problemsOf('limit=1&queryParameters[skip]=1')), ['?queryParameters[skip]']);
    assert.deepEqual(Object.keys(problemsOf('queryParameters={}&limit=1&skip=2')), ['?limit', '?skip']);
    assert.deepEqual(Object.keys(problemsOf('queryParameters[limit]=1&queryParameters={"skip":1}')), ['?queryParameters']);
    assert.deepEqual(Object.keys(problemsOf('queryParameters={}&foo=1')), ['?foo']);
  });
});

suite('all problems at once', () => {
  test('with the pointers of the form', () => {
    assert.deepEqual(Object.keys(problemsOf('limit=1001&skip=-1&order=2&sort=x&bogus=1&equalsField=name')), [
      '?bogus',
      '?limit',
      '?skip',
      '?sort',
      '?order',
      '?equalsField',
    ]);
    assert.deepEqual(Object.keys(problemsOf('queryParameters[limit]=x&queryParameters[a/b]=1&queryParameters[limit][x]=1')), [
      '?queryParameters[a/b]',
      '?queryParameters[limit][x]',
      '?queryParameters[limit]',
    ]);
    assert.deepEqual(Object.keys(jsonProblems('{"limit":"5","skip":1.5,"a/b":1,"contains":7,"sort":null}')), [
      '?queryParameters/a~1b',
      '?queryParameters/limit',
      '?queryParameters/skip',
      '?queryParameters/sort',
      '?queryParameters/contains',
    ]);
  });

  test('at most a hundred of them', () => {
    const many = Array.from({ length: 3000 }, (_, index) => `x${index}=1`).join('&');
    assert.equal(Object.keys(problemsOf(many)).length, 100);
  });

  test('a message names the first and counts the others', () => {
    assert.throws(() => read('limit=1001&skip=x'), {
      message:
        '?limit must be an integer from 0 to 1000, in decimal digits without a leading zero or plus sign (and 1 more, see errors).',
    });
  });
});

suite('nothing is coerced', () => {
  for (const written of [
    '',
    '%201',
    '1%20',
    '01',
    '%2B1',
    '+1',
    '-0',
    '1.0',
    '1e2',
    '0x10',
    'NaN',
    'Infinity',
    '٣',
    '1001',
    '-1',
  ]) {
    test(`limit=${written} is refused`, () => assert.deepEqual(Object.keys(problemsOf(`limit=${written}`)), ['?limit']));
  }
  for (const written of ['"1"', 'true', 'null', '[1]', '{}', '1.5', '-1', '1001', '1e400']) {
    test(`{"limit":${written}} is refused`, () =>
      assert.deepEqual(Object.keys(jsonProblems(`{"limit":${written}}`)), ['?queryParameters/limit']));
  }
  test('an integer that a number cannot hold exactly is refused', () => {
    assert.deepEqual(Object.keys(problemsOf('skip=9007199254740993')), ['?skip']);
    assert.deepEqual(Object.keys(jsonProblems('{"skip":9007199254740993}')), ['?queryParameters/skip']);
    assert.equal(read('skip=9007199254740991').skip, Number.MAX_SAFE_INTEGER);
  });
  test('names are taken exactly', () => {
    for (const query of [
      'Limit=1',
      'limit%00=1',
      '__proto__=1',
      'constructor=1',
      'queryParameters[]=1',
      'queryParameters[limit=1',
    ]) {
      assert.equal(Object.keys(problemsOf(query)).length, 1, query);
    }
    assert.deepEqual(Object.keys(problemsOf('sort=data.gbac')), ['?sort']);
    assert.deepEqual(Object.keys(problemsOf('contains=a&containsField=toString')), ['?containsField']);
  });
});

suite('hygiene', () => {
  test('a parameter given twice is refused, also with the same value', () => {
    assert.deepEqual(problemsOf('limit=5&limit=5'), { '?limit': 'is given more than once; give it once' });
    assert.deepEqual(problemsOf('queryParameters={}&queryParameters={}'), {
      '?queryParameters': 'is given more than once; give it once',
    });
    assert.deepEqual(jsonProblems('{"limit":5,"limit":5}'), {
      '?queryParameters/limit': 'is given more than once; give it once',
    });
    assert.deepEqual(Object.keys(jsonProblems(String.raw`{"limit":5,"l\u0069mit":6}`)), ['?queryParameters/limit']);
  });

  test('__proto__ in the JSON form is an unknown name and reaches nothing', () => {
    assert.deepEqual(Object.keys(jsonProblems('{"__proto__":{"limit":5},"constructor":{"prototype":{}}}')), [
      '?queryParameters/__proto__',
      '?queryParameters/constructor',
    ]);
  });

  test('what is no JSON object is refused with a right one to write', () => {
    for (const text of ['', 'null', '[]', '"x"', '5', '{', "{'limit':5}", '{"limit":05}', '{}{}', '\ufeff{}', '['.repeat(4000)]) {
      const problems = jsonProblems(text);
      assert.deepEqual(Object.keys(problems), ['?queryParameters']);
      assert.match(problems['?queryParameters'] ?? '', /\{"limit":50\}/u);
    }
  });

  test('U+FFFD is searched for like any other character', () => {
    assert.equal(read('contains=%ef%bf%bd').filters[0]?.text, '\ufffd');
    assert.equal(readJsonForm(String.raw`{"contains":"\ufffd"}`).filters[0]?.text, '\ufffd');
  });

  test('a lone surrogate escape is refused', () => {
    assert.deepEqual(Object.keys(jsonProblems(String.raw`{"equals":"\ud800"}`)), ['?queryParameters/equals']);
  });

  test('a Field without its filter is refused', () => {
    for (const kind of filterKinds) assert.deepEqual(Object.keys(problemsOf(`${kind}Field=name`)), [`?${kind}Field`]);
  });

  test('any query string is either read within its limits or refused with pointers', () => {
    fc.assert(
      fc.property(anyText(), fc.boolean(), (text, asJson) => {
        try {
          const { limit, skip } = asJson ? readJsonForm(text) : read(text);
          assert.ok(limit >= 0 && limit <= 1000 && skip >= 0);
        } catch (error) {
          assert.ok(error instanceof GatewayError && error.code === 'invalid-request');
          assert.ok((error.errors ?? []).every(({ pointer }) => pointer.startsWith('?')));
        }
      }),
    );
  });
});
