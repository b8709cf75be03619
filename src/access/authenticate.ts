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

interface AuthenticateOptions {
  readonly basic: BasicAuthenticator;
  readonly tokens: TokenAuthenticator;
  readonly cacheKey: (text: string) => string;
  readonly watcher: AccessWatcher;
  readonly sessionCookie: SessionCookie;
}

export function createAuthenticate({ basic, tokens, cacheKey, watcher, sessionCookie }: AuthenticateOptions): Authenticate {
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

  const byCookie = (cookie: string, presented: PresentedCredentials): Authentication | Promise<Authentication> => {
    const session = sessionCookie.read(cookie);
    if (session === undefined) throw credentialsMissing();
    if (presented.isOwnHost?.() === false) throw sessionElsewhere();
    if (session === 'ambiguous') throw tokenInvalid();
    // No header contains a line break, so this key never equals the key of a header.
    const key = cacheKey(`cookie\n${session.token}`);
    const known = tokens.cached(key, presented);
    watcher.cacheAsked(known !== undefined);
    return known ?? tokens.verify({ token: session.token, key, via: 'session', origin: presented });
  };

  return (presented) => {
    const { authorization, cookie } = presented;
    if (authorization !== undefined) return byHeader(authorization, presented);
    if (cookie !== undefined) return byCookie(cookie, presented);
    throw credentialsMissing();
  };
}
