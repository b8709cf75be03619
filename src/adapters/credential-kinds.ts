import type { Clock } from '#base/clock.ts';
import type { Sender } from '#outbound/sender.ts';
import { type AdapterAuthentication, credentialHeaders } from './authentication.ts';
import type { Credentials } from './credentials.ts';
import { createOauthTokens } from './oauth-tokens.ts';
import { renewedFromReplies } from './renewed-token.ts';

/** Makes the credentials for a type of authentication. Calls `openTokenSender` only if there is a token endpoint. */
export function createCredentials(options: {
  /** The name of the adapter instance, for errors. */
  readonly name: string;
  readonly authentication: AdapterAuthentication;
  readonly openTokenSender: () => Sender;
  readonly clock: Clock;
  readonly userAgent: string;
}): Credentials {
  const { authentication, openTokenSender, ...needs } = options;
  switch (authentication.type) {
    case 'token':
      return renewedFromReplies(authentication.token);
    case 'oauth2':
      return createOauthTokens({ ...needs, client: authentication, sender: openTokenSender() });
    default:
      return fixedCredentials(authentication.type, credentialHeaders(authentication));
  }
}

function fixedCredentials(type: Credentials['type'], headers: readonly string[]): Credentials {
  return { type, headers: () => headers, observe: () => false, withheld: [], close: () => Promise.resolve() };
}
