import { type OpenApiDocument, operationsIn } from './openapi-document.ts';

/** For `Content-Security-Policy`: the page needs nothing but its text. */
export const contentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * What `/docs` shows where the gateway serves no console: the operations by name, and every error. The `type` of an error links to its
 * anchor, `error-CODE`.
 */
export function docsPage(document: OpenApiDocument): string {
  const { title, version } = document.info;
  const operations = operationsIn(document).map(
    ({ method, path, operation: { operationId, summary } }) =>
      html`<dt id="${operationId}"><code>${method.toUpperCase()} ${path}</code></dt><dd>${summary}</dd>\n`,
  );
  const errors = Object.entries(document['x-error-codes']).map(
    ([code, { statuses, title: words, meaning, remedy }]) =>
      html`<dt id="error-${code}"><code>${code}</code> (${statuses.join(' or ')})</dt><dd>${words}. ${inline(meaning)} ${inline(remedy)}</dd>\n`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} ${version}: API</title>
</head>
<body>
<main>
<h1>${title} ${version}: API</h1>
<p>The reference for people is the page API of the web console, which this gateway does not serve.
The reference for programs has the same: <a href="openapi.json">openapi.json</a> (OpenAPI ${document.openapi}).</p>
<h2>Operations</h2>
<dl>
${operations}</dl>
<h2>Errors</h2>
<dl>
${errors}</dl>
</main>
</body>
</html>
`.markup;
}

/** Markup in which every value is escaped. */
interface Html {
  readonly markup: string;
}

type Piece = string | number | Html | undefined | readonly Piece[];

/** A template literal of HTML. Its strings and numbers are escaped, both for text and for quoted attribute values. */
function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return { markup: strings.reduce((all, part, index) => `${all}${markupOf(pieces[index - 1])}${part}`) };
}

function markupOf(piece: Piece): string {
  if (piece === undefined) return '';
  if (typeof piece === 'string' || typeof piece === 'number') return escapeHtml(String(piece));
  if ('markup' in piece) return piece.markup;
  return piece.map(markupOf).join('');
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/gu, (character) => entities[character] ?? '');
}

/** Text in which backticks mark code, as in `RouteDocs`. */
export function inline(text: string): Html {
  const parts = text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
  return html`${parts}`;
}
