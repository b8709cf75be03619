import { basicChallenge } from '../authentication.ts';
import { readAuthorization } from '../passwords/credentials-header.ts';

/** RFC 6749 section 5.2. */
export interface TokenRefusal {
  readonly ok: false;
  readonly status: 400 | 401;
  readonly error: 'invalid_request' | 'invalid_client' | 'unsupported_grant_type';
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

/** The challenge of Basic, also if the secret was in the form. */
export function refuseClient(description: string): TokenRefusal {
  return { ok: false, status: 401, error: 'invalid_client', description, headers: { 'WWW-Authenticate': basicChallenge } };
}

/**
 * The client credentials grant (RFC 6749 section 4.4.2). Credentials are in the form or in Basic, not in both. A parameter occurs
 * once; one without a value counts as omitted (section 3.2). Unknown ones and `scope` are ignored: a client always has its roles.
 */
export function readTokenRequest(form: URLSearchParams, authorization: string | undefined): ClientSecret | TokenRefusal {
  const seen = new Set<string>();
  for (const name of form.keys()) {
    if (seen.has(name)) return refuse('invalid_request', 'A parameter occurs twice: send each parameter once.');
    seen.add(name);
  }
  const grantType = form.get('grant_type') || undefined;
  if (grantType === undefined) return refuse('invalid_request', 'grant_type is missing: send grant_type=client_credentials.');
  if (grantType !== 'client_credentials')
    return refuse('unsupported_grant_type', 'The gateway supports only the grant type client_credentials.');
  return readClient(form, authorization);
}

function readClient(form: URLSearchParams, authorization: string | undefined): ClientSecret | TokenRefusal {
  const clientId = form.get('client_id') || undefined;
  const secret = form.get('client_secret') || undefined;
  if (authorization !== undefined && secret !== undefined)
    return refuse(
      'invalid_request',
      'The client credentials are both in the form and in the Authorization header: send them once.',
    );
  if (authorization !== undefined) return readBasicClient(authorization, clientId);
  if (clientId !== undefined && secret !== undefined) return { ok: true, clientId, secret };
  return refuseClient('Send client_id and client_secret, in the form or in an Authorization header with Basic.');
}

function readBasicClient(authorization: string, alsoNamed: string | undefined): ClientSecret | TokenRefusal {
  const header = readAuthorization(authorization);
  if (header.scheme !== 'basic') return refuseClient('The Authorization header is not well-formed Basic.');
  const [clientId, secret] = [decodeForm(header.name), decodeForm(header.password)];
  if (clientId === undefined || secret === undefined)
    return refuse(
      'invalid_request',
      'The client id and the secret in Basic are not form-encoded: encode both first (RFC 6749 section 2.3.1).',
    );
  if (alsoNamed === undefined || alsoNamed === clientId) return { ok: true, clientId, secret };
  return refuse(
    'invalid_request',
    'The parameter client_id and the Authorization header name different clients: send one of them.',
  );
}

function decodeForm(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
