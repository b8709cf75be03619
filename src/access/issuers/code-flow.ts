import type { JWTPayload } from 'jose';
import * as oauth from 'oauth4webapi';
import type { ErrorCode } from '#base/error-codes.ts';
import { GatewayError } from '#base/gateway-error.ts';
import type { Secret } from '#base/secret.ts';
import { idTokenFault } from '../tokens/token-fault.ts';
import { maxTokenLength } from '../tokens/token-verdict.ts';
import { addressIn, type ClaimRules, clockTolerance, type IssuerFetch, requestOptions, verifyClaims } from './oidc-discovery.ts';

/** For the address of the login page. The console has words for each. */
export type LoginFailure =
  | 'unknown-issuer'
  | 'issuer-unavailable'
  | 'not-begun'
  | 'expired'
  | 'used'
  | 'refused'
  | 'not-valid'
  | 'blocked'
  | 'too-large'
  | 'throttled'
  | 'wrong-address'
  | 'unavailable';

export class LoginFailed extends GatewayError {
  readonly reason: LoginFailure;
  readonly why: string;
  /** Where the person wanted to go, if known. */
  readonly to: string;

  /** `why`: for the operator, without any text of the issuer. */
  constructor(reason: LoginFailure, why: string, { to = '', code = 'unauthenticated' }: FailureContext = {}) {
    super(code, `The login by an issuer failed: ${why}`);
    this.reason = reason;
    this.why = why;
    this.to = to;
  }
}

interface FailureContext {
  readonly to?: string;
  readonly code?: ErrorCode;
}

/** Undefined for a fault of this process. */
export function asLoginFailed(error: unknown, to: string): LoginFailed | undefined {
  if (error instanceof LoginFailed) return new LoginFailed(error.reason, error.why, { to, code: error.code });
  if (!(error instanceof GatewayError)) return undefined;
  const { code, message } = error;
  return new LoginFailed(reasons.get(code) ?? 'unavailable', message, { to, code });
}

const reasons: ReadonlyMap<ErrorCode, LoginFailure> = new Map([
  ['login-throttled', 'throttled'],
  ['issuer-unavailable', 'issuer-unavailable'],
]);

// The authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 7636, RFC 9700). Failures quote no text of an issuer.

interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Rejects with LoginFailed for an issuer whose documents allow no safe login. */
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
    // Without PKCE an issuer would take a stolen code (RFC 9700, section 2.1.1).
    if (Array.isArray(methods) && !methods.includes('S256')) throw new Error('its discovery document lists no PKCE method S256');
    addressIn(server, 'token_endpoint');
    return addressIn(server, 'authorization_endpoint');
  } catch (error) {
    throw new LoginFailed('issuer-unavailable', textOf(error));
  }
}

/** Visible ASCII (RFC 6749, appendix A.11). */
const usableCode = /^[\x20-\x7e]{1,4096}$/u;

/** Throws LoginFailed, also for a reply of another issuer (RFC 9207). */
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

/** Sends the code once. Rejects with LoginFailed, or with 503 if the keys are not available. */
export async function identify(grant: CodeGrant): Promise<JWTPayload> {
  const { clientId } = grant;
  const token = await exchangeCode(grant);
  if (token.length > maxTokenLength) throw notValid('too long');
  const rules = { ...grant, audience: clientId, required: ['exp', 'iat', 'sub', 'nonce'], types };
  const verified = await verifyClaims(token, rules);
  if ('refused' in verified) throw notValid(verified.refused);
  const { azp = clientId } = verified.claims;
  if (azp !== clientId) throw notValid('wrong authorized party');
  return verified.claims;
}

/** An access token (`at+jwt`, RFC 9068) does not say who logged in. */
const types: ReadonlySet<string> = new Set(['jwt']);

/** Its signature is not verified yet. */
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
    const code = error instanceof oauth.ResponseBodyError ? error.error : '';
    // The next login has a new value, if there is one. With its secret in the form, a client may get 400 (RFC 6749, section 5.2).
    if (status === 401 || code === 'invalid_client') await issuer.consoleClientSecret?.renew();
    if (status !== 200)
      throw new LoginFailed(
        status >= 500 ? 'issuer-unavailable' : 'not-valid',
        `the token endpoint answered ${status}${errorCode(code)}`,
      );
    throw notValid(idTokenFault(error) ?? textOf(error));
  }
}

/** An issuer that names no method takes HTTP Basic (OpenID Connect Discovery 1.0). */
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

/** The library quotes nothing of a reply. */
function textOf(error: unknown): string {
  return error instanceof Error ? error.message : 'the reply is not usable';
}

/** What does not look like a code of OAuth stays out of the log. */
function errorCode(code: string): string {
  return /^[a-z_]{1,64}$/u.test(code) ? ` ${code}` : '';
}
