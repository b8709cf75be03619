import { type ErrorCode, errorCodes } from '#base/error-codes.ts';
import type { Route } from '#http/route.ts';
import { componentsFor } from './openapi-components.ts';
import type { ApiOperation, OpenApiDocument } from './openapi-document.ts';
import { errorGuide } from './openapi-error-guide.ts';
import { statusesOf } from './openapi-errors.ts';
import { operationOf, pathOf } from './openapi-operation.ts';

/** The gateway's OpenAPI 3.1 document, made from the routes that it serves. */
export function createOpenApiDocument(options: {
  readonly routes: readonly Route[];
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
  'Every error is `application/problem+json` (RFC 9457) with a `code` of one closed list. A 4xx is about your request to the gateway, a 502 or 504 about the far side, a 503 about a gateway or an adapter instance that cannot take the call now.',
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

function pathsOf(routes: readonly Route[]): OpenApiDocument['paths'] {
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
