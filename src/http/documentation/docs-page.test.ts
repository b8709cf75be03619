import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { Type } from '#base/json-schema.ts';
import { json, type Route } from '#http/route.ts';
import { monitoring } from '#http/routes/route-traits.ts';
import { closedObject } from '#json/closed-object.ts';
import { contentSecurityPolicy, docsPage } from './docs-page.ts';
import { inline } from './html.ts';
import { createOpenApiDocument } from './openapi.ts';

const hostile = `<script>alert("1")</script>'"&`;

const route: Route = {
  method: 'PUT',
  url: '/a/:b',
  access: ['admin'],
  body: { kind: 'json', schema: closedObject({ [hostile]: Type.String({ description: hostile }) }) },
  handle: () => json(200, {}),
  ...monitoring,
  docs: {
    tag: 'operations',
    operationId: 'hostile',
    summary: hostile,
    description: `${hostile} \`${hostile}\``,
    pathParameters: { b: hostile },
    success: { status: 200, description: hostile, schema: Type.Object({}), headers: { 'X-Hostile': hostile } },
    errors: [],
    example: { path: { b: hostile }, request: { [hostile]: hostile }, reply: { [hostile]: hostile } },
  },
};

test('every text in the documentation of a route is text on the page, never markup', () => {
  const page = docsPage(createOpenApiDocument({ routes: [route], version: hostile, base: '', cookieName: 'session' }));
  assert.doesNotMatch(page, /<script|alert\("/);
  assert.match(page, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&#39;&quot;&amp;/);
});

test('the Content-Security-Policy allows the style of the page by its hash, and nothing else', () => {
  const page = docsPage(createOpenApiDocument({ routes: [route], version: '1', base: '', cookieName: 'session' }));
  const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  assert.equal(
    contentSecurityPolicy,
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
});

test('an example is a command that a POSIX shell reads back unchanged', () => {
  const page = docsPage(createOpenApiDocument({ routes: [route], version: '1', base: '', cookieName: 'session' }));
  assert.ok(page.includes(String.raw`&lt;/script&gt;&#39;\&#39;&#39;\&quot;&amp;`), page);
  assert.ok(
    page.includes(`curl -X PUT -u &quot;$LOGIN&quot; &quot;$GATEWAY/a/${encodeURIComponent(hostile).replaceAll("'", '&#39;')}`),
  );
});

test('text between backticks is shown as code', () => {
  assert.equal(inline('a `b<` c').markup, 'a <code>b&lt;</code> c');
});
