import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { formatPasswordHash, hashPassword, matchesPassword, type PasswordHash, parsePasswordHash } from './password-hash.ts';

async function hashOf(password: string): Promise<PasswordHash> {
  const hash = parsePasswordHash(await hashPassword(password));
  assert.ok(hash);
  return hash;
}

test('a hash has the recommended parameters, a new salt each time, and matches only its password', async () => {
  const [one, two] = [await hashPassword('correct horse'), await hashPassword('correct horse')];
  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/u);
  assert.notEqual(one, two);
  const hash = parsePasswordHash(one);
  assert.ok(hash);
  assert.equal(await matchesPassword('correct horse', hash), true);
  assert.equal(await matchesPassword('correct horse ', hash), false);
  assert.equal(await matchesPassword('', hash), false);
});

test('R92: a password is hashed as it is, with its length, NUL characters and Unicode form', async () => {
  const long = await hashOf('x'.repeat(64));
  assert.equal(await matchesPassword('x'.repeat(64), long), true);
  assert.equal(await matchesPassword('x'.repeat(63), long), false);
  const withNul = await hashOf('a\0b');
  assert.equal(await matchesPassword('a\0b', withNul), true);
  assert.equal(await matchesPassword('a', withNul), false);
  const composed = await hashOf('\u00e9');
  assert.equal(await matchesPassword('e\u0301', composed), false);
});

test('a hash from the argon2 reference program is accepted', async () => {
  // echo -n password | argon2 somesalt -id -t 2 -k 65536 -p 1 -l 24  (test vector of phc-winner-argon2/src/test.c, version 19)
  const hash = parsePasswordHash('$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc');
  assert.ok(hash);
  assert.equal(await matchesPassword('password', hash), true);
});

test('every hash stays the same when it is formatted and parsed', () => {
  const bytes = (minLength: number): fc.Arbitrary<Buffer> =>
    fc.uint8Array({ minLength, maxLength: 64 }).map((array) => Buffer.from(array));
  const any = fc.record({
    memory: fc.integer({ min: 800, max: 1_048_576 }),
    passes: fc.integer({ min: 1, max: 99 }),
    parallelism: fc.integer({ min: 1, max: 99 }),
    salt: bytes(8),
    tag: bytes(16),
  });
  fc.assert(fc.property(any, (hash) => assert.deepEqual(parsePasswordHash(formatPasswordHash(hash)), { ...hash })));
});

test('a text that is not a usable argon2id hash is refused', () => {
  const salt = 'c29tZXNhbHQ';
  const tag = 'CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  const refused = [
    '',
    'secret',
    `$argon2i$v=19$m=65536,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=16$m=65536,t=2,p=1$${salt}$${tag}`,
    `$argon2id$m=65536,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=0,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=65536,t=0,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=7,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=2097152,t=2,p=1$${salt}$${tag}`,
    `$argon2id$v=19$m=65536,t=2,p=1$c2FsdA$${tag}`,
    `$argon2id$v=19$m=65536,t=2,p=1$${salt}$c2hvcnQ`,
    `$argon2id$v=19$m=65536,t=2,p=1$${salt}=$${tag}`,
    `$argon2id$v=19$m=65536,t=2,p=1$${salt}$${tag.slice(0, -1)}d`,
    `$argon2id$v=19$m=65536,t=2,p=1$${salt}$${tag}\n`,
    '$2b$12$abcdefghijklmnopqrstuv',
  ];
  for (const text of refused) assert.equal(parsePasswordHash(text), undefined, text);
});
