import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { AccountKind } from '../accounts.ts';
import type { LoginThrottleStore, ThrottledSubject } from './login-throttle-store.ts';

/** Within 15 minutes, without a wait. */
const freeForAccount = 5;
const freeForAddress = 50;

/** A login by an issuer names no account. */
type LoginAttempt = {
  /** Behind trusted proxies, the address that they report. */
  readonly sourceAddress: string;
} & ({ readonly kind: AccountKind; readonly name: string } | { readonly name?: never });

export type LoginThrottle = ReturnType<typeof createLoginThrottle>;

/** Counted as failed unless one of its methods is called. */
export type AdmittedAttempt = Awaited<ReturnType<LoginThrottle['admit']>>;

export function createLoginThrottle({
  store,
  clock,
  isShort = () => false,
}: {
  readonly store: LoginThrottleStore;
  readonly clock: Clock;
  /** The disk is nearly full: accounts and addresses share a few rows, so that the table cannot grow. */
  readonly isShort?: () => boolean;
}) {
  return {
    /** As `admit`, but counts nothing. Call it before any work for the attempt. */
    async refuse(attempt: LoginAttempt): Promise<void> {
      const subjects = [false, ...(isShort() ? [true] : [])].flatMap((shared) =>
        Object.values(subjectsOf(attempt, shared)).flat(),
      );
      const wait = await store.wait(subjects, clock.now());
      if (wait > 0) throw throttled(wait);
    },
    /**
     * Counts the attempt before its password is checked, so that concurrent guesses cannot exceed the limit. Names that are not configured
     * count too. Rejects with 429 `login-throttled` and `Retry-After`, or 503 if the store is away.
     */
    async admit(attempt: LoginAttempt) {
      const { account, address } = subjectsOf(attempt, isShort());
      const counted = await store.count([...account, address], clock.now());
      if ('wait' in counted) throw throttled(counted.wait);
      return {
        /** Deletes the account's failures, and this one of the address. */
        async succeeded(): Promise<void> {
          for (const { subject } of account) await store.forget(subject);
          await store.uncount([address.subject], counted);
        },
        /** The password was not checked, so the attempt does not count. */
        abandoned: () => store.uncount([...counted.records.keys()], counted),
      };
    },
    /** The table cannot grow fast: each row costs an attacker a password hash. */
    purge: () => store.purge(clock.now()),
  };
}

/** `account`: empty without one. */
interface Subjects {
  readonly account: readonly ThrottledSubject[];
  readonly address: ThrottledSubject;
}

function subjectsOf(attempt: LoginAttempt, shared: boolean): Subjects {
  const { sourceAddress, name } = attempt;
  return {
    account: name === undefined ? [] : [{ subject: subjectOf(attempt.kind, name, shared), free: freeForAccount }],
    address: { subject: subjectOf('address', addressGroup(sourceAddress), shared), free: freeForAddress },
  };
}

/**
 * Hashes, because people type passwords into the wrong field. `shared`: 4,096 rows for all accounts, and as many for all addresses.
 */
function subjectOf(kind: AccountKind | 'address', name: string, shared: boolean): string {
  const hash = createHash('sha256').update(`${kind}:${name}`).digest('base64url');
  return shared ? `${kind === 'address' ? '@' : '='}${hash.slice(0, 2)}` : hash.slice(0, 22);
}

/** Of an IPv6 address the /64, because a subscriber has at least a /64. */
export function addressGroup(address: string): string {
  // ipaddr.js accepts no zone id with a dot, hyphen or underscore, as VLANs and bridges have.
  const bare = address.replace(/%.*$/u, '');
  if (!ipaddr.isValid(bare)) return address;
  const parsed = ipaddr.process(bare);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
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
