import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathProblem } from './relayed-path.ts';

test('the usual paths of orchestrators are accepted', () => {
  for (const path of [
    'restconf/data/tailf-ncs:devices/device=ce0',
    '/restconf/data/tailf-ncs:devices?depth=1&fields=a;b(c)',
    'tailf-ncs:devices',
    'restconf/data/x:route=10.0.0.0%2F24',
    'restconf/data/x:list=a..b/..c',
    'restconf/data/x?y=../../z',
    'restconf/data/x%zz',
  ]) {
    assert.equal(pathProblem(path), undefined, path);
  }
});

test('paths that could leave the address of the adapter or change on the way are refused', () => {
  for (const path of [
    '',
    '//evil.example.com/x',
    'http://evil.example.com/x',
    'HTTPS://evil.example.com',
    'a/../b',
    '..',
    'a/%2e%2e/b',
    'a/.%2E/b',
    'a/%252e%252e/b',
    'a%2f..%2fb',
    'a/..%00/b',
    'a/.%2500./b',
    'a/..;x/b',
    'a\\b',
    'a#b',
    'a b',
    'a\r\nb',
    'gerät',
    `a${'b'.repeat(8_192)}`,
  ]) {
    assert.notEqual(pathProblem(path), undefined, path);
  }
});
