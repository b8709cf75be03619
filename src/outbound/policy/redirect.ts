import { GatewayError } from '#base/gateway-error.ts';
import { readDestination } from './destination.ts';

export interface Hop {
  readonly url: URL;
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const bodyHeaders = new Set(['content-encoding', 'content-language', 'content-location', 'content-type']);
/** Any other header may hold a credential. */
const headersForOthers = /^(?:accept.*|content-type|user-agent|traceparent)$/iu;

export function isRedirect(status: number): boolean {
  return redirectStatuses.has(status);
}

/** By the Fetch standard. Another origin gets no header that may hold a credential. Throws `destination-denied` as for an address of restCall, `upstream-protocol-error` for an invalid or repeated Location. */
export function nextHop(hop: Hop, status: number, location: string | readonly string[]): Hop {
  if (typeof location !== 'string')
    throw new GatewayError('upstream-protocol-error', 'The upstream redirects, and names more than one Location.');
  const url = target(hop.url, location);
  const becomesGet = ((status === 301 || status === 302) && hop.method === 'POST') || (status === 303 && hop.method !== 'GET');
  const sameOrigin = url.origin === hop.url.origin;
  const headers = filterHeaders(
    hop.headers,
    (name) => (sameOrigin || headersForOthers.test(name)) && !(becomesGet && bodyHeaders.has(name.toLowerCase())),
  );
  if (becomesGet) return { url, method: 'GET', headers };
  return { url, method: hop.method, headers, body: hop.body };
}

function target(base: URL, location: string): URL {
  // Latin-1 bytes are percent-encoded one by one, so that any charset stays intact.
  const escaped = location.replaceAll(/[\x80-\xff]/gu, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  const resolved = URL.parse(escaped, base);
  if (resolved === null)
    throw new GatewayError('upstream-protocol-error', 'The upstream redirects, and the Location it names is no URL.');
  const read = readDestination(resolved.href);
  if ('problem' in read) throw denied(`the Location it names cannot be called: it ${read.problem}`);
  return read.url;
}

function denied(reason: string): GatewayError {
  return new GatewayError('destination-denied', `The upstream redirects, and ${reason}.`);
}

/** Name, value, name, value …. */
function filterHeaders(headers: readonly string[], keeps: (name: string) => boolean): readonly string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (keeps(name)) kept.push(name, value);
  }
  return kept;
}
