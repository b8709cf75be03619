import type { Clock } from '#base/clock.ts';
import { every } from '#base/every.ts';
import type { Log } from '#base/log.ts';
import type { Database } from '#database/database.ts';
import type { AccessOptions } from './access-options.ts';
import { createAccessRules } from './access-rules.ts';
import { type AccessWatcher, noAccessWatcher } from './access-watcher.ts';
import { type Authenticate, type AuthenticateAgain, createAuthenticate } from './authenticate.ts';
import { createBasicAuthenticator } from './basic-authenticator.ts';
import { createCredentialCheck } from './credential-check.ts';
import { createGatewayTokens } from './gateway-tokens.ts';
import { createIssuerLogins, type IssuerLogins } from './issuer-logins.ts';
import { createKnownPersonStore } from './known-person-store.ts';
import { createKnownPersons } from './known-persons.ts';
import { createLoginCookie } from './login-binding.ts';
import { createLoginThrottle } from './login-throttle.ts';
import { createLoginThrottleStore } from './login-throttle-store.ts';
import type { IssuerFetch } from './oidc-discovery.ts';
import type { matchesPassword } from './password-hash.ts';
import { createPasswordVerifier } from './password-verifier.ts';
import { createPrincipals, type Principals } from './principals.ts';
import { createRevocations } from './revocations.ts';
import { createRevokedTokenStore } from './revoked-token-store.ts';
import { createSessionCookie } from './session-cookie.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { createSigningKeys } from './signing-keys.ts';
import { createTokenAuthenticator } from './token-authenticator.ts';
import { createCacheKey } from './verified-cache.ts';

const maintenanceInterval = 60_000;

/** Milliseconds for which a revocation is kept after its token expires, because the clocks of gateways differ. */
const revocationsKeptFor = 3_600_000;

/** Access control: authenticators, sessions, and the state that they keep in the store. */
export interface Access extends Sessions, Principals {
  readonly authenticate: Authenticate;
  readonly authenticateAgain: AuthenticateAgain;
  /** Logins of people by an OIDC issuer. */
  readonly issuerLogins: IssuerLogins;
  /** The name of the session cookie. */
  readonly cookieName: string;
  /** Puts the new configuration in force and drops every cached verdict. Throws and changes nothing if a hash cannot be read. */
  reload(config: AccessOptions): void;
  close(): Promise<void>;
}

interface AccessNeeds {
  readonly config: AccessOptions;
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: IssuerFetch;
  /** True if callers reach the gateway over TLS. */
  readonly secureCookies: boolean;
  /** The path of `/login/oidc` as browsers see it. */
  readonly loginPath?: string;
  readonly watcher?: AccessWatcher;
  /** The disk of the store is nearly full. */
  readonly isShort?: () => boolean;
  /** Tests replace it to count hashes. */
  readonly matches?: typeof matchesPassword;
}

/** Loads the signing keys, and makes the first one if the store has none. Rejects with 503 if the store is away. */
export async function createAccess({
  config,
  database,
  clock,
  log,
  fetch,
  secureCookies,
  loginPath = '/login/oidc',
  watcher = noAccessWatcher,
  isShort = () => false,
  matches,
}: AccessNeeds): Promise<Access> {
  let current = createAccessRules({ config, fetch, clock, log });
  const rules = (): typeof current => current;

  const sessionCookie = createSessionCookie({ secure: secureCookies });
  const keys = await createSigningKeys({ store: createSigningKeyStore(database), clock });
  const revokedTokens = createRevokedTokenStore(database);
  const revocations = createRevocations({ store: revokedTokens, isShort });
  const throttle = createLoginThrottle({ store: createLoginThrottleStore(database), clock, isShort });
  // Two hashes at once: more would take the cores away from the calls.
  const verifier = createPasswordVerifier({ concurrency: 2, queue: 32, ...(matches === undefined ? {} : { matches }) });
  const check = createCredentialCheck({ throttle, verifier, log, watcher });
  const tokens = createGatewayTokens({ keys, clock });
  const persons = createKnownPersons({ rules, store: createKnownPersonStore(database), clock, log, isShort });
  const bearer = createTokenAuthenticator({ rules, tokens, revocations, clock, log, persons });
  const basic = createBasicAuthenticator({ rules, check, clock });

  const principals = createPrincipals(rules, persons);
  const authenticators = { basic, tokens: bearer, cacheKey: createCacheKey(), isGone: principals.isGone };

  const maintenance = maintain(log, async () => {
    await keys.maintain(current.longestToken);
    await revokedTokens.purge(clock.now() - revocationsKeptFor);
    await Promise.all([throttle.purge(), persons.purge()]);
  });

  return {
    ...createSessions({ rules, check, tokens, revocations, clock, ended: (jti) => bearer.end(jti), sessionCookie }),
    ...createAuthenticate({ ...authenticators, watcher, sessionCookie }),
    ...principals,
    issuerLogins: createIssuerLogins({
      rules,
      tokens,
      throttle,
      ended: revokedTokens,
      fetch,
      persons,
      loginCookie: createLoginCookie({ secure: secureCookies, path: loginPath }),
      sessionCookie,
      clock,
      log,
      watcher,
    }),
    cookieName: sessionCookie.name,
    reload(next) {
      current = createAccessRules({ config: next, fetch, clock, log, previous: current });
      bearer.clear();
      basic.clear();
    },
    close: () => maintenance.stop(),
  };
}

function maintain(log: Log, work: () => Promise<void>): ReturnType<typeof every> {
  return every(maintenanceInterval, work, () =>
    log.warn('the maintenance of tokens, login throttles and known persons failed; the gateway tries again in a minute'),
  );
}
