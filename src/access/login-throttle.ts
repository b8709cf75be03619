import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { AccountKind } from './accounts.ts';
import type { LoginThrottleStore, ThrottledSubject } from './login-throttle-store.ts';

/** How many failures in 15 minutes are free (contract section 6). */
const freeForAccount = 5;
const freeForAddress = 50;

interface LoginAttempt {
  readonly kind: AccountKind;
  readonly name: string;
  /** The caller's address, behind trusted proxies the one they name. */
  readonly sourceAddress: string;
}

/** An attempt that is counted as failed until it says otherwise. */
export interface AdmittedAttempt {
  /** Forgets the account's failures and takes back this one of the address. */
  succeeded(): Promise<void>;
  /** Takes the attempt back: it was not judged. */
  abandoned(): Promise<void>;
}

export interface LoginThrottle {
  /**
   * Counts the attempt before the password is looked at, so that guesses made at once cannot slip past the limit. Rejects with 429
   * `login-throttled` and `Retry-After`, or 503 where the store is away. Names that are not configured are counted alike.
   */
  admit(attempt: LoginAttempt): Promise<AdmittedAttempt>;
  /** Rejects as `admit`, and counts nothing: to be asked before anything is done for the attempt. */
  refuse(attempt: LoginAttempt): Promise<void>;
  /** Drops what no longer matters. The table stays small by itself: a row costs its maker a password hash. */
  purge(): Promise<void>;
}

export function createLoginThrottle({
  store,
  clock,
}: {
  readonly store: LoginThrottleStore;
  readonly clock: Clock;
}): LoginThrottle {
  return {
    async refuse(attempt) {
      const wait = await store.wait(subjectsOf(attempt), clock.now());
      if (wait > 0) throw throttled(wait);
    },
    async admit(attempt) {
      const [account, address] = subjectsOf(attempt);
      const counted = await store.count([account, address], clock.now());
      if ('wait' in counted) throw throttled(counted.wait);
      return {
        async succeeded() {
          await store.forget(account.subject);
          await store.giveBack([address.subject], counted);
        },
        abandoned: () => store.giveBack([account.subject, address.subject], counted),
      };
    },
    purge: () => store.purge(clock.now()),
  };
}

/** The account and the address. */
function subjectsOf({ kind, name, sourceAddress }: LoginAttempt): readonly [ThrottledSubject, ThrottledSubject] {
  return [
    { subject: subjectOf(kind, name), free: freeForAccount },
    { subject: subjectOf('address', addressGroup(sourceAddress)), free: freeForAddress },
  ];
}

/** Names are kept as hashes: people type their passwords into the wrong field. */
function subjectOf(kind: AccountKind | 'address', name: string): string {
  return createHash('sha256').update(`${kind}:${name}`).digest('base64url').slice(0, 22);
}

/** An IPv4 address by itself, IPv6 by its /64: that much every subscriber has to himself. */
export function addressGroup(address: string): string {
  // ipaddr.js knows no zone id with a dot, a hyphen or an underscore, as those of VLANs and bridges are.
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
