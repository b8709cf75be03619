import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Log } from '#base/log.ts';
import { every } from '#base/timing/every.ts';
import type { Database } from '#database/database.ts';
import { createAccessRules } from './access-rules.ts';
import { type AccessWatcher, noAccessWatcher } from './access-watcher.ts';
import {
  type Authentication,
  credentialsMalformed,
  credentialsMissing,
  type PresentedCredentials,
  type RequestOrigin,
  sessionElsewhere,
  tokenInvalid,
} from './authentication.ts';
import { createKnownPersonStore } from './issuers/known-person-store.ts';
import { createKnownPersons } from './issuers/known-persons.ts';
import { createLoginCookie } from './issuers/login-binding.ts';
import type { IssuerFetch } from './issuers/oidc-discovery.ts';
import { createOidcLogins } from './issuers/oidc-logins.ts';
import { type BasicAuthenticator, createBasicAuthenticator, createCredentialCheck } from './passwords/credential-check.ts';
import { readAuthorization } from './passwords/credentials-header.ts';
import { createLoginThrottle } from './passwords/login-throttle.ts';
import { createLoginThrottleStore } from './passwords/login-throttle-store.ts';
import type { matchesPassword } from './passwords/password-hash.ts';
import { createPasswordVerifier } from './passwords/password-verifier.ts';
import { createPrincipals } from './principals.ts';
import type { AccessOptions } from './rights/access-options.ts';
import { createGatewayTokens } from './tokens/gateway-tokens.ts';
import { createRevocations } from './tokens/revocations.ts';
import { createRevokedTokenStore } from './tokens/revoked-token-store.ts';
import { createSessionCookie, type SessionCookie } from './tokens/session-cookie.ts';
import { createSessions, createTokenIds } from './tokens/sessions.ts';
import { createSigningKeyStore } from './tokens/signing-key-store.ts';
import { createSigningKeys } from './tokens/signing-keys.ts';
import { createTokenAuthenticator, type TokenAuthenticator } from './tokens/token-authenticator.ts';
import { createCacheKey } from './tokens/verified-cache.ts';

const maintenanceInterval = 60_000;

/** Milliseconds after its token expires, because the clocks of gateways differ. */
const revocationsKeptFor = 3_600_000;

export type Access = Awaited<ReturnType<typeof createAccess>>;

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

/** Rejects with 503 if the store is away. */
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
}: AccessNeeds) {
  let current = createAccessRules({ config, fetch, clock, log });
  const rules = (): typeof current => current;
  const sessionCookie = createSessionCookie({ secure: secureCookies });
  const loginCookie = createLoginCookie({ secure: secureCookies, path: loginPath });
  const keys = await createSigningKeys({ store: createSigningKeyStore(database), clock });
  const tokens = createGatewayTokens({ keys, clock });
  const revokedTokens = createRevokedTokenStore(database);
  const revocations = createRevocations({ store: revokedTokens, isShort });
  const throttle = createLoginThrottle({ store: createLoginThrottleStore(database), clock, isShort });
  // Two hashes at once: more would take the cores away from the calls.
  const verifier = createPasswordVerifier({ concurrency: 2, queue: 32, matches });
  const check = createCredentialCheck({ throttle, verifier, log, watcher });
  const persons = createKnownPersons({ rules, store: createKnownPersonStore(database), clock, log, isShort });
  const bearer = createTokenAuthenticator({ rules, tokens, revocations, clock, log, persons });
  const basic = createBasicAuthenticator({ rules, check, clock });
  const needs = { rules, tokens, clock, sessionCookie };
  const principals = createPrincipals(rules, persons);
  const maintenance = every(
    maintenanceInterval,
    async () => {
      await keys.maintain(current.maxTokenLifetime);
      await revokedTokens.purge(clock.now() - revocationsKeptFor);
      await Promise.all([throttle.purge(), persons.purge()]);
    },
    () => log.warn('the maintenance of tokens, login throttles and known persons failed; the gateway tries again in a minute'),
  );

  return {
    ...createSessions({ ...needs, check, revocations, ended: bearer.end }),
    ...createTokenIds({ ...needs, revocations }),
    ...createAuthenticate({ basic, tokens: bearer, isGone: principals.isGone, watcher, sessionCookie }),
    ...principals,
    issuerLogins: createOidcLogins({ ...needs, throttle, ended: revokedTokens, fetch, persons, loginCookie, log, watcher }),
    cookieName: sessionCookie.name,
    /** Puts the configuration in force and drops every cached verdict. Throws and changes nothing if a hash cannot be read. */
    reload(next: AccessOptions): void {
      current = createAccessRules({ config: next, fetch, clock, log, previous: current });
      bearer.clear();
      basic.clear();
    },
    close: () => maintenance.stop(),
  };
}

interface AuthenticateNeeds {
  readonly isGone: (id: string) => boolean;
  readonly basic: BasicAuthenticator;
  readonly tokens: TokenAuthenticator;
  readonly watcher: AccessWatcher;
  readonly sessionCookie: SessionCookie;
}

function createAuthenticate({ basic, tokens, watcher, sessionCookie, isGone }: AuthenticateNeeds) {
  const cacheKey = createCacheKey();

  const authenticateHeader = (authorization: string, origin: RequestOrigin): Authentication | Promise<Authentication> => {
    const key = cacheKey(authorization);
    const known = tokens.cached(key, origin) ?? basic.cached(key);
    watcher.cacheAsked(known !== undefined);
    if (known !== undefined) return known;
    const header = readAuthorization(authorization);
    if (header.scheme === 'basic') {
      const { sourceAddress, requestId } = origin;
      return basic.verify({ name: header.name, password: header.password, sourceAddress, requestId }, key);
    }
    if (header.scheme === 'bearer') return tokens.verify({ token: header.token, key, via: 'bearer', origin });
    throw credentialsMalformed();
  };

  // No header contains a line break, so this never equals the key of a header.
  const keyOfSession = (token: string): string => cacheKey(`cookie\n${token}`);

  const authenticateCookie = (cookie: string, presented: PresentedCredentials): Authentication | Promise<Authentication> => {
    const session = sessionCookie.read(cookie);
    if (session === undefined) throw credentialsMissing();
    if (presented.isOwnHost?.() === false) throw sessionElsewhere();
    if (session === 'ambiguous') throw tokenInvalid();
    const key = keyOfSession(session.token);
    const known = tokens.cached(key, presented);
    watcher.cacheAsked(known !== undefined);
    return known ?? tokens.verify({ token: session.token, key, via: 'session', origin: presented });
  };

  const tokenIn = ({ authorization, cookie = '' }: PresentedCredentials) => {
    if (authorization !== undefined) {
      const header = readAuthorization(authorization);
      return header.scheme === 'bearer' && ({ token: header.token, key: cacheKey(authorization), via: 'bearer' } as const);
    }
    const session = sessionCookie.read(cookie);
    return typeof session === 'object' && ({ token: session.token, key: keyOfSession(session.token), via: 'session' } as const);
  };

  return {
    /**
     * Answers cached verdicts without a promise. An Authorization header precedes a cookie. Throws or rejects: 401 with its challenge,
     * 400, 429, 503.
     */
    authenticate(presented: PresentedCredentials): Authentication | Promise<Authentication> {
      const { authorization, cookie } = presented;
      if (authorization !== undefined) return authenticateHeader(authorization, presented);
      if (cookie !== undefined) return authenticateCookie(cookie, presented);
      throw credentialsMissing();
    },
    /**
     * The caller of a long request, as it is now. Undefined once its credentials have ended: expired, revoked or changed, or the principal
     * is gone. What cannot be decided now ends nothing.
     */
    async authenticateAgain(
      authentication: Authentication,
      presented: PresentedCredentials,
    ): Promise<Authentication | undefined> {
      if (isGone(authentication.principal.id)) return undefined;
      if (authentication.via === 'basic') return basic.again(authentication);
      const token = tokenIn(presented);
      if (token === false) return undefined;
      try {
        return await (tokens.cached(token.key, presented) ?? tokens.verify({ ...token, origin: presented }));
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        return error.status === 401 ? undefined : authentication;
      }
    },
  };
}
