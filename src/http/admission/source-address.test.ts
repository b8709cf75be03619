import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { createSourceAddress } from './source-address.ts';

function requestFrom(remoteAddress: string | undefined, forwarded: string): IncomingMessage {
  return { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as never;
}

test('an entry of X-Forwarded-For names the caller with or without a port, and one that is no address names the proxy', () => {
  const sourceAddressOf = createSourceAddress(['10.0.0.0/8']);
  for (const [forwarded, expected] of [
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
    ['192.0.2.7, 198.51.100.9, 10.0.0.2', '198.51.100.9'],
  ] as const) {
    assert.equal(sourceAddressOf(requestFrom('10.0.0.1', forwarded)), expected, forwarded);
  }
});

test('X-Forwarded-For is ignored where no trusted proxy sent it, and the address is empty once the connection is closed', () => {
  for (const trusted of [[], ['10.0.0.0/8']]) {
    const sourceAddressOf = createSourceAddress(trusted);
    assert.equal(sourceAddressOf(requestFrom('198.51.100.9', '192.0.2.7')), '198.51.100.9');
    assert.equal(sourceAddressOf(requestFrom(undefined, '192.0.2.7')), '');
  }
});
