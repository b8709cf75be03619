import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceAddressOf } from './source-address.ts';

test('an entry of X-Forwarded-For counts with or without a port, and one that is no address counts for the proxy', () => {
  const socket = { remoteAddress: '10.0.0.1' } as never;
  for (const [ip, expected] of [
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8::1', '2001:db8::1'],
    ['192.0.2.7:5555', '192.0.2.7'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['999.0.2.7:5555', '10.0.0.1'],
    ['[192.0.2.7]:1', '192.0.2.7'],
    ['unknown', '10.0.0.1'],
    ['<script>', '10.0.0.1'],
    ['', '10.0.0.1'],
  ] as const) {
    assert.equal(sourceAddressOf({ ip, raw: { socket } }), expected, ip);
  }
});
