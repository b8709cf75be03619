import assert from 'node:assert/strict';
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readDestination } from './destination.ts';
import {
  createDestinationPolicy,
  type DestinationDecision,
  type DestinationPolicy,
  deniedError,
  type Listener,
} from './destination-policy.ts';

function policyOf(lists: { allow?: string[]; deny?: string[]; listeners?: Listener[] } = {}): DestinationPolicy {
  const { allow = [], deny = [], listeners = [] } = lists;
  return createDestinationPolicy({ allow, deny, ownListeners: () => listeners });
}

function decide(policy: DestinationPolicy, address: string, port = 80, host = address): DestinationDecision {
  return policy.decideAddress({ host, address, port });
}

test('only public addresses are allowed by default, and the decision says what would admit another', () => {
  const policy = policyOf();
  assert.equal(decide(policy, '8.8.8.8').allowed, true);
  assert.equal(decide(policy, '2001:4860:4860::8888').allowed, true);
  const denied = decide(policy, '10.1.2.3', 8080);
  assert.equal(denied.allowed, false);
  assert.equal(denied.admit, '10.1.2.3:8080');
  assert.match(denied.reason, /private address \(RFC 1918\)/u);
  assert.equal(decide(policy, '::1', 9000).admit, '[::1]:9000');
});

test('the entry that a denial names admits the destination in every spelling', () => {
  const addresses = [
    '10.1.2.3',
    '127.0.0.1',
    '169.254.169.254',
    '::1',
    'fd00::1',
    '::ffff:10.1.2.3',
    '64:ff9b::a00:1',
    '::a00:1',
    '2002:a00:1::1',
    'fe80::1',
    '224.0.0.1',
  ];
  for (const address of addresses) {
    const { admit } = decide(policyOf(), address, 8080, 'far.example');
    assert.ok(admit !== undefined, address);
    assert.equal(decide(policyOf({ allow: [admit] }), address, 8080, 'far.example').allowed, true, address);
    assert.equal(decide(policyOf({ allow: [admit] }), address, 8081, 'far.example').allowed, false, address);
  }
  const { admit } = policyOf().decideName('LOCALHOST.', 80);
  assert.ok(admit !== undefined);
  const policy = policyOf({ allow: [admit] });
  assert.equal(policy.decideName('localhost', 80).allowed, true);
  assert.equal(decide(policy, '127.0.0.1', 80, 'localhost').allowed, true);
});

test('names of this machine are denied before any look-up unless a name rule allows them', () => {
  const names = [
    'localhost',
    'LOCALHOST',
    'localhost.',
    'foo.localhost',
    'a.b.LocalHost.',
    'localhost.localdomain',
    'ip6-localhost',
    'ip6-loopback.',
  ];
  const addressRules = policyOf({ allow: ['127.0.0.1', '::1', '0.0.0.0/0'] });
  for (const name of names) {
    assert.equal(policyOf().decideName(name, 80).allowed, false, name);
    assert.equal(addressRules.decideName(name, 80).allowed, false, name);
    assert.equal(policyOf({ allow: [name] }).decideName(name, 80).allowed, true, name);
  }
  assert.equal(policyOf({ allow: ['*.localhost'] }).decideName('foo.localhost', 80).allowed, true);
  assert.equal(policyOf({ allow: ['*.localhost'] }).decideName('localhost', 80).allowed, false);
  assert.equal(policyOf({ allow: ['localhost:81'] }).decideName('localhost', 80).allowed, false);
  for (const name of [
    'localhost.example.com',
    'notlocalhost',
    'mylocalhost',
    'ip6-localhost.example',
    'intranet',
    'db.internal',
  ]) {
    assert.equal(policyOf().decideName(name, 80).allowed, true, name);
  }
});

test('a denial names no entry for an unspecified address, because the system dials another one', () => {
  for (const [address, admit] of [
    ['0.0.0.0', undefined],
    ['::', undefined],
    ['127.0.0.1', '127.0.0.1:80'],
  ] as const) {
    const decision = decide(policyOf(), address, 80);
    assert.deepEqual([decision.allowed, decision.admit], [false, admit], address);
  }
});

test('a name rule admits every address of the name', () => {
  const policy = policyOf({ allow: ['*.lab.example.net', 'one.example.net:8443'] });
  assert.equal(decide(policy, '10.0.0.1', 80, 'a.lab.example.net').allowed, true);
  assert.equal(decide(policy, 'fd00::1', 80, 'a.lab.example.net.').allowed, true);
  assert.equal(decide(policy, '10.0.0.1', 8443, 'one.example.net').allowed, true);
  assert.equal(decide(policy, '10.0.0.1', 80, 'one.example.net').allowed, false);
  assert.equal(decide(policy, '10.0.0.1', 80, 'lab.example.net').allowed, false);
});

test('deny wins over allow, by name and by address', () => {
  const policy = policyOf({
    allow: ['10.0.0.0/8', '*.example.net', 'localhost'],
    deny: ['10.1.0.0/16', 'bad.example.net', '8.8.8.8', 'localhost', '*.evil.example:443'],
  });
  assert.equal(decide(policy, '10.0.0.1').allowed, true);
  const denied = decide(policy, '10.1.0.1');
  assert.deepEqual([denied.allowed, denied.rule, denied.admit], [false, '10.1.0.0/16', undefined]);
  assert.equal(decide(policy, '10.1.0.1', 80, 'good.example.net').allowed, false);
  assert.equal(decide(policy, '8.8.8.8').allowed, false);
  assert.equal(policy.decideName('BAD.example.net.', 80).allowed, false);
  assert.equal(decide(policy, '9.9.9.9', 80, 'bad.example.net').allowed, false);
  assert.equal(policy.decideName('localhost', 80).rule, 'localhost');
  assert.equal(policy.decideName('a.evil.example', 443).allowed, false);
  assert.equal(policy.decideName('a.evil.example', 80).allowed, true);
});

test('no spelling of an IPv4 address inside an IPv6 one dodges a deny rule of the IPv4 address', () => {
  const policy = policyOf({ allow: ['::/0', '0.0.0.0/0', '::ffff:0:0/96', 'far.example'], deny: ['10.1.2.3'] });
  for (const address of [
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '::FFFF:a01:203',
    '::10.1.2.3',
    '::ffff:0:10.1.2.3',
    '64:ff9b::10.1.2.3',
    '64:ff9b:1::a01:203',
    '2002:a01:203::1',
    '2001:0:4136:e378:8000:63bf:f5fe:fdfc',
    '2001:0:a01:203::',
    '2606:4700::5efe:a01:203',
    '2606:4700::200:5efe:10.1.2.3',
  ]) {
    assert.equal(decide(policy, address).rule, '10.1.2.3', address);
    assert.equal(decide(policy, address, 80, 'far.example').allowed, false, address);
  }
  assert.equal(decide(policy, '::ffff:10.1.2.4').allowed, true);
});

test('an allow rule of all IPv6 does not let an IPv4-mapped spelling in', () => {
  assert.equal(decide(policyOf({ allow: ['::/0'] }), '::ffff:127.0.0.1').allowed, false);
});

test('text that is not an address is denied under all rules', () => {
  const policy = policyOf({ allow: ['0.0.0.0/0', '::/0', 'far.example'] });
  for (const answer of ['', 'not-an-ip', 'fe80::1%2', '127.1', '0177.0.0.1', '10.0.0.1 ']) {
    const decision = decide(policy, answer, 80, 'far.example');
    assert.equal(decision.allowed, false, answer);
    assert.equal(decision.admit, undefined);
  }
});

test("the gateway's own listeners are denied under any rule but exactly their address and port", () => {
  const listeners = [{ address: '127.0.0.1', port: 3000 }];
  const wide = policyOf({
    allow: ['127.0.0.0/8', '127.0.0.1', '127.0.0.0/8:3000', 'localhost', 'localhost:3000', '::/0', '::ffff:0:0/96'],
    listeners,
  });
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::127.0.0.1', '0.0.0.0', '::']) {
    const decision = decide(wide, address, 3000, 'localhost');
    assert.equal(decision.allowed, false, address);
    assert.match(decision.reason, /gateway itself listens/u);
  }
  assert.equal(decide(wide, '127.0.0.1', 3001).allowed, true);
  assert.equal(decide(wide, '127.0.0.2', 3000).allowed, true);
  const { admit } = decide(wide, '127.0.0.1', 3000);
  assert.equal(admit, '127.0.0.1:3000');
  assert.equal(decide(policyOf({ allow: ['127.0.0.1:3000'], listeners }), '127.0.0.1', 3000, 'localhost').allowed, true);
  assert.equal(
    decide(policyOf({ allow: ['127.0.0.1:3000'], deny: ['127.0.0.0/8'], listeners }), '127.0.0.1', 3000).allowed,
    false,
  );
});

test('a listener on every address is denied at each address of this machine', () => {
  const own = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  for (const address of ['0.0.0.0', '::', 'gateway.example']) {
    const policy = policyOf({ allow: ['0.0.0.0/0', '::/0'], listeners: [{ address, port: 3000 }] });
    for (const local of [
      '127.0.0.1',
      '127.255.0.9',
      '::1',
      '0.0.0.0',
      '::',
      '::ffff:127.0.0.1',
      ...own.map((entry) => entry.address),
    ]) {
      assert.equal(decide(policy, local, 3000).allowed, false, `${local} with a listener on ${address}`);
      assert.equal(decide(policy, '192.0.2.1', 3000).allowed, true);
    }
  }
});

test('a public address of this machine is denied at the port of a listener only', () => {
  const policy = policyOf({
    listeners: [
      { address: '198.41.0.4', port: 8080 },
      { address: '2001:4860::1', port: 8443 },
    ],
  });
  assert.equal(decide(policy, '198.41.0.4', 8080).allowed, false);
  assert.equal(decide(policy, '198.41.0.4', 80).allowed, true);
  assert.equal(decide(policy, '2001:4860:0::0001', 8443).allowed, false);
});

test('each decision reads the listeners again', () => {
  const listeners: Listener[] = [];
  const policy = policyOf({ allow: ['127.0.0.0/8'], listeners });
  assert.equal(decide(policy, '127.0.0.1', 3000).allowed, true);
  listeners.push({ address: '127.0.0.1', port: 3000 });
  assert.equal(decide(policy, '127.0.0.1', 3000).allowed, false);
});

test('a refusal is 403 destination-denied and names the address, the reason and the entry that would admit it', () => {
  const error = deniedError(decide(policyOf(), '10.1.2.3', 8080, 'device.example.net'));
  assert.deepEqual([error.code, error.status], ['destination-denied', 403]);
  assert.equal(
    error.message,
    'The destination 10.1.2.3:8080, to which device.example.net resolves, is a private address (RFC 1918), and only public addresses are allowed by default. To admit it, the gateway\'s operator can add "10.1.2.3:8080" to outbound.allow.',
  );
  assert.match(deniedError(decide(policyOf(), '::1')).message, /The destination \[::1\]:80 is a loopback.*"\[::1\]:80"/u);
  assert.match(
    deniedError(decide(policyOf({ deny: ['8.0.0.0/8'] }), '8.8.8.8')).message,
    /"8\.0\.0\.0\/8" of outbound\.deny\. No entry/u,
  );
  assert.match(
    deniedError(policyOf().decideName('localhost', 80)).message,
    /localhost:80 is a name of this machine.*"localhost:80"/u,
  );
});

test('an invalid rule is thrown when the policy is made', () => {
  assert.throws(() => policyOf({ allow: ['10.0.0.0/99'] }), /outbound\.allow: "10\.0\.0\.0\/99"/u);
  assert.throws(() => policyOf({ deny: ['http://x'] }), /outbound\.deny/u);
});

// Two lists: a BlockList also compares an IPv4 address, as an IPv4-mapped one, with its IPv6 subnets.
const iana = { ipv4: new BlockList(), ipv6: new BlockList() };
for (const block of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32',
]) {
  const [network = '', bits] = block.split('/');
  iana.ipv4.addSubnet(network, Number(bits), 'ipv4');
}
for (const block of [
  '::/3',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
  '4000::/2',
  '8000::/1',
]) {
  const [network = '', bits] = block.split('/');
  iana.ipv6.addSubnet(network, Number(bits), 'ipv6');
}

const byte = fc.integer({ min: 0, max: 255 });
/** Half of them near a block: the first bytes of one, then anything. */
const ipv4 = fc.oneof(
  fc.tuple(byte, byte, byte, byte),
  fc
    .tuple(
      fc.constantFrom(
        [10],
        [127],
        [0],
        [100, 64],
        [100, 127],
        [169, 254],
        [172, 16],
        [172, 31],
        [192, 0, 0],
        [192, 0, 2],
        [192, 31, 196],
        [192, 52, 193],
        [192, 88, 99],
        [192, 168],
        [192, 175, 48],
        [198, 18],
        [198, 19],
        [198, 51, 100],
        [203, 0, 113],
        [224],
        [240],
        [168, 63, 129],
      ),
      fc.tuple(byte, byte, byte, byte),
    )
    .map(([start, rest]) => [...start, ...rest].slice(0, 4)),
);

/** A part in decimal, octal or hexadecimal, as inet_aton and the URL parser read it. */
function part(value: number, radix: number): string {
  return radix === 8 ? `0${value.toString(8)}` : radix === 16 ? `0X${value.toString(16)}` : String(value);
}

const fullWidth = (text: string): string =>
  text.replaceAll(/[0-9]/gu, (digit) => String.fromCodePoint(0xff10 + Number(digit))).replaceAll('.', '。');
const percent = (text: string): string =>
  text.replaceAll(/./gu, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);

const ipv4Spelling = fc
  .record({
    bytes: ipv4,
    parts: fc.integer({ min: 1, max: 4 }),
    radices: fc.tuple(...Array.from({ length: 4 }, () => fc.constantFrom(8, 10, 16))),
    form: fc.constantFrom<(text: string) => string>(
      (text) => text,
      fullWidth,
      percent,
      (text) => `${text}.`,
      (text) => `[::ffff:${text}]`,
    ),
  })
  .map(({ bytes, parts, radices, form }) => {
    const last = bytes.slice(parts - 1).reduce((value, next) => value * 256 + next, 0);
    const canonical = bytes.join('.');
    const spelt = [...bytes.slice(0, parts - 1), last].map((value, index) => part(value, radices[index] ?? 10)).join('.');
    const mapped = form('') === '[::ffff:]';
    return { canonical, mapped, host: form(mapped ? canonical : spelt) };
  });

test('no spelling of an IPv4 address is allowed by default that the IANA list denies, and none is denied that it lets through', () => {
  const policy = policyOf();
  fc.assert(
    fc.property(ipv4Spelling, ({ canonical, mapped, host }) => {
      const read = readDestination(`http://${host}/`);
      assert.ok('url' in read, host);
      const literal = read.url.hostname.replaceAll(/[[\]]/gu, '');
      if (!mapped) assert.equal(literal, canonical);
      assert.equal(decide(policy, literal).allowed, !mapped && !iana.ipv4.check(canonical, 'ipv4'), host);
    }),
    { numRuns: 5_000 },
  );
});

const word = fc.oneof(
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 0xffff }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 0xffff, 0x5efe, 0x200) },
);
const ipv6Words = fc
  .tuple(
    fc.constantFrom(
      [],
      [0],
      [0x64, 0xff9b],
      [0x100, 0, 0],
      [0x2001],
      [0x2001, 0xdb8],
      [0x2002],
      [0x2620, 0x4f, 0x8000],
      [0x3fff],
      [0x2606, 0x4700],
      [0x2a00],
      [0xfe80],
      [0xfd00],
      [0xff02],
      [0, 0, 0, 0, 0, 0xffff],
      [0, 0, 0, 0, 0, 0],
    ),
    fc.array(word, { minLength: 8, maxLength: 8 }),
  )
  .map(([start, rest]) => [...start, ...rest].slice(0, 8));

/** Upper or lower case, leading zeros, the last 32 bits dotted. */
const ipv6Spelling = fc
  .record({ words: ipv6Words, upper: fc.boolean(), padded: fc.boolean(), dotted: fc.boolean() })
  .map(({ words, upper, padded, dotted }) => {
    const hex = words.map((value) => value.toString(16).padStart(padded ? 4 : 1, '0'));
    const [high = 0, low = 0] = words.slice(6);
    const text = dotted ? [...hex.slice(0, 6), [high >> 8, high & 255, low >> 8, low & 255].join('.')].join(':') : hex.join(':');
    return { words, text: upper ? text.toUpperCase() : text };
  });

test('no spelling of an IPv6 address is allowed by default that the IANA list denies or that embeds an IPv4 address', () => {
  const policy = policyOf();
  fc.assert(
    fc.property(ipv6Spelling, ({ words, text }) => {
      const read = readDestination(`http://[${text}]/`);
      assert.ok('url' in read, text);
      const literal = read.url.hostname.slice(1, -1);
      assert.equal(isIP(literal), 6);
      const isatap = ((words[4] ?? 0) & 0xfcff) === 0 && words[5] === 0x5efe;
      const expected = !iana.ipv6.check(literal, 'ipv6') && !isatap;
      assert.equal(decide(policy, literal).allowed, expected, text);
      // A resolver may return any spelling.
      assert.equal(decide(policy, text, 80, 'far.example').allowed, expected, text);
    }),
    { numRuns: 5_000 },
  );
});
