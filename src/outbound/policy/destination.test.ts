import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { anyText } from '#base/text/any-text.test-support.ts';
import { readDestination } from './destination.ts';

function hrefOf(uri: string): string {
  const read = readDestination(uri);
  assert.ok('url' in read, `${JSON.stringify(uri.slice(0, 80))}: ${'problem' in read ? read.problem : ''}`);
  return read.url.href;
}

function problemOf(uri: string): string {
  const read = readDestination(uri);
  assert.ok('problem' in read, `${JSON.stringify(uri.slice(0, 80))} was read`);
  return read.problem;
}

test('a destination is the URL that the WHATWG parser reads, without its fragment', () => {
  assert.equal(hrefOf('hTTpS://EXAMPLE.com:443/a/../b?q=%0A#part'), 'https://example.com/b?q=%0A');
  assert.equal(hrefOf('http://example.com'), 'http://example.com/');
  assert.equal(hrefOf('http://example.com:/#'), 'http://example.com/');
  assert.equal(hrefOf('http://bücher.example/ü@:'), 'http://xn--bcher-kva.example/%C3%BC@:');
  assert.equal(hrefOf('http://example.com./'), 'http://example.com./');
  assert.equal(hrefOf('http://_dmarc.ab--cd.example_x.com/'), 'http://_dmarc.ab--cd.example_x.com/');
  assert.equal(hrefOf('http://[2001:DB8::0:1]:8080/'), 'http://[2001:db8::1]:8080/');
  assert.equal(hrefOf('http://0x7f.1/'), 'http://127.0.0.1/');
  assert.equal(hrefOf('http://xn--mgba3gch31f060k/'), 'http://xn--mgba3gch31f060k/');
});

test('a destination has 1 to 8,192 characters, counted as code points', () => {
  const start = 'http://a/';
  assert.ok(hrefOf(start + 'x'.repeat(8_192 - start.length)));
  assert.ok(hrefOf(start + '😀'.repeat(8_192 - start.length)));
  assert.match(problemOf(start + 'x'.repeat(8_193 - start.length)), /8192/u);
  assert.match(problemOf(start + '😀'.repeat(8_193 - start.length)), /8192/u);
  assert.match(problemOf(''), /empty/u);
});

const notAbsolute = [
  'http:',
  'http://',
  'http:///',
  'http:////127.0.0.1/',
  'http:/127.0.0.1/',
  'http:127.0.0.1',
  'http:@127.0.0.1/',
  'https:localhost',
  '//h/',
  '/h',
  'h',
  'h:80',
  'http://?x',
  'http://#x',
  'ftp://h/',
  'file:///etc/passwd',
  'javascript:1',
  'data:,x',
  'httpx://h/',
  'wss://h/',
  'view-source:http://h/',
];

for (const uri of notAbsolute) {
  test(`"${uri}" is no absolute http or https URI`, () => assert.match(problemOf(uri), /absolute http or https/u));
}

for (const uri of [
  'http://@h/',
  'http://:@h/',
  'http://u@h/',
  'http://u:p@h/',
  'http://a@b@h/',
  'http://h:80@i/',
  'http://u%40:p@h/',
]) {
  test(`"${uri}" is refused for its user information`, () => assert.match(problemOf(uri), /user information/u));
}

test('an "@" after the authority is not user information', () => {
  assert.equal(hrefOf('http://h/@x?@y'), 'http://h/@x?@y');
  assert.equal(hrefOf('http://h?u:p@x'), 'http://h/?u:p@x');
  assert.equal(hrefOf('http://h#u:p@x'), 'http://h/');
});

test('a destination with a backslash, white space, control or invisible character is refused', () => {
  const unwanted = [
    '\\',
    ' ',
    '\t',
    '\n',
    '\r',
    '\0',
    '\u001f',
    '\u007f',
    '\u0085',
    '\u00a0',
    '\u1680',
    '\u2003',
    '\u2028',
    '\u2029',
    '\u3000',
    '\u00ad',
    '\u061c',
    '\u180e',
    '\u200b',
    '\u200c',
    '\u200d',
    '\u200e',
    '\u202e',
    '\u2060',
    '\u2066',
    '\ufeff',
    '\ufff9',
    '\u{110bd}',
    '\u{e0001}',
    '\u{e0041}',
    '\ud800',
    '\udfff',
  ];
  for (const character of unwanted) {
    for (const uri of [
      `${character}http://h/`,
      `ht${character}tp://h/`,
      `http://h${character}i/`,
      `http://h/p${character}p`,
      `http://h/?q=${character}`,
      `http://h/#f${character}`,
      `http://h/${character}`,
    ]) {
      assert.match(problemOf(uri), /^holds (a backslash|white space|a control|an invisible|half)/u);
    }
  }
});

test('an invisible character does not hide in a percent-encoded host, nor does one that UTS 46 drops', () => {
  for (const host of [
    'exam%E2%80%8Bple.com',
    'example.com%C2%AD',
    '%EF%BB%BFexample.com',
    '127.0.0.1%E2%81%A0',
    'a\ufe0fb',
    'a%EF%B8%8Fb',
    'a\u034fb',
    '\u3164a',
    'a%E1%85%9Fb',
    'a%00b',
    'a%09b',
    'a%20b',
    'a%C2%85b',
  ]) {
    assert.match(problemOf(`http://${host}/`), /invisible/u, host);
  }
  assert.equal(hrefOf('http://h/a%E2%80%8Bb%00'), 'http://h/a%E2%80%8Bb%00');
});

const badHosts = [
  'a..b',
  '.a',
  'a..',
  '.',
  '..',
  '-a',
  'a-',
  'b.-a.c',
  'b.a-.c',
  'xn--',
  'xn--a',
  'xn--a-',
  'xn--999999999',
  'a.xn--0.b',
  'xn--localhost-',
  'a!b',
  'a*b',
  "a'b",
  'a(b)',
  'a,b',
  'a;b',
  'a=b',
  'a~b',
  'a$b',
  'a&b',
  'a+b',
  'a`b',
  'a{b}',
  'a"b',
  'a%2Fb',
  'a%40b',
  'a%5Cb',
  'a%zzb',
  'a%',
  'a<b',
  'a>b',
  'a^b',
  'a|b',
  'a[b]',
  '[',
  ']',
  '[]',
  '[::1',
  '::1',
  '[::1]x',
  '[fe80::1%25lo]',
  '[fe80::1%lo]',
  '[::ffff:256.0.0.1]',
  '[1:2:3:4:5:6:7:8:9]',
  '256.0.0.1',
  '1.2.3.4.5',
  '4294967296',
  'a.0x7f',
  '0o177.0.0.1',
  '08.8.8.8',
  '%C0%AF',
  '%ff',
  '\u0301a',
  'a\u2024b',
  '℀',
  'a／b',
  'a＠b',
  '١.example',
  `${'a'.repeat(64)}.com`,
  `${'ü'.repeat(60)}.com`,
  Array.from({ length: 51 }, () => 'abcd').join('.'),
  `${'a'.repeat(63)}.`.repeat(4),
];

for (const host of badHosts) {
  test(`the host ${JSON.stringify(host.slice(0, 40))} is refused`, () => {
    problemOf(`http://${host}/`);
    problemOf(`https://${host}:8443/x`);
  });
}

test('labels of 63 and names of 253 characters are the longest', () => {
  assert.ok(hrefOf(`http://${'a'.repeat(63)}.com/`));
  const name = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
  assert.ok(hrefOf(`http://${name}/`));
  assert.ok(hrefOf(`http://${name}./`));
  problemOf(`http://${name}d/`);
});

test('a port is 1 to 65535', () => {
  for (const port of ['0', '00', '65536', '99999999999', '-1', '+1', '8o', '1.0', '%38']) problemOf(`http://h:${port}/`);
  assert.equal(hrefOf('http://h:65535/'), 'http://h:65535/');
  assert.equal(hrefOf('http://h:0080/'), 'http://h/');
  assert.equal(hrefOf('http://h:1/'), 'http://h:1/');
});

test('a problem never quotes a possible secret', () => {
  for (const uri of [
    'http://user:hunter2@h/',
    'http://h/?token=hunter2 ',
    'http://h:hunter2/',
    'https:hunter2',
    'http://[hunter2]/',
    'http://a..b/hunter2',
  ]) {
    assert.doesNotMatch(problemOf(uri), /hunter2/u);
  }
});

test('reading never throws, and its result is read again as the same destination', () => {
  const text = fc.oneof(
    anyText({ maxLength: 60 }),
    fc.string({ unit: 'grapheme', maxLength: 40 }).map((host) => `http://${host}`),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc.domain().map((host) => `HTTP://${host.toUpperCase()}./`),
  );
  fc.assert(
    fc.property(text, (uri) => {
      const read = readDestination(uri);
      if ('problem' in read) return;
      assert.ok(read.url.protocol === 'http:' || read.url.protocol === 'https:');
      assert.equal(read.url.username + read.url.password + read.url.hash, '');
      // Percent-encoding lengthens a URI, so it may have outgrown the limit.
      if (read.url.href.length <= 8_192) assert.equal(hrefOf(read.url.href), read.url.href);
    }),
    { numRuns: 2_000 },
  );
});
