import { GatewayError } from '#base/gateway-error.ts';
import type { AccessWatcher } from './access-watcher.ts';
import type { Authentication, PresentedCredentials, RequestOrigin } from './authentication.ts';
import type { BasicAuthenticator } from './basic-authenticator.ts';
import { readAuthorization } from './credentials-header.ts';
import type { SessionCookie } from './session-cookie.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';
import { credentialsMalformed, credentialsMissing, sessionElsewhere, tokenInvalid } from './unauthenticated.ts';

/**
 * Verifies the credentials of a request. Returns cached verdicts at once, without a promise. If a request has both an
 * Authorization header and a cookie, the header decides. Throws or rejects: 401 with its challenge, 400, 429, 503.
 */
export type Authenticate = (presented: PresentedCredentials) => Authentication | Promise<Authentication>;

/**
 * The caller of a request that goes on for long, as it is now. Undefined once its credentials have ended: they expired, were revoked or
 * changed, or the principal is gone. What cannot be decided now ends nothing.
 */
export type AuthenticateAgain = (
  authentication: Authentication,
  presented: PresentedCredentials,
) => Authentication | undefined | Promise<Authentication | undefined>;

interface AuthenticateOptions {
  readonly isGone: (id: string) => boolean;
  readonly basic: BasicAuthenticator;
  readonly tokens: TokenAuthenticator;
  readonly cacheKey: (text: string) => string;
  readonly watcher: AccessWatcher;
  readonly sessionCookie: SessionCookie;
}

export function createAuthenticate({ basic, tokens, cacheKey, watcher, sessionCookie, isGone }: AuthenticateOptions): {
  readonly authenticate: Authenticate;
  readonly authenticateAgain: AuthenticateAgain;
} {
  const byHeader = (authorization: string, origin: RequestOrigin): Authentication | Promise<Authentication> => {
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

  // No header contains a line break, so this key never equals the key of a header.
  const keyOfSession = (token: string): string => cacheKey(`cookie\n${token}`);

  const byCookie = (cookie: string, presented: PresentedCredentials): Authentication | Promise<Authentication> => {
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
    authenticate(presented) {
      const { authorization, cookie } = presented;
      if (authorization !== undefined) return byHeader(authorization, presented);
      if (cookie !== undefined) return byCookie(cookie, presented);
      throw credentialsMissing();
    },
    async authenticateAgain(authentication, presented) {
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
