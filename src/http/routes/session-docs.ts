import { Type } from '#base/json-schema.ts';
import type { RouteDocs } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';

type Prose = Pick<RouteDocs, 'description' | 'example' | 'otherErrors'>;

/** RFC 6749 5.2, with the codes that this endpoint uses. */
export const tokenError = namedObject('TokenError', {
  error: Type.Enum(['invalid_request', 'invalid_client', 'unsupported_grant_type', 'temporarily_unavailable', 'server_error']),
  error_description: Type.String({ description: 'What to do about it.' }),
});

/** The headers `notStored` of session-routes.ts. */
export const notStoredDocs = {
  'Cache-Control': '`no-store`.',
  Pragma: '`no-cache`.',
  'X-Content-Type-Options': '`nosniff`.',
};

/** The long descriptions and examples of the session routes. */
export const sessionDocs = {
  login: {
    description:
      'The body may also be wrapped as `{ "user": { … } }`. The token is valid for `access.tokenLifetime`. The gateway throttles failed logins by account and by address.',
    example: {
      request: { username: 'admin', password: 'the password you were given' },
      reply: { token: 'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl', expiresAt: '2026-03-02T09:00:00.000Z' },
    },
  },
  logout: {
    description:
      'Ends this token on every gateway with the same store. A token of an OIDC issuer ends for these gateways only: the issuer does not learn of it, and may issue another. With Basic credentials there is no token to end.',
    example: { reply: {} },
  },
  whoami: {
    example: { reply: { username: 'admin', roles: ['admin'], groups: [], operations: ['restCall', 'restQuery', 'whoami'] } },
  },
  issueToken: {
    description:
      'Send the client id and secret in the form, or form-encoded in `Authorization: Basic`, but not in both. The gateway ignores `scope`: a client always has its roles. Errors have the shape of RFC 6749 5.2: `{ "error", "error_description" }`.',
    example: {
      request: { grant_type: 'client_credentials', client_id: 'reporting', client_secret: 'the secret you were given' },
      reply: {
        access_token: 'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl',
        token_type: 'Bearer',
        expires_in: 3600,
      },
    },
    otherErrors: [
      {
        status: 400,
        description: 'The form is faulty: `invalid_request` or `unsupported_grant_type` (RFC 6749 5.2).',
        schema: tokenError,
        headers: notStoredDocs,
      },
      {
        status: 401,
        description: 'No client has this id and secret: `invalid_client`.',
        schema: tokenError,
        headers: { 'WWW-Authenticate': 'Basic (RFC 6749 5.2).', ...notStoredDocs },
      },
    ],
  },
} as const satisfies Record<string, Prose>;
