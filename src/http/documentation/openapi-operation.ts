import type { OperationAccess } from '#access/operations.ts';
import type { ErrorCode } from '#base/error-codes.ts';
import { type JsonSchema, Type } from '#base/json-schema.ts';
import { accessOf, bodyMediaTypes, isOptional, type Route } from '#http/route.ts';
import { commonHeaders, errorResponse } from './openapi-components.ts';
import type { ApiHeader, ApiOperation, ApiResponse, Content, Parameter, Reference } from './openapi-document.ts';
import { errorsOf, statusesOn } from './openapi-errors.ts';

/** A route as an OpenAPI operation. */
export function operationOf(route: Route): ApiOperation {
  const { docs } = route;
  const access = accessOf(route);
  return {
    operationId: docs.operationId,
    tags: [docs.tag],
    summary: docs.summary,
    description: [docs.description, whoMayCall(access)].filter((part) => part !== undefined).join('\n\n'),
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
export function pathOf(url: string): string {
  return pathParameterNames(url).reduce((path, name) => path.replace(`:${name}`, `{${name}}`), url);
}

function whoMayCall(access: OperationAccess): string {
  if (access === 'everyone') return 'Open to everyone, without credentials.';
  if (access === 'callers') return 'For every authenticated caller, with any role.';
  return access.length === 1 ? `For the role ${access.join()}.` : `For callers with one of the roles ${access.join(', ')}.`;
}

function parametersOf({ url, docs }: Route): readonly (Parameter | Reference)[] {
  const path = pathParameterNames(url).map((name) => ({
    name,
    in: 'path' as const,
    required: true,
    description: docs.pathParameters?.[name] ?? '',
    schema: Type.String({ minLength: 1 }),
    ...exampleOf(docs.example?.path?.[name]),
  }));
  const query = (docs.queryParameters ?? []).map((parameter) => ({
    ...parameter,
    in: 'query' as const,
    required: false,
    ...exampleOf(docs.example?.query?.[parameter.name]),
  }));
  const headers = (docs.requestHeaders ?? []).map((header) => ({
    ...header,
    in: 'header' as const,
    required: false,
    schema: Type.String(),
  }));
  return [...path, ...query, ...headers, { $ref: '#/components/parameters/RequestId' }];
}

function exampleOf<Example>(example: Example | undefined): { readonly example?: Example } {
  return example === undefined ? {} : { example };
}

function requestBodyOf({ body, docs }: Route): Pick<ApiOperation, 'requestBody'> {
  if (body === undefined) return {};
  const content = media(body.schema, docs.example?.request);
  return {
    requestBody: {
      required: !isOptional(body),
      content: Object.fromEntries(bodyMediaTypes(body).map((type) => [type, content])),
    },
  };
}

function media(schema: JsonSchema, example: unknown): Content[string] {
  return { schema, ...exampleOf(example) };
}

function responsesOf(route: Route): Record<string, ApiResponse> {
  const responses: Record<string, ApiResponse> = {
    [route.docs.success.status]: successOf(route),
    ...otherReplies(route),
  };
  const codesByStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route)) {
    for (const status of statusesOn(route, code)) codesByStatus.set(status, [...(codesByStatus.get(status) ?? []), code]);
  }
  for (const [status, codes] of codesByStatus)
    responses[status] = { ...errorResponse(status, codes, route), ...shapedContent(route) };
  for (const { status, description, schema, headers } of route.docs.otherErrors ?? []) {
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

function otherReplies(route: Route): Record<string, ApiResponse> {
  const { docs } = route;
  const { otherReplies: replies = [] } = docs;
  return Object.fromEntries(
    replies.map(({ status, description, headers, sameBody = false }) => [
      status,
      {
        description,
        headers: { ...commonHeaders(route), ...describedHeaders(headers) },
        ...(sameBody ? contentOf(docs) : {}),
      },
    ]),
  );
}

/** The errors of a route with an error shape of its own. */
function shapedContent({ errorShape }: Route): Pick<ApiResponse, 'content'> {
  return errorShape === undefined ? {} : { content: { 'application/json': { schema: errorShape.schema } } };
}

function successOf(route: Route): ApiResponse {
  const { docs } = route;
  const { description, headers } = docs.success;
  return {
    description,
    headers: { ...commonHeaders(route), ...describedHeaders(headers) },
    ...contentOf(docs),
  };
}

function contentOf({ success, example }: Route['docs']): Pick<ApiResponse, 'content'> {
  const { schema, mediaType = 'application/json', otherMediaTypes = [] } = success;
  if (schema === undefined) return {};
  const content = media(schema, example?.reply);
  return { content: Object.fromEntries([mediaType, ...otherMediaTypes].map((type) => [type, content])) };
}

function describedHeaders(headers: Readonly<Record<string, string>> = {}): Record<string, ApiHeader> {
  return Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: Type.String() }]));
}
