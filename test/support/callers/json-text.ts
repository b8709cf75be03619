import * as fc from 'fast-check';
import { anyText } from '../../../src/base/text/any-text.test-support.ts';

/**
 * Random JSON texts for the properties of lossless.test.ts: they often hold what a parser and a serialiser would
 * change. They never hold names that the gateway may refuse in a body (`__proto__`, `constructor`).
 */

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

/** Numbers of any size and spelling that RFC 8259 allows. */
export const numberText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('18446744073709551615', '9007199254740993', '-0', '-0.0', '1.0', '1.10', '1e400', '1E-400', '0e+0', '0.1000'),
  fc.stringMatching(/^-?(0|[1-9][0-9]{0,60})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,5})?$/),
);

const plainCharacter = anyText({ minLength: 1, maxLength: 1 }).filter(
  (character) => character >= ' ' && character !== '"' && character !== '\\' && character.isWellFormed(),
);
const escape = fc.oneof(
  fc.constantFrom(
    '\\"',
    '\\\\',
    '\\/',
    '\\b',
    '\\f',
    '\\n',
    '\\r',
    '\\t',
    '\\u0000',
    '\\u2028',
    '\\ud83d\\ude00',
    '\\uD83D',
    '\\udc00',
  ),
  fc.stringMatching(/^\\u[0-9a-fA-F]{4}$/),
);
const multiByte = fc.constantFrom('ü', 'ß', '€', '語', '😀', '🏴󠁧󠁢', '\u2028', '\ufeff', '\u007f', '\uffff');

/** String tokens, quotes included: escapes of each kind, lone surrogates as escapes, two to four byte characters. */
export const stringText: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 3, arbitrary: plainCharacter }, escape, multiByte), { maxLength: 8 })
  .map((parts) => `"${parts.join('')}"`);

const special = new Set(['__proto__', 'constructor', 'prototype']);

/** Member names: any string, and often one of five, so that names repeat. */
const nameText: fc.Arbitrary<string> = fc
  .oneof(stringText, fc.constantFrom('"a"', '"a"', '"b"', '"\\u0061"', '""'))
  .filter((text) => !special.has(JSON.parse(text) as string));

const { value } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(numberText, stringText, fc.constantFrom('true', 'false', 'null', '{}', '[]')),
    tie('array'),
    tie('object'),
  ),
  array: fc
    .array(fc.tuple(space, tie('value'), space), { maxLength: 5 })
    .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
  object: fc
    .array(fc.tuple(space, nameText, space, space, tie('value'), space), { maxLength: 5 })
    .map((members) => `{${members.map(([a, name, b, c, text, d]) => `${a}${name}${b}:${c}${text}${d}`).join(',')}}`),
}));

const nested = fc
  .tuple(fc.array(fc.constantFrom('[', '{"a":', '{ "a" :\n', '[ 1.0,'), { minLength: 20, maxLength: 110 }), value)
  .map(([opening, inner]) => {
    const closing = opening.toReversed().map((text) => (text.startsWith('[') ? ']' : ' }'));
    return { text: `${opening.join('')}${inner}${closing.join('')}`, depth: opening.length };
  })
  .filter(({ depth }) => depth <= 110)
  .map(({ text }) => text);

/** Any JSON value, without white space around it. At most about 116 levels deep. */
export const valueText: fc.Arbitrary<string> = fc.oneof({ weight: 9, arbitrary: value }, nested);

/** A JSON object in which names repeat, with white space in every place. */
export const objectText: fc.Arbitrary<string> = fc
  .array(fc.tuple(space, nameText, space, space, valueText, space), { maxLength: 6 })
  .map((members) => `{${members.map(([a, name, b, c, text, d]) => `${a}${name}${b}:${c}${text}${d}`).join(',')}}`);

/** Up to three characters of JSON white space. */
export const spaceText: fc.Arbitrary<string> = space;

/** One instance as its upstream writes it: member names are unique, and each comes with the text of its value. */
interface InstanceText {
  readonly text: string;
  /** What `instance_data` must hold. */
  readonly expected: Readonly<Record<string, string>>;
}

export const instanceText: fc.Arbitrary<InstanceText> = fc
  .uniqueArray(fc.tuple(nameText, valueText, space, space), {
    selector: ([name]) => JSON.parse(name) as string,
    maxLength: 6,
  })
  .map((members) => ({
    text: `{${members.map(([name, text, a, b]) => `${a}${name}${b}:${a}${text}${b}`).join(',')}}`,
    expected: Object.fromEntries(
      members.map(([name, text]) => [JSON.parse(name) as string, text.startsWith('"') ? (JSON.parse(text) as string) : text]),
    ),
  }));
