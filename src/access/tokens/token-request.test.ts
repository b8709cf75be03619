import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTokenRequest } from './token-request.ts';

function basic(name: string, secret: string): string {
  return `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
}

function read(form: string, authorization?: string): unknown {
  const answer = readTokenRequest(new URLSearchParams(form), authorization);
  return answer.ok ? [answer.clientId, answer.secret] : answer.error;
}

const grant = 'grant_type=client_credentials';

test('the client credentials are in the form, or form-encoded in Basic', () => {
  assert.deepEqual(read(`${grant}&client_id=reporting&client_secret=a%2Bb`), ['reporting', 'a+b']);
  assert.deepEqual(read(grant, basic('report%3Aing', 'a%2Bb+c')), ['report:ing', 'a+b c']);
  assert.deepEqual(read(`${grant}&client_id=reporting&unknown=x&scope=admin`, basic('reporting', 's')), ['reporting', 's']);
});

test('each fault has its error of RFC 6749', () => {
  const faults: readonly (readonly [string, string | undefined, string])[] = [
    ['', undefined, 'invalid_request'],
    ['grant_type=', undefined, 'invalid_request'],
    ['grant_type=password&username=a&password=b', undefined, 'unsupported_grant_type'],
    [`${grant}&${grant}`, undefined, 'invalid_request'],
    [`${grant}&client_id=a&client_secret=b&x=1&x=2`, undefined, 'invalid_request'],
    [`${grant}&client_id=a&client_secret=b`, basic('a', 'b'), 'invalid_request'],
    [`${grant}&client_id=other`, basic('a', 'b'), 'invalid_request'],
    [grant, basic('%zz', 'b'), 'invalid_request'],
    [grant, undefined, 'invalid_client'],
    [`${grant}&client_id=a`, undefined, 'invalid_client'],
    [grant, 'Bearer abc', 'invalid_client'],
  ];
  for (const [form, authorization, error] of faults) assert.equal(read(form, authorization), error, form);
});

test('a refused client gets 401 with a Basic challenge', () => {
  const answer = readTokenRequest(new URLSearchParams(grant), undefined);
  assert.ok(!answer.ok);
  assert.equal(answer.status, 401);
  assert.equal(answer.headers['WWW-Authenticate'], 'Basic realm="Orchestration Gateway", charset="UTF-8"');
});
