import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { callers, load, problemsOf } from './load-config.test-support.ts';
import { formatConfigProblem } from './load-config.ts';

const pem = (key: { export(options: { type: 'pkcs8'; format: 'pem' }): unknown }): string =>
  String(key.export({ type: 'pkcs8', format: 'pem' }));
const files = {
  'rsa.pem': pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
  'ed.pem': pem(generateKeyPairSync('ed25519').privateKey),
  'short.pem': pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey),
  'ec.pem': pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
  'none.pem': 'no key',
};

interface Given {
  readonly auth?: string;
  readonly kind?: string;
  readonly url?: string;
  readonly more?: string;
  readonly key?: string;
  readonly access?: string;
}

function yaml({
  auth = '',
  kind = 'nso',
  url = 'url: "https://nso.example.net"',
  more = '',
  key = 'rsa.pem',
  access = callers,
}: Given): string {
  return `${access}adapters:\n  - { name: Lab, kind: ${kind}, ${url}, ${more} auth: { type: caller, key: { file: ${key} }, ${auth} } }\n`;
}

async function problems(t: TestContext, given: Given): Promise<string> {
  return (await problemsOf(t, yaml(given), { files })).join('\n');
}

test('an adapter that sends calls as their callers has its defaults by kind and name', async (t) => {
  for (const [kind, carrier, key] of [
    ['nso', 'token', 'rsa.pem'],
    ['restconf', 'bearer', 'ed.pem'],
    ['rest', 'bearer', 'rsa.pem'],
  ] as const) {
    const { config } = await load(t, yaml({ kind, key }), { files });
    const auth = config.adapters[0]?.auth;
    assert.ok(auth?.type === 'caller');
    assert.deepEqual([auth.carrier, auth.audience, auth.runs, auth.authors], [carrier, 'Lab', 'starter', ['role:admin']]);
    assert.deepEqual([auth.users, auth.userClaims, auth.groups, auth.service], [{}, {}, {}, undefined]);
  }
  const id = `oidc:${JSON.stringify(['https://idp', '1'])}`;
  const { config } = await load(t, yaml({ auth: `users: { 'oidc:[ "https://idp" , "1" ]': ann }` }), { files });
  const auth = config.adapters[0]?.auth;
  assert.deepEqual(auth?.type === 'caller' && auth.users, { [id]: 'ann' });
});

test('a key that cannot sign is a problem, and no part of it is in the message', async (t) => {
  for (const [key, fault] of [
    ['short.pem', /too short; an RSA key needs 2048 bits/u],
    ['ec.pem', /key of another kind; use an RSA or an Ed25519 key/u],
    ['none.pem', /holds no private key in PEM form/u],
  ] as const) {
    const said = await problems(t, { key });
    assert.match(said, fault);
    assert.doesNotMatch(said, /no key|BEGIN/u);
  }
});

test('a bare name of a group, plain text beyond loopback and a carrier of another kind are problems', async (t) => {
  for (const [given, fault] of [
    [{ auth: 'groups: { noc: ncsoper }' }, /write group:NAME or role:NAME/u],
    [{ auth: 'authors: [admin]' }, /write group:NAME or role:NAME/u],
    [{ auth: "groups: { 'group:noc': 'two words' }" }, /no name of an account or a group there/u],
    [{ auth: 'users: { "a:b": ann }' }, /no id of a principal/u],
    [{ auth: 'userClaims: { idp: login }' }, /no issuer/u],
    [{ url: 'url: "http://nso.example.net"' }, /sends assertions in plain text/u],
    [
      { url: 'urls: ["https://a.example.net", "http://b.example.net"]', auth: 'service: { type: none }' },
      /urls\[1\]: begins with http/u,
    ],
    [{ url: 'urls: ["https://a.example.net", "https://b.example.net"]' }, /needs service: without probes/u],
    [{ auth: 'carrier: bearer' }, /is not for kind nso; write token or basic/u],
    [{ auth: 'carrier: basic', kind: 'rest' }, /is not for kind rest; write bearer/u],
    [{ more: 'stamp: true,' }, /needs auth\.service/u],
    [{ more: 'stamp: true,', kind: 'restconf' }, /is for kind nso/u],
    [{ auth: 'service: { type: caller }' }, /unknown here/u],
  ] as const)
    assert.match(await problems(t, given), fault, JSON.stringify(given));
  for (const url of ['http://127.0.0.1:8080', 'http://localhost', 'http://[::1]:1'])
    assert.equal(await problems(t, { url: `url: "${url}"` }), '');
});

test('a name that NSO reserves is a warning, also where it is the own name of a user', async (t) => {
  const { warnings } = await load(
    t,
    yaml({ auth: "users: { bot: system }, userClaims: { 'https://other.example.net': login }" }),
    { files },
  );
  assert.deepEqual(
    warnings
      .map(formatConfigProblem)
      .map((line) => line.replace(/^\S+ /u, '').replace(/(?<=: ).*?(reserves|access\.oidc).*/u, '$1')),
    [
      'adapters[0].auth: reserves',
      'adapters[0].auth.users.bot: reserves',
      'adapters[0].auth.userClaims.https://other.example.net: access.oidc',
    ],
  );
  const mapped = await load(t, yaml({ auth: 'users: { admin: chief }' }), { files });
  assert.deepEqual(mapped.warnings, []);
});

test('each name that the verifier of NSO refuses is a warning', async (t) => {
  const verifier = readFileSync('deploy/nso/verify-assertion', 'utf8');
  const [, list = '[]'] = /^RESERVED = frozenset\((\[.*\])\)$/mu.exec(verifier) ?? [];
  const names = JSON.parse(list) as readonly string[];
  assert.equal(names.length, 8);
  for (const name of names) {
    const { warnings } = await load(t, yaml({ auth: `users: { bot: ${name} }` }), { files });
    assert.ok(
      warnings.some((warning) => formatConfigProblem(warning).includes('adapters[0].auth.users.bot')),
      name,
    );
  }
});
