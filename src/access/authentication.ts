import { GatewayError } from '#base/gateway-error.ts';
import type { Principal } from './principal.ts';

export interface Authentication {
  readonly principal: Principal;
  /** `bearer` and `session`: a token of the gateway, in header or cookie. `oidc`: a token of an issuer. */
  readonly via: 'basic' | 'bearer' | 'session' | 'oidc';
  /** Of `basic`: `Account.fingerprint` at the check of the password. */
  readonly fingerprint?: string;
}

export interface RequestOrigin {
  /** Behind trusted proxies, the address that they report. */
  readonly sourceAddress: string;
  /** For the log. */
  readonly requestId?: string | undefined;
}

export interface PresentedCredentials extends RequestOrigin {
  readonly authorization?: string | undefined;
  /** The header as received. */
  readonly cookie?: string | undefined;
  /** True if the request names the gateway by one of its own names: a session cookie is good for no other host. */
  readonly isOwnHost?: () => boolean;
}

const realm = 'realm="Orchestration Gateway"';

/** `charset` asks for UTF-8 (RFC 7617). */
export const basicChallenge = `Basic ${realm}, charset="UTF-8"`;

const bearerChallenge = `Bearer ${realm}`;
const challenges = `${basicChallenge}, ${bearerChallenge}`;

/** `error`: the request had a token, which is at fault (RFC 6750 section 3). */
const tokenChallenges = `${challenges}, error="invalid_token", error_description="The token is expired, ended or not valid here"`;

/** For Basic a browser would ask its user for a password in a dialog of its own. */
export function withoutBasic(challenge: string): string {
  return challenge.replace(`${basicChallenge}, `, '').replace(basicChallenge, bearerChallenge);
}

export function credentialsMissing(): GatewayError {
  return unauthenticated(
    'Send Basic credentials, a Bearer token of POST /login or POST /oauth/token, or the session cookie.',
    challenges,
  );
}

export function credentialsMalformed(): GatewayError {
  return unauthenticated('The Authorization header is neither well-formed Basic nor Bearer: send one of the two.', challenges);
}

export function sessionElsewhere(): GatewayError {
  return unauthenticated(
    "The session cookie is good only for the gateway's own names, and Host names another. Where browsers reach the gateway there, the operator sets server.publicUrl.",
    challenges,
  );
}

/** One error for a wrong password and an unknown user. */
export function credentialsWrong(): GatewayError {
  return unauthenticated('The user name or the password is wrong.', challenges);
}

/** One error for every token that is not valid, without the reason. */
export function tokenInvalid(): GatewayError {
  return unauthenticated('The token is expired, ended or not valid here: get a new one.', tokenChallenges);
}

function unauthenticated(message: string, challenge: string): GatewayError {
  return new GatewayError('unauthenticated', message, { headers: { 'WWW-Authenticate': challenge } });
}
