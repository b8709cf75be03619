import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPostgresUrl } from './postgres-url.ts';

test('each host of a list has a URL of its own with the same user, password, database and TLS options', () => {
  const rest = '/d?sslmode=verify-full&sslrootcert=/ca.pem&target_session_attrs=read-write';
  const user = 'postgresql://u:a%2Cb,c@d@';
  assert.deepEqual(readPostgresUrl(`${user}h1:5432,[fd00::1]:5433${rest}`), {
    urls: [`${user}h1:5432${rest}`, `${user}[fd00::1]:5433${rest}`],
    needsPrimary: true,
  });
});

test('one host needs to be a primary only where its URL says so', () => {
  for (const [url, needsPrimary] of [
    ['postgres://u@h/d', false],
    ['postgres:///d?host=/run/postgresql', false],
    ['postgres://u@h/d?target_session_attrs=read-write', true],
  ] as const)
    assert.deepEqual(readPostgresUrl(url), { urls: [url], needsPrimary });
});
