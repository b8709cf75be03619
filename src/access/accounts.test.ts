import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accessConfig } from '../../test/support/gateway/access.ts';
import { createAccounts } from './accounts.ts';
import { formatPasswordHash } from './passwords/password-hash.ts';
import type { AccessOptions } from './rights/access-options.ts';

function hashWith(memory: number, fill: number): string {
  return formatPasswordHash({ memory, passes: 1, parallelism: 1, salt: Buffer.alloc(16, fill), tag: Buffer.alloc(32, fill) });
}

function configWith(...memories: number[]): AccessOptions {
  const users = memories.map((memory, index) => ({
    username: `user${index}`,
    passwordHash: hashWith(memory, index),
    roles: [],
    groups: [],
  }));
  return accessConfig({ users: {}, clients: {}, more: { users } });
}

test('unknown names have the hash costs of the known ones, in their proportions, and each name always the same', () => {
  const accounts = createAccounts(configWith(64, 64, 64, 128));
  const again = createAccounts(configWith(64, 64, 64, 128));
  const costs = Array.from({ length: 400 }, (_, index) => accounts.decoy('user', `unknown${index}`).memory);
  const costly = costs.filter((memory) => memory === 128).length;
  assert.ok(costly > 50 && costly < 150, `${costly} of 400`);
  assert.ok(costs.every((memory) => memory === 64 || memory === 128));
  assert.deepEqual(
    Array.from({ length: 400 }, (_, index) => again.decoy('user', `unknown${index}`).memory),
    costs,
  );
});

test('an unknown name costs the default where no account is configured', () => {
  const { memory, passes, parallelism } = createAccounts(configWith()).decoy('client', 'unknown');
  assert.deepEqual({ memory, passes, parallelism }, { memory: 19_456, passes: 2, parallelism: 1 });
});

test('a fingerprint changes with the hash, and a user is not found as a client', () => {
  const accounts = createAccounts(configWith(64));
  const other = createAccounts(configWith(128));
  assert.notEqual(accounts.find('user', 'user0')?.fingerprint, other.find('user', 'user0')?.fingerprint);
  assert.equal(accounts.find('client', 'user0'), undefined);
  assert.equal(accounts.find('user', '__proto__'), undefined);
});

test('the error for a hash that cannot be read names the account and contains no part of the hash', () => {
  const config = { ...configWith(), users: [{ username: 'admin', passwordHash: 'geheim', roles: [], groups: [] }] };
  assert.throws(() => createAccounts(config), /^Error: The hash of user admin is not an argon2id PHC string\.$/u);
});

test('the id of a user or client is its name, the text whose digests are in the store', () => {
  const client = { clientId: 'reporting', secretHash: hashWith(64, 0), roles: [], groups: [] };
  const accounts = createAccounts({ ...configWith(64), clients: [client] });
  assert.equal(accounts.find('user', 'user0')?.principal.id, 'user0');
  assert.equal(accounts.find('client', 'reporting')?.principal.id, 'reporting');
});

test('a name finds the user or client that has it', () => {
  const client = { clientId: 'reporting', secretHash: hashWith(64, 0), roles: [], groups: [] };
  const accounts = createAccounts({ ...configWith(64), clients: [client] });
  assert.equal(accounts.named('user0')?.kind, 'user');
  assert.equal(accounts.named('reporting')?.kind, 'client');
  for (const name of ['user1', '', '__proto__']) assert.equal(accounts.named(name), undefined);
});

test('an account that is blocked is found as configured alone, and its name stays taken', () => {
  const accounts = createAccounts(
    accessConfig({ users: { ann: ['admin'] }, clients: { robot: [] }, more: { blocked: ['ann', 'robot'] } }),
  );
  assert.deepEqual(
    [accounts.find('user', 'ann'), accounts.named('ann'), accounts.find('client', 'robot'), accounts.principals()],
    [undefined, undefined, undefined, []],
  );
  assert.equal(accounts.configured('user', 'ann')?.principal.username, 'ann');
  assert.equal(accounts.isTaken('ANN'), true);
});

test('users and clients have the roles of their groups, each once', () => {
  const groupRoles = { noc: ['engineering', 'admin'], other: ['apiread'], toString: ['apiread'] } as const;
  const clients = [{ clientId: 'robot', secretHash: hashWith(64, 1), roles: [], groups: ['noc', 'constructor'] }];
  const accounts = createAccounts(accessConfig({ users: { ann: ['admin'] }, more: { groupRoles, clients } }));
  assert.deepEqual(accounts.named('ann')?.principal.roles, ['admin', 'engineering']);
  assert.deepEqual(accounts.named('robot')?.principal.roles, ['engineering', 'admin']);
});

test('a client has its own lifetime of tokens, and any other account that of all', () => {
  const client = { clientId: 'robot', secretHash: hashWith(64, 1), roles: [], groups: [] };
  const clients = [
    { ...client, tokenLifetime: 7 },
    { ...client, clientId: 'other' },
  ];
  const accounts = createAccounts(accessConfig({ more: { clients } }));
  assert.deepEqual(
    ['robot', 'other', 'admin'].map((name) => accounts.named(name)?.tokenLifetime),
    [7, 3_600_000, 3_600_000],
  );
});
