import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { type ErrorCode, errorCodes } from '../src/base/error-codes.ts';
import { errorGuide } from '../src/http/documentation/openapi-error-guide.ts';
import { statusesOf } from '../src/http/documentation/openapi-errors.ts';

const page = readFileSync(new URL('../docs/reference/errors.md', import.meta.url), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => {
    const [code = '', status = '', meaning = '', remedy = ''] = line.slice(2, -2).split(' | ');
    return { code: code.slice(1, -1), status, meaning, remedy };
  });
const codes = Object.keys(errorCodes) as ErrorCode[];

describe('docs/reference/errors.md', () => {
  test('has one row for every code of the table', () => {
    const documented = rows.map((row) => row.code);
    assert.deepEqual([...documented].sort(), [...codes].sort());
  });

  test('has no code that is not in the table', () => {
    for (const [, code = ''] of page.matchAll(/(?:"code": "|#error-)([\w-]+)/g)) assert.ok(code in errorCodes, code);
    for (const row of rows) assert.ok(row.code in errorCodes, row.code);
  });

  test('gives each code the status that the gateway answers with', () => {
    for (const row of rows) assert.equal(row.status, statusesOf(row.code as ErrorCode).join(' or '), row.code);
  });

  test('has the same text for each code as /docs', () => {
    for (const { code, meaning, remedy } of rows) assert.deepEqual({ meaning, remedy }, errorGuide[code as ErrorCode], code);
  });
});

test('the meaning of an error is a whole sentence, and fits into a table row', () => {
  for (const [code, { meaning, remedy }] of Object.entries(errorGuide)) {
    for (const text of [meaning, remedy]) {
      assert.match(text, /^[A-Z`].*\.$/, code);
      assert.doesNotMatch(text, /[|\n]/, code);
    }
  }
});

test('a 4xx is for a fault of the request, 502 and 504 for the far side, 503 for what cannot take the call now', () => {
  const farSide = /^(?:upstream-|response-too-large|too-many-redirects|redirect-refused|stream-refused|outcome-unknown)/;
  for (const code of codes) {
    const { status } = errorCodes[code];
    assert.equal(status === 502 || status === 504, farSide.test(code), code);
    assert.ok(status < 500 || [500, 502, 503, 504].includes(status), code);
  }
});
