import { GatewayError } from '#base/gateway-error.ts';
import { readDestination } from './destination.ts';

/** One request of a call that follows redirects. */
export interface Hop {
  readonly url: URL;
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  readonly headers: readonly string[];
  readonly body?: Buffer | undefined;
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);
const bodyHeaders = new Set(['content-encoding', 'content-language', 'content-location', 'content-type']);
/** The headers that another origin gets. Any other name may hold a credential. */
const headersForOthers = /^(?:accept.*|content-type|user-agent|traceparent)$/iu;

/** True for the statuses of redirects that the Fetch standard follows. */
export function isRedirect(status: number): boolean {
  return redirectStatuses.has(status);
}

/**
 * The request that follows a redirect by the Fetch standard (HTTP-redirect fetch). POST becomes GET on 301 and 302, every method on 303.
 * A change of origin drops every header that may hold a credential. Throws `destination-denied` for a target that restCall does not
 * accept as its address either, and `upstream-protocol-error` for an invalid Location or for more than one.
 */
export function nextHop(hop: Hop, status: number, location: string | readonly string[]): Hop {
  if (typeof location !== 'string')
    throw new GatewayError('upstream-protocol-error', 'The far side redirects, and names more than one Location.');
  const url = target(hop.url, location);
  const becomesGet = ((status === 301 || status === 302) && hop.method === 'POST') || (status === 303 && hop.method !== 'GET');
  const sameOrigin = url.origin === hop.url.origin;
  const headers = filtered(
    hop.headers,
    (name) => (sameOrigin || headersForOthers.test(name)) && !(becomesGet && bodyHeaders.has(name.toLowerCase())),
  );
  if (becomesGet) return { url, method: 'GET', headers };
  return { url, method: hop.method, headers, body: hop.body };
}

function target(base: URL, location: string): URL {
  // Node decodes header bytes as latin-1. Bytes beyond ASCII are percent-encoded one by one, so that any charset stays intact.
  const escaped = location.replaceAll(/[\x80-\xff]/gu, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  const resolved = URL.parse(escaped, base);
  if (resolved === null)
    throw new GatewayError('upstream-protocol-error', 'The far side redirects, and the Location it names is no URL.');
  const read = readDestination(resolved.href);
  if ('problem' in read) throw denied(`the Location it names cannot be called: it ${read.problem}`);
  return read.url;
}

function denied(reason: string): GatewayError {
  return new GatewayError('destination-denied', `The far side redirects, and ${reason}.`);
}

/** The headers (name, value, name, value …) whose names `keeps` accepts. */
function filtered(headers: readonly string[], keeps: (name: string) => boolean): readonly string[] {
  const kept: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    if (keeps(name)) kept.push(name, value);
  }
  return kept;
}
