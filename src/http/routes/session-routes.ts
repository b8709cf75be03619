import type { Access } from '#access/access.ts';
import type { Operation } from '#access/operations.ts';
import type { Principal } from '#access/principal.ts';
import type { GatewayError } from '#base/gateway-error.ts';
import { type JsonSchema, Type } from '#base/json-schema.ts';
import { json, type Route, type RouteRequest } from '#http/route.ts';
import { namedObject } from '#json/closed-object.ts';
import { sessionChange } from './route-traits.ts';
import { notStoredDocs, sessionDocs, tokenError } from './session-docs.ts';

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

interface LoginCredentials {
  readonly username: string;
  readonly password: string;
}

/** The operations that a role or a right lets a principal use. */
type Usable = (principal: Principal) => readonly Operation[];

/** Authentication: sessions of people, tokens of clients (RFC 6749 4.4). */
export function sessionRoutes(access: Access, usable: Usable): readonly Route[] {
  return [loginRoute(access), logoutRoute(access), whoamiRoute(usable), tokenRoute(access)];
}

function loginRoute(access: Access): Route {
  return {
    method: 'POST',
    url: '/login',
    body: {
      kind: 'json',
      schema: loginBody,
      limit: credentialsLimit,
      variants: { schemas: [credentials, nestedCredentials], choose: loginVariant },
    },
    async handle({ body, sourceAddress, context }) {
      const given = body as LoginCredentials | { readonly user: LoginCredentials };
      const { token, expiresAt, cookie } = await access.login({
        ...('user' in given ? given.user : given),
        sourceAddress,
        requestId: context.record.requestId,
        tried: (principal) => context.record.note({ principal }),
      });
      return json(200, { token, expiresAt }, { ...notStored, 'Set-Cookie': cookie });
    },
    ...sessionChange,
    docs: {
      tag: 'access',
      operationId: 'login',
      ...sessionDocs.login,
      summary: 'Log in with user name and password',
      success: {
        status: 200,
        description: 'A token for `Authorization: Bearer`; the session cookie has the same token.',
        schema: namedObject('Session', { token: Type.String(), expiresAt: Type.String({ format: 'date-time' }) }),
        headers: {
          'Set-Cookie': 'The session cookie: HttpOnly, SameSite=Strict; Secure with the prefix `__Host-` if callers use TLS.',
          ...notStoredDocs,
        },
      },
      errors: ['unauthenticated', 'login-throttled', 'too-many-requests', 'store-unavailable'],
    },
  };
}

function logoutRoute(access: Access): Route {
  return {
    method: 'POST',
    url: '/logout',
    onlyEnds: true,
    async handle(request) {
      const { cookie } = await access.logout(presented(request));
      return { kind: 'plain', status: 200, headers: { 'Set-Cookie': cookie }, body: '{}' };
    },
    ...sessionChange,
    docs: {
      tag: 'access',
      operationId: 'logout',
      ...sessionDocs.logout,
      summary: 'End the session or token of the request',
      success: {
        status: 200,
        description: 'The token has ended.',
        schema: namedObject('LogoutReply', {}),
        headers: { 'Set-Cookie': 'Removes the session cookie.' },
      },
      errors: ['store-unavailable'],
    },
  };
}

function whoamiRoute(usable: Usable): Route {
  return {
    method: 'GET',
    url: '/whoami',
    handle({ context }) {
      const { principal } = context.record;
      const { username, roles, groups, issuer, subject } = principal;
      // JSON leaves out issuer and subject of a user or client of the configuration.
      return json(200, { username, roles, groups, operations: usable(principal), issuer, subject });
    },
    ...sessionChange,
    recorded: false,
    docs: {
      tag: 'access',
      operationId: 'whoami',
      ...sessionDocs.whoami,
      summary: 'Return the principal of the caller',
      success: {
        status: 200,
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
      errors: [],
    },
  };
}

function tokenRoute(access: Access): Route {
  return {
    method: 'POST',
    url: '/oauth/token',
    errorShape: { mediaType: 'application/json; charset=utf-8', schema: tokenError, write: tokenErrorBody },
    body: {
      kind: 'form',
      limit: credentialsLimit,
      schema: tokenRequest,
    },
    async handle(request) {
      const { authorization } = request.headers;
      const answer = await access.issueClientToken({
        form: new URLSearchParams(request.body as string),
        ...(authorization === undefined ? {} : { authorization }),
        sourceAddress: request.sourceAddress,
        requestId: request.context.record.requestId,
        tried: (principal) => request.context.record.note({ principal }),
      });
      if (!answer.ok) {
        request.context.record.note({ refusal: answer.description });
        return json(
          answer.status,
          { error: answer.error, error_description: answer.description },
          { ...notStored, ...answer.headers },
        );
      }
      return json(200, { access_token: answer.accessToken, token_type: 'Bearer', expires_in: answer.expiresIn }, notStored);
    },
    ...sessionChange,
    docs: {
      tag: 'access',
      operationId: 'issueToken',
      ...sessionDocs.issueToken,
      summary: 'OAuth 2.0 client credentials (RFC 6749 4.4)',
      success: {
        status: 200,
        description: 'A token for `Authorization: Bearer`.',
        schema: namedObject('AccessToken', {
          access_token: Type.String(),
          token_type: Type.Literal('Bearer'),
          expires_in: Type.Integer(),
        }),
        headers: notStoredDocs,
      },
      errors: ['login-throttled', 'too-many-requests', 'store-unavailable'],
    },
  };
}

/** Replies with tokens must not be cached (RFC 6749 5.1). */
export const notStored = { 'Cache-Control': 'no-store', Pragma: 'no-cache', 'X-Content-Type-Options': 'nosniff' };

function presented(request: RouteRequest): { readonly authorization?: string; readonly cookie?: string } {
  const { authorization, cookie } = request.headers;
  return { ...(authorization === undefined ? {} : { authorization }), ...(cookie === undefined ? {} : { cookie }) };
}

/** RFC 6749 5.2, for errors that `issueClientToken` does not answer itself. The two 5xx names are those of 4.1.2.1. */
function tokenErrorBody({ status, message }: GatewayError): string {
  return JSON.stringify({ error: tokenErrorName(status), error_description: message });
}

function tokenErrorName(status: number): string {
  if (status >= 500) return status === 503 ? 'temporarily_unavailable' : 'server_error';
  return status === 429 ? 'temporarily_unavailable' : 'invalid_request';
}
