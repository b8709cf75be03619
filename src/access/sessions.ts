import type { Clock } from '#base/clock.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { AccessRules } from './access-rules.ts';
import type { Account } from './accounts.ts';
import type { CredentialCheck } from './credential-check.ts';
import { readAuthorization } from './credentials-header.ts';
import type { GatewayTokens, TokenHolder } from './gateway-tokens.ts';
import type { Principal } from './principal.ts';
import type { Revocations } from './revocations.ts';
import type { SessionCookie } from './session-cookie.ts';
import { readTokenRequest, refuse, refuseClient, type TokenRefusal } from './token-request.ts';
import { revocableToken } from './token-verdict.ts';
import { credentialsWrong } from './unauthenticated.ts';

export interface LoginRequest {
  readonly username: string;
  readonly password: string;
  readonly sourceAddress: string;
  /** The id of the request, for the log. */
  readonly requestId?: string | undefined;
  /**
   * Called with the principal whose credentials are tried, if the name is a configured account. Any other name may be a password.
   */
  readonly tried?: (principal: Principal) => void;
}

/** A session that has begun. */
export interface LoggedIn {
  readonly token: string;
  /** ISO 8601 in UTC with milliseconds. */
  readonly expiresAt: string;
  /** The `Set-Cookie` value. */
  readonly cookie: string;
}

export interface ClientTokenRequest {
  /** The form as received, including repeated parameters. */
  readonly form: URLSearchParams;
  readonly authorization?: string | undefined;
  readonly sourceAddress: string;
  /** The id of the request, for the log. */
  readonly requestId?: string | undefined;
  /** As in `LoginRequest`. */
  readonly tried?: (principal: Principal) => void;
}

/** The successful response of RFC 6749 section 5.1 (`expiresIn` in seconds), or the error response of section 5.2. */
export type ClientTokenAnswer = { readonly ok: true; readonly accessToken: string; readonly expiresIn: number } | TokenRefusal;

/** Issues and revokes tokens. */
export interface Sessions {
  /** Rejects with 401 if user name and password do not match, or with 400, 429 or 503. */
  login(request: LoginRequest): Promise<LoggedIn>;
  /**
   * Revokes the tokens in the header and the cookie, on every gateway within two seconds. Resolves with the `Set-Cookie` value.
   * Rejects with 503.
   */
  logout(presented: {
    readonly authorization?: string | undefined;
    readonly cookie?: string | undefined;
  }): Promise<{ readonly cookie: string }>;
  /** The client credentials grant of RFC 6749. Rejects with 429 (throttled) or 503; every other error is a `TokenRefusal`. */
  issueClientToken(request: ClientTokenRequest): Promise<ClientTokenAnswer>;
}

interface SessionsOptions {
  readonly rules: () => AccessRules;
  readonly check: CredentialCheck;
  readonly tokens: GatewayTokens;
  readonly revocations: Revocations;
  readonly clock: Clock;
  /** Called with the id of a token that was revoked. */
  readonly ended: (jti: string) => void;
  readonly sessionCookie: SessionCookie;
}

export function createSessions({ rules, check, tokens, revocations, clock, ended, sessionCookie }: SessionsOptions): Sessions {
  const end = async (token: string, via: 'bearer' | 'session'): Promise<void> => {
    const revocable = await revocableToken(token, via, { rules: rules(), tokens, clock });
    if (revocable === undefined) return;
    const stored = revocations.revoke(revocable.jti, revocable.expiresAt);
    ended(revocable.jti);
    await stored;
  };

  return {
    async login({ username, password, tried, ...origin }) {
      const { accounts } = rules();
      tell(tried, accounts.configured('user', username));
      const account = await check({ kind: 'user', name: username, password, ...origin }, accounts);
      if (account === undefined) throw credentialsWrong();
      const { token, expiresAt, lifetimeSeconds } = await tokens.issue(holderOf(account), account.tokenLifetime);
      const cookie = sessionCookie.write({ token, lifetimeSeconds });
      return { token, expiresAt: new Date(expiresAt).toISOString(), cookie };
    },

    async logout({ authorization, cookie }) {
      const header = authorization === undefined ? undefined : readAuthorization(authorization);
      const session = cookie === undefined ? undefined : sessionCookie.read(cookie);
      if (header?.scheme === 'bearer') await end(header.token, 'bearer');
      if (typeof session === 'object') await end(session.token, 'session');
      return { cookie: sessionCookie.clear() };
    },

    async issueClientToken({ form, authorization, tried, ...origin }) {
      const request = readTokenRequest(form, authorization);
      if (!request.ok) return request;
      const { accounts } = rules();
      tell(tried, accounts.configured('client', request.clientId));
      try {
        const account = await check({ kind: 'client', name: request.clientId, password: request.secret, ...origin }, accounts);
        if (account === undefined) return refuseClient('The client or its secret is wrong.');
        const { token, lifetimeSeconds } = await tokens.issue(holderOf(account), account.tokenLifetime);
        return { ok: true, accessToken: token, expiresIn: lifetimeSeconds };
      } catch (error) {
        if (error instanceof GatewayError && error.code === 'invalid-request') return refuse('invalid_request', error.message);
        throw error;
      }
    },
  };
}

function tell(tried: LoginRequest['tried'], account: Account | undefined): void {
  if (account !== undefined) tried?.(account.principal);
}

function holderOf({ kind, principal, fingerprint }: Account): TokenHolder {
  return { kind, name: principal.username, fingerprint };
}
