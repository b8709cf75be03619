import type { JWTPayload } from 'jose';
import * as oauth from 'oauth4webapi';
import type { Secret } from '#base/secret.ts';
import { type ClaimRules, clockTolerance, verifiedClaims } from './issuer-claims.ts';
import { LoginFailed } from './login-failure.ts';
import { addressIn, type IssuerFetch, requestOptions } from './oidc-discovery.ts';
import { idTokenFault } from './token-fault.ts';
import { tokenLengthAtMost } from './token-verdict.ts';

// The authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 7636, RFC 9700). Failures quote no text of an issuer.

interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Where the browser goes to log in. Rejects with LoginFailed for an issuer whose documents allow no login that is safe. */
export async function authorizationAddress(server: oauth.AuthorizationServer, request: AuthorizationRequest): Promise<string> {
  const address = endpointOf(server);
  const parameters = {
    response_type: 'code',
    scope: 'openid profile',
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    state: request.state,
    nonce: request.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(request.verifier),
    code_challenge_method: 'S256',
  };
  for (const [parameter, value] of Object.entries(parameters)) address.searchParams.set(parameter, value);
  return address.href;
}

function endpointOf(server: oauth.AuthorizationServer): URL {
  const { code_challenge_methods_supported: methods } = server;
  try {
    // An issuer that ignores the challenge would take a code that somebody stole (RFC 9700, section 2.1.1).
    if (Array.isArray(methods) && !methods.includes('S256')) throw new Error('its discovery document lists no PKCE method S256');
    addressIn(server, 'token_endpoint');
    return addressIn(server, 'authorization_endpoint');
  } catch (error) {
    throw new LoginFailed('issuer-unavailable', textOf(error));
  }
}

/** Visible ASCII (RFC 6749, appendix A.11). */
const usableCode = /^[\x20-\x7e]{1,4096}$/u;

/** The issuer's reply for `identify`, with a code. Throws LoginFailed, also for a reply of another issuer (RFC 9207). */
export function readLoginReply(server: oauth.AuthorizationServer, clientId: string, reply: URLSearchParams): URLSearchParams {
  let read: URLSearchParams;
  try {
    // The caller has opened the state.
    read = oauth.validateAuthResponse(server, { client_id: clientId }, reply, oauth.skipStateCheck);
  } catch (error) {
    const code = error instanceof oauth.AuthorizationResponseError ? errorCode(error.error) : '';
    throw new LoginFailed('refused', `${textOf(error)}${code}`);
  }
  const [code, ...more] = read.getAll('code');
  if (code !== undefined && more.length === 0 && usableCode.test(code)) return read;
  throw new LoginFailed('refused', 'the reply of the issuer has no usable code');
}

interface CodeGrant extends Pick<ClaimRules, 'issuer' | 'keys' | 'clock'>, Omit<AuthorizationRequest, 'state'> {
  readonly fetch: IssuerFetch;
  readonly server: oauth.AuthorizationServer;
  /** From `readLoginReply`. */
  readonly reply: URLSearchParams;
}

/** Sends the code once. Resolves with the claims of the person. Rejects with LoginFailed, or with 503 if the keys are not available. */
export async function identify(grant: CodeGrant): Promise<JWTPayload> {
  const { clientId } = grant;
  const token = await exchangeCode(grant);
  if (token.length > tokenLengthAtMost) throw notValid('too long');
  const rules = { ...grant, audience: clientId, required: ['exp', 'iat', 'sub', 'nonce'], types };
  const verified = await verifiedClaims(token, rules);
  if ('refused' in verified) throw notValid(verified.refused);
  const { azp = clientId } = verified.claims;
  if (azp !== clientId) throw notValid('wrong authorized party');
  return verified.claims;
}

/** An ID token; an access token (`at+jwt`, RFC 9068) does not say who logged in. */
const types: ReadonlySet<string> = new Set(['jwt']);

/** An ID token with a claim for each of this login, whose signature is not verified yet. */
async function exchangeCode({
  server,
  issuer,
  clientId,
  fetch,
  reply,
  redirectUri,
  verifier,
  nonce,
}: CodeGrant): Promise<string> {
  const allowed = { ...server, id_token_signing_alg_values_supported: [...issuer.algorithms] };
  const client: oauth.Client = { client_id: clientId, [oauth.clockTolerance]: clockTolerance };
  const authentication = clientAuthentication(server, issuer.consoleClientSecret);
  const options = requestOptions(issuer.issuer, fetch);
  const response = await oauth
    .authorizationCodeGrantRequest(allowed, client, authentication, reply, redirectUri, verifier, options)
    .catch(() => {
      throw new LoginFailed('issuer-unavailable', 'the token endpoint gave no usable reply');
    });
  const { status } = response;
  try {
    const checks = { expectedNonce: nonce, requireIdToken: true };
    return (await oauth.processAuthorizationCodeResponse(allowed, client, response, checks)).id_token ?? '';
  } catch (error) {
    const code = error instanceof oauth.ResponseBodyError ? errorCode(error.error) : '';
    if (status !== 200)
      throw new LoginFailed(status >= 500 ? 'issuer-unavailable' : 'not-valid', `the token endpoint answered ${status}${code}`);
    throw notValid(idTokenFault(error) ?? textOf(error));
  }
}

/** How the console proves itself to the token endpoint. HTTP Basic is what an issuer takes that names no method (OpenID Connect Discovery 1.0). */
function clientAuthentication(server: oauth.AuthorizationServer, secret: Secret | undefined): oauth.ClientAuth {
  if (secret === undefined) return oauth.None();
  const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = server;
  if (methods.includes('client_secret_basic')) return oauth.ClientSecretBasic(secret.reveal());
  if (methods.includes('client_secret_post')) return oauth.ClientSecretPost(secret.reveal());
  throw new LoginFailed('issuer-unavailable', 'its discovery document lists no way to send a client secret');
}

function notValid(reason: string): LoginFailed {
  return new LoginFailed('not-valid', `the ID token is not valid (${reason})`);
}

/** The words of the library, which quote nothing of a reply. */
function textOf(error: unknown): string {
  return error instanceof Error ? error.message : 'the reply is not usable';
}

/** The code of an OAuth error; anything that does not look like one stays out of the log. */
function errorCode(code: string): string {
  return /^[a-z_]{1,64}$/u.test(code) ? ` ${code}` : '';
}
