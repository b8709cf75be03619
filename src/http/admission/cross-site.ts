import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import type { OwnNames } from './own-names.ts';

/** Characters of an `Origin` that a refusal quotes. */
const longestQuote = 200;

/**
 * Refuses what a page of another site makes the browser of a caller send (403 `cross-site`). GET and HEAD pass: they change nothing,
 * and a browser keeps their replies from other sites. A client that is no browser sends neither header.
 */
export function refuseCrossSite(request: IncomingMessage, names: OwnNames): void {
  if (request.method === 'GET' || request.method === 'HEAD') return;
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw crossSite(`Its Sec-Fetch-Site is ${quoted(site)}: send the request from a page of the gateway, or without a browser.`);
  if (origin !== undefined && !names.isOrigin(origin, request))
    throw crossSite(
      `Its Origin ${quoted(origin)} is not the gateway's own. Where browsers reach the gateway there, the operator sets server.publicUrl.`,
    );
}

function crossSite(reason: string): GatewayError {
  return new GatewayError('cross-site', `The request comes from another site. ${reason}`);
}

function quoted(text: string | readonly string[]): string {
  return JSON.stringify(String(text).slice(0, longestQuote));
}
