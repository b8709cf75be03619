import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { inTime } from '#base/in-time.ts';

/**
 * Fetches a document of an issuer, or sends it a form by POST. `wiring/` passes in the sender of `outbound/`, which follows no redirect.
 * Rejects, or resolves with any status.
 */
export type FetchDocument = (url: string, form?: URLSearchParams) => Promise<{ readonly status: number; readonly body: string }>;

/** Where a login by an issuer goes (OpenID Connect Discovery 1.0, section 3). */
export interface LoginEndpoints {
  readonly authorization: string;
  readonly token: string;
  /** The issuer names itself in its replies (RFC 9207). A reply without `iss` is then one of somebody else. */
  readonly namesItself: boolean;
}

/** What the documents of an issuer say. */
export interface IssuerDocuments {
  readonly keys: JWTVerifyGetKey;
  /** Why they are absent: the issuer takes tokens, and no logins that are safe. */
  readonly endpoints: LoginEndpoints | { readonly fault: string };
}

type Document = Readonly<Record<string, unknown>>;

const fetchLimit = 10_000;
const documentLengthAtMost = 1_048_576;

/** The documents of the issuer are not usable. The message contains no data from them. */
export class DocumentsUnusable extends Error {}

/** Rejects with DocumentsUnusable, or as `fetchDocument` does. */
export async function fetchIssuerDocuments(issuer: string, fetchDocument: FetchDocument): Promise<IssuerDocuments> {
  const discovery = await fetchJson(`${issuer.replace(/\/$/u, '')}/.well-known/openid-configuration`, fetchDocument);
  // The document of another issuer must not decide the keys of this one (OpenID Connect Discovery 1.0, section 4.3).
  if (discovery['issuer'] !== issuer) throw new DocumentsUnusable('its discovery document names another issuer');
  const keysAddress = addressIn(discovery, 'jwks_uri', issuer);
  if (typeof keysAddress !== 'string') throw new DocumentsUnusable(keysAddress.fault);
  const document = await fetchJson(keysAddress, fetchDocument);
  if (!Array.isArray(document['keys'])) throw new DocumentsUnusable('its key document has no keys');
  try {
    const keys = createLocalJWKSet(document as unknown as JSONWebKeySet);
    return { keys, endpoints: endpointsIn(discovery, issuer) };
  } catch {
    throw new DocumentsUnusable('its key document is malformed');
  }
}

function endpointsIn(discovery: Document, issuer: string): IssuerDocuments['endpoints'] {
  const authorization = addressIn(discovery, 'authorization_endpoint', issuer);
  if (typeof authorization !== 'string') return authorization;
  const token = addressIn(discovery, 'token_endpoint', issuer);
  if (typeof token !== 'string') return token;
  const methods = discovery['code_challenge_methods_supported'];
  // An issuer that ignores the challenge would take a code that somebody stole (RFC 9700, section 2.1.1).
  if (Array.isArray(methods) && !methods.includes('S256')) return { fault: 'its discovery document lists no PKCE method S256' };
  return { authorization, token, namesItself: discovery['authorization_response_iss_parameter_supported'] === true };
}

function addressIn(discovery: Document, member: string, issuer: string): string | { readonly fault: string } {
  const address = discovery[member];
  if (typeof address !== 'string' || !URL.canParse(address)) return { fault: `its discovery document has no ${member}` };
  const { protocol } = new URL(address);
  // If the issuer has TLS, its endpoints must have it too. Otherwise anyone on the path could replace what they say.
  if (protocol !== 'https:' && protocol !== new URL(issuer).protocol) return { fault: `its ${member} is not https` };
  return address;
}

async function fetchJson(url: string, fetchDocument: FetchDocument): Promise<Document> {
  const { status, body } = await inTime(fetchDocument(url), fetchLimit, () => {
    throw new DocumentsUnusable('it did not answer in 10 s');
  });
  if (status !== 200) throw new DocumentsUnusable(`it answered with status ${status}`);
  if (body.length > documentLengthAtMost) throw new DocumentsUnusable('its document is over 1 MiB');
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new DocumentsUnusable('its document is not JSON');
  }
  if (typeof value !== 'object' || value === null) throw new DocumentsUnusable('its document is not a JSON object');
  return value as Document;
}
