import { createHash } from 'node:crypto';
import { roles } from '#access/principal.ts';
import type { RouteAccess } from '#http/route.ts';
import { breakablePath, operationSection, operationsIn, type PlacedOperation } from './docs-page-operation.ts';
import { docsStyle } from './docs-page-style.ts';
import { type Html, html, inline, paragraphs } from './html.ts';
import type { OpenApiDocument } from './openapi-document.ts';

/** For `Content-Security-Policy`: nothing but the page's own style is allowed, by its hash (CSP 3 6.1.14). */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(docsStyle).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The document as one self-contained HTML page. Anchors: an operation's `operationId`, and `error-CODE` for each error. */
export function docsPage(document: OpenApiDocument): string {
  const operations = operationsIn(document);
  const { title, version, summary, description } = document.info;
  // Only the style is not escaped: the policy has the hash of exactly these characters.
  const style: Html = { markup: `<style>${docsStyle}</style>` };
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} ${version}: API</title>
${style}
</head>
<body>
<header><h1>${title} <span class="version">${version}</span></h1><p class="lead">${summary}</p></header>
<nav aria-label="Contents">${contents(document, operations)}</nav>
<main>
<section id="start"><h2><a href="#start">To start with</a></h2>${paragraphs(description)}
<p>The same for programs: <a href="openapi.json">/openapi.json</a> (OpenAPI ${document.openapi}).
In the examples <code>$GATEWAY</code> is the address of this gateway and <code>$LOGIN</code> a <code>user:password</code>.</p></section>
${callers(document)}
${roleMatrix(operations)}
${document.tags.map((tag) => tagSection(tag, document, operations))}
${errorSection(document)}
</main>
</body>
</html>
`.markup;
}

function contents(document: OpenApiDocument, operations: readonly PlacedOperation[]): Html {
  const groups = tagsInUse(document, operations).map(
    ({ name }) =>
      html`<li><a href="#tag-${name}">${heading(name)}</a><ul>${ofTag(operations, name).map(
        ({ method, operation }) =>
          html`<li><a href="#${operation.operationId}"><span class="method ${method}">${method.toUpperCase()}</span> ${operation.operationId}</a></li>`,
      )}</ul></li>`,
  );
  return html`<ul><li><a href="#start">To start with</a></li><li><a href="#callers">Authentication</a></li><li><a href="#roles">Roles</a></li>${groups}<li><a href="#errors">Errors</a></li></ul>`;
}

function tagsInUse(document: OpenApiDocument, operations: readonly PlacedOperation[]): OpenApiDocument['tags'] {
  return document.tags.filter(({ name }) => ofTag(operations, name).length > 0);
}

function ofTag(operations: readonly PlacedOperation[], name: string): readonly PlacedOperation[] {
  return operations.filter(({ operation }) => operation.tags.some((tag) => tag === name));
}

function heading(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function callers(document: OpenApiDocument): Html {
  const schemes = Object.entries(document.components.securitySchemes) as [string, { readonly description: string }][];
  const names: Readonly<Record<string, string>> = {
    basic: 'Authorization: Basic',
    bearer: 'Authorization: Bearer',
    session: 'Session cookie',
    client: 'OAuth 2.0 client',
  };
  return html`<section id="callers"><h2><a href="#callers">Authentication</a></h2><p>Use one of these methods. Where a request has an <code>Authorization</code> header, its session cookie is ignored.</p>
<dl class="fields">${schemes.map(([name, { description }]) => html`<dt>${names[name] ?? name}</dt><dd>${inline(description)}</dd>`)}</dl></section>`;
}

/** A table with one column for each role and one row for each operation. */
function roleMatrix(operations: readonly PlacedOperation[]): Html {
  const rows = operations.map(({ method, path, operation }) => {
    const cells = roles.map((role) => html`<td>${mark(operation['x-roles'], role)}</td>`);
    return html`<tr><th scope="row"><a href="#${operation.operationId}"><span class="method ${method}">${method.toUpperCase()}</span> <code>${breakablePath(path)}</code></a></th>${cells}</tr>`;
  });
  return html`<section id="roles"><h2><a href="#roles">Roles</a></h2>
<p>A caller needs one of the marked roles. Operations marked ○ are open to everyone, without credentials.</p>
<div class="wide"><table><thead><tr><th scope="col">Operation</th>${roles.map((role) => html`<th scope="col">${role}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function mark(access: RouteAccess, role: (typeof roles)[number]): string {
  if (access === 'everyone') return '○';
  return access === 'callers' || access.includes(role) ? '●' : '';
}

function tagSection(
  { name, description }: OpenApiDocument['tags'][number],
  document: OpenApiDocument,
  operations: readonly PlacedOperation[],
): Html | undefined {
  const own = ofTag(operations, name);
  if (own.length === 0) return undefined;
  return html`<section id="tag-${name}"><h2><a href="#tag-${name}">${heading(name)}</a></h2><p>${description}</p>
${own.map((placed) => operationSection(placed, document.components))}</section>`;
}

function errorSection(document: OpenApiDocument): Html {
  const entries = Object.entries(document['x-error-codes']).map(
    ([code, { statuses, title, meaning, remedy }]) =>
      html`<section class="error" id="error-${code}"><h3><a href="#error-${code}"><code>${code}</code></a> <span class="status">${statuses.join(' or ')}</span></h3>
<p><strong>${title}.</strong> ${inline(meaning)}</p><p>${inline(remedy)}</p></section>`,
  );
  return html`<section id="errors"><h2><a href="#errors">Errors</a></h2>
<p>The complete list. The <code>type</code> of every error links to its entry here.</p>${entries}</section>`;
}
