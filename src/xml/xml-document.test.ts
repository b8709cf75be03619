import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readXml, xmlRootName } from './xml-document.ts';

function problem(text: string): string {
  const reading = readXml(text);
  return 'problem' in reading ? reading.problem : '';
}

test('a well-formed document is accepted, with the name of its root as written', () => {
  for (const text of [
    '<a/>',
    ' <!-- c --><?p i?><a>t<b/></a> <!-- d -->\n',
    '<?xml version="1.0" encoding="utf-8"?><a b="&amp;&#10;"><![CDATA[<]]></a>',
    '<a xmlns="urn:a" xmlns:p="urn:p" p:x="1" x="2"><p:b/></a>',
  ]) {
    assert.deepEqual(readXml(text), { root: 'a' }, text);
  }
  assert.deepEqual(readXml('<p:a xmlns:p="urn:p"/>'), { root: 'p:a' });
});

test('the problem of a text that is not well-formed has no final full stop, because a sentence contains it', () => {
  const read = readXml('<a><b></a>');
  assert.match('problem' in read ? read.problem : '', /^it is not well-formed: 1:10: unexpected close tag$/u);
});

test('a text that is not well-formed is a problem', () => {
  for (const text of [
    '',
    ' ',
    'text',
    '<a>',
    '<a></b>',
    '<a/><b/>',
    '<a/>text',
    '<a b=1/>',
    '<a b="1" b="2"/>',
    '<a>&nbsp;</a>',
    '<a>&</a>',
    '<a>\u0001</a>',
    '<a>\ud800</a>',
    '<p:a/>',
    '<a p:b="1"/>',
    '<a xmlns:p="u" xmlns:q="u" p:x="" q:x=""/>',
    '<a xmlns:p=""/>',
    '<constructor:a/>',
    '<__proto__:a/>',
    '<a b="<"/>',
    '<1/>',
    '<a:b:c/>',
  ]) {
    assert.notEqual(problem(text), '', text);
  }
});

test('a DOCTYPE, other entities, other encodings and deep nesting are refused', () => {
  assert.match(problem('<!DOCTYPE a><a/>'), /DOCTYPE/u);
  assert.match(problem('<!DOCTYPE a [<!ENTITY x "xxxxxxxx"><!ENTITY y "&x;&x;">]><a>&y;</a>'), /DOCTYPE/u);
  assert.match(problem('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'), /DOCTYPE/u);
  assert.match(problem('<?xml version="1.0" encoding="UTF-16"?><a/>'), /UTF-16/u);
  assert.deepEqual(readXml('<a>'.repeat(128) + '</a>'.repeat(128)), { root: 'a' });
  assert.match(problem('<a>'.repeat(129) + '</a>'.repeat(129)), /deeper than 128/u);
  assert.match(problem('<a>'.repeat(1_000_000)), /deeper than 128/u);
});

test('the name of the root is found in the first part of a document', () => {
  assert.equal(xmlRootName('<devices xmlns="http://tail-f.com/ns/ncs"><device><na'), 'devices');
  assert.equal(
    xmlRootName('\ufeff<?xml version="1.0"?>\n<!-- <b> -->\n<!DOCTYPE x [<!ELEMENT a ANY>]>\n<ncs:devices a'),
    'ncs:devices',
  );
  assert.equal(xmlRootName(`<!--${'-x'.repeat(20_000)}--><a>`), 'a');
  for (const text of ['', 'text', '{"a":1}', '<', '<1>', '<dev', '</a>']) assert.equal(xmlRootName(text), undefined, text);
});

test('a lone surrogate does not hide a DOCTYPE', () => {
  const text = '<?x \ud800?><!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;?><b/><?y \ud800?></a><?z ?>';
  assert.match(problem(text), /a lone surrogate/u);
});
