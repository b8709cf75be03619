import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifyAddress } from './address-class.ts';

/** First and last address of each block of IANA's special-purpose registries, and the neighbours outside of them. */
const blocks: readonly { readonly block: string; readonly inside: readonly string[]; readonly outside: readonly string[] }[] = [
  { block: '0.0.0.0/8', inside: ['0.0.0.0', '0.255.255.255'], outside: ['1.0.0.0'] },
  { block: '10.0.0.0/8', inside: ['10.0.0.0', '10.255.255.255'], outside: ['9.255.255.255', '11.0.0.0'] },
  { block: '100.64.0.0/10', inside: ['100.64.0.0', '100.127.255.255'], outside: ['100.63.255.255', '100.128.0.0'] },
  { block: '127.0.0.0/8', inside: ['127.0.0.0', '127.255.255.255'], outside: ['126.255.255.255', '128.0.0.0'] },
  { block: '169.254.0.0/16', inside: ['169.254.0.0', '169.254.255.255'], outside: ['169.253.255.255', '169.255.0.0'] },
  { block: '172.16.0.0/12', inside: ['172.16.0.0', '172.31.255.255'], outside: ['172.15.255.255', '172.32.0.0'] },
  {
    block: '192.0.0.0/24',
    inside: ['192.0.0.0', '192.0.0.9', '192.0.0.10', '192.0.0.170', '192.0.0.255'],
    outside: ['191.255.255.255', '192.0.1.0'],
  },
  { block: '192.0.2.0/24', inside: ['192.0.2.0', '192.0.2.255'], outside: ['192.0.1.255', '192.0.3.0'] },
  { block: '192.31.196.0/24', inside: ['192.31.196.0', '192.31.196.255'], outside: ['192.31.195.255', '192.31.197.0'] },
  { block: '192.52.193.0/24', inside: ['192.52.193.0', '192.52.193.255'], outside: ['192.52.192.255', '192.52.194.0'] },
  {
    block: '192.88.99.0/24',
    inside: ['192.88.99.0', '192.88.99.2', '192.88.99.255'],
    outside: ['192.88.98.255', '192.88.100.0'],
  },
  { block: '192.168.0.0/16', inside: ['192.168.0.0', '192.168.255.255'], outside: ['192.167.255.255', '192.169.0.0'] },
  { block: '192.175.48.0/24', inside: ['192.175.48.0', '192.175.48.255'], outside: ['192.175.47.255', '192.175.49.0'] },
  { block: '198.18.0.0/15', inside: ['198.18.0.0', '198.19.255.255'], outside: ['198.17.255.255', '198.20.0.0'] },
  { block: '198.51.100.0/24', inside: ['198.51.100.0', '198.51.100.255'], outside: ['198.51.99.255', '198.51.101.0'] },
  { block: '203.0.113.0/24', inside: ['203.0.113.0', '203.0.113.255'], outside: ['203.0.112.255', '203.0.114.0'] },
  { block: '224.0.0.0/4', inside: ['224.0.0.0', '239.255.255.255'], outside: ['223.255.255.255'] },
  { block: '240.0.0.0/4', inside: ['240.0.0.0', '255.255.255.254', '255.255.255.255'], outside: [] },
  { block: '168.63.129.16/32', inside: ['168.63.129.16'], outside: ['168.63.129.15', '168.63.129.17'] },
  { block: '::/96 and ::1', inside: ['::', '::1', '::2', '::7f00:1', '::8.8.8.8', '::ffff:ffff'], outside: [] },
  { block: '::ffff:0:0/96', inside: ['::ffff:0.0.0.0', '::ffff:8.8.8.8', '::FFFF:255.255.255.255'], outside: [] },
  { block: '::ffff:0:0:0/96', inside: ['::ffff:0:8.8.8.8'], outside: [] },
  { block: '64:ff9b::/96', inside: ['64:ff9b::', '64:ff9b::8.8.8.8', '64:ff9b::ffff:ffff'], outside: [] },
  { block: '64:ff9b:1::/48', inside: ['64:ff9b:1::', '64:ff9b:1:ffff::1'], outside: [] },
  { block: '100::/64', inside: ['100::', '100::ffff:ffff:ffff:ffff'], outside: [] },
  { block: '100:0:0:1::/64', inside: ['100:0:0:1::', '100:0:0:1::1'], outside: [] },
  {
    block: '2001::/23',
    inside: [
      '2001::',
      '2001::1',
      '2001:1::1',
      '2001:1::2',
      '2001:1::3',
      '2001:2::1',
      '2001:3::1',
      '2001:4:112::1',
      '2001:5::1',
      '2001:10::1',
      '2001:20::1',
      '2001:30::1',
      '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff',
    ],
    outside: ['2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
  },
  {
    block: '2001:db8::/32',
    inside: ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    outside: ['2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
  },
  { block: '2002::/16', inside: ['2002::', '2002:808:808::1', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'], outside: ['2003::'] },
  {
    block: '2620:4f:8000::/48',
    inside: ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
    outside: ['2620:4f:7fff:ffff:ffff:ffff:ffff:ffff', '2620:4f:8001::'],
  },
  {
    block: '3fff::/20',
    inside: ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
    outside: ['3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
  },
  { block: '5f00::/16', inside: ['5f00::', '5f00:ffff::1'], outside: [] },
  { block: 'fc00::/7', inside: ['fc00::', 'fd20:ce::254', 'fdff:ffff::1'], outside: [] },
  { block: 'fe80::/10', inside: ['fe80::', 'fe80::1', 'febf:ffff::1'], outside: [] },
  { block: 'fec0::/10', inside: ['fec0::1', 'feff::1'], outside: [] },
  { block: 'ff00::/8', inside: ['ff00::', 'ff02::1', 'ff0e::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'], outside: [] },
  {
    block: 'outside 2000::/3',
    inside: ['1::1', '64:ff9c::1', '1fff:ffff::1', '4000::', '4000::1', '8000::1', 'f000::1'],
    outside: ['2000::', '3ffe::1'],
  },
  {
    block: 'ISATAP',
    inside: ['2606:4700::5efe:808:808', '2606:4700::200:5efe:808:808', '2606:4700::100:5efe:a00:1', '2606:4700::300:5efe:a00:1'],
    outside: ['2606:4700::5eff:808:808', '2606:4700::400:5efe:808:808', '2606:4700:5efe::1'],
  },
];

for (const { block, inside, outside } of blocks) {
  test(`${block} is not public, its neighbours are`, () => {
    for (const address of inside) {
      const judged = classifyAddress(address);
      assert.equal(judged.public, false, address);
      assert.match(judged.reason, /^(an? |the )/u);
    }
    for (const address of outside)
      assert.deepEqual(classifyAddress(address), { public: true, reason: 'a public address' }, address);
  });
}

test('text that is not a plain address is not public', () => {
  for (const text of [
    '',
    'example.com',
    '127.1',
    '0177.0.0.1',
    '2130706433',
    '8.8.8.8 ',
    '[2606:4700::1]',
    'fe80::1%2',
    '2606:4700::1%eth0',
    '8.8.8.8:80',
    '8.8.8.0/24',
  ]) {
    assert.equal(classifyAddress(text).public, false, text);
  }
});
