import type { Datastore } from '../model/datastore.ts';
import type { Format } from '../wire/media-types.ts';
import { emptyReply, headerOf, isRead, type Reply, type Request } from './exchange.ts';

/** The validators of a configuration reply: those of the last commit to the whole datastore, not of the resource. */
export function validators(datastore: Datastore, format: Format): Readonly<Record<string, string>> {
  return { ETag: `W/"${datastore.transactionId}+${format}"`, 'Last-Modified': datastore.lastModified.toUTCString() };
}

/**
 * The reply to a conditional request whose condition fails (RFC 9110, 13.2): 412 for a stale state, 304 for a read of an unchanged state.
 * Weak tags are compared by their value, because this server, like NSO, sends only weak tags.
 */
export function unmetPrecondition(request: Request, datastore: Datastore): Reply | undefined {
  if (!stillMatches(request, datastore)) return emptyReply(412);
  if (!isRead(request.method) || !isUnchanged(request, datastore)) return undefined;
  return emptyReply(304);
}

function stillMatches(request: Request, datastore: Datastore): boolean {
  const ifMatch = headerOf(request, 'if-match');
  if (ifMatch !== undefined) return names(ifMatch, datastore);
  const since = Date.parse(headerOf(request, 'if-unmodified-since') ?? '');
  return Number.isNaN(since) || wholeSeconds(datastore.lastModified) <= since;
}

function isUnchanged(request: Request, datastore: Datastore): boolean {
  const ifNoneMatch = headerOf(request, 'if-none-match');
  if (ifNoneMatch !== undefined) return names(ifNoneMatch, datastore);
  const since = Date.parse(headerOf(request, 'if-modified-since') ?? '');
  return !Number.isNaN(since) && wholeSeconds(datastore.lastModified) <= since;
}

/** Whether a list of tags holds the current tag, in any format. */
function names(list: string, datastore: Datastore): boolean {
  const tags = list.split(',').map((tag) => tag.trim().replace(/^W\//u, ''));
  const current = ['', '+json', '+xml'].map((suffix) => `"${datastore.transactionId}${suffix}"`);
  return tags.some((tag) => tag === '*' || current.includes(tag));
}

/** HTTP dates have no milliseconds. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000;
}
