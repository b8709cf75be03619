import { OrchestratorError } from '../model/orchestrator-error.ts';
import { type Content, contentOf } from '../wire/document.ts';
import { jsonText } from '../wire/json-text.ts';
import { type ChosenType, chooseType, chosen, essenceOf, restconfAcceptable, restconfTypes } from '../wire/media-types.ts';
import { xmlText } from '../wire/xml-text.ts';
import { headerOf, type Reply, type Request } from './exchange.ts';

export const restconfModule = { name: 'ietf-restconf', namespace: 'urn:ietf:params:xml:ns:yang:ietf-restconf', prefix: 'rc' };

/** The wrapper of several entries in one document (tail-f extension). */
const collectionModule = { name: '', namespace: 'http://tail-f.com/ns/restconf/collection/1.0', prefix: '' };

/** A reply that holds `content` in the chosen type; no content is the empty JSON object. */
export function contentReply(
  status: number,
  content: Content | undefined,
  { mediaType, format, collection }: ChosenType,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const inner = content === undefined ? [] : [content];
  const contents = collection ? [contentOf(collectionModule).container('collection', inner)] : inner;
  const body = format === 'json' ? jsonText(contents) : xmlText(contents);
  return { status, headers: { 'Content-Type': mediaType, ...headers }, body };
}

/** The error body (RFC 8040, 7.1) in the type that the client accepts, else in that of its request; a 406 is always XML. */
export function restconfErrorReply(error: OrchestratorError, request: Request): Reply {
  const build = contentOf(restconfModule);
  const { type, tag, path, message } = error;
  const details: readonly (readonly [string, string | undefined])[] = [
    ['error-type', type],
    ['error-tag', tag],
    ['error-path', path === '' ? undefined : path],
    ['error-message', message === '' ? undefined : message],
  ];
  const entry = details.flatMap(([name, value]) => (value === undefined ? [] : [build.leaf(name, value)]));
  const content = build.container('errors', [build.list('error', [entry])]);
  return contentReply(error.status, content, errorType(error, request), error.headers);
}

function errorType(error: OrchestratorError, request: Request): ChosenType {
  if (error.status === 406) return chosen('application/yang-data+xml');
  const sent = essenceOf(headerOf(request, 'content-type'));
  const accept = headerOf(request, 'accept') ?? (sent === '' ? undefined : sent);
  const taken = chooseType(accept, restconfAcceptable);
  return chosen(taken?.format === 'json' ? restconfTypes[1] : restconfTypes[0]);
}

/** @throws OrchestratorError 406 where the client accepts none of `offered`. */
export function negotiated(request: Request, offered: readonly string[]): ChosenType {
  const accept = headerOf(request, 'accept');
  const type = chooseType(accept, offered);
  if (type !== undefined) return type;
  const message = `No acceptable media type. Got: ${accept ?? ''}. Use one of: ${restconfAcceptable.join(', ')}.`;
  throw new OrchestratorError({ status: 406, tag: 'invalid-value', message, type: 'protocol' });
}
