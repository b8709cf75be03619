import { type ErrorCode, errorCodes } from '#base/error-codes.ts';
import type { Route } from '#http/route.ts';
import { components } from './openapi-components.ts';
import type { OpenApiDocument, Operation } from './openapi-document.ts';
import { errorGuide } from './openapi-error-guide.ts';
import { statusesOf } from './openapi-errors.ts';
import { operationOf, pathOf } from './openapi-operation.ts';

/** The gateway's OpenAPI 3.1 document, made from the very routes that it serves. */
export function createOpenApiDocument(options: { readonly routes: readonly Route[]; readonly version: string }): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Orchestration Gateway',
      version: options.version,
      summary: 'Relays REST calls, orchestrator actions and orchestrator queries by the caller’s role, byte for byte.',
      description,
    },
    servers: [{ url: '/' }],
    tags,
    security: [{ basic: [] }, { bearer: [] }, { session: [] }, { client: [] }],
    paths: pathsOf(options.routes),
    components,
    'x-error-codes': documentedErrors(),
  };
}

const description = [
  'Request bodies are JSON in UTF-8 unless an operation says otherwise, and strict: an unknown member or query parameter is refused, nothing is converted, and all problems are reported at once.',
  'What the gateway relays keeps its bytes: numbers of any size, the order of members, duplicate keys and escapes arrive as they were written.',
  'Every error is `application/problem+json` (RFC 9457) with a `code` of one closed list. A 4xx speaks of your request to the gateway, a 502 or 504 of the far side, a 503 of a gateway or an adapter that cannot take the call now.',
  'Every reply carries `X-Request-Id`, which finds the request in the gateway’s log.',
].join('\n\n');

const tags: OpenApiDocument['tags'] = [
  {
    name: 'relay',
    description:
      'Calls through the gateway: to any address that the policy admits, and to orchestrators by the name of an adapter instance.',
  },
  { name: 'automations', description: 'The catalogue of automations.' },
  { name: 'access', description: 'Who is calling: sessions of people, tokens of programs.' },
  { name: 'operations', description: 'For load balancers, monitoring and readers of this documentation.' },
];

function pathsOf(routes: readonly Route[]): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, Operation>> = {};
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
