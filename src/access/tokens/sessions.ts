import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { AccessRules } from '../access-rules.ts';
import type { Account } from '../accounts.ts';
import { credentialsWrong, type PresentedCredentials, type RequestOrigin } from '../authentication.ts';
import type { CredentialCheck } from '../passwords/credential-check.ts';
import { readAuthorization } from '../passwords/credentials-header.ts';
import type { Principal } from '../principal.ts';
import type { GatewayTokens } from './gateway-tokens.ts';
import type { Revocations } from './revocations.ts';
import type { SessionCookie } from './session-cookie.ts';
import { readTokenRequest, refuse, refuseClient, type TokenRefusal } from './token-request.ts';
import { revocableToken } from './token-verdict.ts';

interface SessionRequest extends RequestOrigin {
  /** Called with the principal whose credentials are tried, if the name is configured: another name may be a password. */
  readonly tried?: (principal: Principal) => void;
}

interface LoginRequest extends SessionRequest {
  readonly username: string;
  readonly password: string;
}

interface ClientTokenRequest extends SessionRequest {
  /** As received, with repeated parameters. */
  readonly form: URLSearchParams;
  readonly authorization?: string | undefined;
}

/** RFC 6749: section 5.1 (`expiresIn` in seconds), or section 5.2. */
type ClientTokenAnswer = { readonly ok: true; readonly accessToken: string; readonly expiresIn: number } | TokenRefusal;

export function createSessions({
  rules,
  check,
  tokens,
  revocations,
  clock,
  ended,
  sessionCookie,
}: {
  readonly rules: () => AccessRules;
  readonly check: CredentialCheck;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
  /** Called for a revoked token. */
  readonly ended: (jti: string) => void;
  readonly sessionCookie: SessionCookie;
}) {
  const issue = ({ kind, principal: { username: name }, fingerprint, tokenLifetime }: Account) =>
    tokens.issue({ kind, name, fingerprint }, tokenLifetime);
  const end = async (token: string, via: 'bearer' | 'session'): Promise<void> => {
    const revocable = await revocableToken(token, via, { rules: rules(), tokens, clock });
    if (revocable === undefined) return;
    const stored = revocations.revoke(revocable.jti, revocable.expiresAt);
    ended(revocable.jti);
    await stored;
  };

  return {
    /** Rejects with 401, 400, 429 or 503. `expiresAt`: ISO 8601 in UTC with milliseconds. `cookie`: the `Set-Cookie` value. */
    async login({ username, password, tried, ...origin }: LoginRequest) {
      const { accounts } = rules();
      tell(tried, accounts.configured('user', username));
      const account = await check({ kind: 'user', name: username, password, ...origin }, accounts);
      if (account === undefined) throw credentialsWrong();
      const { token, expiresAt, lifetimeSeconds } = await issue(account);
      const cookie = sessionCookie.write({ token, lifetimeSeconds });
      return { token, expiresAt: new Date(expiresAt).toISOString(), cookie };
    },

    /**
     * Revokes the tokens in header and cookie, on every gateway within two seconds. Resolves with the `Set-Cookie` value. Rejects with 503.
     */
    async logout({ authorization, cookie }: Pick<PresentedCredentials, 'authorization' | 'cookie'>) {
      const header = authorization === undefined ? undefined : readAuthorization(authorization);
      const session = cookie === undefined ? undefined : sessionCookie.read(cookie);
      if (header?.scheme === 'bearer') await end(header.token, 'bearer');
      if (typeof session === 'object') await end(session.token, 'session');
      return { cookie: sessionCookie.clear() };
    },

    /** The client credentials grant. Rejects with 429 (throttled) or 503; every other error is a `TokenRefusal`. */
    async issueClientToken({ form, authorization, tried, ...origin }: ClientTokenRequest): Promise<ClientTokenAnswer> {
      const request = readTokenRequest(form, authorization);
      if (!request.ok) return request;
      const { accounts } = rules();
      tell(tried, accounts.configured('client', request.clientId));
      try {
        const account = await check({ kind: 'client', name: request.clientId, password: request.secret, ...origin }, accounts);
        if (account === undefined) return refuseClient('The client or its secret is wrong.');
        const { token, lifetimeSeconds } = await issue(account);
        return { ok: true, accessToken: token, expiresIn: lifetimeSeconds };
      } catch (error) {
        if (error instanceof GatewayError && error.code === 'invalid-request') return refuse('invalid_request', error.message);
        throw error;
      }
    },
  };
}

function tell(tried: SessionRequest['tried'], account: Account | undefined): void {
  if (account !== undefined) tried?.(account.principal);
}

interface TokenIdNeeds {
  readonly rules: () => AccessRules;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly sessionCookie: SessionCookie;
}

/** For what a request began, and a logout has to end. */
export function createTokenIds({ rules, tokens, revocations, clock, sessionCookie }: TokenIdNeeds) {
  return {
    /** The id by which the token of an authenticated request can be revoked. Undefined where it came with a password. */
    async tokenId({ authorization, cookie = '' }: Pick<PresentedCredentials, 'authorization' | 'cookie'>) {
      const given = { rules: rules(), tokens, clock };
      if (authorization !== undefined) {
        const header = readAuthorization(authorization);
        return header.scheme === 'bearer' ? (await revocableToken(header.token, 'bearer', given))?.jti : undefined;
      }
      const session = sessionCookie.read(cookie);
      return typeof session === 'object' ? (await revocableToken(session.token, 'session', given))?.jti : undefined;
    },
    /** True if a logout ended the token with this id, on any gateway. Rejects with 503. */
    isTokenRevoked: (id: string): Promise<boolean> => revocations.isRevoked(id),
  };
}
