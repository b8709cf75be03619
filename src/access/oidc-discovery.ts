import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import * as oauth from 'oauth4webapi';

/**
 * Sends a request to an issuer, as the libraries call `fetch`. `wiring/` passes in the sender of `outbound/`, which follows no redirect.
 * Rejects, or resolves with any status.
 */
export type IssuerFetch = (
  url: string,
  request: {
    readonly method: 'GET' | 'POST';
    readonly headers: Headers | Readonly<Record<string, string>>;
    readonly body?: URLSearchParams | undefined;
  },
) => Promise<Response>;

/** What the documents of an issuer say. */
export interface IssuerDocuments {
  readonly keys: JWTVerifyGetKey;
  readonly server: oauth.AuthorizationServer;
}

interface RequestOptions {
  readonly [oauth.customFetch]: IssuerFetch;
  readonly [oauth.allowInsecureRequests]: boolean;
}

/** Rejects with an error whose message quotes nothing of the documents, or as `fetch` does. */
export async function fetchIssuerDocuments(issuer: string, fetch: IssuerFetch): Promise<IssuerDocuments> {
  const reply = await oauth.discoveryRequest(new URL(issuer), requestOptions(issuer, fetch));
  const server = await oauth.processDiscoveryResponse(new URL(issuer), reply);
  // The library compares addresses in their normal form, but the claim `iss` has to be the same text.
  if (server.issuer !== issuer) throw new Error('its discovery document names another issuer');
  // The set never fetches by itself: `oidc-keys.ts` says when.
  const own = { [customFetch]: fetch, cacheMaxAge: Infinity, cooldownDuration: Infinity };
  const keys = createRemoteJWKSet(addressIn(server, 'jwks_uri'), own);
  await keys.reload();
  return { keys, server };
}

/** If the issuer has TLS, its endpoints must have it too. Otherwise anyone on the path could replace what they say. */
export function requestOptions(issuer: string, fetch: IssuerFetch): RequestOptions {
  return { [oauth.customFetch]: fetch, [oauth.allowInsecureRequests]: !isHttps(new URL(issuer)) };
}

/** Throws where the discovery document has no usable address. */
export function addressIn(
  server: oauth.AuthorizationServer,
  member: 'jwks_uri' | 'authorization_endpoint' | 'token_endpoint',
): URL {
  const address = URL.parse(server[member] ?? '');
  if (address === null) throw new Error(`its discovery document has no ${member}`);
  if (!isHttps(address) && address.protocol !== new URL(server.issuer).protocol) throw new Error(`its ${member} is not https`);
  return address;
}

function isHttps({ protocol }: URL): boolean {
  return protocol === 'https:';
}
