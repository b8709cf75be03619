import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import * as oauth from 'oauth4webapi';

/**
 * As the libraries call `fetch`. `wiring/` passes in the sender of `outbound/`, which follows no redirect. Rejects, or resolves
 * with any status.
 */
export type IssuerFetch = (
  url: string,
  request: {
    readonly method: 'GET' | 'POST';
    readonly headers: Headers | Readonly<Record<string, string>>;
    readonly body?: URLSearchParams | undefined;
  },
) => Promise<Response>;

export interface IssuerDocuments {
  readonly keys: JWTVerifyGetKey;
  readonly server: oauth.AuthorizationServer;
}

interface RequestOptions {
  readonly [oauth.customFetch]: IssuerFetch;
  readonly [oauth.allowInsecureRequests]: boolean;
}

/** Rejects with an error that quotes nothing of the documents, or as `fetch` does. */
export async function fetchIssuerDocuments(issuer: string, fetch: IssuerFetch): Promise<IssuerDocuments> {
  const reply = await oauth.discoveryRequest(new URL(issuer), requestOptions(issuer, fetch));
  const server = await oauth.processDiscoveryResponse(new URL(issuer), reply);
  // The library compares normal forms, but the claim `iss` has to be the same text.
  if (server.issuer !== issuer) throw new Error('its discovery document names another issuer');
  // `oidc-keys.ts` says when to fetch.
  const own = { [customFetch]: fetch, cacheMaxAge: Infinity, cooldownDuration: Infinity };
  const keys = createRemoteJWKSet(addressIn(server, 'jwks_uri'), own);
  await keys.reload();
  return { keys, server };
}

/** An issuer with TLS needs endpoints with TLS: otherwise anyone on the path could replace what they say. */
export function requestOptions(issuer: string, fetch: IssuerFetch): RequestOptions {
  return { [oauth.customFetch]: fetch, [oauth.allowInsecureRequests]: !isHttps(new URL(issuer)) };
}

/** Throws if the discovery document has no usable address. */
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
