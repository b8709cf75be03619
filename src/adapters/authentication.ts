import type { Secret } from '#base/secret.ts';
import { basicCredentials } from '#outbound/basic-credentials.ts';

/** How the gateway authenticates to an orchestrator. */
export type AdapterAuthentication =
  | StaticAuthentication
  | { readonly type: 'token'; readonly token: Secret }
  | ({ readonly type: 'oauth2' } & OauthClient);

/** The gateway as a client of an OAuth 2.0 token endpoint (RFC 6749, section 4.4). */
export interface OauthClient {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly scope?: string;
}

/** Credentials that never change. */
type StaticAuthentication =
  | { readonly type: 'none' }
  | { readonly type: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly type: 'bearer'; readonly token: Secret }
  | { readonly type: 'header'; readonly name: string; readonly value: Secret };

/** The header with the credentials as name and value, or an empty array. Basic is UTF-8 (RFC 7617, section 2.1). */
export function credentialHeaders(authentication: StaticAuthentication): readonly string[] {
  switch (authentication.type) {
    case 'none':
      return [];
    case 'basic':
      return ['Authorization', basicCredentials(authentication.username, authentication.password.reveal())];
    case 'bearer':
      return ['Authorization', `Bearer ${authentication.token.reveal()}`];
    default:
      return [authentication.name, authentication.value.reveal()];
  }
}
