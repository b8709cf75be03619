import type { Secret } from '#base/secret.ts';
import { basicCredentials } from '#outbound/basic-credentials.ts';

/** How the gateway authenticates to an orchestrator. */
export type AdapterAuthentication =
  | { readonly type: 'none' }
  | { readonly type: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly type: 'bearer'; readonly token: Secret }
  | { readonly type: 'header'; readonly name: string; readonly value: Secret };

/** The header (name, value) that carries the credentials, or nothing. Basic is UTF-8 (RFC 7617 2.1). */
export function credentialHeaders(authentication: AdapterAuthentication): readonly string[] {
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
