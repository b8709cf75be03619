import { readAuthorization } from './credentials-header.ts';
import { basicChallenge } from './unauthenticated.ts';

/** An answer of the token endpoint that is no token (RFC 6749 section 5.2). */
export interface TokenRefusal {
  readonly ok: false;
  readonly status: 400 | 401;
  readonly error: 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_scope';
  readonly description: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface ClientSecret {
  readonly ok: true;
  readonly clientId: string;
  readonly secret: string;
}

export function refuse(error: Exclude<TokenRefusal['error'], 'invalid_client'>, description: string): TokenRefusal {
  return { ok: false, status: 400, error, description, headers: {} };
}

/** 401 with the scheme to use, whichever way the client took. */
export function refuseClient(description: string): TokenRefusal {
  return { ok: false, status: 401, error: 'invalid_client', description, headers: { 'WWW-Authenticate': basicChallenge } };
}

/**
 * Reads a client credentials request (RFC 6749 section 4.4.2): the client in the form or in Basic, not in both; each parameter
 * once; a parameter without a value counts as left out (section 3.2), one that is not known is ignored.
 */
export function readTokenRequest(form: URLSearchParams, authorization: string | undefined): ClientSecret | TokenRefusal {
  const seen = new Set<string>();
  for (const name of form.keys()) {
    if (seen.has(name)) return refuse('invalid_request', 'A parameter is given twice: send each one once.');
    seen.add(name);
  }
  const grantType = form.get('grant_type') || undefined;
  if (grantType === undefined) return refuse('invalid_request', 'grant_type is missing: send grant_type=client_credentials.');
  if (grantType !== 'client_credentials')
    return refuse('unsupported_grant_type', 'The one grant type here is client_credentials.');
  const client = readClient(form, authorization);
  if (!client.ok) return client;
  // Contract section 6 knows no scopes: a client has its roles. Granting less than was asked for would be silent otherwise.
  if (form.get('scope')) return refuse('invalid_scope', 'There are no scopes here: leave scope out.');
  return client;
}

function readClient(form: URLSearchParams, authorization: string | undefined): ClientSecret | TokenRefusal {
  const clientId = form.get('client_id') || undefined;
  const secret = form.get('client_secret') || undefined;
  if (authorization !== undefined) {
    if (secret === undefined) return readBasicClient(authorization, clientId);
    return refuse('invalid_request', 'The client is in the form and in the Authorization header: send it once.');
  }
  if (clientId !== undefined && secret !== undefined) return { ok: true, clientId, secret };
  return refuseClient('Send client_id and client_secret, in the form or in Basic.');
}

function readBasicClient(authorization: string, alsoNamed: string | undefined): ClientSecret | TokenRefusal {
  const header = readAuthorization(authorization);
  if (header.scheme !== 'basic') return refuseClient('The Authorization header is no well-formed Basic.');
  const [clientId, secret] = [formDecoded(header.name), formDecoded(header.password)];
  if (clientId === undefined || secret === undefined) {
    return refuse('invalid_request', 'Both halves of Basic are form-encoded first (RFC 6749 section 2.3.1).');
  }
  if (alsoNamed === undefined || alsoNamed === clientId) return { ok: true, clientId, secret };
  return refuse('invalid_request', 'client_id names another client than Basic does.');
}

function formDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
