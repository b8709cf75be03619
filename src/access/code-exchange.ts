import type { FetchDocument } from './oidc-discovery.ts';

interface CodeGrant {
  readonly fetchDocument: FetchDocument;
  readonly endpoint: string;
  readonly clientId: string;
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string;
}

/** Errors of RFC 6749, section 5.2, which may stand in the log. Any other text of an issuer does not. */
const knownErrors: ReadonlySet<unknown> = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);

/**
 * Sends the code to the token endpoint once, as a public client (RFC 6749 section 4.1.3, RFC 7636). Resolves with the ID token, or with the
 * fault of the reply, for the log. `away`: the endpoint gave no reply. Never rejects.
 */
export async function exchangeCode(
  grant: CodeGrant,
): Promise<{ readonly idToken: string } | { readonly fault: string; readonly away: boolean }> {
  const form = new URLSearchParams({
    grant_type: 'authorization_code',
    code: grant.code,
    redirect_uri: grant.redirectUri,
    client_id: grant.clientId,
    code_verifier: grant.verifier,
  });
  let reply: Awaited<ReturnType<FetchDocument>>;
  try {
    reply = await grant.fetchDocument(grant.endpoint, form);
  } catch {
    return { fault: 'the token endpoint gave no usable reply', away: true };
  }
  const body = objectIn(reply.body);
  if (reply.status !== 200) {
    const error = knownErrors.has(body['error']) ? ` ${String(body['error'])}` : '';
    return { fault: `the token endpoint answered ${reply.status}${error}`, away: reply.status >= 500 };
  }
  const { id_token: idToken } = body;
  if (typeof idToken !== 'string') return { fault: 'the token endpoint gave no ID token', away: false };
  return { idToken };
}

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
