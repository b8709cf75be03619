import { matchesNone, type Preconditions, requireMatch } from '#automations/entity-tag.ts';
import type { RouteReply, RouteRequest } from '../route.ts';

const ifNoneMatch = 'Entity tags that the caller has; 304 if one of them is current.';

/** What the documentation says of the routes of a document with an entity tag. `what`: such as `form`. */
export function taggedDocs(what: string) {
  const tag = { ETag: `Entity tag of the ${what}, for \`If-Match\`; the same on every gateway.` };
  const ifMatch = { 'If-Match': `The ${what} must have one of these entity tags; otherwise 412.` };
  return {
    tag,
    conditions: { ...ifMatch, 'If-None-Match': `The ${what} must have none of these entity tags; otherwise 412.` },
    reading: {
      requestHeaders: { ...ifMatch, 'If-None-Match': ifNoneMatch },
      otherReplies: [{ status: 304, description: `The caller has the current ${what}.`, headers: tag }],
    },
  };
}

export const ifNoneMatchDocs = { 'If-None-Match': ifNoneMatch };

export function locationDocs(what: string) {
  return { Location: `Address of ${what}: its path, under \`server.publicUrl\` where that is set.` };
}

export function preconditionsOf({ headers }: Pick<RouteRequest, 'headers'>): Preconditions {
  return { ifMatch: headers['if-match'], ifNoneMatch: headers['if-none-match'] };
}

interface Tagged {
  readonly headers: { readonly ETag: string; readonly Vary?: string };
  readonly body: string;
  readonly mediaType?: string;
}

/** A document as its reader asked for it: 304 where `If-None-Match` names it. */
export function taggedReply(request: Pick<RouteRequest, 'headers'>, { headers, ...content }: Tagged): RouteReply<never> {
  const isWanted = matchesNone(preconditionsOf(request).ifNoneMatch, headers.ETag);
  return isWanted ? { kind: 'plain', status: 200, headers, ...content } : { kind: 'plain', status: 304, headers };
}

/** The same, and 412 where `If-Match` does not name the document, which is a `what`. */
export function resourceReply(request: Pick<RouteRequest, 'headers'>, what: string, document: Tagged): RouteReply<never> {
  const { ifMatch } = preconditionsOf(request);
  requireMatch({ ifMatch }, document.headers.ETag, what);
  return taggedReply(request, document);
}
