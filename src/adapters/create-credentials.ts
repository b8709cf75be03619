import type { Clock } from '#base/clock.ts';
import type { Sender } from '#outbound/sender.ts';
import { type AdapterAuthentication, credentialHeaders } from './authentication.ts';
import type { Credentials } from './credentials.ts';
import { createOauthTokens } from './oauth-tokens.ts';
import { renewedFromReplies } from './renewed-token.ts';

/** Credentials by their type; `openTokenSender` is asked for a sender only where there is a token endpoint. */
export function createCredentials(options: {
  /** The adapter instance's, for errors. */
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
      return unchanging(credentialHeaders(authentication));
  }
}

function unchanging(headers: readonly string[]): Credentials {
  return { headers: () => headers, saw: () => false, withheld: [], close: () => Promise.resolve() };
}
