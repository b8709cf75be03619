import type { Clock } from '#base/clock.ts';
import type { Secret } from '#base/secret.ts';
import { type CallScope, untilAborted } from '#outbound/call/call-scope.ts';
import type { Sender } from '#outbound/call/sender.ts';
import { createCallerCredentials } from './caller-credentials.ts';
import { type AdapterAuthentication, type Credentials, credentialHeaders, type StaticAuthentication } from './credentials.ts';
import { createOauthTokens } from './oauth-tokens.ts';

/** Calls `openTokenSender` only for a token endpoint. */
export function createCredentials(options: {
  /** For errors. */
  readonly name: string;
  readonly authentication: AdapterAuthentication;
  readonly openTokenSender: () => Sender;
  readonly clock: Clock;
  readonly userAgent: string;
  /** `iss` of assertions. */
  readonly issuer: string;
}): Credentials {
  const { authentication, openTokenSender, ...needs } = options;
  switch (authentication.type) {
    case 'caller': {
      const service = authentication.service && createCredentials({ ...options, authentication: authentication.service });
      return createCallerCredentials({ ...needs, ...authentication, service });
    }
    case 'token':
      return createRenewedToken(authentication.token);
    case 'oauth2':
      return createOauthTokens({ ...needs, client: authentication, sender: openTokenSender() });
    case 'none':
      return createFixedCredentials(authentication.type, credentialHeaders(authentication));
    default:
      return createSecretCredentials(authentication);
  }
}

function createFixedCredentials(type: Credentials['type'], headers: readonly string[]): Credentials {
  const observe = (): boolean => false;
  return { type, hasOwn: true, headers: () => headers, observe, basis: () => '', withheld: [], close: () => Promise.resolve() };
}

/** The present value of a secret. After a 401 its source is read again; meanwhile other calls wait. */
function createSecretCredentials(authentication: Exclude<StaticAuthentication, { readonly type: 'none' }>): Credentials {
  const secret = secretOf(authentication);
  const present = createPresentHeaders(secret, () => credentialHeaders(authentication));
  const renewal = createRenewal(secret);
  return {
    type: authentication.type,
    hasOwn: true,
    headers: (scope) => renewal.whenDone(scope, present),
    observe(reply, used) {
      if (reply.status !== 401) return false;
      return present() !== used || renewal.begin().then(() => present() !== used);
    },
    basis: () => secret.reveal(),
    withheld: [],
    close: () => Promise.resolve(),
  };
}

function secretOf(authentication: Exclude<StaticAuthentication, { readonly type: 'none' }>): Secret {
  switch (authentication.type) {
    case 'basic':
      return authentication.password;
    case 'bearer':
      return authentication.token;
    default:
      return authentication.value;
  }
}

/** The same array until the value changes. */
function createPresentHeaders(secret: Secret, make: () => readonly string[]): () => readonly string[] {
  let value = secret.reveal();
  let headers = make();
  return () => {
    const now = secret.reveal();
    if (now !== value) [value, headers] = [now, make()];
    return headers;
  };
}

interface Renewal {
  begin(): Promise<void>;
  whenDone<T>(scope: CallScope, give: () => T): T | Promise<T>;
}

function createRenewal(secret: Secret): Renewal {
  let running: Promise<void> | undefined;
  return {
    begin() {
      running ??= secret.renew().finally(() => {
        running = undefined;
      });
      return running;
    },
    whenDone: (scope, give) => (running === undefined ? give() : untilAborted(scope, running).then(give)),
  };
}

/**
 * NSO's X-Auth-Token: the configured one, then that of the latest reply (visible ASCII, at most 8 KiB). A 401 to a later one restores the
 * first; after a 401 to the first its source is read again.
 */
function createRenewedToken(configured: Secret): Credentials {
  const first = createPresentHeaders(configured, () => headersOf(configured.reveal()));
  const renewal = createRenewal(configured);
  let basis = first();
  let current = basis;
  const present = (): readonly string[] => {
    const now = first();
    // A new value replaces what replies to the old one gave.
    if (now !== basis) [basis, current] = [now, now];
    return current;
  };
  return {
    type: 'token',
    hasOwn: true,
    headers: (scope) => renewal.whenDone(scope, present),
    observe(reply, used) {
      if (reply.status !== 401) {
        const renewed = reply.headers['x-auth-token'];
        if (typeof renewed === 'string' && renewed !== present()[1] && /^[\x21-\x7e]{1,8192}$/u.test(renewed))
          current = headersOf(renewed);
        return false;
      }
      if (used !== present()) return true;
      if (current === basis) return renewal.begin().then(() => present() !== used);
      current = basis;
      return true;
    },
    basis: () => configured.reveal(),
    // NSO may send the token in a cookie (token-response, token-cookie).
    withheld: ['x-auth-token', 'set-cookie'],
    close: () => Promise.resolve(),
  };
}

function headersOf(token: string): readonly string[] {
  return ['X-Auth-Token', token];
}
