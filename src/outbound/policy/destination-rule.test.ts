import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalAddress, readAddress } from './address.ts';
import { type DestinationRule, readRule, ruleCovers, ruleNames } from './destination-rule.ts';

function rule(text: string): DestinationRule {
  const read = readRule(text);
  assert.ok('rule' in read, 'problem' in read ? read.problem : '');
  return read.rule;
}

function covers(text: string, address: string, port = 80): boolean {
  const read = readAddress(address);
  assert.ok(read !== undefined);
  return ruleCovers(rule(text), canonicalAddress(read), port);
}

test('an address rule covers the address, a CIDR all of its addresses', () => {
  assert.ok(covers('10.1.2.3', '10.1.2.3'));
  assert.ok(!covers('10.1.2.3', '10.1.2.4'));
  assert.ok(covers('10.0.0.0/8', '10.255.255.255'));
  assert.ok(!covers('10.0.0.0/8', '11.0.0.0'));
  assert.ok(covers('0.0.0.0/0', '255.255.255.255'));
  assert.ok(!covers('0.0.0.0/0', '::1'));
  assert.ok(covers('fd00::/8', 'fdff::1'));
  assert.ok(covers('FD00:0::/9', 'fd7f::1'));
  assert.ok(!covers('fd00::/9', 'fd80::1'));
  assert.ok(covers('::1/128', '::1'));
});

test('a port in a rule limits it to that port', () => {
  assert.ok(covers('127.0.0.1:9000', '127.0.0.1', 9000));
  assert.ok(!covers('127.0.0.1:9000', '127.0.0.1', 9001));
  assert.ok(covers('10.0.0.0/8:443', '10.1.1.1', 443));
  assert.ok(!covers('10.0.0.0/8:443', '10.1.1.1', 80));
  assert.ok(covers('[::1]:9000', '::1', 9000));
  assert.ok(!covers('[::1]:9000', '::1', 9001));
  assert.ok(covers('[fd00::/8]:443', 'fd00::1', 443));
  assert.ok(covers('[::1]', '::1', 5));
});

test('an IPv4-mapped rule and an IPv4-mapped address are the IPv4 ones', () => {
  assert.ok(covers('::ffff:10.1.2.3', '10.1.2.3'));
  assert.ok(covers('10.0.0.0/8', '::ffff:a01:203'));
  assert.ok(covers('::ffff:10.0.0.0/104', '10.200.1.1'));
  assert.ok(!covers('::ffff:10.0.0.0/104', '11.0.0.0'));
  assert.ok(!covers('::/0', '::ffff:10.1.2.3'));
});

test('a name rule matches the host in any case or script, with or without a trailing dot', () => {
  for (const host of ['lab.example.net', 'LAB.example.NET', 'lab.example.net.']) {
    assert.ok(ruleNames(rule('lab.example.net'), host, 80));
    assert.ok(ruleNames(rule('Lab.Example.Net.'), host, 80));
    assert.ok(!ruleNames(rule('lab.example.net:443'), host, 80));
    assert.ok(ruleNames(rule('lab.example.net:443'), host, 443));
  }
  assert.ok(ruleNames(rule('bücher.example'), 'xn--bcher-kva.example', 80));
  assert.ok(!ruleNames(rule('lab.example.net'), 'x.lab.example.net', 80));
});

test('a suffix rule matches names under the suffix, never the suffix itself', () => {
  const suffix = rule('*.lab.example.net');
  assert.ok(ruleNames(suffix, 'a.lab.example.net', 80));
  assert.ok(ruleNames(suffix, 'A.B.lab.example.net.', 80));
  assert.ok(!ruleNames(suffix, 'lab.example.net', 80));
  assert.ok(!ruleNames(suffix, 'evillab.example.net', 80));
  assert.ok(!ruleNames(suffix, 'a.lab.example.net.evil.com', 80));
  assert.ok(!ruleNames(rule('*.lab.example.net:8443'), 'a.lab.example.net', 80));
});

const problems: readonly (readonly [string, RegExp])[] = [
  ['', /no host name/u],
  [' ', /white space/u],
  ['10.0.0.0/8 ', /white space/u],
  ['a\u200bb', /invisible/u],
  ['http://example.net', /URL/u],
  ['*', /whole first label/u],
  ['*example.net', /whole first label/u],
  ['*.', /no host name/u],
  ['a.*.net', /letters, digits/u],
  ['10.0.0.0/33', /prefix length/u],
  ['10.0.0.0/', /prefix length/u],
  ['10.0.0.0/-1', /prefix length/u],
  ['10.0.0.0/8/8', /no address or CIDR/u],
  ['10.1.2.3/8', /10\.0\.0\.0\/8/u],
  ['fd00::1/8', /fd00::\/8/u],
  ['::/129', /prefix length/u],
  ['10.1', /read as the address 10\.0\.0\.1/u],
  ['0x7f000001', /127\.0\.0\.1/u],
  ['256.0.0.1', /no host name/u],
  ['example.net/24', /no address or CIDR/u],
  ['example.net:0', /port/u],
  ['example.net:65536', /port/u],
  ['example.net:', /port/u],
  ['example.net:http', /port/u],
  ['[::1]:', /port/u],
  ['[::1', /no address or CIDR/u],
  ['[::1]x', /no address or CIDR/u],
  ['[10.0.0.1]:80', /brackets/u],
  ['[fe80::1%2]', /zone/u],
  ['::1::', /no address or CIDR/u],
  ['user@example.net', /no host name/u],
  ['-a.net', /hyphen/u],
  ['a..net', /empty label/u],
];

for (const [text, expected] of problems) {
  test(`${JSON.stringify(text)} is no rule`, () => {
    const read = readRule(text);
    assert.ok('problem' in read);
    assert.match(read.problem, expected);
  });
}
