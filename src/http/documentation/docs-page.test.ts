import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCodes } from '#base/error-codes.ts';
import { type ApiRoute, json } from '../route.ts';
import { monitoring } from '../routes/route-traits.ts';
import { docsPage, inline } from './docs-page.ts';
import { createOpenApiDocument } from './openapi.ts';

const hostile = `<script>alert("1")</script>'"&`;

const route: ApiRoute = {
  method: 'PUT',
  url: '/a/:b',
  handle: () => json(200, {}),
  ...monitoring,
  tag: 'operations',
  operationId: 'listAudit',
  summary: hostile,
  reply: { description: '' },
};

const page = docsPage(createOpenApiDocument({ routes: [route], version: hostile, base: '', cookieName: 'session' }));

test('every text in the documentation of a route is text on the page, never markup', () => {
  assert.doesNotMatch(page, /<script|alert\("/);
  assert.match(page, /&lt;script&gt;alert\(&quot;1&quot;\)&lt;\/script&gt;&#39;&quot;&amp;/);
});

test('the page has the anchor of every error, and loads nothing', () => {
  for (const code of Object.keys(errorCodes)) assert.ok(page.includes(`<dt id="error-${code}">`), code);
  assert.deepEqual(
    [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target]) => target),
    ['openapi.json'],
  );
  assert.doesNotMatch(page, /<style|<link|\sstyle=|\son\w+=/i);
});

test('text between backticks is shown as code', () => {
  assert.equal(inline('a `b<` c').markup, 'a <code>b&lt;</code> c');
});
