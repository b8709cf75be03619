import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, describe, test } from 'node:test';
import { readDestination } from '../src/outbound/policy/destination.ts';
import { assertProblem, pointersOf, responseOf, restCall } from './support/callers/calls.ts';
import { reloadWith } from './support/gateway/reloading.ts';
import { type Gateway, startGateway, startGatewayProcess } from './support/gateway/start-gateway.ts';
import { startCanary } from './support/upstreams/canary.ts';
import { connectProxy } from './support/upstreams/connect-proxy.ts';
import { freePort, httpReply, jsonReply, upstream } from './support/upstreams/upstream.ts';

// The destination policy through the whole gateway: no connection reaches an address that the policy denies, in any spelling of
// the address. The canaries are listeners on every loopback address of a case, and count the connections.

interface Case {
  readonly uri: string;
  readonly category: string;
  readonly expect: 'allow' | 'deny' | 'invalid';
  readonly dns?: object;
}

const cases = JSON.parse(readFileSync(new URL('support/ssrf-cases.json', import.meta.url), 'utf8')) as readonly Case[];
/** The corpus has these denied; restCall answers them with 400, since they are no destination at all. */
const noDestination = new Set(['userinfo', 'backslash', 'whitespace', 'bidi-zero-width', 'scheme', 'slashes']);

const get = (uri: string, more: object = {}): object => ({ uri, verb: 'GET', responseHeaders: false, ...more });

/** The host of a URI as it would be dialled or looked up, undefined where it is no destination. */
function hostOf(uri: string): string | undefined {
  const read = readDestination(uri);
  return 'problem' in read ? undefined : read.url.hostname.replaceAll(/[[\]]/gu, '');
}

function isLocal(host: string): boolean {
  return /^(?:127\.|0\.|::1$|::$|::ffff:(?:7f|0:)|::ffff:0:7f|(?:.+\.)?localhost(?:\.localdomain)?\.?$)/u.test(host);
}

/** The same URI, in the caller's own spelling, with another port and scheme. */
function aimedAt(port: number, uri: string, scheme?: 'http' | 'https'): string {
  const aimed = uri.replace(/^(https?:\/\/[^/?#]*?)(?::\d*)?(?=[/?#]|$)/iu, `$1:${port}`);
  return scheme === undefined ? aimed : aimed.replace(/^https?/iu, scheme);
}

const localCases = cases.filter(({ uri, expect }) => expect === 'deny' && isLocal(hostOf(uri) ?? ''));
const ipv4Hosts = localCases.map(({ uri }) => hostOf(uri) ?? '').filter((host) => host.startsWith('127.'));
const canary = await startCanary({ after }, [
  ...new Set(['127.0.0.1', '::1', '127.0.0.2', '127.1.1.1', '127.2.2.2', ...ipv4Hosts]),
]);
const hasIPv6 = canary.addresses.includes('::1');
const gateway = await startGateway({ after });
/** May call the canary, to see that the canary accepts connections. */
const watching = await startGateway({ after }, { config: { outbound: { allow: [`127.0.0.1:${canary.port}`] } } });
const ownPort = await freePort();
const changing = await startGateway({ after }, { config: { server: { port: ownPort } } });

/** A gateway with these settings under `outbound`, and these adapters, until the next call. */
async function under(outbound: object, adapters: readonly Readonly<Record<string, unknown>>[] = []): Promise<Gateway> {
  await reloadWith(changing, { config: { server: { port: ownPort }, outbound }, adapters });
  return changing;
}

/** Fails where a connection arrived; then makes one, to see that the canary accepts and that no other connection came late. */
async function assertUntouched(before: number): Promise<void> {
  assert.equal(canary.accepted, before, 'the canary was reached');
  responseOf(await restCall(watching, get(`http://127.0.0.1:${canary.port}/control`)));
  assert.equal(canary.accepted, before + 1, 'the canary accepts nothing, or another connection arrived late');
}

/** More spellings of this machine than the corpus has. */
const spellings = [
  'http://127.0.0.2/',
  'http://127.1/',
  'http://127.0.0.01/',
  'http://0x7F.0.0.0x1/',
  'http://00000177.1/',
  'http://[::ffff:7f00:1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[0:0:0:0:0:0:127.0.0.1]/',
  'http://[::ffff:0.0.0.0]/',
  'http://[::]/',
  'http://0/',
  'http://0.0.0.0/',
  'http://localhost./',
  'http://LocalHost/',
  'http://localhost.localdomain/',
  'http://ip6-localhost/',
  'http://ip6-loopback./',
  'http://a.b.localhost/',
  'http://ｌｏｃａｌｈｏｓｔ/',
  'http://127。0。0。1/',
];

describe('R1: under the default policy', () => {
  const assertDenied = async (scheme: 'http' | 'https'): Promise<void> => {
    const before = canary.accepted;
    assert.ok(localCases.length > 20, `${localCases.length}`);
    for (const uri of [...localCases.map((row) => row.uri), ...spellings]) {
      const problem = assertProblem(await restCall(gateway, get(aimedAt(canary.port, uri, scheme))), 403, 'destination-denied');
      assert.ok(problem.detail.includes(`:${canary.port}`), `${uri}: ${problem.detail}`);
    }
    await assertUntouched(before);
  };
  test('every spelling of this machine in the corpus is 403 by http and opens no connection', () => assertDenied('http'));
  test('R4: every spelling of this machine in the corpus is 403 by https and opens no connection', () => assertDenied('https'));

  test('every URI of the corpus with a denied address or a name of this machine is 403, with the port of the corpus', async () => {
    // The address of the row `self` is public, and of this machine in its unit test alone.
    const denied = cases.filter(({ uri, category, expect, dns }) => {
      const host = hostOf(uri);
      return (
        expect === 'deny' && category !== 'self' && dns === undefined && host !== undefined && (isIP(host) !== 0 || isLocal(host))
      );
    });
    assert.ok(denied.length > 70, `${denied.length}`);
    for (const { uri } of denied) assertProblem(await restCall(gateway, get(uri)), 403, 'destination-denied');
  });

  test('R2: every URI of the corpus that is no destination is 400 at /uri and opens no connection', async () => {
    const before = canary.accepted;
    const invalid = cases.filter(({ expect, category }) => expect === 'invalid' || noDestination.has(category));
    assert.ok(invalid.length > 40, `${invalid.length}`);
    for (const row of invalid) {
      for (const uri of new Set([row.uri, aimedAt(canary.port, row.uri), aimedAt(canary.port, row.uri, 'https')])) {
        // The new port may replace a faulty one, and so make the URI a destination.
        if (uri !== row.uri && hostOf(uri) !== undefined) continue;
        const problem = assertProblem(await restCall(gateway, get(uri)), 400, 'invalid-request');
        assert.deepEqual(pointersOf(problem), ['/uri'], uri);
      }
    }
    await assertUntouched(before);
  });

  test('every verb is denied, with a body, credentials and headers', async () => {
    const before = canary.accepted;
    for (const verb of ['DELETE', 'GET', 'PATCH', 'POST', 'PUT']) {
      const more = { verb, user: 'CANARY-user', password: 'CANARY-password', body: { a: 'CANARY-body' } };
      const reply = await restCall(gateway, get(`http://127.0.0.1:${canary.port}/?token=CANARY-query`, more));
      assertProblem(reply, 403, 'destination-denied');
      assert.doesNotMatch(reply.text, /CANARY/u);
    }
    await assertUntouched(before);
  });

  test('R12: every address of this machine is denied at the gateway’s own port, where it listens on all of them', async (t) => {
    const everywhere = await startGateway(t, {
      config: { server: { host: '0.0.0.0' }, outbound: { allow: ['0.0.0.0/0', '::/0', 'localhost', '*.localhost'] } },
    });
    const own = Object.values(networkInterfaces())
      .flatMap((entries) => entries ?? [])
      .map(({ address }) => address)
      .filter((address) => !address.includes('%') && !address.startsWith('fe80:'));
    const hosts = [...new Set([...own, '127.0.0.1', '127.0.0.2', '0.0.0.0', '::ffff:127.0.0.1', 'localhost'])];
    for (const host of hosts) {
      const uri = `http://${host.includes(':') ? `[${host}]` : host}:${everywhere.port}/healthz`;
      assertProblem(await restCall(everywhere, get(uri)), 403, 'destination-denied');
    }
  });
});

/** The entry of `allow` that a refusal names. */
function admitting(detail: string): string {
  const entry = /add "([^"]+)" to outbound\.allow/u.exec(detail)?.[1];
  return entry ?? assert.fail(`no entry is named: ${detail}`);
}

describe('a refusal', () => {
  const refused: Record<string, { readonly uri: string; readonly names: string; readonly entry: string; readonly rule: RegExp }> =
    {
      'of an IPv4 address': {
        uri: `http://127.0.0.1:${canary.port}/`,
        names: `127.0.0.1:${canary.port}`,
        entry: `127.0.0.1:${canary.port}`,
        rule: /loopback.*RFC 1122.*only public addresses/u,
      },
      'of an address in another spelling': {
        uri: `http://0x7f000002:${canary.port}/`,
        names: `127.0.0.2:${canary.port}`,
        entry: `127.0.0.2:${canary.port}`,
        rule: /loopback/u,
      },
      'of a name of this machine': {
        uri: `http://localhost:${canary.port}/`,
        names: `localhost:${canary.port}`,
        entry: `localhost:${canary.port}`,
        rule: /denied before any look-up/u,
      },
      'of an IPv4 address in IPv6': {
        uri: `http://[::ffff:127.0.0.1]:${canary.port}/`,
        names: `:${canary.port}`,
        entry: `127.0.0.1:${canary.port}`,
        rule: /IPv4-mapped.*RFC 4291/u,
      },
      ...(hasIPv6
        ? {
            'of an IPv6 address': {
              uri: `http://[0::1]:${canary.port}/`,
              names: `[::1]:${canary.port}`,
              entry: `[::1]:${canary.port}`,
              rule: /loopback.*RFC 4291/u,
            },
          }
        : {}),
    };
  for (const [what, { uri, names, entry, rule }] of Object.entries(refused)) {
    test(`${what} names address, rule and the entry of allow; that entry admits the call and no other`, async () => {
      const { detail } = assertProblem(await restCall(gateway, get(uri)), 403, 'destination-denied');
      assert.match(detail, rule);
      assert.ok(detail.includes(names), detail);
      assert.equal(admitting(detail), entry);
      const admitted = await under({ allow: [admitting(detail)] });
      const before = canary.accepted;
      assert.equal(responseOf(await restCall(admitted, get(uri))), '{}');
      assert.equal(canary.accepted, before + 1);
      const other = canary.port === 65_535 ? canary.port - 1 : canary.port + 1;
      assertProblem(await restCall(admitted, get(aimedAt(other, uri))), 403, 'destination-denied');
      assertProblem(await restCall(admitted, get(`http://127.1.1.1:${canary.port}/`)), 403, 'destination-denied');
      assert.equal(canary.accepted, before + 1);
    });
  }

  test('by an entry of deny names that entry, and says that no entry of allow can admit the call', async () => {
    const denying = await under({ allow: ['127.0.0.1'], deny: ['127.0.0.0/8'] });
    const { detail } = assertProblem(await restCall(denying, get(`http://127.0.0.1:${canary.port}/`)), 403, 'destination-denied');
    assert.match(detail, /127\.0\.0\.1:\d+.*"127\.0\.0\.0\/8" of outbound\.deny.*No entry of outbound\.allow/u);
  });
});

describe('the entries of allow and deny', async () => {
  const other = await startCanary({ after }, [
    '127.0.0.1',
    '127.0.0.2',
    '127.0.0.3',
    '127.0.4.9',
    '127.0.5.9',
    '127.0.6.9',
    '127.0.7.9',
    '127.0.8.9',
    '127.0.9.9',
    '::1',
  ]);
  const rules = {
    allow: [
      `127.0.0.2:${canary.port}`,
      '127.0.0.3',
      '127.0.4.0/24',
      `127.0.5.0/24:${other.port}`,
      '127.0.6.0/23',
      '127.0.8.9',
      '::ffff:127.0.9.0/120',
      `[::1]:${canary.port}`,
      `LOCALHOST:${other.port}`,
    ],
    deny: ['127.0.4.8', '127.0.7.0/24', '[::ffff:127.0.8.9]'],
  };

  const verdicts: Record<string, readonly (readonly [uri: string, admitted: boolean])[]> = {
    'an address with a port admits that port alone': [
      [`http://127.0.0.2:${canary.port}/`, true],
      [`http://127.0.0.2:${other.port}/`, false],
      [`http://2130706434:${canary.port}/`, true],
    ],
    'an address without a port admits any port': [
      [`http://127.0.0.3:${other.port}/`, true],
      [`http://127.0.0.4:${other.port}/`, false],
    ],
    'a CIDR admits every address in the block, and no other': [
      [`http://127.0.4.9:${other.port}/`, true],
      [`http://127.0.3.255:${other.port}/`, false],
    ],
    'a CIDR with a port admits that port alone': [
      [`http://127.0.5.9:${other.port}/`, true],
      [`http://127.0.5.9:${canary.port}/`, false],
    ],
    'an entry of deny wins over allow: an address, a network, an IPv4 address in its mapped spelling': [
      [`http://127.0.4.8:${other.port}/`, false],
      [`http://127.0.6.9:${other.port}/`, true],
      [`http://127.0.7.9:${other.port}/`, false],
      [`http://127.0.8.9:${other.port}/`, false],
    ],
    'a network inside ::ffff:0:0/96 admits the IPv4 network that it maps, in either spelling': [
      [`http://127.0.9.9:${other.port}/`, true],
      [`http://[::ffff:127.0.9.9]:${other.port}/`, true],
    ],
    'a name with a port admits that port alone, in upper and lower case': [
      [`http://localhost:${other.port}/`, true],
      [`http://localhost:${canary.port}/`, false],
    ],
    'a name admits no address': [[`http://127.0.0.1:${other.port}/`, false]],
    ...(hasIPv6 && other.addresses.includes('::1')
      ? {
          'an IPv6 address with a port admits that port alone': [
            [`http://[::1]:${canary.port}/`, true],
            [`http://[0:0::1]:${canary.port}/`, true],
            [`http://[::1]:${other.port}/`, false],
          ],
        }
      : {}),
  };
  for (const [form, rows] of Object.entries(verdicts)) {
    test(form, async () => {
      const ruled = await under(rules);
      for (const [uri, admitted] of rows) {
        const before = canary.accepted + other.accepted;
        const reply = await restCall(ruled, get(uri));
        if (admitted) assert.equal(responseOf(reply), '{}', uri);
        else assertProblem(reply, 403, 'destination-denied');
        assert.equal(canary.accepted + other.accepted, before + (admitted ? 1 : 0), uri);
      }
    });
  }

  // A proxy resolves, so that the gateway looks no name up.
  test('names and *.suffixes admit and deny, with and without a port, and deny wins', async (t) => {
    const far = await upstream(t, () => jsonReply('{}'));
    const proxy = await connectProxy(t, { to: () => far.port });
    const named = await under({
      proxy: { url: proxy.url, resolves: true },
      allow: ['*.LocalHost', 'ip6-localhost:8080'],
      deny: ['*.denied.localhost', 'Blocked.Example', '*.bad.example:8080'],
    });
    const admitted = [
      'a.localhost',
      'A.B.LOCALHOST.',
      'denied.localhost',
      'ip6-localhost:8080',
      'bad.example:8080',
      'x.bad.example',
      'unblocked.example',
    ];
    for (const host of admitted) assert.equal(responseOf(await restCall(named, get(`http://${host}/`))), '{}', host);
    proxy.forget();
    const denied = [
      'localhost',
      'localhost.',
      'a.denied.localhost',
      'x.y.DENIED.localhost.',
      'blocked.example',
      'BLOCKED.example.',
      'x.bad.example:8080',
      'ip6-localhost',
      'ip6-loopback:8080',
    ];
    for (const host of denied) assertProblem(await restCall(named, get(`http://${host}/`)), 403, 'destination-denied');
    assert.equal(proxy.connections, 0);
    const { detail } = assertProblem(await restCall(named, get('http://a.denied.localhost/')), 403, 'destination-denied');
    assert.match(detail, /"\*\.denied\.localhost" of outbound\.deny/u);
  });

  test('R6: a name is denied where deny covers one of its addresses, although allow names it', async () => {
    const denying = await under({ allow: ['localhost'], deny: ['127.0.0.0/8', '::1'] });
    const before = canary.accepted;
    const { detail } = assertProblem(await restCall(denying, get(`http://localhost:${canary.port}/`)), 403, 'destination-denied');
    assert.match(detail, /to which localhost resolves/u);
    assert.equal(canary.accepted, before);
  });
});

describe('R12: the gateway’s own listener', () => {
  test('is denied under every rule that is not exactly its address and port, and the refusal names that entry', async () => {
    const port = ownPort;
    const allow = ['127.0.0.0/8', '127.0.0.1', '0.0.0.0/0', `127.0.0.0/8:${port}`, 'localhost', `localhost:${port}`, '::/0'];
    const own = await under({ allow });
    assert.equal(own.port, port);
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '0.0.0.0', '[::ffff:127.0.0.1]', '0x7f.1']) {
      const { detail } = assertProblem(await restCall(own, get(`http://${host}:${port}/healthz`)), 403, 'destination-denied');
      assert.match(detail, /where this gateway itself listens/u, host);
      if (host === '127.0.0.1') assert.equal(admitting(detail), `127.0.0.1:${port}`);
    }
    const body = { uri: `${own.url}/tools/restCall`, verb: 'POST', responseHeaders: false, body: get(own.url) };
    assertProblem(await restCall(own, body), 403, 'destination-denied');
  });

  test('is admitted by an entry of exactly its address and port', async () => {
    const own = await under({ allow: [`127.0.0.1:${ownPort}`] });
    assert.match(responseOf(await restCall(own, get(`${own.url}/healthz`))), /^\{/u);
  });

  test('is denied where deny covers it, although allow has that entry', async () => {
    const own = await under({ allow: [`127.0.0.1:${ownPort}`], deny: [`127.0.0.1:${ownPort}`] });
    assertProblem(await restCall(own, get(`${own.url}/healthz`)), 403, 'destination-denied');
  });

  test('is denied at the one address of its host name on which it listens; another address of the name has no listener', async (t) => {
    const own = await startGatewayProcess(t, {
      config: { server: { host: 'localhost' }, outbound: { allow: ['0.0.0.0/0', '::/0'] } },
      environment: { NODE_OPTIONS: `--import ${new URL('support/upstreams/two-localhosts.ts', import.meta.url).href}` },
    });
    const replies = await Promise.all(
      ['127.0.0.1', '[::1]'].map((host) => restCall(own, get(`http://${host}:${own.port}/healthz`))),
    );
    const [denied, refused] = replies.toSorted((one, other) => one.status - other.status);
    assert.ok(denied !== undefined && refused !== undefined);
    assertProblem(denied, 403, 'destination-denied');
    assertProblem(refused, 502, 'upstream-connect-failed');
  });
});

describe('R9: a redirect', async () => {
  const far = await upstream({ after });
  const redirecting = (): Promise<Gateway> => under({ allow: [far.authority] });
  const locations: Record<string, string> = {
    'an absolute address': `http://127.0.0.1:${canary.port}/x`,
    'a scheme-relative address': `//127.0.0.1:${canary.port}/x`,
    'an address in another spelling': `http://0x7f.1:${canary.port}/x`,
    'an IPv6 address': `http://[::1]:${canary.port}/x`,
    'a name of this machine': `http://localhost:${canary.port}/x`,
    'an https address': `https://127.0.0.1:${canary.port}/x`,
    'an address with user information': `http://user:pw@127.0.0.1:${canary.port}/x`,
    'an address behind backslashes': `\\\\127.0.0.1:${canary.port}\\x`,
    'an address with white space around it': `\t http://127.0.0.1:${canary.port}/x \t`,
    'an address without its slashes': `http:127.0.0.1:${canary.port}/x`,
    'an https address without its slashes': `https:127.0.0.1:${canary.port}/x`,
    'a file': 'file:///etc/passwd',
    'another scheme': `ftp://127.0.0.1:${canary.port}/x`,
    data: 'data:application/json,{"forged":true}',
    'a metadata service': 'http://169.254.169.254/latest/meta-data/',
    'the gateway itself': changing.url,
  };
  for (const status of [301, 302, 303, 307, 308]) {
    test(`to a denied destination by status ${status} is 403 and opens no connection, for every Location and verb`, async () => {
      const gateway = await redirecting();
      const before = canary.accepted;
      for (const [what, location] of Object.entries(locations)) {
        for (const verb of ['GET', 'POST', 'DELETE']) {
          far.answer(() =>
            httpReply({ status, headers: { Location: location, 'Content-Type': 'application/json' }, body: '{"a":1}' }),
          );
          const call = get(`${far.url}/start`, { verb, user: 'CANARY', password: 'CANARY', body: { a: 1 } });
          const reply = await restCall(gateway, call);
          // `http:HOST` is relative to a base of the same scheme (WHATWG URL): each hop leads to another path at the same upstream.
          if (what === 'an address without its slashes') assertProblem(reply, 502, 'too-many-redirects');
          else assertProblem(reply, 403, 'destination-denied');
          assert.doesNotMatch(reply.text, /CANARY/u, what);
          if (what !== 'an address without its slashes') assert.equal(far.requests.length, 1, what);
        }
      }
      await assertUntouched(before);
    });
  }

  test('to a denied destination is 403 at a later hop as well', async () => {
    const gateway = await redirecting();
    const before = canary.accepted;
    far.answer(({ target }) => {
      const hop = Number(target.slice(1));
      return httpReply({ status: 302, headers: { Location: hop < 3 ? `/${hop + 1}` : `http://127.0.0.1:${canary.port}/` } });
    });
    assertProblem(await restCall(gateway, get(`${far.url}/0`)), 403, 'destination-denied');
    assert.equal(far.requests.length, 4);
    await assertUntouched(before);
  });

  test('to an admitted destination is followed, and the reply names the last URI', async (t) => {
    const end = await upstream(t, () => jsonReply('{"end":true}'));
    const wide = await under({ allow: [far.authority, end.authority] });
    far.answer(() => httpReply({ status: 307, headers: { Location: `//${end.authority}/end` } }));
    const reply = await restCall(wide, get(far.url));
    assert.equal(responseOf(reply), '{"end":true}');
    assert.equal(reply.header('x-upstream-uri'), `${end.url}/end`);
  });
});

test('R19: headers that unlock a metadata service are 403, for every destination and in every spelling', async () => {
  const before = canary.accepted;
  for (const name of [
    'Metadata-Flavor',
    'metadata-flavor',
    'METADATA',
    'Metadata',
    'X-aws-ec2-metadata-token',
    'x-AWS-EC2-Metadata-Token-TTL-Seconds',
  ]) {
    for (const host of [`127.0.0.1:${canary.port}`, '169.254.169.254']) {
      const reply = await restCall(watching, get(`http://${host}/`, { headers: { [name]: 'CANARY-value' } }));
      const { detail } = assertProblem(reply, 403, 'destination-denied');
      assert.match(detail, /header/iu);
      assert.doesNotMatch(reply.text, /CANARY-value/u);
    }
  }
  await assertUntouched(before);
});

test('R10: an open connection of an adapter instance does not admit a restCall to the same address', async (t) => {
  const far = await upstream(t, () => jsonReply('{}'));
  const own = await under({}, [{ name: 'far', kind: 'rest', url: far.url, auth: { type: 'none' } }]);
  const call = { params: { path: 'x', accept: 'application/json' }, body: {} };
  const warm = await own.send({
    method: 'POST',
    target: '/orchestrator_manager/restAction/far',
    role: 'admin',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(call),
  });
  assert.equal(warm.status, 200, warm.text);
  assertProblem(await restCall(own, get(far.url)), 403, 'destination-denied');
  assert.equal(far.requests.length, 1);
});
