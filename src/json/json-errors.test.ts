import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readCutJsonErrors, readJsonErrors } from './json-errors.ts';
import { brokenJsonText } from './json-texts.test-support.ts';

const error = { 'error-type': 'application', 'error-tag': 'data-exists', 'error-message': 'object already exists' };
const read = { tag: 'data-exists', message: 'object already exists' };

test('the first error is read in the RESTCONF and the legacy form, from a list or a single object', () => {
  for (const errors of [{ error: [error, { 'error-tag': 'other' }] }, { error }]) {
    assert.deepEqual(readJsonErrors(JSON.stringify({ 'ietf-restconf:errors': errors })), read);
    assert.deepEqual(readJsonErrors(JSON.stringify({ errors })), read);
  }
  assert.deepEqual(readJsonErrors('{"errors":{"error":[{"error-tag":"access-denied"}]}}'), { tag: 'access-denied' });
  assert.deepEqual(readJsonErrors('{"errors":{"error":{"error-message":"no"}}}'), { message: 'no' });
});

test('a cut error body gives the complete members of its first error', () => {
  const errors = (...list: readonly object[]): string =>
    JSON.stringify({ 'ietf-restconf:errors': { error: list } }, undefined, 1);
  assert.deepEqual(readCutJsonErrors(errors(error, { 'error-tag': 'other' }).slice(0, -20)), read);
  const long = errors({ 'error-tag': 'in-use', 'error-message': 'x'.repeat(9) });
  assert.deepEqual(readCutJsonErrors(long.slice(0, long.indexOf('xx') + 5)), { tag: 'in-use' });
  assert.deepEqual(readCutJsonErrors(errors({ 'error-tag': 'in-use' }, error)), { tag: 'in-use' });
  const quoting = { 'error-info': { a: 'is "error-tag":"not this"' }, 'error-tag': 'this', 'error-message': 'a "b" \\' };
  assert.deepEqual(readCutJsonErrors(errors(quoting)), { tag: 'this', message: 'a "b" \\' });
  assert.equal(readCutJsonErrors('{"errors":{"error":[{"error-type":"a'), undefined);
});

test('any other text is not an error body', () => {
  for (const text of [
    '',
    '<errors/>',
    'null',
    '[]',
    '{}',
    '{"errors":null}',
    '{"errors":{"error":[]}}',
    '{"errors":{"error":[null]}}',
  ]) {
    assert.equal(readJsonErrors(text), undefined);
  }
  assert.equal(readJsonErrors('{"errors":{"error":{"error-tag":1,"error-message":{"a":1}}}}'), undefined);
  assert.equal(readJsonErrors('['.repeat(1_000_000)), undefined);
  fc.assert(fc.property(brokenJsonText, (text) => readJsonErrors(`{"errors":{"error":${text}}}`) !== null));
});
