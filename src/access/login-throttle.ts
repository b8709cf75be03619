import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { AccountKind } from './accounts.ts';
import type { LoginThrottleStore, ThrottledSubject } from './login-throttle-store.ts';

/** Failures within 15 minutes that impose no wait. */
const freeForAccount = 5;
const freeForAddress = 50;

/** A login by an issuer: it names no account whose password somebody could guess. */
interface AddressAttempt {
  /** The address of the caller. Behind trusted proxies, the address that they report. */
  readonly sourceAddress: string;
}

interface AccountAttempt extends AddressAttempt {
  readonly kind: AccountKind;
  readonly name: string;
}

type LoginAttempt = AddressAttempt | AccountAttempt;

/** An attempt. It is counted as failed unless one of these methods is called. */
export interface AdmittedAttempt {
  /** Deletes the account's failures, and removes this attempt from those of the address. */
  succeeded(): Promise<void>;
  /** Removes the attempt from the count: the password was not checked. */
  abandoned(): Promise<void>;
}

export interface LoginThrottle {
  /**
   * Counts the attempt before its password is checked, so that concurrent guesses cannot exceed the limit. Rejects with 429
   * `login-throttled` and `Retry-After`, or 503 if the store is away. Names that are not configured count too.
   */
  admit(attempt: LoginAttempt): Promise<AdmittedAttempt>;
  /** Rejects as `admit` does, but counts nothing. Call it before any work for the attempt. */
  refuse(attempt: LoginAttempt): Promise<void>;
  /** Deletes records that have no effect any more. The table cannot grow fast: each row costs an attacker a password hash. */
  purge(): Promise<void>;
}

export function createLoginThrottle({
  store,
  clock,
  isShort = () => false,
}: {
  readonly store: LoginThrottleStore;
  readonly clock: Clock;
  /** The disk of the store is nearly full: accounts and addresses then share a few rows, so that the table cannot grow. */
  readonly isShort?: () => boolean;
}): LoginThrottle {
  return {
    async refuse(attempt) {
      const own = Object.values(subjectsOf(attempt, false)).flat();
      const wait = await store.wait(isShort() ? [...own, ...Object.values(subjectsOf(attempt, true)).flat()] : own, clock.now());
      if (wait > 0) throw throttled(wait);
    },
    async admit(attempt) {
      const { account, address } = subjectsOf(attempt, isShort());
      const counted = await store.count([...account, address], clock.now());
      if ('wait' in counted) throw throttled(counted.wait);
      return {
        async succeeded() {
          for (const { subject } of account) await store.forget(subject);
          await store.uncount([address.subject], counted);
        },
        abandoned: () =>
          store.uncount(
            [...account, address].map(({ subject }) => subject),
            counted,
          ),
      };
    },
    purge: () => store.purge(clock.now()),
  };
}

/** `account`: that of its account, if it names one. */
interface Subjects {
  readonly account: readonly ThrottledSubject[];
  readonly address: ThrottledSubject;
}

function subjectsOf(attempt: LoginAttempt, shared: boolean): Subjects {
  const named = 'name' in attempt ? [subjectOf(attempt.kind, attempt.name, shared)] : [];
  return {
    account: named.map((subject) => ({ subject, free: freeForAccount })),
    address: { subject: subjectOf('address', addressGroup(attempt.sourceAddress), shared), free: freeForAddress },
  };
}

/**
 * Names are stored as hashes, because people type their passwords into the wrong field. `shared`: 4,096 rows for all accounts, and as many
 * for all addresses.
 */
function subjectOf(kind: AccountKind | 'address', name: string, shared: boolean): string {
  const hash = createHash('sha256').update(`${kind}:${name}`).digest('base64url');
  return shared ? `${kind === 'address' ? '@' : '='}${hash.slice(0, 2)}` : hash.slice(0, 22);
}

/** An IPv4 address as it is; of an IPv6 address the /64, because a subscriber has at least a /64 of addresses. */
export function addressGroup(address: string): string {
  // ipaddr.js accepts no zone id with a dot, a hyphen or an underscore; VLANs and bridges have such ids.
  const bare = address.replace(/%.*$/u, '');
  if (!ipaddr.isValid(bare)) return address;
  const parsed = ipaddr.process(bare);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

function throttled(wait: number): GatewayError {
  const seconds = Math.max(1, Math.ceil(wait / 1000));
  return new GatewayError(
    'login-throttled',
    `Too many failed logins: wait ${seconds} s, then try again with the right password.`,
    {
      headers: { 'Retry-After': String(seconds) },
    },
  );
}
