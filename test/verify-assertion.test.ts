// suite: long

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { missing } from './support/installed.ts';

// deploy/nso/verify-assertion by NSO's documented protocol. What it lets in, NSO lets in.

const skip = missing('python3', '--version', 'python3');
// A wrapper of python3 may take longer than the program.
const executable = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).stdout;
const python = (executable ?? '').trim() || 'python3';
const folder = await mkdtemp(join(tmpdir(), 'verify-assertion-'));
after(() => rm(folder, { recursive: true, force: true }));
const program = join(folder, 'verify-assertion');
await copyFile(new URL('../deploy/nso/verify-assertion', import.meta.url), program);
await chmod(program, 0o755);

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const former = generateKeyPairSync('rsa', { modulusLength: 3072 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed = generateKeyPairSync('ed25519');
const publicPem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' });
await writeFile(join(folder, 'now.pem'), publicPem(rsa.publicKey));
await writeFile(join(folder, 'former.pem'), former.publicKey.export({ type: 'pkcs1', format: 'pem' }));

const settings = {
  keys: ['now.pem', 'former.pem'],
  issuer: 'https://gateway.example.net',
  audience: 'nso-lab',
  addresses: ['192.0.2.0/24', '2001:db8::/32'],
  log: 'verify.log',
};

/** Writes the settings, asks the program with the line, and answers what it says. */
async function ask(line: string | Buffer): Promise<string> {
  const child = spawn(python, [program], { stdio: ['pipe', 'pipe', 'ignore'] });
  let answer = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (answer += part));
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on('error', reject).on('close', resolve);
  child.stdin.on('error', () => undefined);
  child.stdin.end(line);
  assert.equal(await promise, 0);
  assert.match(answer, /^[^\n]*\n$/u, 'one line');
  return answer.trimEnd();
}

async function configure(more: object = {}): Promise<void> {
  await writeFile(join(folder, 'verify-assertion.json'), JSON.stringify({ ...settings, ...more }));
}
await configure();

const now = (): number => Math.floor(Date.now() / 1_000);
const encode = (value: unknown): string =>
  (typeof value === 'string' ? Buffer.from(value) : Buffer.from(JSON.stringify(value))).toString('base64url');

function claims(more: object = {}): Readonly<Record<string, unknown>> {
  const act = { sub: 'orchestration-gateway' };
  const base = { iss: settings.issuer, aud: settings.audience, sub: 'ann', groups: ['ncsoper', 'lab'], jti: 'x', act };
  return { ...base, iat: now(), exp: now() + 60, ...more };
}

const header = { alg: 'RS256', typ: 'JWT' };

function token(
  given: Readonly<Record<string, unknown>> | string = claims(),
  { head = header, key = rsa.privateKey, hash = 'sha256' }: { head?: object | string; key?: KeyObject; hash?: string } = {},
): string {
  const signed = `${encode(head)}.${encode(given)}`;
  return `${signed}.${sign(hash, Buffer.from(signed), key).toString('base64url')}`;
}

const byToken = (text: string, address = '192.0.2.7'): string => `[${text};${address};4711;rest;https;]\n`;
const byLogin = (user: string, text: string): string => `[${user};${text};192.0.2.7;4711;rest;https;]\n`;
const rejected = 'reject the assertion was not accepted';

/** The reasons that the program has logged since. */
async function reasons(): Promise<readonly string[]> {
  const text = await readFile(join(folder, settings.log), 'utf8').catch(() => '');
  await rm(join(folder, settings.log), { force: true });
  return text.split('\n').flatMap((line) => /^\S+Z reject: (.+)$/u.exec(line)?.[1] ?? []);
}

async function rejects(line: string | Buffer, reason: RegExp): Promise<void> {
  await reasons();
  assert.equal(await ask(line), rejected, String(reason));
  assert.match((await reasons()).join('\n'), reason);
}

test('an assertion is accepted with its groups and its name, as a token and as the password of a login', { skip }, async () => {
  assert.equal(await ask(byToken(token())), 'accept ncsoper lab 65534 65534 /tmp ann');
  assert.equal(await ask(byLogin('ann', token())), 'accept ncsoper lab 65534 65534 /tmp');
  assert.equal(await ask(byToken(token(claims({ groups: [] })))), 'accept 65534 65534 /tmp ann');
  assert.equal(await ask(byToken(token(), '2001:db8::7')), 'accept ncsoper lab 65534 65534 /tmp ann');
  assert.equal(await ask(byToken(token(), '::ffff:192.0.2.7')), 'accept ncsoper lab 65534 65534 /tmp ann');
  assert.equal(await ask(byToken(token(claims(), { key: former.privateKey }))), 'accept ncsoper lab 65534 65534 /tmp ann');
  const late = claims({ iat: now() - 62, exp: now() - 2 });
  assert.equal(await ask(byToken(token(late))), 'accept ncsoper lab 65534 65534 /tmp ann', 'clocks may differ by 10 s');
  assert.deepEqual(await reasons(), []);
});

test('the longest answer is below the 16,000 bytes that NSO reads', { skip }, async () => {
  const groups = Array.from({ length: 100 }, (_, index) => `g${index}`.padEnd(128, 'x'));
  const longest = 'u'.repeat(128);
  const answer = await ask(byToken(token(claims({ sub: longest, groups }))));
  assert.equal(answer, `accept ${groups.join(' ')} 65534 65534 /tmp ${longest}`);
  assert.ok(answer.length < 16_000, String(answer.length));
});

test('a line without a source address, of another one, or in another form is rejected', { skip }, async () => {
  await rejects(`[${token()};]\n`, /no source address; set include-extra/u);
  await rejects(`[ann;${token()};]\n`, /no source address; set include-extra/u);
  await rejects(byToken(token(), '198.51.100.7'), /198\.51\.100\.7 is not that of a gateway/u);
  await rejects(byToken(token(), ''), /address cannot be read/u);
  await rejects(byToken(token(), 'localhost'), /address cannot be read/u);
  await rejects(byToken(token(), '192.0.2.07'), /address cannot be read|not that of a gateway/u);
  await rejects(`[x;y;${token()};192.0.2.7;1;rest;https;]\n`, /has 7 fields/u);
  await rejects(`${token()}\n`, /form of NSO/u);
  await rejects('', /form of NSO/u);
  await rejects('[;]\n', /no source address/u);
  await rejects(`[${'a'.repeat(40_000)};192.0.2.7;1;rest;https;]\n`, /too long/u);
  await rejects(Buffer.from([0x5b, 0xff, 0x3b, 0x5d, 0x0a]), /other characters than ASCII/u);
  await rejects(byLogin('bob', token()), /assertion of ann came with another user name/u);
  await rejects(byLogin('', token()), /another user name/u);
});

const hostile: readonly (readonly [what: string, text: () => string, reason: RegExp])[] = [
  ['no signature', () => `${encode({ ...header, alg: 'none' })}.${encode(claims())}.`, /algorithm/u],
  ['no algorithm', () => token(claims(), { head: { typ: 'JWT' } }), /algorithm/u],
  [
    'a MAC by the public key',
    () => {
      const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims())}`;
      return `${signed}.${createHmac('sha256', publicPem(rsa.publicKey)).update(signed).digest('base64url')}`;
    },
    /algorithm/u,
  ],
  ['another hash', () => token(claims(), { head: { alg: 'RS512', typ: 'JWT' }, hash: 'sha512' }), /algorithm/u],
  ['another hash under the name of RS256', () => token(claims(), { hash: 'sha512' }), /none of the keys/u],
  ['the key of another', () => token(claims(), { key: other.privateKey }), /none of the keys/u],
  [
    'a key in its header',
    () => token(claims(), { key: other.privateKey, head: { ...header, jwk: other.publicKey.export({ format: 'jwk' }) } }),
    /none of the keys/u,
  ],
  ['an empty signature', () => token().replace(/[^.]+$/u, ''), /no base64url/u],
  ['a signature of zeros', () => token().replace(/[^.]+$/u, Buffer.alloc(256).toString('base64url')), /none of the keys/u],
  [
    'a longer signature',
    () =>
      token().replace(/[^.]+$/u, (one) => Buffer.concat([Buffer.alloc(1), Buffer.from(one, 'base64url')]).toString('base64url')),
    /none of the keys/u,
  ],
  ['padding', () => `${token()}=`, /no base64url/u],
  [
    'other claims under its signature',
    () => token().replace(/\.[^.]+\./u, `.${encode(claims({ groups: ['ncsadmin'] }))}.`),
    /none of the keys/u,
  ],
  ['four parts', () => `${token()}.x`, /no signed assertion/u],
  [
    'an extension that must be understood',
    () => token(claims(), { head: { ...header, crit: ['b64'], b64: false } }),
    /header is not that/u,
  ],
  ['another type', () => token(claims(), { head: { ...header, typ: 'at+jwt' } }), /header is not that/u],
  ['an algorithm twice', () => token(claims(), { head: '{"alg":"RS256","alg":"none","typ":"JWT"}' }), /header cannot be read/u],
  [
    'a claim twice',
    () => token(JSON.stringify(claims()).replace('"sub":"ann"', '"sub":"bob","sub":"ann"')),
    /claims cannot be read/u,
  ],
  ['claims that are no object', () => token('["ann"]'), /claims is no object/u],
  ['claims that are no JSON', () => token('{'), /claims cannot be read/u],
  ['claims that are deep', () => token(`${'['.repeat(9_000)}${']'.repeat(9_000)}`), /too long|cannot be read|no object/u],
  ['another issuer', () => token(claims({ iss: 'https://evil.example.net' })), /issuer/u],
  ['no issuer', () => token(claims({ iss: undefined })), /issuer/u],
  ['another audience', () => token(claims({ aud: 'nso-production' })), /audience/u],
  ['several audiences', () => token(claims({ aud: ['nso-lab', 'other'] })), /audience/u],
  ['no audience', () => token(claims({ aud: undefined })), /audience/u],
  ['the token of a login', () => token(claims({ act: undefined })), /not of the gateway/u],
  ['the act of another', () => token(claims({ act: { sub: 'x' } })), /not of the gateway/u],
  ['no end', () => token(claims({ exp: undefined })), /times are no whole numbers/u],
  ['an end that is a text', () => token(claims({ exp: String(now() + 60) })), /times are no whole numbers/u],
  ['an end that is true', () => token(claims({ exp: true })), /times are no whole numbers/u],
  ['an end with a fraction', () => token(claims({ exp: now() + 0.5 })), /times are no whole numbers/u],
  [
    'an end without a number',
    () => token(JSON.stringify(claims()).replace(/"exp":\d+/u, '"exp":Infinity')),
    /claims cannot be read/u,
  ],
  ['an end that has passed', () => token(claims({ iat: now() - 120, exp: now() - 60 })), /has expired/u],
  ['a begin in the future', () => token(claims({ iat: now() + 120, exp: now() + 180 })), /of the future/u],
  ['a day', () => token(claims({ exp: now() + 86_400 })), /valid for too long/u],
  ['an end before its begin', () => token(claims({ iat: now() + 5, exp: now() + 4 })), /valid for too long/u],
  ['a time of its own', () => token(claims({ nbf: now() })), /nbf/u],
  ['no name', () => token(claims({ sub: undefined })), /no name of an account/u],
  ['a name with a blank', () => token(claims({ sub: 'ann root' })), /no name of an account/u],
  ['a name with a line break', () => token(claims({ sub: 'ann\naccept' })), /no name of an account/u],
  ['a name that is a list', () => token(claims({ sub: ['ann'] })), /no name of an account/u],
  ['a reserved name', () => token(claims({ sub: 'admin' })), /name admin is reserved/u],
  ['no groups', () => token(claims({ groups: undefined })), /groups are no list/u],
  ['groups in a text', () => token(claims({ groups: 'ncsadmin' })), /groups are no list/u],
  ['a group with a blank', () => token(claims({ groups: ['ncsoper ncsadmin'] })), /no name of a group/u],
  ['a group that is a number', () => token(claims({ groups: ['0'] })), /no name of a group/u],
  ['a group that is no text', () => token(claims({ groups: [1] })), /no name of a group/u],
  [
    'a thousand groups',
    () => token(claims({ groups: Array.from({ length: 1_000 }, (_, index) => `g${index}`) })),
    /groups are no list|too long/u,
  ],
];

test('a hostile assertion is rejected, and the log has the reason and not the assertion', { skip }, async () => {
  for (const [what, text, reason] of hostile) {
    await reasons();
    const given = text();
    assert.equal(await ask(byToken(given)), rejected, what);
    const said = (await reasons()).join('\n');
    assert.match(said, reason, what);
    assert.ok(given.length < 50 || !said.includes(given.slice(0, 50)), what);
  }
});

test('EdDSA is checked where the Python package cryptography is there, and rejected otherwise', { skip }, async (t) => {
  t.after(() => configure());
  const signed = `${encode({ alg: 'EdDSA', typ: 'JWT' })}.${encode(claims())}`;
  const given = `${signed}.${sign(undefined, Buffer.from(signed), ed.privateKey).toString('base64url')}`;
  await rejects(byToken(given), /no key in the settings is for EdDSA/u);
  await writeFile(join(folder, 'ed.pem'), publicPem(ed.publicKey));
  await configure({ keys: ['ed.pem', 'now.pem'] });
  await reasons();
  const answer = await ask(byToken(given));
  const said = (await reasons()).join();
  if (answer === rejected) assert.match(said, /needs the Python package cryptography/u);
  else {
    assert.equal(answer, 'accept ncsoper lab 65534 65534 /tmp ann');
    await rejects(byToken(`${given.slice(0, -8)}AAAAAAAA`), /none of the keys/u);
  }
  await rejects(byToken(token(claims(), { head: { alg: 'EdDSA', typ: 'JWT' } })), /none of the keys|cryptography/u);
  assert.equal(await ask(byToken(token())), 'accept ncsoper lab 65534 65534 /tmp ann');
});

test('settings that are not right reject every line, and the log says what is wrong', { skip }, async (t) => {
  t.after(() => configure());
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 });
  await writeFile(join(folder, 'small.pem'), publicPem(small.publicKey));
  await writeFile(join(folder, 'private.pem'), rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  for (const [more, reason] of [
    [{ keys: [] }, /keys is empty/u],
    [{ keys: ['missing.pem'] }, /missing\.pem cannot be read/u],
    [{ keys: ['small.pem'] }, /no RSA key of 2048 bits/u],
    [{ keys: ['private.pem'] }, /no public key/u],
    [{ addresses: [] }, /addresses is empty/u],
    [{ addresses: ['192.0.2.1/24'] }, /addresses has something else/u],
  ] as const) {
    await configure(more);
    await rejects(byToken(token()), reason);
  }
  // Without a log in the settings the reason goes to standard error.
  for (const text of [
    '{',
    '[]',
    '{"keys":["now.pem"]}',
    JSON.stringify({ ...settings, other: 1 }),
    JSON.stringify({ ...settings, issuer: 1 }),
  ]) {
    await writeFile(join(folder, 'verify-assertion.json'), text);
    assert.equal(await ask(byToken(token())), rejected, text);
  }
  await rm(join(folder, 'verify-assertion.json'));
  assert.equal(await ask(byToken(token())), rejected);
  await configure({ allowReserved: ['admin'] });
  assert.equal(await ask(byToken(token(claims({ sub: 'admin' })))), 'accept ncsoper lab 65534 65534 /tmp admin');
});

test('it uses nothing that Python 3.6 does not have', { skip }, async () => {
  const source = await readFile(program, 'utf8');
  assert.doesNotMatch(source, /:=|\bmatch \w+:|removeprefix|removesuffix|from __future__ import annotations|\bdataclass/u);
  const imported = [...source.matchAll(/^import (\w+)$/gmu)].map(([, name]) => name);
  assert.deepEqual(imported, ['base64', 'binascii', 'hashlib', 'hmac', 'ipaddress', 'json', 'os', 're', 'sys', 'time']);
});
