import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { flatSchema, shownText, typedJson } from './schema-form.ts';
import {
  countText,
  elementTexts,
  errorKind,
  haveSameMembers,
  indentedJson,
  memberNames,
  memberText,
  seenText,
  taskNames,
} from './texts.ts';

const unusual = ['{', '}', '[', ']', ',', ':', '"', '\\', '\n'];
const name = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom(...unusual)).filter((text) => text !== '__proto__');

test('indented JSON is the same value, and the same text without its white space', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: fc.oneof(fc.string({ maxLength: 1 }), fc.constantFrom(...unusual)) }), (text) => {
      assert.deepEqual(JSON.parse(indentedJson(text)), JSON.parse(text));
    }),
  );
  assert.equal(
    indentedJson('{"n":18446744073709551615,"x":[1.0,{}],"e":[ ]}'),
    '{\n  "n": 18446744073709551615,\n  "x": [\n    1.0,\n    {}\n  ],\n  "e": []\n}',
  );
  assert.equal(indentedJson('no { JSON'), 'no { JSON');
});

test('the text of a member is its value, with its digits', () => {
  fc.assert(
    fc.property(fc.dictionary(name, fc.jsonValue()), fc.integer({ min: 0, max: 2 }), (object, space) => {
      const text = JSON.stringify(object, undefined, space);
      for (const [key, value] of Object.entries(object)) {
        assert.equal(JSON.stringify(JSON.parse(memberText(text, key) ?? '')), JSON.stringify(value), `${key} of ${text}`);
      }
      assert.equal(memberText(text, 'no such member'), undefined);
    }),
  );
  assert.equal(memberText('{"a":{"n":1},"n":18446744073709551615}', 'n'), '18446744073709551615');
});

test('the texts of elements and the names of members are those of the value, with its digits', () => {
  fc.assert(
    fc.property(
      fc.array(fc.jsonValue()),
      fc.dictionary(name, fc.jsonValue()),
      fc.integer({ min: 0, max: 2 }),
      (list, object, space) => {
        const texts = elementTexts(JSON.stringify(list, undefined, space));
        assert.deepEqual(
          texts.map((text) => JSON.stringify(JSON.parse(text))),
          list.map((value) => JSON.stringify(value)),
        );
        assert.deepEqual(memberNames(JSON.stringify(object, undefined, space)), Object.keys(object));
      },
    ),
  );
  assert.deepEqual(elementTexts('[18446744073709551615, [1.0]]'), ['18446744073709551615', '[1.0]']);
  assert.deepEqual([elementTexts('{"a":1}'), memberNames('[1]'), memberNames('no JSON')], [[], [], []]);
});

test('a form has the members of a flat schema, and refuses any other schema', () => {
  const schema = {
    type: 'object',
    required: ['n'],
    properties: {
      n: { type: 'integer', title: 'Number', default: 7 },
      mode: { type: 'string', enum: ['a', 'b'] },
      tags: { type: 'array', items: { type: 'string' } },
      on: { type: 'boolean' },
    },
  };
  const members = flatSchema(schema)?.members ?? [];
  assert.deepEqual(
    members.map(({ name, kind, isRequired }) => [name, kind, isRequired]),
    [
      ['n', 'integer', true],
      ['mode', 'choice', false],
      ['tags', 'list', false],
      ['on', 'boolean', false],
    ],
  );
  const [number, , list] = members;
  assert.ok(number !== undefined && list !== undefined);
  assert.equal(typedJson(number, ' 18446744073709551615 '), '18446744073709551615');
  // The gateway says what is wrong with it.
  assert.equal(typedJson(number, 'seven'), '"seven"');
  assert.equal(typedJson(list, 'a\n\n b \n'), '["a","b"]');
  assert.equal(shownText(list, '["a","b"]'), 'a\nb');
  assert.equal(shownText(number, number.byDefault), '7');
  for (const other of [undefined, { type: 'array' }, { type: 'object', properties: { deep: { type: 'object' } } }])
    assert.equal(flatSchema(other), undefined);
});

test('an invisible character is shown by its number, and line breaks stay', () => {
  assert.equal(seenText('a\u202egnp.exe\u0007\r\n\tü'), 'a⟨U+202E⟩gnp.exe⟨U+0007⟩\r\n\tü');
});

test('each character that shows nothing is shown by its number: ignorable ones, and blanks but the space', () => {
  const numbers = [
    '00A0',
    '00AD',
    '034F',
    '061C',
    '115F',
    '1160',
    '1680',
    '17B4',
    '180E',
    '2003',
    '200B',
    '200D',
    '2028',
    '202F',
    '205F',
    '2060',
    '2064',
    '206F',
    '2800',
    '3000',
    '3164',
    'FE0F',
    'FEFF',
    'FFA0',
    'FFF9',
    '1BCA0',
    '1D159',
    '1D173',
    'E0001',
    'E0041',
    'E0100',
  ];
  for (const number of numbers)
    assert.equal(seenText(`a${String.fromCodePoint(Number.parseInt(number, 16))}b`), `a⟨U+${number}⟩b`);
  assert.equal(seenText('a \ud800b'), 'a ⟨U+D800⟩b');
  for (const plain of ['a b', 'é', '漢字', '👍', '́']) assert.equal(seenText(plain), plain);
});

test('two objects have the same members in any order, and other digits are another member', () => {
  assert.ok(haveSameMembers('{"a": 1.0,"b":["x"]}', '{"b":[ "x" ],"a":1.0}'));
  for (const other of ['{"a":1}', '{"a":1.0,"b":2}', '{}']) assert.ok(!haveSameMembers('{"a":1.0}', other), other);
});

test('a task has its names, and an error the last part of its type', () => {
  assert.deepEqual(taskNames('/do/0/all/do/1/a~1b'), ['all', 'a/b']);
  assert.equal(errorKind('urn:orchestration-gateway:errors:outcome-unknown'), 'outcome-unknown');
});

test('a counted word is in the singular for one alone', () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => countText(count, 'error')),
    ['0 errors', '1 error', '2 errors'],
  );
});
