import type { Clock } from '#base/clock.ts';
import type { CallScope } from '#outbound/call-scope.ts';
import type { FarSideReply } from '#outbound/outbound-call.ts';
import type { Sender } from '#outbound/sender.ts';
import { type AdapterAuthentication, credentialHeaders } from './authentication.ts';
import { createOauthTokens } from './oauth-tokens.ts';
import { renewedFromReplies } from './renewed-token.ts';

/** What the gateway shows at the addresses of one adapter instance. */
export interface Credentials {
  /**
   * The header (name, value), or nothing; the same array for as long as they are the same. Rejects with `adapter-unavailable` where
   * there are none to be had, with CallerLeft where the caller does not wait for them.
   */
  headers(scope: CallScope): readonly string[] | Promise<readonly string[]>;
  /** Learns from the reply to a call that carried `used`. True where it refused them (401) and `headers` may give others now. */
  saw(reply: FarSideReply, used: readonly string[]): boolean;
  /** Reply headers, in lower case, that hand out credentials: they are the gateway's, no caller gets to see them. */
  readonly withheld: readonly string[];
  close(): Promise<void>;
}

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
