import type { Clock } from '#base/clock.ts';
import type { AccessRules } from '../access-rules.ts';
import type { PresentedCredentials } from '../authentication.ts';
import { readAuthorization } from '../passwords/credentials-header.ts';
import type { GatewayTokens } from './gateway-tokens.ts';
import type { Revocations } from './revocations.ts';
import type { SessionCookie } from './session-cookie.ts';
import { revocableToken } from './token-verdict.ts';

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
