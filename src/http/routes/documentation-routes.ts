import { Type } from '#base/json-schema.ts';
import { contentSecurityPolicy, docsPage } from '#http/documentation/docs-page.ts';
import { createOpenApiDocument } from '#http/documentation/openapi.ts';
import { withNamedSchemas } from '#http/documentation/openapi-schemas.ts';
import type { Route, RouteReply } from '#http/route.ts';
import { monitoring } from './route-traits.ts';

interface DocumentationRoutesOptions {
  /** All other routes of the gateway. */
  readonly routes: readonly Route[];
  readonly version: string;
  /** In front of every path: the absolute URL of `server.publicUrl`, or empty. */
  readonly base: string;
  /** The name of the session cookie. */
  readonly cookieName: string;
}

interface Replies {
  readonly document: RouteReply;
  readonly page: RouteReply;
}

/**
 * The API for programs (OpenAPI) and for people (a page that works offline). The first request of either writes both, because that takes
 * longer than the start of most parts.
 */
export function documentationRoutes({ routes, ...facts }: DocumentationRoutesOptions): readonly Route[] {
  let written: Replies | undefined;
  const write = (): Replies => {
    const document = createOpenApiDocument({ routes: [...routes, ...own], ...facts });
    return {
      document: { kind: 'plain', status: 200, headers: caching, body: JSON.stringify(withNamedSchemas(document)) },
      page: { kind: 'plain', status: 200, mediaType: 'text/html; charset=utf-8', headers: pageHeaders, body: docsPage(document) },
    };
  };
  const replies = (): Replies => (written ??= write());
  const own = [documentRoute(() => replies().document), pageRoute(() => replies().page)];
  return own;
}

function documentRoute(reply: () => RouteReply): Route {
  return {
    method: 'GET',
    url: '/openapi.json',
    access: 'everyone',
    handle: reply,
    ...monitoring,
    docs: {
      tag: 'operations',
      operationId: 'openapi',
      summary: 'This API as an OpenAPI 3.1 document',
      success: {
        status: 200,
        description: 'The document.',
        schema: Type.Object({ openapi: Type.String() }, { title: 'OpenApiDocument' }),
        headers: cachingDocs,
      },
      errors: [],
      example: { reply: { openapi: '3.1.0' } },
    },
  };
}

function pageRoute(reply: () => RouteReply): Route {
  return {
    method: 'GET',
    url: '/docs',
    access: 'everyone',
    handle: reply,
    ...monitoring,
    docs: {
      tag: 'operations',
      operationId: 'docs',
      summary: 'This API as a page for people',
      description: 'The page is complete in itself: it works offline and runs no script.',
      success: {
        status: 200,
        description: 'The page.',
        mediaType: 'text/html',
        schema: Type.String(),
        headers: {
          ...cachingDocs,
          'Content-Security-Policy': 'Allows nothing but the style in the page.',
          'Referrer-Policy': '`no-referrer`.',
        },
      },
      errors: [],
      example: { reply: '<!doctype html>' },
    },
  };
}

/** `no-cache`, since another version of the gateway may answer the next request. */
const caching = { 'Cache-Control': 'no-cache', 'X-Content-Type-Options': 'nosniff' };
const cachingDocs = { 'Cache-Control': '`no-cache`.', 'X-Content-Type-Options': '`nosniff`.' };
const pageHeaders = { ...caching, 'Content-Security-Policy': contentSecurityPolicy, 'Referrer-Policy': 'no-referrer' };
