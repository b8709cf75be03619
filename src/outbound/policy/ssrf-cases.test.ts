import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { GatewayError } from '#base/gateway-error.ts';
import { createConnector } from '../dialling/connector.ts';
import { readDestination } from './destination.ts';
import { createDestinationPolicy } from './destination-policy.ts';

/** `dns` holds the successive answers of a fake resolver; `local` are addresses of this machine. */
interface Case {
  readonly uri: string;
  readonly category: string;
  readonly expect: 'allow' | 'deny' | 'invalid';
  readonly dns?: Readonly<Record<string, readonly (readonly string[])[]>>;
  readonly dials?: readonly string[];
  readonly redirect?: { readonly status: number; readonly location: string };
  readonly local?: readonly string[];
}

type Outcome = 'dialled' | '403' | '400' | '502 upstream-dns-failed';

const cases = JSON.parse(
  readFileSync(new URL('../../../test/support/ssrf-cases.json', import.meta.url), 'utf8'),
) as readonly Case[];

/** Rows that the gateway decides otherwise than the corpus, by category; a function where it depends on the row. */
const overruled: ReadonlyMap<string, Outcome | ((row: Case) => Outcome)> = new Map<string, Outcome | ((row: Case) => Outcome)>([
  // These are no valid destinations at all: 400 and not 403.
  ['userinfo', '400'],
  ['backslash', '400'],
  ['whitespace', '400'],
  ['bidi-zero-width', '400'],
  ['scheme', '400'],
  ['slashes', '400'],
  // The policy has no list of ports; port 0 is not a port.
  ['port', ({ uri }) => (uri.includes(':0/') ? '400' : 'dialled')],
  // Only names of this machine are denied before a look-up. All others are decided by their addresses; these have none.
  ['metadata-name', '502 upstream-dns-failed'],
  ['name-special-use', '502 upstream-dns-failed'],
  // A failed look-up is a failure of the upstream, not a denial. Nothing is dialled either way.
  ['dns-empty', '502 upstream-dns-failed'],
  // Up to five redirects are followed: the first hop is dialled, the second is decided below.
  ['redirect', 'dialled'],
  ['redirect-method', 'dialled'],
]);

const usually: Readonly<Record<Case['expect'], Outcome>> = { allow: 'dialled', deny: '403', invalid: '400' };

function expectedOutcome(row: Case): Outcome {
  const other = overruled.get(row.category);
  return typeof other === 'function' ? other(row) : (other ?? usually[row.expect]);
}

/** Passes a row through destination, policy and connector. The resolver and the dialler only record their calls. */
async function run(
  uri: string,
  row: Case,
): Promise<{ readonly outcome: Outcome; readonly dials: readonly string[]; readonly lookUps: readonly string[] }> {
  const dials: string[] = [];
  const lookUps: string[] = [];
  const read = readDestination(uri);
  if ('problem' in read) return { outcome: '400', dials, lookUps };
  const connect = createConnector({
    policy: createDestinationPolicy({
      allow: [],
      deny: [],
      ownListeners: () => (row.local ?? []).map((address) => ({ address, port: 8080 })),
    }),
    resolve: (host) => {
      const answers = row.dns?.[host];
      const answer = answers?.[Math.min(lookUps.filter((name) => name === host).length, answers.length - 1)];
      lookUps.push(host);
      if (answer === undefined) return Promise.reject(new GatewayError('upstream-dns-failed', 'no such name'));
      return Promise.resolve(answer);
    },
    timeouts: { dns: 1_000, connect: 1_000 },
    dial: ({ host }) => {
      dials.push(host);
      const socket = new Socket();
      process.nextTick(() => socket.destroy(Object.assign(new Error('stub'), { code: 'ECONNREFUSED' })));
      return socket;
    },
  });
  return {
    outcome: await connect(read.url.origin).then(() => assert.fail('nothing connects here'), outcomeOf),
    dials,
    lookUps,
  };
}

function outcomeOf(error: unknown): Outcome {
  assert.ok(error instanceof GatewayError);
  const outcomes: Readonly<Record<string, Outcome>> = {
    'destination-denied': '403',
    'upstream-connect-failed': 'dialled',
    'upstream-dns-failed': '502 upstream-dns-failed',
  };
  return outcomes[error.code] ?? assert.fail(error.message);
}

for (const [index, row] of cases.entries()) {
  const expected = expectedOutcome(row);
  test(`case ${index} (${row.category}) ${JSON.stringify(row.uri.slice(0, 60))} is ${expected}`, async () => {
    const { outcome, dials, lookUps } = await run(row.uri, row);
    assert.equal(outcome, expected);
    if (expected !== 'dialled') assert.deepEqual(dials, []);
    if (expected === '400') assert.deepEqual(lookUps, []);
    if (row.dials !== undefined) assert.deepEqual(dials, row.dials);
    assert.equal(new Set(lookUps).size, lookUps.length, 'one look-up');
  });
}

for (const row of cases.filter(({ redirect }) => redirect !== undefined)) {
  test(`the redirect of ${row.uri} to ${row.redirect?.location ?? ''} dials nothing`, async () => {
    const { outcome, dials } = await run(new URL(row.redirect?.location ?? '', row.uri).href, row);
    assert.ok(outcome === '403' || outcome === '400');
    assert.deepEqual(dials, []);
  });
}

for (const row of cases.filter(({ category }) => category === 'metadata-name' || category === 'name-special-use')) {
  test(`${row.uri} is denied once its name resolves to an address that is not public`, async () => {
    const { hostname } = new URL(row.uri);
    for (const address of ['169.254.169.254', '10.0.0.1', 'fd00:ec2::254']) {
      const { outcome, dials } = await run(row.uri, { ...row, dns: { [hostname]: [[address]] } });
      assert.equal(outcome, '403');
      assert.deepEqual(dials, []);
    }
  });
}
