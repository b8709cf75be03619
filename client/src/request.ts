import type { AnyCallOptions, Operation, RawBody } from './call.ts';

/** The request of a call, without credentials. Throws a TypeError for parameters that no address can hold. */
export function requestOf(
  baseUrl: string,
  operation: Operation,
  options: AnyCallOptions,
): { readonly url: string; readonly init: RequestInit } {
  const { signal, rawBody, body } = options;
  const init: RequestInit & { duplex?: 'half' } = {
    method: operation.method,
    headers: headersOf(operation, options),
    redirect: 'manual',
    cache: 'no-store',
  };
  if (signal !== undefined) init.signal = signal;
  const sent = rawBody ?? (body === undefined ? undefined : written(operation, body));
  if (sent !== undefined) init.body = sent;
  if (sent instanceof ReadableStream) init.duplex = 'half';
  return { url: baseUrl.replace(/\/$/u, '') + pathOf(operation.path, options.path) + queryOf(options.query), init };
}

function headersOf(operation: Operation, options: AnyCallOptions): Headers {
  const headers = new Headers(options.headers);
  const hasBody = options.body !== undefined || options.rawBody !== undefined;
  const contentType = options.contentType ?? (hasBody ? operation.body : undefined);
  if (contentType !== undefined) headers.set('Content-Type', contentType);
  if (options.idempotencyKey !== undefined) headers.set('Idempotency-Key', options.idempotencyKey);
  if (options.approval !== undefined) headers.set('Approval', options.approval);
  return headers;
}

function written(operation: Operation, body: unknown): RawBody {
  if (operation.body === 'application/x-www-form-urlencoded') return new URLSearchParams(body as Record<string, string>);
  return JSON.stringify(body);
}

function pathOf(template: string, values: Readonly<Record<string, unknown>> = {}): string {
  return template.replaceAll(/\{(\w+)\}/gu, (_whole, name: string) => segmentOf(name, values[name]));
}

/** An empty or a dot segment would lead to another operation: URL parsers remove it, percent-encoded too. */
function segmentOf(name: string, value: unknown): string {
  const text = typeof value === 'string' ? value : '';
  if (text === '' || text === '.' || text === '..') {
    throw new TypeError(`the path parameter ${name} is ${JSON.stringify(value)}; it has to be a text, and not "." or ".."`);
  }
  return encodeURIComponent(text);
}

function queryOf(values: Readonly<Record<string, unknown>> = {}): string {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString()}`;
}
