import { GatewayError } from '#base/gateway-error.ts';

const realm = 'realm="Orchestration Gateway"';

/** RFC 7617: the client may send the user name and password in UTF-8. */
export const basicChallenge = `Basic ${realm}, charset="UTF-8"`;

const challenges = `${basicChallenge}, Bearer ${realm}`;

/** RFC 6750 section 3: a request that carried a token is told that the token was at fault. */
const tokenChallenges = `${challenges}, error="invalid_token", error_description="The token is expired, ended or not valid here"`;

/** No credentials were sent. */
export function credentialsMissing(): GatewayError {
  return unauthenticated(
    'Send Basic credentials, a Bearer token of POST /login or POST /oauth/token, or the session cookie.',
    challenges,
  );
}

/** The Authorization header is neither Basic nor Bearer, or not well-formed. */
export function credentialsMalformed(): GatewayError {
  return unauthenticated('The Authorization header is neither well-formed Basic nor Bearer: send one of the two.', challenges);
}

/** Wrong password and unknown user alike. */
export function credentialsWrong(): GatewayError {
  return unauthenticated('The user name or the password is wrong.', challenges);
}

/** One answer for every token that does not hold, whatever is wrong with it. */
export function tokenInvalid(): GatewayError {
  return unauthenticated('The token is expired, ended or not valid here: get a new one.', tokenChallenges);
}

function unauthenticated(message: string, challenge: string): GatewayError {
  return new GatewayError('unauthenticated', message, { headers: { 'WWW-Authenticate': challenge } });
}
