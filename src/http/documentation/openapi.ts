import type { OperationAccess } from '#access/rights/operations.ts';
import { type ErrorCode, errorCodes } from '#base/error-codes.ts';
import { Type } from '#base/json-schema.ts';
import { type ApiRoute, accessOf, isQueryReader } from '../route.ts';
import { bodyMediaTypes, isOptional } from '../route-body.ts';
import { commonHeaders, componentsFor, errorResponse } from './openapi-components.ts';
import type { ApiHeader, ApiOperation, ApiResponse, OpenApiDocument, Parameter, Reference } from './openapi-document.ts';
import { errorGuide } from './openapi-error-guide.ts';
import { errorsOf, statusesOf } from './openapi-errors.ts';

/** The gateway's OpenAPI 3.1 document, made from the routes that it serves. */
export function createOpenApiDocument(options: {
  readonly routes: readonly ApiRoute[];
  readonly version: string;
  /** In front of every path: an absolute URL, or empty. */
  readonly base: string;
  /** The name of the session cookie. */
  readonly cookieName: string;
}): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Orchestration Gateway',
      version: options.version,
      summary: 'Relays REST calls, orchestrator actions and orchestrator queries by the caller’s role, byte for byte.',
      description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
      contact: { name: 'The operator of this gateway' },
    },
    servers: [{ url: options.base === '' ? '/' : options.base }],
    tags,
    security: [{ basic: [] }, { bearer: [] }, { session: [] }, { client: [] }],
    paths: pathsOf(options.routes),
    components: componentsFor(options),
    'x-error-codes': documentedErrors(),
  };
}

const description = [
  'Request bodies are JSON in UTF-8 unless an operation says otherwise. The gateway refuses unknown members and query parameters, converts no values, and reports all problems at once.',
  'The gateway relays bodies byte for byte: numbers of any size, the order of members, duplicate keys and escapes stay unchanged.',
  'Every error is `application/problem+json` (RFC 9457) with a `code` of one closed list. A 4xx is about your request to the gateway, a 502 or 504 about the upstream, a 503 about a gateway or an adapter instance that cannot take the call now.',
  'Every reply carries `X-Request-Id`, which identifies the request in the gateway’s log.',
].join('\n\n');

const tags: OpenApiDocument['tags'] = [
  {
    name: 'relay',
    description:
      'Calls through the gateway: to any address that the outbound policy admits, and to orchestrators by the name of an adapter instance.',
  },
  { name: 'automations', description: 'The catalogue of automations.' },
  { name: 'workflows', description: 'The workflow documents that automations name.' },
  { name: 'forms', description: 'The forms that automations name: what their input has to be.' },
  { name: 'runs', description: 'What automations did and do, and the events of it.' },
  { name: 'approvals', description: 'Calls and runs that wait until people have approved them.' },
  { name: 'access', description: 'Authentication: sessions of people, tokens of programs.' },
  { name: 'operations', description: 'For load balancers, monitoring and readers of this documentation.' },
];

function pathsOf(routes: readonly ApiRoute[]): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, ApiOperation>> = {};
  for (const route of routes) {
    const path = pathOf(route.url);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return paths;
}

function documentedErrors(): OpenApiDocument['x-error-codes'] {
  const codes = Object.keys(errorCodes) as ErrorCode[];
  const entries = codes.map((code) => [code, { statuses: statusesOf(code), title: errorCodes[code].title, ...errorGuide[code] }]);
  return Object.fromEntries(entries) as OpenApiDocument['x-error-codes'];
}

/** A route as an OpenAPI operation. */
function operationOf(route: ApiRoute): ApiOperation {
  const { operationId, tag, summary, description } = route;
  const access = accessOf(route);
  return {
    operationId,
    tags: [tag],
    summary,
    description: [description, whoMayCall(access)].filter((part) => part !== undefined).join('\n\n'),
    'x-roles': access,
    ...(access === 'everyone' ? { security: [] } : {}),
    parameters: parametersOf(route),
    ...requestBodyOf(route),
    responses: responsesOf(route),
  };
}

/** The names of the path parameters in a route's `url`. */
function pathParameterNames(url: string): readonly string[] {
  return url.split('/').flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []));
}

/** A route's `url` in OpenAPI's notation. */
function pathOf(url: string): string {
  return pathParameterNames(url).reduce((path, name) => path.replace(`:${name}`, `{${name}}`), url);
}

function whoMayCall(access: OperationAccess): string {
  if (access === 'everyone') return 'Open to everyone, without credentials.';
  if (access === 'callers') return 'For every authenticated caller, with any role.';
  return access.length === 1 ? `For the role ${access.join()}.` : `For callers with one of the roles ${access.join(', ')}.`;
}

function parametersOf({ url, params, query = {}, requestHeaders, example }: ApiRoute): readonly (Parameter | Reference)[] {
  const path = pathParameterNames(url).map((name) => ({
    name,
    in: 'path' as const,
    required: true,
    description: params?.[name] ?? '',
    schema: Type.String({ minLength: 1 }),
    ...exampleOf(example?.path?.[name]),
  }));
  const ofQuery = Object.entries(isQueryReader(query) ? query.parameters : query).map(([name, { description, schema }]) => ({
    name,
    description,
    schema,
    in: 'query' as const,
    required: false,
    ...exampleOf(example?.query?.[name]),
  }));
  const headers = Object.entries(requestHeaders ?? {}).map(([name, description]) => ({
    name,
    description,
    in: 'header' as const,
    required: false,
    schema: Type.String(),
  }));
  return [...path, ...ofQuery, ...headers, { $ref: '#/components/parameters/RequestId' }];
}

function exampleOf<Example>(example: Example | undefined): { readonly example?: Example } {
  return example === undefined ? {} : { example };
}

function requestBodyOf({ body, example }: ApiRoute): Pick<ApiOperation, 'requestBody'> {
  if (body === undefined) return {};
  const content = { schema: body.schema, ...exampleOf(example?.request) };
  return {
    requestBody: {
      required: !isOptional(body),
      content: Object.fromEntries(bodyMediaTypes(body).map((type) => [type, content])),
    },
  };
}

function responsesOf(route: ApiRoute): Record<string, ApiResponse> {
  return { ...successesOf(route), ...failuresOf(route) };
}

function successesOf(route: ApiRoute): Record<string, ApiResponse> {
  const { reply, otherReplies = [] } = route;
  const all = [{ status: 200, sameBody: true, ...reply }, ...otherReplies];
  return Object.fromEntries(
    all.map(({ status, description, headers, sameBody = false }) => [
      status,
      {
        description,
        headers: { ...commonHeaders(route), ...describedHeaders(headers) },
        ...(sameBody ? contentOf(route) : {}),
      },
    ]),
  );
}

function failuresOf(route: ApiRoute): Record<string, ApiResponse> {
  const { otherErrors = [], errorShape } = route;
  const responses: Record<string, ApiResponse> = {};
  const shaped = errorShape && { content: { 'application/json': { schema: errorShape.schema } } };
  for (const [status, codes] of codesByStatus(route)) responses[status] = { ...errorResponse(status, codes, route), ...shaped };
  for (const { status, description, schema, headers } of otherErrors) {
    const other = responses[status];
    responses[status] = {
      ...other,
      description: other === undefined ? description : `${description} ${other.description}`,
      headers: { ...commonHeaders(route), ...other?.headers, ...describedHeaders(headers) },
      content: { 'application/json': { schema }, ...other?.content },
    };
  }
  return responses;
}

function codesByStatus(route: ApiRoute): ReadonlyMap<number, readonly ErrorCode[]> {
  const codes = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route))
    for (const status of statusesOf(code)) codes.set(status, [...(codes.get(status) ?? []), code]);
  return codes;
}

function contentOf({ reply, example }: ApiRoute): Pick<ApiResponse, 'content'> {
  const { schema, mediaType = 'application/json', otherMediaTypes = [] } = reply;
  if (schema === undefined) return {};
  const content = { schema, ...exampleOf(example?.reply) };
  return { content: Object.fromEntries([mediaType, ...otherMediaTypes].map((type) => [type, content])) };
}

function describedHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, ApiHeader> {
  return Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: Type.String() }]));
}
