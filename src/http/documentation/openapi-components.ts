import { type ErrorCode, errorCodes, upstreamErrors } from '#base/error-codes.ts';
import { type JsonSchema, Type } from '#base/json-schema.ts';
import { namedObject } from '#json/forms/closed-object.ts';
import { type ApiRoute, accessOf } from '../route.ts';
import type { ApiHeader, ApiResponse, Components, Reference } from './openapi-document.ts';

const allCodes = Object.keys(errorCodes) as ErrorCode[];
const text = Type.String();

/** RFC 9457 with the gateway's own members. */
const problemSchema = Type.Object(
  {
    type: Type.String({
      format: 'uri-reference',
      description: 'Address of the explanation: `/docs#error-CODE` of this gateway.',
    }),
    title: Type.String({ description: 'The same for every error of this code.' }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status.' }),
    detail: Type.String({ description: 'What is wrong with this request, and what to do about it.' }),
    code: Type.Enum(allCodes, { description: 'One of a closed list, for programs.' }),
    requestId: Type.String({ description: 'Identifies the request in the gateway’s log, as `X-Request-Id` does.' }),
    errors: Type.Optional(
      Type.Array(
        namedObject('RequestProblem', {
          pointer: Type.String({ description: 'RFC 6901 JSON pointer into the body, or `?name` for a query parameter.' }),
          detail: Type.String({ description: 'What is wrong at the pointer.' }),
          line: Type.Optional(Type.Integer({ minimum: 1, description: 'Of a workflow document: the line of the place.' })),
          column: Type.Optional(Type.Integer({ minimum: 1, description: 'Of a workflow document: the column of the place.' })),
        }),
        { description: 'Every problem of the request, where there can be several.' },
      ),
    ),
    upstream: Type.Optional(
      Type.Object(
        {
          status: Type.Integer({ description: 'The status that the upstream answered.' }),
          contentType: Type.Optional(Type.String({ description: 'Its media type.' })),
          body: Type.Optional(Type.String({ description: 'Its body, the first 64 KiB.' })),
        },
        {
          additionalProperties: false,
          title: 'UpstreamReply',
          description: 'The reply of the upstream, where the error is about it.',
        },
      ),
    ),
    approval: Type.Optional(
      namedObject('NeededApproval', {
        id: Type.String({ description: 'For the header `Approval`, once it is granted.' }),
        href: Type.String({ format: 'uri-reference', description: 'The approval, for `GET`.' }),
        expires: Type.String({ format: 'date-time', description: 'From then on it can be neither granted nor used.' }),
      }),
    ),
  },
  { additionalProperties: false, description: 'An error, as application/problem+json (RFC 9457).' },
);

const headers = {
  'Cache-Control': {
    description:
      '`no-store`; with an `ETag` `private, no-cache`: only the caller may keep the reply, and has to check it before each use.',
    schema: text,
  },
  Vary: { description: '`Authorization, Cookie`.', schema: text },
  'X-Content-Type-Options': { description: '`nosniff`.', schema: text },
  'X-Request-Id': {
    description: 'Identifies this request in the log: the caller’s own id where it is valid, otherwise a new one.',
    schema: Type.String({ minLength: 1, maxLength: 128 }),
  },
  'WWW-Authenticate': { description: 'The ways to authenticate (RFC 9110 11.6.1).', schema: text },
  Allow: { description: 'The methods of the path.', schema: text },
  Accept: { description: 'The media type that the route takes.', schema: text },
  'Accept-Patch': { description: 'The media types that the route takes (RFC 5789 2.2).', schema: text },
  'Retry-After': { description: 'Seconds to wait before trying again.', schema: Type.Integer({ minimum: 0 }) },
  'X-Upstream-Status': { description: 'Status of the upstream’s reply, where the error is about it.', schema: text },
  'X-Upstream-Content-Type': { description: 'Media type of the upstream’s reply, where it has one.', schema: text },
  'X-Upstream-ETag': { description: 'ETag of the upstream’s reply, where it has one.', schema: text },
  'X-Upstream-Location': { description: 'Location of the upstream’s reply, where it has one.', schema: text },
  'X-Upstream-Body-Encoding': { description: '`base64` where the body in `upstream` is not text.', schema: text },
  'Idempotency-Replayed': {
    description: '`true`: the reply to an earlier request with this Idempotency-Key.',
    schema: text,
  },
} as const satisfies Record<string, ApiHeader>;

type HeaderName = keyof typeof headers;

/** Headers of each error with that status, in addition to X-Request-Id. */
const headersByStatus: Readonly<Record<number, HeaderName>> = {
  401: 'WWW-Authenticate',
  405: 'Allow',
  429: 'Retry-After',
  503: 'Retry-After',
};

/** Errors about an upstream's reply describe it in the same headers as a success. */
const headersOfReply: readonly HeaderName[] = [
  'X-Upstream-Status',
  'X-Upstream-Content-Type',
  'X-Upstream-ETag',
  'X-Upstream-Location',
  'X-Upstream-Body-Encoding',
];

/** Errors about a reply that began and did not end. */
const headersOfBegunReply: readonly HeaderName[] = ['X-Upstream-Status'];

/** Headers of a code, which other codes of the same status need not have. */
const headersByCode: Readonly<Partial<Record<ErrorCode, readonly HeaderName[]>>> = {
  'upstream-error': headersOfReply,
  'redirect-refused': headersOfReply,
  'upstream-closed': headersOfBegunReply,
  'upstream-protocol-error': headersOfBegunReply,
  'upstream-timeout': headersOfBegunReply,
  'response-too-large': headersOfBegunReply,
  'stream-refused': headersOfBegunReply,
  'outcome-unknown': headersOfBegunReply,
  'idempotency-key-in-use': ['Retry-After'],
};

/** Certain errors of a call that has left: the gateway keeps them for its Idempotency-Key and replays them. */
const keptErrors: ReadonlySet<ErrorCode> = new Set([
  ...upstreamErrors,
  'destination-denied',
  'upstream-error',
  'too-many-redirects',
  'redirect-refused',
  'adapter-unavailable',
  'credentials-refused',
  'overloaded',
  'audit-unavailable',
]);

function headerNames(status: number, codes: readonly ErrorCode[], route?: ApiRoute): readonly HeaderName[] {
  const names = new Set<HeaderName>(codes.flatMap((code) => headersByCode[code] ?? []));
  const ofStatus = headersByStatus[status];
  if (ofStatus !== undefined) names.add(ofStatus);
  // RFC 5789 2.2 defines Accept-Patch for this.
  if (codes.includes('unsupported-media-type')) names.add(route?.method === 'PATCH' ? 'Accept-Patch' : 'Accept');
  if (route?.idempotency !== undefined && codes.some((code) => keptErrors.has(code))) names.add('Idempotency-Replayed');
  return [...names];
}

/** The headers of every reply of a route; without `route`, those of the reply to an unknown path. */
export function commonHeaders(route?: ApiRoute): Readonly<Record<string, Reference>> {
  const isPrivate = route !== undefined && accessOf(route) !== 'everyone';
  const names: readonly HeaderName[] = ['X-Request-Id', ...(isPrivate ? headersOfPrivate : [])];
  return Object.fromEntries(names.map((name) => [name, headerReference(name)]));
}

const headersOfPrivate: readonly HeaderName[] = ['Cache-Control', 'Vary', 'X-Content-Type-Options'];

/** The response of an operation for one error status, with its possible codes; without `route`, that of an unknown path. */
export function errorResponse(status: number, codes: readonly ErrorCode[], route?: ApiRoute): ApiResponse {
  const names = headerNames(status, codes, route);
  return {
    description: codes.map((code) => `\`${code}\`: ${errorCodes[code].title}.`).join(' '),
    headers: { ...commonHeaders(route), ...Object.fromEntries(names.map((name) => [name, headerReference(name)])) },
    content: { 'application/problem+json': { schema: problemOf(status, codes) } },
    'x-error-codes': codes,
  };
}

function problemOf(status: number, codes: readonly ErrorCode[]): JsonSchema {
  // Generators drop what is next to a $ref. `allOf` keeps both.
  const narrowed = Type.Object({ status: { const: status }, code: { type: 'string', enum: codes } });
  return { allOf: [{ $ref: '#/components/schemas/Problem' }, narrowed] };
}

function headerReference(name: HeaderName): Reference {
  return { $ref: `#/components/headers/${name}` };
}

/** The components that operations refer to. `NotFound` belongs to no operation: it is the answer to an unknown path. */
const components: Omit<Components, 'securitySchemes'> = {
  schemas: { Problem: problemSchema },
  responses: { NotFound: errorResponse(404, ['not-found']) },
  headers,
  parameters: {
    RequestId: {
      name: 'X-Request-Id',
      in: 'header',
      required: false,
      description:
        'Your own id for this request: 1 to 128 visible ASCII characters. The gateway replaces any other value by a new id.',
      schema: Type.String(),
    },
  },
};

type Deployment = Readonly<Record<'base' | 'cookieName', string>>;

/** The components that operations refer to, with the addresses and names of this gateway. */
export function componentsFor(deployment: Deployment): Components {
  return { ...components, securitySchemes: securitySchemesOf(deployment) };
}

function securitySchemesOf({ base, cookieName }: Deployment): Components['securitySchemes'] {
  return {
    basic: { type: 'http', scheme: 'basic', description: 'User name and password of a configured user, in UTF-8 (RFC 7617).' },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A token from POST /login or POST /oauth/token, or from a configured OpenID Connect issuer.',
    },
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: cookieName,
      description: 'The session cookie that POST /login sets.',
    },
    client: {
      type: 'oauth2',
      description: 'For programs: client credentials (RFC 6749 4.4). There are no scopes; a client has its roles.',
      flows: { clientCredentials: { tokenUrl: `${base}/oauth/token`, scopes: {} } },
    },
  };
}
