import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Type } from '#base/json-schema.ts';
import { type ApiRoute, json } from '../route.ts';
import { monitoring } from '../routes/route-traits.ts';
import { errorsOf, statusesOf } from './openapi-errors.ts';

const open: ApiRoute = {
  method: 'GET',
  url: '/x',
  handle: () => json(200, {}),
  ...monitoring,
  tag: 'operations',
  operationId: 'healthz',
  summary: '',
  reply: { description: '' },
  errors: ['adapter-busy'],
};

describe('the errors of a route', () => {
  test('are those of every request and those that the route lists', () => {
    assert.deepEqual(errorsOf(open), [
      'malformed-request',
      'invalid-request',
      'method-not-allowed',
      'request-timeout',
      'body-too-large',
      'headers-too-large',
      'internal-error',
      'adapter-busy',
    ]);
  });

  test('include those of authentication where the route needs a known caller', () => {
    const codes = errorsOf({ ...open, operationId: 'whoami' });
    for (const code of [
      'unauthenticated',
      'login-throttled',
      'too-many-requests',
      'issuer-unavailable',
      'store-unavailable',
    ] as const) {
      assert.ok(codes.includes(code), code);
    }
    assert.ok(!codes.includes('forbidden'));
  });

  test('include the refusal of a role where the route needs one', () => {
    assert.ok(errorsOf({ ...open, operationId: 'listAudit' }).includes('forbidden'));
  });

  test('include those of a body where the route takes one, and those of JSON where the body is JSON', () => {
    const json = errorsOf({ ...open, body: { kind: 'json', schema: Type.Object({}) } });
    const form = errorsOf({ ...open, body: { kind: 'form', limit: 1024, schema: Type.Object({}) } });
    for (const code of ['body-too-large', 'unsupported-media-type'] as const) {
      assert.ok(json.includes(code), code);
      assert.ok(form.includes(code), code);
    }
    assert.ok(json.includes('invalid-json'));
    assert.ok(!form.includes('invalid-json'));
  });
});

test('outcome-unknown has three statuses, any other code one', () => {
  assert.deepEqual(statusesOf('outcome-unknown'), [502, 504, 409]);
  assert.deepEqual(statusesOf('upstream-error'), [502]);
});
