import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consolePlace } from './issuer-login-routes.ts';

test('the address of a page stays as it is, with its filters', () => {
  for (const place of ['/', '/runs', '/runs?status=faulted&q=a%20b', '/adapters/Local%20NSO', '/api/restAction']) {
    assert.equal(consolePlace(place), place);
  }
});

test('an address stays below the console, with any text', () => {
  for (const place of [
    '//evil.example',
    '///evil.example',
    '/@evil.example',
    '/https://evil.example',
    '/runs/../runs',
    '/%2e%2e%2fx',
  ]) {
    const { origin, pathname } = new URL(`/console${consolePlace(place)}`, 'https://gateway.example.net');
    assert.equal(origin, 'https://gateway.example.net', place);
    assert.match(pathname, /^\/console(?:\/|$)/u, place);
  }
});

test('what is no address of a page is empty', () => {
  const hostile = [
    'https://evil.example',
    'evil',
    '@evil.example',
    '.evil.example',
    '/\\evil',
    '\\\\evil',
    '/../..//evil.example',
  ];
  const faulty = ['/a\r\nSet-Cookie: x=1', '/a b', '/ä', '/%2e%2e/whoami', '/..', `/${'x'.repeat(1_000)}`];
  for (const place of [...hostile, ...faulty]) assert.equal(consolePlace(place), '', place);
});
