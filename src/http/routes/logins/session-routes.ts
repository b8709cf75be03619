import type { Access } from '#access/access.ts';
import type { Principal } from '#access/principal.ts';
import type { Operation } from '#access/rights/operations.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import { type JsonSchema, Type, type ValueOf } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, json, rawJson, route } from '../../route.ts';
import { jsonBody } from '../../route-body.ts';
import { sessionChange } from '../route-traits.ts';

/** Authentication: sessions of people, tokens of clients (RFC 6749 4.4). `usable`: the operations that a role or a right lets a principal use. */
export function sessionRoutes(access: Access, usable: (principal: Principal) => readonly Operation[]): readonly ApiRoute[] {
  return [
    login.serve(async ({ body, sourceAddress, record }) => {
      const { token, expiresAt, cookie } = await access.login({
        ...('user' in body ? body.user : body),
        sourceAddress,
        requestId: record.requestId,
        tried: (principal) => record.note({ principal }),
      });
      return json(200, { token, expiresAt }, { ...notStored, 'Set-Cookie': cookie });
    }),
    logout.serve(async ({ headers: { authorization, cookie: presented } }) => {
      const { cookie } = await access.logout({
        ...(authorization === undefined ? {} : { authorization }),
        ...(presented === undefined ? {} : { cookie: presented }),
      });
      return rawJson(200, '{}', { 'Set-Cookie': cookie });
    }),
    whoami.serve(({ principal }) => {
      const { username, roles, groups, issuer, subject } = principal;
      // JSON leaves out issuer and subject of a user or client of the configuration.
      return json(200, { username, roles, groups, operations: usable(principal), issuer, subject });
    }),
    issueToken.serve(async ({ body, headers: { authorization }, sourceAddress, record }) => {
      const answer = await access.issueClientToken({
        form: new URLSearchParams(body),
        ...(authorization === undefined ? {} : { authorization }),
        sourceAddress,
        requestId: record.requestId,
        tried: (principal) => record.note({ principal }),
      });
      if (answer.ok)
        return json(200, { access_token: answer.accessToken, token_type: 'Bearer', expires_in: answer.expiresIn }, notStored);
      const { status, error, description, headers } = answer;
      record.note({ refusal: description });
      return rawJson(status, tokenErrorText(error, description), { ...notStored, ...headers });
    }),
  ];
}

/** Replies with tokens must not be cached (RFC 6749 5.1). */
export const notStored = { 'Cache-Control': 'no-store', Pragma: 'no-cache', 'X-Content-Type-Options': 'nosniff' };

export const notStoredDocs = {
  'Cache-Control': '`no-store`.',
  Pragma: '`no-cache`.',
  'X-Content-Type-Options': '`nosniff`.',
};

/** Bytes. These bodies are read before authentication, so their limit is low. */
const credentialsLimit = 16_384;

const credentials = namedObject('Credentials', { username: Type.String(), password: Type.String() });
const nestedCredentials = namedObject('NestedCredentials', { user: credentials });
const loginBody = Type.Union([credentials, nestedCredentials], { title: 'Login' });

function loginVariant(body: unknown): JsonSchema {
  return typeof body === 'object' && body !== null && 'user' in body ? nestedCredentials : credentials;
}

/** An unknown parameter is ignored (RFC 6749 3.2). */
const tokenRequest = Type.Object(
  {
    grant_type: Type.Literal('client_credentials'),
    client_id: Type.Optional(Type.String()),
    client_secret: Type.Optional(Type.String()),
    scope: Type.Optional(Type.String({ description: 'Ignored.' })),
  },
  { title: 'TokenRequest' },
);

const token = 'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCJ9.e30.c2lnbmF0dXJl';

const login = route('POST /login', {
  ...sessionChange,
  tag: 'access',
  operationId: 'login',
  summary: 'Log in with user name and password',
  description:
    'The body may also be wrapped as `{ "user": { … } }`. The token is valid for `access.tokenLifetime`. The gateway throttles failed logins by account and by address.',
  body: jsonBody(loginBody, {
    limit: credentialsLimit,
    variants: { schemas: [credentials, nestedCredentials], choose: loginVariant },
  }),
  reply: {
    description: 'A token for `Authorization: Bearer`; the session cookie has the same token.',
    schema: namedObject('Session', { token: Type.String(), expiresAt: Type.String({ format: 'date-time' }) }),
    headers: {
      'Set-Cookie': 'The session cookie: HttpOnly, SameSite=Strict; Secure with the prefix `__Host-` if callers use TLS.',
      ...notStoredDocs,
    },
  },
  errors: ['unauthenticated', 'login-throttled', 'too-many-requests', 'store-unavailable'],
  example: {
    request: { username: 'admin', password: 'the password you were given' },
    reply: { token, expiresAt: '2026-03-02T09:00:00.000Z' },
  },
});

const logout = route('POST /logout', {
  ...sessionChange,
  onlyEnds: true,
  tag: 'access',
  operationId: 'logout',
  summary: 'End the session or token of the request',
  description:
    'Ends this token on every gateway with the same store. A token of an OIDC issuer ends for these gateways only: the issuer does not learn of it, and may issue another. With Basic credentials there is no token to end.',
  reply: {
    description: 'The token has ended.',
    schema: namedObject('LogoutReply', {}),
    headers: { 'Set-Cookie': 'Removes the session cookie.' },
  },
  example: { reply: {} },
});

const whoami = route('GET /whoami', {
  ...sessionChange,
  recorded: false,
  tag: 'access',
  operationId: 'whoami',
  summary: 'Return the principal of the caller',
  reply: {
    description: 'The principal.',
    schema: namedObject('Principal', {
      username: Type.String(),
      roles: Type.Array(Type.String()),
      groups: Type.Array(Type.String()),
      operations: Type.Array(Type.String(), {
        description: 'The operationIds that a role or a right lets the caller use, for some object at least.',
      }),
      issuer: Type.Optional(Type.String({ description: 'Only for a token of an OpenID Connect issuer: its `iss`.' })),
      subject: Type.Optional(Type.String({ description: 'Only for a token of an OpenID Connect issuer: its `sub`.' })),
    }),
  },
  example: { reply: { username: 'admin', roles: ['admin'], groups: [], operations: ['restCall', 'restQuery', 'whoami'] } },
});

/** RFC 6749 5.2, with the codes that this endpoint uses. */
const tokenError = namedObject('TokenError', {
  error: Type.Enum(['invalid_request', 'invalid_client', 'unsupported_grant_type', 'temporarily_unavailable', 'server_error']),
  error_description: Type.String({ description: 'What to do about it.' }),
});

const issueToken = route('POST /oauth/token', {
  ...sessionChange,
  tag: 'access',
  operationId: 'issueToken',
  summary: 'OAuth 2.0 client credentials (RFC 6749 4.4)',
  description:
    'Send the client id and secret in the form, or form-encoded in `Authorization: Basic`, but not in both. The gateway ignores `scope`: a client always has its roles. Errors have the shape of RFC 6749 5.2: `{ "error", "error_description" }`.',
  errorShape: { mediaType: 'application/json; charset=utf-8', schema: tokenError, write: tokenErrorBody },
  body: { kind: 'form', limit: credentialsLimit, schema: tokenRequest },
  reply: {
    description: 'A token for `Authorization: Bearer`.',
    schema: namedObject('AccessToken', {
      access_token: Type.String(),
      token_type: Type.Literal('Bearer'),
      expires_in: Type.Integer(),
    }),
    headers: notStoredDocs,
  },
  errors: ['login-throttled', 'too-many-requests', 'store-unavailable'],
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
  example: {
    request: { grant_type: 'client_credentials', client_id: 'reporting', client_secret: 'the secret you were given' },
    reply: { access_token: token, token_type: 'Bearer', expires_in: 3600 },
  },
});

/** RFC 6749 5.2, for errors that `issueClientToken` does not answer itself. The two 5xx names are those of 4.1.2.1. */
function tokenErrorBody({ status, message }: GatewayError): string {
  return tokenErrorText(tokenErrorName(status), message);
}

function tokenErrorText(error: ValueOf<typeof tokenError>['error'], description: string): string {
  return JSON.stringify({ error, error_description: description });
}

function tokenErrorName(status: number) {
  if (status >= 500) return status === 503 ? 'temporarily_unavailable' : 'server_error';
  return status === 429 ? 'temporarily_unavailable' : 'invalid_request';
}
