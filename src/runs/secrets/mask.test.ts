import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { valueText } from '../../../test/support/callers/json-text.ts';
import { sealedSecret } from '../../../test/support/runs/sealed-secret.ts';
import { createMask } from './mask.ts';
import { createSecretValues } from './secret-values.ts';

/** Every string and name of a JSON value, and its numbers as texts. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...textsIn(inner)]);
}

/** A JSON string token of a text, in which characters are escaped by chance. */
const tokenOf = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  text.chain((value) =>
    fc.infiniteStream(fc.boolean()).map((escapes) => {
      const units = Array.from({ length: value.length }, (_, index) => value.charAt(index));
      const written = units.map((unit) => {
        const [escaped] = escapes.take(1);
        return escaped === true ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}` : JSON.stringify(unit).slice(1, -1);
      });
      return `"${written.join('')}"`;
    }),
  );

const secretText = fc.string({ unit: 'grapheme-composite', minLength: 4, maxLength: 12 }).filter((text) => text.isWellFormed());

test('no string of a masked text has a secret, with any text around it and however it is escaped', () => {
  const cases = fc.array(secretText, { minLength: 1, maxLength: 3 }).chain((secrets) => {
    const one = fc.constantFrom(...secrets, secrets.join(''), (secrets[0] ?? '').slice(0, 3), '*');
    const text = fc.array(fc.oneof(one, fc.string({ maxLength: 3 })), { maxLength: 6 }).map((parts) => parts.join(''));
    return fc.tuple(fc.constant(secrets), fc.array(fc.tuple(tokenOf(text), tokenOf(text)), { maxLength: 4 }));
  });
  fc.assert(
    fc.property(cases, ([secrets, members]) => {
      const text = `{${members.map(([name, value]) => `${name}:[${value}]`).join(',')}}`;
      const masked = createMask(secrets)(text);
      for (const found of textsIn(JSON.parse(masked)))
        for (const secret of secrets) assert.ok(!found.includes(secret), `${JSON.stringify(secret)} is in ${masked}`);
    }),
    { numRuns: 500 },
  );
});

test('a text without a secret stays as it is, byte for byte', () => {
  const mask = createMask(['correct-horse', 'battery-staple']);
  fc.assert(
    fc.property(valueText, (text) => {
      assert.equal(mask(text), text);
    }),
    { numRuns: 300 },
  );
});

test('what is around a secret keeps its bytes, and so do other strings and numbers', () => {
  const mask = createMask(['hush-hush', '123456']);
  assert.equal(mask('{"a":1.10,"b\\/":"x \\u0068ush-hush y","c":"\\u0041"}'), '{"a":1.10,"b\\/":"x *** y","c":"\\u0041"}');
  assert.equal(mask('[123456, 1234567, 18446744073709551615, "a123456"]'), '["***", 1234567, 18446744073709551615, "a***"]');
  assert.equal(mask('{"hush-hush":"hush-hushush-hush "}'), '{"***":"*** "}', 'two that overlap are one');
});

test('a secret is masked in percent-encoding and in base64, at any offset of it', () => {
  const mask = createMask(['pass word/?']);
  assert.equal(mask('"a=pass%20word%2F%3F&b"'), '"a=***&b"');
  for (const user of ['u', 'us', 'use', 'user']) {
    const credentials = Buffer.from(`${user}:pass word/?`).toString('base64');
    assert.ok(mask(JSON.stringify(`Basic ${credentials}`)).includes('***'), credentials);
  }
});

test('a secret with less than 4 characters is not masked', () => {
  assert.equal(createMask(['abc'])('"abc"'), '"abc"');
});

test('a new value of a secret is masked, and so is its value before, which a reply may still bring', () => {
  let secrets = { login: sealedSecret('old-value') };
  const values = createSecretValues(() => secrets);
  assert.equal(values.maskText('the old-value and the new-value'), 'the *** and the new-value');
  secrets = { login: sealedSecret('new-value') };
  assert.equal(values.maskText('the old-value and the new-value'), 'the *** and the ***');
});

test('a secret is masked in a form, in XML and in hexadecimal digits, in capital and in small letters', () => {
  const value = 'pä&s <w>rd/+é';
  const mask = createMask([value]);
  const bytes = Buffer.from(value);
  const spellings = [
    new URLSearchParams({ k: value }).toString().slice(2),
    encodeURIComponent(value),
    encodeURIComponent(value).toLowerCase(),
    value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    Array.from(value, (character) => `&#${character.codePointAt(0)};`).join(''),
    Array.from(value, (character) => `&#x${character.codePointAt(0)?.toString(16).toUpperCase()};`).join(''),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    bytes.toString('hex').replaceAll(/..(?!$)/gu, '$&:'),
  ];
  for (const spelling of spellings) assert.equal(mask(JSON.stringify(`a=${spelling};`)), '"a=***;"', spelling);
  const escaped = Array.from(value, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  assert.equal(mask(JSON.stringify(`{"a":"${escaped}"}`)), String.raw`"{\"a\":\"***\"}"`);
});

test('a secret is masked in base64 with line breaks in it, also where its characters are percent-encoded', () => {
  const value = 'correct-horse-battery-staple>>>???~~~';
  const mask = createMask([value]);
  for (const user of ['u', 'us', 'use', 'user']) {
    const coded = Buffer.from(`${user}:${value}`).toString('base64');
    for (const written of [
      coded.replaceAll(/.{7}/gu, '$&\r\n'),
      coded.replaceAll(/.{9}/gu, '$&\n '),
      encodeURIComponent(coded),
      encodeURIComponent(coded.replaceAll(/.{7}/gu, '$&\r\n')),
    ]) {
      const masked = JSON.parse(mask(JSON.stringify(written))) as string;
      assert.ok(masked.includes('***') && masked.length < 30, masked);
    }
  }
});

test('a secret is masked in a JSON text within a string', () => {
  const echoed = JSON.stringify({ body: JSON.stringify({ key: 'pa"ss\\word' }) });
  assert.equal(createMask(['pa"ss\\word'])(echoed), String.raw`{"body":"{\"key\":\"***\"}"}`);
});

/** `text` where `secret` is configured. */
function masked(secret: string, text: string): string {
  return createSecretValues(() => ({ login: sealedSecret(secret) })).maskText(text);
}

test('the parts of a secret are masked that a workflow can use by themselves, and a user name is not', () => {
  assert.equal(masked('admin:pass:word', 'admin sent pass:word'), 'admin sent ***');
  const members = { username: 'admin', password: 'horse', keys: ['correct-battery', { username: 'ann-of-the-noc', id: 18446 }] };
  const object = JSON.stringify(members).replace('18446', '18446744073709551615');
  assert.equal(
    masked(object, 'admin and ann-of-the-noc sent horse, correct-battery, 18446744073709551615'),
    'admin and ann-of-the-noc sent ***, ***, ***',
  );
  const sent = Buffer.from('admin:horse').toString('base64');
  assert.match(masked(object, `Basic ${sent}`), /^Basic .{0,2}\*\*\*.{0,2}=*$/u);
});

test('the parts of a secret are masked in a text that only jq takes for JSON', () => {
  const text = '{ "username": "admin", "password": "ho\\rse", "pin": 012345678, "none": nan }';
  assert.equal(masked(text, 'admin sent ho\\rse and 012345678, nan'), 'admin sent *** and ***, nan');
});

test('short members of a secret, which may be part of ordinary replies, are not masked', () => {
  const object = JSON.stringify({ token: 'abcdef', token_type: 'Bearer', region: 'https', expires_in: 3600 });
  assert.equal(masked(object, 'https: Bearer abcdef for 3600 s'), 'https: Bearer *** for 3600 s');
});
