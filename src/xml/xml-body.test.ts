import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { SaxesParser } from 'saxes';
import { GatewayError } from '#base/gateway-error.ts';
import { forbiddenCharacter, writeXmlBody } from './xml-body.ts';
import { readXml } from './xml-document.ts';

function written(object: string): string {
  return writeXmlBody(Buffer.from(object)).toString();
}

function pointers(object: string): readonly string[] {
  try {
    writeXmlBody(Buffer.from(object));
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'invalid-request');
    return (error.errors ?? []).map(({ pointer }) => pointer);
  }
  throw new assert.AssertionError({ message: `written: ${object}` });
}

test('an object becomes XML with attributes, text, repeated and empty elements and all digits', () => {
  assert.equal(
    written(
      '{"input":{"@xmlns":"urn:a","id":18446744073709551615,"v":1.0,"on":true,"none":null,"list":[1,{"x":"y"},null],"empty":[],"o":{}}}',
    ),
    '<input xmlns="urn:a"><id>18446744073709551615</id><v>1.0</v><on>true</on><none/><list>1</list><list><x>y</x></list><list/><o/></input>',
  );
  assert.equal(written('{"a":{"#text":"one","@n":1,"b":null,"#text":" two"}}'), '<a n="1">one<b/> two</a>');
  assert.equal(written('{"a":["text"]}'), '<a>text</a>');
  assert.equal(written('{"é":""}'), '<é/>');
});

test('a namespace is declared by an attribute of the element or of an outer element', () => {
  const object = '{"n:a":{"@xmlns:n":"urn:n","@xml:lang":"en","n:b":{"@n:op":"replace","@op":1}}}';
  assert.equal(written(object), '<n:a xmlns:n="urn:n" xml:lang="en"><n:b n:op="replace" op="1"/></n:a>');
  assert.deepEqual(pointers('{"n:a":{"b":{"@m:x":1}}}'), ['/body/n:a', '/body/n:a/b/@m:x']);
  assert.deepEqual(pointers('{"a":{"b":{"@xmlns:n":"urn:n"},"n:c":1}}'), ['/body/a/n:c']);
  for (const declaration of [
    '"@xmlns:n":""',
    '"@xmlns:xmlns":"urn:n"',
    '"@xmlns:xml":"urn:n"',
    '"@xmlns:x":"http://www.w3.org/2000/xmlns/"',
  ]) {
    assert.deepEqual(pointers(`{"a":{${declaration}}}`).length, 1, declaration);
  }
});

test('text and attributes survive unchanged, including white space and markup', () => {
  const text = fc.string({
    unit: fc.oneof(fc.constantFrom('<', '>', '&', '"', "'", '\r', '\n', '\t', ']]>', 'é', '😀'), fc.string()),
  });
  fc.assert(
    fc.property(text, text, (attribute, content) => {
      const object = JSON.stringify({ root: { '@a': attribute, '#text': content } });
      if (forbiddenCharacter(attribute + content) !== undefined) {
        assert.ok(pointers(object).length > 0);
        return;
      }
      let readAttribute = '';
      let readContent = '';
      const parser = new SaxesParser();
      parser.on('opentag', ({ attributes }) => {
        readAttribute = String(attributes['a']);
      });
      parser.on('text', (part) => {
        readContent += part;
      });
      parser.write(written(object)).close();
      assert.deepEqual([readAttribute, readContent], [attribute, content]);
    }),
    { numRuns: 300 },
  );
});

test('every written document is well-formed XML', () => {
  const name = fc.constantFrom('a', 'b', 'n:c', '@x', '@n:x', '@xmlns', '@xmlns:n', '#text', '-', 'xml:d');
  const scalar = fc.constantFrom('"t"', '1.0', 'true', 'null', '"urn:n"', '""');
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc
        .array(fc.tuple(name, tie('value')), { maxLength: 4 })
        .map((members) => `{${members.map(([key, node]) => `"${key}":${node}`).join(',')}}`),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    ),
  }));
  let count = 0;
  fc.assert(
    fc.property(value, (node) => {
      let text: string;
      try {
        text = written(`{"root":${node}}`);
      } catch (error) {
        assert.ok(error instanceof GatewayError);
        return;
      }
      count++;
      assert.deepEqual(readXml(text), { root: 'root' }, text);
    }),
    { numRuns: 2000 },
  );
  assert.ok(count > 100);
});

test('a value that XML cannot represent is refused, and one error names all such values', () => {
  assert.deepEqual(pointers('{}'), ['/body']);
  assert.deepEqual(pointers('{"a":1,"b":2}'), ['/body']);
  assert.deepEqual(pointers('{"#text":"a"}'), ['/body']);
  assert.deepEqual(pointers('{"a":[1,2]}'), ['/body/a']);
  assert.deepEqual(pointers('{"a":[]}'), ['/body/a']);
  assert.deepEqual(pointers('{"@a":1}'), ['/body/@a']);
  assert.deepEqual(pointers('{"a":{"1b":1,"c d":2,"e:f:g":3,"@h i":4,"":5,"xmlns:j":6}}'), [
    '/body/a/@h i',
    '/body/a/1b',
    '/body/a/c d',
    '/body/a/e:f:g',
    '/body/a/',
    '/body/a/xmlns:j',
  ]);
  assert.deepEqual(pointers('{"a":{"b":[[1],[{}]],"#text":{},"@c":null,"@d":[1],"@e":1,"@e":2}}'), [
    '/body/a/@c',
    '/body/a/@d',
    '/body/a/@e',
    '/body/a/b/0',
    '/body/a/b/1',
    '/body/a/#text',
  ]);
  assert.deepEqual(pointers('{"a":{"b":"\\u0001","c":["\\ud800"],"@d":"\\uffff"}}'), ['/body/a/@d', '/body/a/b', '/body/a/c/0']);
});

test('the text of a single $xml member is sent unchanged if it is XML', () => {
  const text = '<?xml version="1.0"?>\n<n:a xmlns:n="urn:n"  x=\'1\'><!-- c --><n:b/>&lt;</n:a>\n';
  assert.equal(written(JSON.stringify({ $xml: text })), text);
  assert.deepEqual(pointers('{"$xml":"<a>"}'), ['/body/$xml']);
  assert.deepEqual(pointers('{"$xml":1}'), ['/body/$xml']);
  assert.deepEqual(pointers('{"$xml":"<a/>","b":1}'), ['/body']);
});
