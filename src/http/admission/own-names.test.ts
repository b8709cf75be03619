import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { createAuthority } from '../../../test/support/upstreams/certificate.ts';
import { createOwnNames } from './own-names.ts';

/** A request that came to an address of the gateway with that Host. */
function request(localAddress: string, host?: string): IncomingMessage {
  return { socket: { localAddress }, headers: host === undefined ? {} : { host } } as unknown as IncomingMessage;
}

const anywhere = createOwnNames({ host: '::' });

test('the address that a caller connected to is an own name, in any spelling and with any port', () => {
  const hosts: readonly (readonly [string, string])[] = [
    ['192.0.2.7', '192.0.2.7:3000'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8::7', '[2001:DB8:0::7]:3000'],
    ['::1', 'localhost'],
    ['::ffff:127.0.0.1', 'localhost:1'],
  ];
  for (const [address, host] of hosts) assert.equal(anywhere.isHost(request(address, host)), true, host);
});

test('another address, another name, an empty and a missing Host are no own names', () => {
  for (const host of ['192.0.2.8', 'localhost', 'evil.example', '', 'a b', undefined])
    assert.equal(anywhere.isHost(request('192.0.2.7', host)), false, String(host));
});

test('the configured name of the listener is an own name', () => {
  const named = createOwnNames({ host: 'gateway.lan' });
  assert.equal(named.isHost(request('10.0.0.7', 'Gateway.LAN.:3000')), true);
});

test('the names of the certificate are own names, until another certificate replaces it', () => {
  const authority = createAuthority();
  const { cert } = authority.issue({ names: ['gateway.example.net', '192.0.2.9'] });
  const names = createOwnNames({ host: '0.0.0.0', tls: { cert } });
  for (const host of ['gateway.example.net', '192.0.2.9:8443']) assert.equal(names.isHost(request('10.0.0.7', host)), true, host);
  assert.equal(names.isOrigin('https://gateway.example.net', request('10.0.0.7', 'gateway.example.net')), true);
  assert.equal(names.isOrigin('http://gateway.example.net', request('10.0.0.7', 'gateway.example.net')), false);
  assert.equal(names.isHost(request('10.0.0.7', 'evil.example')), false);
  names.useCertificate(authority.issue({ names: ['other.example.net'] }).cert);
  assert.equal(names.isHost(request('10.0.0.7', 'gateway.example.net')), false);
  assert.equal(names.isHost(request('10.0.0.7', 'other.example.net')), true);
});
