import { GatewayError } from '#base/gateway-error.ts';

const realm = 'realm="Orchestration Gateway"';

/** `charset` tells the client to send user name and password in UTF-8 (RFC 7617). */
export const basicChallenge = `Basic ${realm}, charset="UTF-8"`;

const bearerChallenge = `Bearer ${realm}`;
const challenges = `${basicChallenge}, ${bearerChallenge}`;

/** `error` says that the request had a token and that the token is at fault (RFC 6750 section 3). */
const tokenChallenges = `${challenges}, error="invalid_token", error_description="The token is expired, ended or not valid here"`;

/** A challenge without Basic, for which a browser would ask its user for a password in a dialog of its own. */
export function withoutBasic(challenge: string): string {
  return challenge.replace(`${basicChallenge}, `, '').replace(basicChallenge, bearerChallenge);
}

/** The request has no credentials. */
export function credentialsMissing(): GatewayError {
  return unauthenticated(
    'Send Basic credentials, a Bearer token of POST /login or POST /oauth/token, or the session cookie.',
    challenges,
  );
}

/** The Authorization header is not well-formed Basic or Bearer. */
export function credentialsMalformed(): GatewayError {
  return unauthenticated('The Authorization header is neither well-formed Basic nor Bearer: send one of the two.', challenges);
}

/** The request has a session cookie, and names a host for which no session cookie is good. */
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
