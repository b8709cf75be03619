import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readXmlErrors } from './xml-errors.ts';

test('the first error is read in any namespace', () => {
  const rest =
    '<error-type>protocol</error-type><error-tag>invalid-value</error-tag><error-message xml:lang="en">a &lt; <![CDATA[b & c]]></error-message>';
  const read = { tag: 'invalid-value', message: 'a < b & c' };
  assert.deepEqual(
    readXmlErrors(
      `<errors xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf"><error>${rest}</error><error><error-tag>x</error-tag></error></errors>`,
    ),
    read,
  );
  assert.deepEqual(
    readXmlErrors(
      `<?xml version="1.0"?>\n<errors xmlns='http://tail-f.com/ns/tailf-rest-error'>\n <error>\n${rest}\n </error>\n</errors>`,
    ),
    read,
  );
  assert.deepEqual(
    readXmlErrors('<rc:errors xmlns:rc="u"><rc:error><rc:error-message>\n no \n</rc:error-message></rc:error></rc:errors>'),
    { message: 'no' },
  );
});

test('an element counts if it is complete before the text is cut off', () => {
  assert.deepEqual(readXmlErrors('<errors><error><error-tag>in-use</error-tag><error-message>the configuration data'), {
    tag: 'in-use',
  });
});

test('any other text is not an error body, and never throws', () => {
  for (const text of [
    '',
    '{"errors":{}}',
    '<html><body>502</body></html>',
    '<errors/>',
    '<errors><error/></errors>',
    '<errors><error-tag>x</error-tag></errors>',
  ]) {
    assert.equal(readXmlErrors(text), undefined, text);
  }
  assert.equal(readXmlErrors('<a>'.repeat(200_000)), undefined);
  const piece = fc.constantFrom(
    '<errors>',
    '<error>',
    '</error>',
    '<error-tag>',
    '</',
    '>',
    '<',
    '&',
    '&x;',
    'text',
    '<!DOCTYPE',
    '<![CDATA[',
    ']]>',
    '\ud800',
    '\u0000',
    '__proto__',
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => readXmlErrors(pieces.join('')) !== null),
    { numRuns: 500 },
  );
});
