import type { IncomingMessage } from 'node:http';
import { GatewayError } from '#base/gateway-error.ts';
import type { OwnNames } from './own-names.ts';

/** Characters of an `Origin` that a refusal quotes. */
const maxQuoteLength = 200;

/**
 * Refuses what a page of another site makes the browser of a caller send (403 `cross-site`). GET and HEAD pass: they change nothing,
 * and a browser keeps their replies from other sites. A client that is no browser sends neither header. `cookieName`: where the session
 * cookie is the only credential, the browser has to say that the page is the gateway's.
 */
export function refuseCrossSite(request: IncomingMessage, names: OwnNames, cookieName: string | undefined): void {
  if (request.method === 'GET' || request.method === 'HEAD') return;
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (site !== undefined && !ownSites.has(site))
    throw crossSite(`Its Sec-Fetch-Site is ${quote(site)}: send the request from a page of the gateway, or without a browser.`);
  if (origin !== undefined && !names.isOrigin(origin, request))
    throw crossSite(
      `Its Origin ${quote(origin)} is not the gateway's own. Where browsers reach the gateway there, the operator sets server.publicUrl.`,
    );
  if (origin === undefined && site !== 'same-origin' && hasOnlySession(request, cookieName))
    throw crossSite(
      'A session cookie needs "Sec-Fetch-Site: same-origin" or the gateway’s own Origin. A program sends Authorization.',
    );
}

/** The page is the gateway's, or a person opened the address. */
const ownSites: ReadonlySet<unknown> = new Set(['same-origin', 'none']);

function hasOnlySession({ headers: { authorization, cookie = '' } }: IncomingMessage, cookieName: string | undefined): boolean {
  return cookieName !== undefined && authorization === undefined && cookie.includes(`${cookieName}=`);
}

function crossSite(reason: string): GatewayError {
  return new GatewayError('cross-site', `The request comes from another site. ${reason}`);
}

function quote(text: string | readonly string[]): string {
  return JSON.stringify(String(text).slice(0, maxQuoteLength));
}
