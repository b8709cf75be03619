import { argon2Sync } from 'node:crypto';
import type { TestContext } from 'node:test';
import { type Access, createAccess } from '../../../src/access/access.ts';
import type { IssuerFetch } from '../../../src/access/issuers/oidc-discovery.ts';
import { formatPasswordHash, matchesPassword, type PasswordHash } from '../../../src/access/passwords/password-hash.ts';
import type { RoleName } from '../../../src/access/principal.ts';
import type { AccessOptions, IssuerOptions } from '../../../src/access/rights/access-options.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { noLog } from '../../../src/base/log.ts';
import type { Database } from '../../../src/database/database.ts';

/** A clock that only `advance` moves. Wall clock and monotonic clock move together. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void;
}

export function createTestClock(start = Date.now()): TestClock {
  let time = start;
  return {
    now: () => time,
    monotonic: () => time - start,
    advance: (milliseconds) => {
      time += milliseconds;
    },
  };
}

/** `secret` hashed with weak parameters of argon2id, so that tests are quick. One secret always has the same hash. */
export function quickHash(secret: string): string {
  const weak = { memory: 64, passes: 1, parallelism: 1 };
  const salt = Buffer.alloc(16, 'salt');
  const tag = argon2Sync('argon2id', { ...weak, message: secret, nonce: salt, tagLength: 32 });
  return formatPasswordHash({ ...weak, salt, tag });
}

interface AccessConfigOptions {
  readonly users?: Readonly<Record<string, readonly RoleName[]>>;
  readonly clients?: Readonly<Record<string, readonly RoleName[]>>;
  readonly passwordHash?: string;
  readonly oidc?: readonly IssuerOptions[];
  /** In place of what the others give. */
  readonly more?: Partial<AccessOptions>;
}

/** Users and clients whose password is `right`. */
export function accessConfig(options: AccessConfigOptions = {}): AccessOptions {
  const { users = { admin: ['admin'] }, clients = { reporting: ['apiread'] }, oidc = [] } = options;
  const hash = options.passwordHash ?? quickHash('right');
  return {
    tokenLifetime: 3_600_000,
    users: Object.entries(users).map(([username, roles]) => ({ username, passwordHash: hash, roles, groups: ['noc'] })),
    clients: Object.entries(clients).map(([clientId, roles]) => ({ clientId, secretHash: hash, roles, groups: [] })),
    oidc,
    roles: [],
    groupRoles: {},
    persons: {},
    blocked: [],
    ...options.more,
  };
}

/** An access that records its computed hashes, closed after the test. */
export interface TestAccess {
  readonly access: Access;
  /** Memory parameter of every hash that was computed, in order. */
  readonly hashed: readonly number[];
}

interface TestAccessOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly config?: AccessOptions;
  readonly fetch?: IssuerFetch;
  /** The computation of a hash waits for this promise. */
  readonly beforeHash?: Promise<void>;
}

export async function openAccess(t: TestContext, options: TestAccessOptions): Promise<TestAccess> {
  const { database, clock, config = accessConfig(), fetch = noDocuments, beforeHash } = options;
  const hashed: number[] = [];
  const access = await createAccess({
    config,
    database,
    clock,
    log: noLog,
    fetch,
    secureCookies: false,
    matches: async (password: string, hash: PasswordHash) => {
      hashed.push(hash.memory);
      await beforeHash;
      return matchesPassword(password, hash);
    },
  });
  t.after(() => access.close());
  return { access, hashed };
}

function noDocuments(): Promise<never> {
  return Promise.reject(new Error('nothing may be fetched here'));
}
