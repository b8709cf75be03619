import { curlExample } from './docs-page-example.ts';
import { fieldList, hasFields, schemaFields, typeOf } from './docs-page-schema.ts';
import { type Html, html, inline, paragraphs } from './html.ts';
import type { ApiResponse, Components, Content, OpenApiDocument, Operation, Parameter } from './openapi-document.ts';

/** An operation with its place in the document. */
export interface PlacedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** The operations of a document in its order. */
export function operationsIn(document: OpenApiDocument): readonly PlacedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
}

/** The section of one operation: who may call it, its parameters and body, its replies. Its anchor is its `operationId`. */
export function operationSection(placed: PlacedOperation, components: Components): Html {
  const { operation } = placed;
  const [success, ...errors] = Object.entries(operation.responses).sort(([one], [other]) => Number(one) - Number(other));
  return html`<section class="operation" id="${operation.operationId}">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="address"><span class="method ${placed.method}">${placed.method.toUpperCase()}</span> <code>${breakablePath(placed.path)}</code></p>
${paragraphs(operation.description)}
${titled('In the path', parametersIn('path', operation, components))}
${titled('Query parameters', parametersIn('query', operation, components))}
${requestPart(operation)}
${folded('Request headers', parametersIn('header', operation, components))}
${example(placed, success?.[1])}
${success === undefined ? undefined : successPart(success[0], success[1], components)}
${errorPart(errors)}
</section>`;
}

/** A path that breaks after its slashes on a narrow screen. */
export function breakablePath(path: string): Html {
  return html`${path.split(/(?<=\/)/u).map((part) => html`${part}<wbr>`)}`;
}

function parametersIn(place: Parameter['in'], operation: Operation, components: Components): Html | undefined {
  const parameters = operation.parameters.map((parameter) => resolve(parameter, components.parameters));
  const rows = parameters.filter((parameter) => parameter.in === place);
  if (rows.length === 0) return undefined;
  return fieldList(
    rows.map((row) => ({ ...row, type: typeOf(row.schema) })),
    'required',
  );
}

function titled(title: string, list: Html | undefined): Html | undefined {
  return list === undefined ? undefined : html`<h4>${title}</h4>${list}`;
}

function folded(title: string, list: Html | undefined): Html | undefined {
  return list === undefined ? undefined : html`<details><summary>${title}</summary>${list}</details>`;
}

function resolve<Value extends object>(value: Value | { readonly $ref: string }, table: Readonly<Record<string, Value>>): Value {
  if (!('$ref' in value)) return value;
  const found = table[value.$ref.slice(value.$ref.lastIndexOf('/') + 1)];
  if (found === undefined) throw new Error(`the document refers to ${value.$ref}, which it does not have`);
  return found;
}

function requestPart({ requestBody }: Operation): Html | undefined {
  if (requestBody === undefined) return undefined;
  return html`<h4>Request body ${mediaTypes(requestBody.content)}</h4>${Object.values(requestBody.content).map(({ schema }) => schemaFields(schema, 'required'))}`;
}

function mediaTypes(content: Content): Html {
  return html`<span class="type">${Object.keys(content).join(', ')}</span>`;
}

function example(placed: PlacedOperation, success: ApiResponse | undefined): Html | undefined {
  const curl = curlExample(placed);
  const [reply] = Object.values(success?.content ?? {});
  if (curl === undefined || reply?.example === undefined) return undefined;
  const shown = typeof reply.example === 'string' ? reply.example : JSON.stringify(reply.example, undefined, 2);
  return html`<h4>Example</h4><pre class="shell"><code>${curl}</code></pre><pre><code>${shown}</code></pre>`;
}

function successPart(status: string, response: ApiResponse, components: Components): Html {
  const headers = Object.entries(response.headers).map(([name, header]) => {
    const { description } = resolve(header, components.headers);
    return { name, type: '', required: false, description };
  });
  const bodies = Object.values(response.content ?? {}).filter(({ schema }) => hasFields(schema));
  return html`<h4>Reply <span class="status">${status}</span> ${response.content === undefined ? undefined : mediaTypes(response.content)}</h4>
<p>${inline(response.description)}</p>
${bodies.map(({ schema }) => schemaFields(schema, 'optional'))}
${folded('Reply headers', fieldList(headers, 'nothing'))}`;
}

function errorPart(errors: readonly (readonly [string, ApiResponse])[]): Html {
  const rows = errors.map(([status, response]) => {
    const codes = (response['x-error-codes'] ?? []).map((code) => html`<a href="#error-${code}"><code>${code}</code></a> `);
    const other = response.content?.['application/json'] === undefined ? undefined : html`${inline(response.description)}<br>`;
    return html`<dt><span class="status">${status}</span></dt><dd>${other}${codes}</dd>`;
  });
  return html`${folded('Errors', html`<dl class="errors">${rows}</dl>`)}`;
}
