import { Type } from '#base/json-schema.ts';
import { contentSecurityPolicy, docsPage } from '../documentation/docs-page.ts';
import { createOpenApiDocument } from '../documentation/openapi.ts';
import { withNamedSchemas } from '../documentation/openapi-document.ts';
import { type ApiRoute, type RouteReply, route } from '../route.ts';
import { monitoring } from './route-traits.ts';

interface DocumentationRoutesOptions {
  /** All other routes of the gateway. */
  readonly routes: readonly ApiRoute[];
  readonly version: string;
  /** In front of every path: the absolute URL of `server.publicUrl`, or empty. */
  readonly base: string;
  /** The page for people is one of the console. */
  readonly hasConsole: boolean;
  /** The name of the session cookie. */
  readonly cookieName: string;
}

interface Replies {
  readonly document: RouteReply<never>;
  readonly page: RouteReply<never>;
}

/**
 * The API for programs (OpenAPI) and for people (the API page of the console, or a short one where there is none). The first request of
 * either writes both, because that takes longer than the start of most parts.
 */
export function documentationRoutes({ routes, hasConsole, ...facts }: DocumentationRoutesOptions): readonly ApiRoute[] {
  let written: Replies | undefined;
  const write = (): Replies => {
    const document = createOpenApiDocument({ routes: [...routes, ...own], ...facts });
    return {
      document: { kind: 'plain', status: 200, headers: caching, body: JSON.stringify(withNamedSchemas(document)) },
      page: hasConsole ? toConsole(facts.base) : shortPage(docsPage(document)),
    };
  };
  const replies = (): Replies => (written ??= write());
  const own = [openapi.serve(() => replies().document), docs.serve(() => replies().page)];
  return own;
}

/** `no-cache`, since another version of the gateway may answer the next request. */
const caching = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' };
const cachingDocs = { 'Cache-Control': '`no-cache`.', 'X-Content-Type-Options': '`nosniff`.' };
const pageHeaders = { ...caching, 'Referrer-Policy': 'no-referrer' };

const openapi = route('GET /openapi.json', {
  ...monitoring,
  tag: 'operations',
  operationId: 'openapi',
  summary: 'This API as an OpenAPI 3.1 document',
  reply: {
    description: 'The document.',
    schema: Type.Object({ openapi: Type.String() }, { title: 'OpenApiDocument' }),
    headers: cachingDocs,
  },
  example: { reply: { openapi: '3.1.0' } },
});

const noReferrer = { 'Referrer-Policy': '`no-referrer`.' };

const docs = route('GET /docs', {
  ...monitoring,
  tag: 'operations',
  operationId: 'docs',
  summary: 'This API as a page for people',
  description:
    'For browsers: it leads to the API page of the console, which is open to everyone. A gateway without the console answers with a short page. `#error-CODE` is the anchor of an error on both.',
  reply: {
    description: 'The short page, where the gateway serves no console.',
    mediaType: 'text/html',
    schema: Type.String(),
    headers: { ...cachingDocs, 'Content-Security-Policy': 'Allows nothing but the text of the page.', ...noReferrer },
  },
  otherReplies: [
    {
      status: 302,
      description: 'The API page of the console.',
      headers: { ...cachingDocs, Location: 'Its address.', ...noReferrer },
    },
  ],
  example: { reply: '<!doctype html>' },
});

/** A browser keeps the fragment, so `/docs#error-CODE` leads to the error. */
function toConsole(base: string): RouteReply<never> {
  return { kind: 'plain', status: 302, headers: { ...pageHeaders, Location: `${base}/console/api` }, body: '' };
}

function shortPage(body: string): RouteReply<never> {
  const headers = { ...pageHeaders, 'Content-Security-Policy': contentSecurityPolicy };
  return { kind: 'plain', status: 200, mediaType: 'text/html; charset=utf-8', headers, body };
}
